package dispatcher

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzUnquote: a text is read as encoding/json reads it.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{
		`""`, `"a"`, `"{\"a\":\"b\\\\c\"}"`, `"\\"`, `"\u0041\n"`, `"\/"`, `"é\""`, `"\"`, `"`, `1`, `null`, `{}`, "\"a\x00\"",
		"\"\xff\\\"\"", "\"\xff\"", `"\"`, `"a\"b\\"`, `"\u0022"`, `"\\\""`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if !json.Valid(value) || SkipSpace(value, 0) != 0 || len(value) != skipValue(value, 0) {
			return // not a value that the walk would cut out
		}
		var want string
		isText := value[0] == '"'
		if err := json.Unmarshal(value, &want); isText && err != nil {
			t.Fatal(err)
		}
		if got := text(value); isText && got != want {
			t.Errorf("%q is read as %q, want %q", value, got, want)
		}
		if _, is := Unquote(value); is != isText {
			t.Errorf("%q is a text: %t", value, is)
		}
	})
}

// walked is what Members or Elements cut a document into.
func walked(doc string) (parts []string) {
	if doc[SkipSpace([]byte(doc), 0)] == '[' {
		for value := range Elements([]byte(doc)) {
			parts = append(parts, string(value))
		}
		return parts
	}
	for name, value := range Members([]byte(doc)) {
		parts = append(parts, name+"="+string(value))
	}
	return parts
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{}`: nil, ` { } `: nil, `[]`: nil, " [\r\n] ": nil,
		`{"a":1}`: {"a=1"}, `{"a":1,"b":[{"c":"}"}],"a":{}}`: {"a=1", `b=[{"c":"}"}]`, "a={}"},
		" {\r\n\t\"a\" :\r1\r,\n\"b\"\t: \"x\\\"]\"\r} ": {"a=1", `b="x\"]"`},
		`{"\"":null}`: {`"=null`}, `{"é":-1.5e+3}`: {"é=-1.5e+3"},
		`[1]`: {"1"}, `[1,"a,b",[2,[3]],{"c":[]},null]`: {"1", `"a,b"`, "[2,[3]]", `{"c":[]}`, "null"},
		"[ 1\r,\n2\t, \"\\\\\"\r] ": {"1", "2", `"\\"`},
	} {
		if !json.Valid([]byte(doc)) {
			t.Fatalf("%q is not valid", doc)
		}
		if got := walked(doc); !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, want %q", doc, got, want)
		}
		// What is cut short ends too, with whatever parts.
		for i := range doc {
			if cut := doc[:i]; SkipSpace([]byte(cut), 0) < len(cut) {
				if got := walked(cut); len(got) > len(doc) {
					t.Errorf("%q is cut into %d parts", cut, len(got))
				}
			}
		}
	}
}
