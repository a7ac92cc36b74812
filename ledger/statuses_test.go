package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/ledger"
)

// idOf is the id of a batch for tests.
func idOf(n int) string { return fmt.Sprintf("%0128x", n) }

func idsOf(from, to int) (ids []string) {
	for n := from; n < to; n++ {
		ids = append(ids, idOf(n))
	}
	return ids
}

// questioned returns the ids that a request asks for.
func questioned(t *testing.T, r seen) (ids []string) {
	t.Helper()
	if r.method == http.MethodPost {
		if err := json.Unmarshal([]byte(r.body), &ids); err != nil {
			t.Error(err)
		}
		return ids
	}
	u, err := url.Parse(r.uri)
	if err != nil {
		t.Error(err)
	}
	if u.Query().Has("wait") {
		t.Error("waited")
	}
	return strings.Split(u.Query().Get("ids"), ",")
}

// answers returns the answer with the entries.
func answers(protocol ledger.Protocol, entries ...string) string {
	list := "[" + strings.Join(entries, ",") + "]"
	if protocol == ledger.Sawtooth {
		return `{"data": ` + list + `}`
	}
	return list
}

// says is an entry as the ledger has it.
func says(protocol ledger.Protocol, id, status, message string) string {
	if protocol == ledger.Sawtooth {
		return fmt.Sprintf(`{"id": %q, "status": %q, "invalid_transactions": %s}`, id, status, message)
	}
	return fmt.Sprintf(`{"id": %q, "status": {"statusType": %q, "message": %s}, "timestamp": {"secs_since_epoch": 1}}`,
		id, status, message)
}

var refused = []ledger.InvalidTransaction{{ID: "t1", Message: "no", ExtendedData: []byte{0, 1, 255}}, {ID: "t2"}}

// statuses are what is said of idOf(1).
var statuses = []struct {
	protocol ledger.Protocol
	entry    string
	want     ledger.Status // no state: an error
}{
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "COMMITTED", "[]"), ledger.Status{State: ledger.Committed}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "PENDING", "[]"), ledger.Status{State: ledger.Pending}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "UNKNOWN", "[]"), ledger.Status{State: ledger.Unknown}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "INVALID",
		`[{"id":"t1","message":"no","extended_data":"AAH/"},{"id":"t2"}]`),
		ledger.Status{State: ledger.Invalid, Invalid: refused}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "INVALID", `[{"id":7},{"id":"t2"},{"extended_data":"!"}]`),
		ledger.Status{State: ledger.Invalid, Invalid: refused[1:]}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "INVALID", "7"), ledger.Status{State: ledger.Invalid}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "INVALID", `{"id":"t1"}`), ledger.Status{State: ledger.Invalid}},
	{ledger.Sawtooth, `{"id": "` + idOf(1) + `", "status": "INVALID"}`, ledger.Status{State: ledger.Invalid}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "VALID", "[]"), ledger.Status{}},
	{ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "committed", "[]"), ledger.Status{}},
	{ledger.Sawtooth, `{"id": "` + idOf(1) + `"}`, ledger.Status{}},
	{ledger.Sawtooth, `{"id": "` + idOf(1) + `", "status": 7}`, ledger.Status{}},
	{ledger.Sawtooth, says(ledger.Splinter, idOf(1), "Committed", "[]"), ledger.Status{}},

	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Committed", `[{"transaction_id":"t1"}]`),
		ledger.Status{State: ledger.Committed}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Valid", `[{"transaction_id":"t1"}]`),
		ledger.Status{State: ledger.Valid}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Pending", "[]"), ledger.Status{State: ledger.Pending}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Unknown", "[]"), ledger.Status{State: ledger.Unknown}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Invalid",
		`[{"transaction_id":"t1","error_message":"no","error_data":[0,1,255]},{"transaction_id":"t2"}]`),
		ledger.Status{State: ledger.Invalid, Invalid: refused}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Invalid",
		`[{"transaction_id":7},{"error_data":[256]},{"transaction_id":"t2"}]`),
		ledger.Status{State: ledger.Invalid, Invalid: refused[1:]}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Invalid", "null"), ledger.Status{State: ledger.Invalid}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "Invalid", `{"transaction_id":"t1"}`),
		ledger.Status{State: ledger.Invalid}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "COMMITTED", "[]"), ledger.Status{}},
	{ledger.Splinter, says(ledger.Splinter, idOf(1), "", "[]"), ledger.Status{}},
	{ledger.Splinter, `{"id": "` + idOf(1) + `"}`, ledger.Status{}},
	{ledger.Splinter, says(ledger.Sawtooth, idOf(1), "COMMITTED", "[]"), ledger.Status{}},
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range statuses {
		// Another entry is there to be spoilt or not.
		other := map[ledger.Protocol]string{ledger.Sawtooth: "PENDING", ledger.Splinter: "Pending"}[tt.protocol]
		_, at := serve(t, func(w http.ResponseWriter, _ seen) {
			_, _ = io.WriteString(w, answers(tt.protocol, says(tt.protocol, idOf(0), other, "[]"), tt.entry))
		})
		got, err := newLedger(t, tt.protocol, at, ledger.Options{}).Statuses(t.Context(), idsOf(0, 2))
		if (err != nil) != (tt.want.State == "") {
			t.Errorf("%s: %v", tt.entry, err)
		}
		if diff := cmp.Diff(tt.want, got[idOf(1)]); diff != "" {
			t.Errorf("%s: %s", tt.entry, diff)
		}
		malformed := err != nil && strings.Contains(err.Error(), "does not have the form")
		if (got[idOf(0)].State == ledger.Pending) == malformed {
			t.Errorf("%s: of another batch: %v, %v", tt.entry, got[idOf(0)], err)
		}
	}
}

// TestBelief gives answers that are not to the question.
func TestBelief(t *testing.T) {
	t.Parallel()
	for _, protocol := range []ledger.Protocol{ledger.Sawtooth, ledger.Splinter} {
		pending := map[ledger.Protocol]string{ledger.Sawtooth: "PENDING", ledger.Splinter: "Pending"}[protocol]
		entry := func(n int) string { return says(protocol, idOf(n), pending, "[]") }
		for name, tt := range map[string]struct {
			answer string
			known  int
			err    string // "": none
		}{
			"in another order": {answers(protocol, entry(1), entry(0)), 2, ""},
			"one too few":      {answers(protocol, entry(1)), 1, "did not answer for " + idOf(0)},
			"none":             {answers(protocol), 0, "did not answer for " + idOf(0)},
			"another":          {answers(protocol, entry(0), entry(2)), 0, "which was not asked"},
			"one too many":     {answers(protocol, entry(0), entry(1), entry(2)), 0, "which was not asked"},
			"one twice": {answers(protocol, entry(0), entry(1), entry(0)), 0,
				"the ledger answered for \"" + idOf(0) + "\" twice"},
			"endless":       {answers(protocol, entry(0), entry(1), entry(0), "7"), 0, "twice"},
			"null":          {answers(protocol, entry(0), "null"), 0, "which was not asked"},
			"cut off":       {answers(protocol, entry(0), entry(1))[:200], 0, "is no JSON"},
			"empty":         {"", 0, "is no JSON"},
			"more after it": {answers(protocol, entry(0), entry(1)) + "{}", 0, "is no JSON"},
			"no array":      {strings.Replace(answers(protocol), "[]", "{}", 1), 0, "no JSON array"},
			"too long":      {answers(protocol, entry(0), entry(1)) + strings.Repeat(" ", 8<<20), 0, "too long"},
		} {
			s, at := serve(t, func(w http.ResponseWriter, _ seen) { _, _ = io.WriteString(w, tt.answer) })
			got, err := newLedger(t, protocol, at, ledger.Options{}).Statuses(t.Context(), []string{idOf(1), idOf(0)})
			if len(got) != tt.known || (err == nil) != (tt.err == "") ||
				err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s, %s: %v, %v", protocol, name, got, err)
			}
			if n := len(s.requests()); n != 1 && name != "too long" {
				t.Errorf("%s, %s: %d requests", protocol, name, n)
			}
		}
	}
}

// TestMany asks for more than one question takes; ids that are none are not asked
// for, and named again in the error.
func TestMany(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[ledger.Protocol][]int{
		ledger.Sawtooth: {2000, 1}, ledger.Splinter: {60, 60, 1},
	} {
		pending := map[ledger.Protocol]string{ledger.Sawtooth: "PENDING", ledger.Splinter: "Pending"}[protocol]
		s, at := serve(t, func(w http.ResponseWriter, r seen) {
			var entries []string
			for _, id := range questioned(t, r) {
				entries = append(entries, says(protocol, id, pending, "[]"))
			}
			_, _ = io.WriteString(w, answers(protocol, entries...))
		})
		l := newLedger(t, protocol, at, ledger.Options{})
		n := 0
		for _, size := range want {
			n += size
		}
		ids := idsOf(0, n)
		got, err := l.Statuses(t.Context(), slices.Concat(ids, ids[:7], []string{strings.ToUpper(anID), "x"}))
		if err == nil || strings.Count(err.Error(), "no batch id") != 2 {
			t.Errorf("%s: %v", protocol, err)
		}
		if !cmp.Equal(slices.Sorted(maps.Keys(got)), ids) {
			t.Errorf("%s: %d statuses", protocol, len(got))
		}
		for _, r := range s.requests() {
			if len(r.uri) > 8000 {
				t.Errorf("%s: the request line is %d long", protocol, len(r.uri))
			}
		}
		if got := sizes(t, s); !cmp.Equal(got, want) {
			t.Errorf("%s: questions of %v, want %v", protocol, got, want)
		}
		if got, err := l.Statuses(t.Context(), nil); len(got) != 0 || err != nil || len(s.requests()) != len(want) {
			t.Errorf("%s: asked for nothing: %v, %v", protocol, got, err)
		}
	}
}

// tooLong is what is said of an answer that is.
const tooLong = "the ledger's answer is too long: more than 8388608 bytes"

// TestLongestAnswer gives the longest answer that is read, and one a byte longer.
func TestLongestAnswer(t *testing.T) {
	t.Parallel()
	for protocol, status := range map[ledger.Protocol]string{ledger.Sawtooth: "PENDING", ledger.Splinter: "Pending"} {
		answer := answers(protocol, says(protocol, anID, status, "[]"))
		for length, want := range map[int]string{8 << 20: "", 8<<20 + 1: "asking for 1 statuses: " + tooLong} {
			_, at := serve(t, func(w http.ResponseWriter, _ seen) {
				_, _ = io.WriteString(w, answer+strings.Repeat(" ", length-len(answer)))
			})
			got, err := newLedger(t, protocol, at, ledger.Options{}).Statuses(t.Context(), []string{anID})
			if (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("%s, %d bytes: %v, want %q", protocol, length, err, want)
			}
			if known := got[anID].State == ledger.Pending; known != (want == "") {
				t.Errorf("%s, %d bytes: %v", protocol, length, got)
			}
		}
	}
}

// TestTooLong has batches whose status is longer than any answer may be: all others
// are known nevertheless, by halving what was asked.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ids       int
		long      []int
		questions []int // how many ids each asks for
	}{
		{60, []int{16}, []int{60, 30, 30, 15, 15, 7, 8, 3, 4, 1, 2, 1, 1}},
		{60, []int{16, 47}, []int{60, 30, 30, 15, 15, 15, 15, 7, 8, 7, 8, 3, 4, 3, 4, 1, 2, 1, 2, 1, 1, 1, 1}},
		{2000, []int{0}, []int{
			2000, 1000, 1000, 500, 500, 250, 250, 125, 125, 62, 63, 31, 31, 15, 16, 7, 8, 3, 4, 1, 2,
		}},
	} {
		ids := idsOf(0, tt.ids)
		s, at := serve(t, func(w http.ResponseWriter, r seen) {
			var entries []string
			for _, id := range questioned(t, r) {
				if slices.ContainsFunc(tt.long, func(n int) bool { return id == ids[n] }) {
					w.Header().Set("Content-Length", "9000000")
					return
				}
				entries = append(entries, says(ledger.Sawtooth, id, "PENDING", "[]"))
			}
			_, _ = io.WriteString(w, answers(ledger.Sawtooth, entries...))
		})
		got, err := newLedger(t, ledger.Sawtooth, at, ledger.Options{}).Statuses(t.Context(), ids)
		want := strings.Repeat("; asking for 1 statuses: "+tooLong, len(tt.long))[2:]
		if err == nil || err.Error() != want || len(got) != tt.ids-len(tt.long) {
			t.Errorf("%v of %d: %d statuses, %v", tt.long, tt.ids, len(got), err)
		}
		if diff := cmp.Diff(tt.questions, sizes(t, s)); diff != "" {
			t.Errorf("%v of %d: %s", tt.long, tt.ids, diff)
		}
	}
	// Where every answer is too long it comes to an end: 64 questions more than the one.
	s, at := serve(t, func(w http.ResponseWriter, _ seen) { w.Header().Set("Content-Length", "9000000") })
	got, err := newLedger(t, ledger.Sawtooth, at, ledger.Options{}).Statuses(t.Context(), idsOf(0, 2000))
	if err == nil || len(got) != 0 || len(s.requests()) != 65 {
		t.Errorf("%v, %v after %d questions", got, err, len(s.requests()))
	}
}

// TestOneQuestionFails: what fails with some ids, however it does, keeps no others from
// being asked for.
func TestOneQuestionFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(http.ResponseWriter){
		"refused": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"lost":    func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut off": func(w http.ResponseWriter) { w.Header().Set("Content-Length", "9") },
	} {
		for _, bad := range []int{0, 60, 120} {
			s, at := serve(t, func(w http.ResponseWriter, r seen) {
				ids := questioned(t, r)
				if slices.Contains(ids, idOf(bad)) {
					fail(w)
					return
				}
				_, _ = io.WriteString(w, pendingAll(ids))
			})
			got, err := newLedger(t, ledger.Splinter, at, ledger.Options{}).Statuses(t.Context(), idsOf(0, 180))
			if err == nil || !strings.HasPrefix(err.Error(), "asking for 60 statuses: ") ||
				strings.Count(err.Error(), "asking for") != 1 {
				t.Errorf("%s: %v", name, err)
			}
			want := slices.Concat(idsOf(0, bad), idsOf(bad+60, 180))
			if !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("%s, %d: %d statuses after %d questions", name, bad, len(got), len(s.requests()))
			}
		}
	}
}

// pendingAll is the answer of a Scabbard to which all is pending.
func pendingAll(ids []string) string {
	var entries []string
	for _, id := range ids {
		entries = append(entries, says(ledger.Splinter, id, "Pending", "[]"))
	}
	return answers(ledger.Splinter, entries...)
}

// sizes are how many ids each question asked for.
func sizes(t *testing.T, s *recorder) (n []int) {
	t.Helper()
	for _, r := range s.requests() {
		n = append(n, len(questioned(t, r)))
	}
	return n
}

// TestStatusErrors shows whole errors: what is wrong stands there in the order of
// the ids, and before it what kept a question from being answered.
func TestStatusErrors(t *testing.T) {
	t.Parallel()
	const none = " is no batch id of 128 lower-case hex digits"
	ids := func(n ...int) (ids []string) {
		for _, n := range n {
			ids = append(ids, idOf(n))
		}
		return ids
	}
	for _, tt := range []struct {
		protocol ledger.Protocol
		ids      []string
		status   int
		answer   string
		want     string
	}{
		{ledger.Sawtooth, append(ids(2, 0, 1), "y", "x", "x"), 200,
			answers(ledger.Sawtooth, says(ledger.Sawtooth, idOf(1), "COMMITTED", "[]")),
			`asking for statuses: "x"` + none + `; asking for statuses: "y"` + none +
				"; reading 3 statuses: the ledger did not answer for " + idOf(0) +
				"; the ledger did not answer for " + idOf(2)},
		{ledger.Sawtooth, append(ids(1, 2), strings.Repeat("x", 141)), 418, "",
			"asking for 2 statuses: the ledger answered HTTP 418 I'm a teapot; " +
				`asking for statuses: "` + strings.Repeat("x", 140) + `"` + none},
		{ledger.Sawtooth, ids(1, 2), 200, answers(ledger.Sawtooth,
			says(ledger.Sawtooth, idOf(2), strings.Repeat("x", 41), "[]"),
			says(ledger.Sawtooth, idOf(1), "VALID", "[]")),
			"reading 2 statuses: batch " + idOf(1) + `: there is no status "VALID"; batch ` + idOf(2) +
				`: there is no status "` + strings.Repeat("x", 40) + `"`},
		{ledger.Splinter, ids(1, 2), 200, answers(ledger.Splinter,
			says(ledger.Splinter, idOf(2), strings.Repeat("x", 41), "[]"),
			says(ledger.Splinter, idOf(1), "VALID", "[]")),
			"reading 2 statuses: batch " + idOf(1) + `: there is no status "VALID"; batch ` + idOf(2) +
				`: there is no status "` + strings.Repeat("x", 40) + `"`},
		{ledger.Sawtooth, ids(1), 200, answers(ledger.Sawtooth, says(ledger.Sawtooth, "z", "PENDING", "[]")),
			`reading 1 statuses: the ledger answered for "z", which was not asked`},
		{ledger.Sawtooth, ids(1), 200, "[]", "reading 1 statuses: the ledger's answer is no JSON object"},
		{ledger.Splinter, ids(1), 200, "[", "reading 1 statuses: the ledger's answer is no JSON"},
		{ledger.Sawtooth, ids(1), 200, `{"data": {"id": 1}}`, "reading 1 statuses: " +
			"the ledger's answer does not have the form of statuses: it holds no JSON array"},
		{ledger.Splinter, ids(1), 200, `{"id": 1}`, "reading 1 statuses: " +
			"the ledger's answer does not have the form of statuses: it holds no JSON array"},
		// This is no answer to a question, although a post would be accepted by it.
		{ledger.Sawtooth, ids(1), 202, `{"link": "/batch_statuses?id="}`,
			"asking for 1 statuses: the ledger answered HTTP 202 Accepted"},
		{ledger.Splinter, ids(1), 202, `{"link": "/batch_statuses?ids="}`,
			"asking for 1 statuses: the ledger answered HTTP 202 Accepted"},
		{ledger.Splinter, ids(1), 404, `{"message": "Service not found"}`,
			"asking for 1 statuses: the ledger answered HTTP 404 Not Found: Service not found"},
	} {
		_, at := serve(t, func(w http.ResponseWriter, _ seen) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.answer)
		})
		_, err := newLedger(t, tt.protocol, at, ledger.Options{}).Statuses(t.Context(), tt.ids)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s %s: %v, want %s", tt.protocol, tt.answer, err, tt.want)
		}
	}
}

// TestErrorsBounded names ids that are none until their errors hold 4 KiB, without
// what joins them: the last that fits is there, one byte more is left out.
func TestErrorsBounded(t *testing.T) {
	t.Parallel()
	l := newLedger(t, ledger.Sawtooth, "http://h", ledger.Options{})
	said := func(ids ...string) string {
		_, err := l.Statuses(t.Context(), ids)
		if err == nil {
			t.Fatal("no error")
		}
		return err.Error()
	}
	var ids []string
	for n := range 19 {
		ids = append(ids, fmt.Sprintf("%0140d", n))
	}
	before, last := said(ids...), said("x")
	room := 4096 - len(before) - len(last)
	if room < 0 || room > 139 {
		t.Fatalf("%d bytes are left", room)
	}
	fits := strings.Repeat("x", 1+room)
	if got := said(append(ids, fits)...); got != before+"; "+said(fits) {
		t.Errorf("it fits: %s", got)
	}
	if got := said(append(ids, fits+"x")...); got != before {
		t.Errorf("it does not: %s", got)
	}
}

// TestLongTexts shows how much is kept of what is said of refused transactions.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1025)
	numbers := strings.TrimSuffix(strings.Repeat("7,", 9000), ",")
	for protocol, one := range map[ledger.Protocol]string{
		ledger.Sawtooth: `{"id": "` + long + `", "message": "` + long + `", "extended_data": "` +
			strings.Repeat("AAAA", 3000) + `"}`,
		ledger.Splinter: `{"transaction_id": "` + long + `", "error_message": "` + long + `", "error_data": [` +
			numbers + `]}`,
	} {
		status := map[ledger.Protocol]string{ledger.Sawtooth: "INVALID", ledger.Splinter: "Invalid"}[protocol]
		_, at := serve(t, func(w http.ResponseWriter, _ seen) {
			all := strings.TrimSuffix(strings.Repeat(one+",", 20), ",")
			_, _ = io.WriteString(w, answers(protocol, says(protocol, anID, status, "["+all+"]")))
		})
		got, err := newLedger(t, protocol, at, ledger.Options{}).Statuses(t.Context(), []string{anID})
		if err != nil || len(got[anID].Invalid) != 16 {
			t.Fatalf("%s: %d transactions, %v", protocol, len(got[anID].Invalid), err)
		}
		for _, x := range got[anID].Invalid {
			if len(x.ID) != 128 || len(x.Message) != 1024 ||
				len(x.ExtendedData) != 8<<10 || cap(x.ExtendedData) > 8<<10 {
				t.Errorf("%s: %d, %d, %d bytes", protocol, len(x.ID), len(x.Message), len(x.ExtendedData))
			}
		}
	}
}

// TestLongestData keeps 8 KiB of what is said of a transaction, and as much of more.
func TestLongestData(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8<<10 - 1, 8 << 10, 8<<10 + 1} {
		given := make([]byte, n)
		given[min(n, 8<<10)-1] = 7
		encoded, err := json.Marshal([]any{map[string]any{
			"id": strings.Repeat("x", 129), "message": strings.Repeat("y", 1024), "extended_data": given,
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, at := serve(t, func(w http.ResponseWriter, _ seen) {
			_, _ = io.WriteString(w, answers(ledger.Sawtooth, says(ledger.Sawtooth, anID, "INVALID", string(encoded))))
		})
		got, err := newLedger(t, ledger.Sawtooth, at, ledger.Options{}).Statuses(t.Context(), []string{anID})
		want := ledger.Status{State: ledger.Invalid, Invalid: []ledger.InvalidTransaction{{
			ID: strings.Repeat("x", 128), Message: strings.Repeat("y", 1024), ExtendedData: given[:min(n, 8<<10)],
		}}}
		if diff := cmp.Diff(want, got[anID]); diff != "" || err != nil {
			t.Errorf("%d bytes: %v %s", n, err, diff)
		}
	}
}

// TestStatusRefused answers questions with all that is no answer.
func TestStatusRefused(t *testing.T) {
	t.Parallel()
	for _, protocol := range []ledger.Protocol{ledger.Sawtooth, ledger.Splinter} {
		for _, row := range outcomes {
			if row.protocol != "" && row.protocol != protocol || row.status == http.StatusOK {
				continue
			}
			s, at := serve(t, func(w http.ResponseWriter, _ seen) {
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			got, err := newLedger(t, protocol, at, ledger.Options{}).Statuses(t.Context(), idsOf(0, 61))
			var turnedAway *ledger.HeldError
			if len(got) != 0 || err == nil || errors.As(err, &turnedAway) != (row.want.Outcome == ledger.Held) {
				t.Errorf("%s %d %s: %v, %v", protocol, row.status, row.body, got, err)
			}
			if turnedAway != nil && turnedAway.Why != row.want.Why {
				t.Errorf("%s %d %s: %v", protocol, row.status, row.body, turnedAway.Why)
			}
			want := 1
			if protocol == ledger.Splinter && row.want.Outcome != ledger.Held && row.want.Outcome != ledger.NotProcessed {
				want = 2 // it may be for these ids only
			}
			if n := len(s.requests()); n != want {
				t.Errorf("%s %d %s: %d requests, want %d", protocol, row.status, row.body, n, want)
			}
		}
	}
	const unreached = "asking for 1 statuses: the ledger was not reached, nothing was sent: "
	nobody := newLedger(t, ledger.Sawtooth, "http://127.0.0.1:1", ledger.Options{})
	if got, err := nobody.Statuses(t.Context(), idsOf(0, 1)); len(got) != 0 || err == nil ||
		!strings.HasPrefix(err.Error(), unreached) {
		t.Errorf("nobody answered %v, %v", got, err)
	}
	var none []string
	for n := range 1000 {
		none = append(none, fmt.Sprint(n))
	}
	if _, err := nobody.Statuses(t.Context(), none); err == nil || len(err.Error()) > 4096 {
		t.Errorf("ids that are none: %.200v", err)
	}
	// They do not hide that nobody answered.
	_, err := nobody.Statuses(t.Context(), append(none, anID))
	if err == nil || !strings.HasPrefix(err.Error(), unreached) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("ids that are none, and one: %.200v", err)
	}
}
