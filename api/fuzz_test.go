package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
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
		if want := map[bool]int{true: 202, false: 422}[valid.MatchString(key) && key != "." && key != ".."]; header.Code != want {
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

// FuzzTerms: whatever is accepted can be read again, as it was answered.
func FuzzTerms(f *testing.F) {
	for _, terms := range [][3]string{
		{`"2030-01-01T00:00:00Z"`, `"2031-01-01T00:00:00.123456789+14:00"`, `"18446744073709551615"`},
		{`"1970-01-01T00:00:00+01:00"`, `null`, `null`},
		{`null`, `"1970-01-01T00:00:00Z"`, `"1"`},
		{`null`, `"1970-01-01T00:00:00.0009Z"`, `"1"`},
		{`"1970-01-01T00:00:00.001Z"`, `"9999-12-31T23:59:59-05:00"`, `null`},
		{`"2030-01-01T0:00:00Z"`, `"2030-01-01T00:00:00,5Z"`, `null`},
		{`"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.999999999Z"`, `"0"`},
	} {
		f.Add(terms[0], terms[1], terms[2])
	}
	s := setup(f, func(o *Options) { o.Log = nil })
	f.Fuzz(func(t *testing.T, begins, expires, maxFee string) {
		s.redis.FlushAll()
		s := s.in(t)
		r := s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u","notBefore":`+begins+`,"expiresAt":`+expires+`,"maxFee":`+maxFee+`}`)
		if r.Code != 202 {
			return
		}
		if diff := cmp.Diff(r.read(), s.ask("GET", "/transactions/u", "").want(200).read()); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzEventID: only what we have sent as the id of an event is taken for one, it
// leads back to where it came from, and all else is refused with a reason.
func FuzzEventID(f *testing.F) {
	for _, id := range []string{
		"", "1-0", "1-4", "1-7", "1-10", "1-11", "7-7", "01-7", "1-07", "-7", "1-", "1--7", "1-+7", "1-2-7", "1-7 ", "a-7", "1-7\n", "-",
		"1-9223372036854775807", "1-9223372036854775808", strings.Repeat("1", 62) + "-7", strings.Repeat("1", 63) + "-7",
	} {
		f.Add(id)
	}
	form := regexp.MustCompile(`^[0-9]+-(0|[1-9][0-9]*)$`)
	log := queues.LogPart{Epoch: "1", First: 5, Last: 10}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodGet, "/events", nil)
		r.Header.Set("Last-Event-ID", text)
		_, number, _ := strings.Cut(text, "-")
		n, tooLarge := strconv.ParseInt(number, 10, 64)
		valid := form.MatchString(text) && tooLarge == nil && len(text) <= 64
		id, err := lastEventID(r)
		switch {
		case text == "":
			if id != nil || err != nil {
				t.Errorf("no id: %v, %v", id, err)
			}
			return
		case valid != (err == nil):
			t.Fatalf("%q: %v", text, err)
		case !valid:
			refused(t, err, http.StatusBadRequest)
			return
		case string(appendID(nil, id.epoch, id.number)) != text:
			t.Errorf("%q became %+v", text, id)
		}
		switch err := id.in(log); {
		case id.epoch != log.Epoch, n < log.First-1, n > log.Last:
			refused(t, err, http.StatusGone)
		case err != nil:
			t.Errorf("%q: %v", text, err)
		}
	})
}

func refused(t *testing.T, err error, status int) {
	t.Helper()
	if p, ok := errors.AsType[*problem](err); !ok || p.Status != status || p.Detail == "" {
		t.Errorf("want %d, got %v", status, err)
	}
}
