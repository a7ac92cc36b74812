package dispatcher

import (
	"encoding/json"
	"testing"
)

// FuzzUnquote: a text is read as encoding/json reads it.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{
		`""`, `"a"`, `"{\"a\":\"b\\\\c\"}"`, `"\\"`, `"\u0041\n"`, `"\/"`, `"é\""`, `"\"`, `"`, `1`, `null`, `{}`, "\"a\x00\"",
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
