package dispatcher

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseResult: whatever a worker answers, its result is in normal form.
func FuzzParseResult(f *testing.F) {
	f.Add(`{"hash":"5J","done":{},"error":null,"data":{"a":1},"signed":"{\"memo\":\"x\"}"}`)
	f.Add(`{"hash":"","done":{"a":1E400},"error":{}}`)
	f.Add(`{"error":{"code":20203,"message":"m","exception":"Couldn't send zkApp command: [\"Invalid_nonce\"]"}}`)
	f.Add(`{"code":500,"message":"m"}`)
	f.Add(`{"signed":"\ud800"}`)
	f.Add(`[null]`)
	f.Fuzz(func(t *testing.T, body string) {
		r, failed, err := parseResult([]byte(body))
		if err != nil && (failed != nil || !cmp.Equal(r, Result{})) {
			t.Errorf("%q: something beside %v", body, err)
		}
		if failed != nil {
			if !cmp.Equal(r, Result{Hash: r.Hash}) {
				t.Errorf("%q: %+v beside an error", body, r)
			}
			failed = failed.clipped()
			if failed.Code == "" || !utf8.ValidString(failed.Code+failed.Message+failed.Exception) {
				t.Errorf("%q: error %+v", body, failed)
			}
		}
		if r.Hash != "" && !validHash.MatchString(r.Hash) {
			t.Errorf("%q: hash %q", body, r.Hash)
		}
		if r.Done != nil && !isObject(r.Done) {
			t.Errorf("%q: %s is no object", body, r.Done)
		}
		// Of a text, CheckSigned says whether it is JSON.
		if r.Signed != nil && !opens(r.Signed) {
			t.Errorf("%q: %s is no object", body, r.Signed)
		}
		if r.Done != nil && (r.Hash != "" || r.Signed != nil || isEmpty(r.Done)) {
			t.Errorf("%q: done in %+v", body, r)
		}
		if r.Data != nil && (!json.Valid(r.Data) || isEmpty(r.Data)) {
			t.Errorf("%q: data %s", body, r.Data)
		}
	})
}

// TestNested: nothing is taken that could not be read where it stands within other JSON.
func TestNested(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + `"]}\"]}"` + strings.Repeat("]}", n/2) }
	for doc, want := range map[string]int{"1": 0, `"{[\\\"["`: 0, "{}": 1, `[{"a":[]},[]]`: 3, `[{},{},[]]`: 2, `[[],[],{}]`: 2, nested(40): 40} {
		if got := Depth([]byte(doc)); got != want {
			t.Errorf("%s is nested %d deep, want %d", doc, got, want)
		}
	}
	for n, want := range map[int]bool{MaxDepth: true, MaxDepth + 2: false, 9998: false} {
		for name, body := range map[string]string{"data": `{"hash":"5J","data":` + nested(n) + `}`, "done": `{"done":` + nested(n) + `}`} {
			r, failed, err := parseResult([]byte(body))
			if err != nil || (failed == nil) != want || want != (r.Data != nil || r.Done != nil) || failed != nil && (failed.Code != CodeMismatch || !strings.HasSuffix(failed.Message, "1000 deep")) {
				t.Errorf("%s of %d levels: %v, %v", name, n, failed, err)
			}
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"éé", 3, "é"}, {"é", 1, ""}, {"a\xff", 9, "a\uFFFD"},
		{strings.Repeat("\x80", 5), 3, ""},
	} {
		if got := clip(tt.s, tt.n); got != tt.want {
			t.Errorf("clip(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
