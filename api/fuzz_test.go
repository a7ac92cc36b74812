package api

import (
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"
)

// FuzzKey: a key does the same as a header and as a uid, stands in the
// transaction as it was sent, and only what is one is taken.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"", "a", "A.b_c:d-9", ".", "..", "a b", "é", "\x00", "{x}", "../t:1", "a\r\nb"} {
		f.Add(key)
	}
	valid := regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	s := setup(f, func(o *Options) { o.Log = nil })
	f.Fuzz(func(t *testing.T, key string) {
		s.redis.FlushAll()
		s := s.in(t)
		header := s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{}}`, "Idempotency-Key", key)
		if want := map[bool]int{true: 202, false: 422}[valid.MatchString(key)]; header.Code != want {
			t.Fatalf("key %q: %d %s", key, header.Code, header.Body)
		}
		if header.Code == 202 {
			if got := header.read()["uid"]; got != key {
				t.Errorf("key %q became %q", key, got)
			}
			s.ask("GET", "/transactions/"+key, "").want(200)
		}
		if !utf8.ValidString(key) {
			return // JSON would not carry it
		}
		body, err := json.Marshal(map[string]any{"queue": "q", "type": "ANY", "data": map[string]any{}, "uid": key})
		if err != nil {
			t.Fatal(err)
		}
		if uid := s.ask("POST", "/transactions", string(body)); (uid.Code == 200) != (header.Code == 202) {
			t.Errorf("key %q: %d as a header, then %d as a uid", key, header.Code, uid.Code)
		}
	})
}
