package ledger_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mina-sequencer/ledger"
)

// FuzzParse gives any list under any id. What is taken is a batch that this very
// id belongs to, and is taken again; what is not is named, within its bounds.
func FuzzParse(f *testing.F) {
	v := readVectors(f)
	add := func(list, id string) {
		raw, err := base64.StdEncoding.DecodeString(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, id)
	}
	for _, x := range v.Vectors {
		add(x.BatchList, x.Batches[0].HeaderSignature)
	}
	for _, x := range slices.Concat(v.Refuse, v.Accept) {
		add(x.BatchList, x.BatchID)
	}
	f.Add([]byte{}, "")
	f.Add([]byte{0x0b, 0x0b, 0x0c, 0x0c}, anID)
	f.Fuzz(func(t *testing.T, list []byte, id string) {
		p, faults := ledger.Parse(data(t, list, id, nil), nil)
		if faults == nil {
			if p.BatchID != id || !bytes.Equal(p.BatchList, list) || !bytes.Contains(list, []byte(id)) {
				t.Errorf("took %+v for %q", p, id)
			}
			other := "0" + id[1:]
			if id[0] == '0' {
				other = "1" + id[1:]
			}
			if _, faults := ledger.Parse(data(t, list, other, nil), nil); faults == nil {
				t.Error("took it under another id too")
			}
			if _, faults := ledger.Parse(data(t, slices.Concat(list, list), id, nil), nil); faults == nil {
				t.Error("took it twice in a list")
			}
			return
		}
		if len(faults) > 16 || p.BatchList != nil {
			t.Errorf("%d faults, payload %+v", len(faults), p)
		}
		for _, fault := range faults {
			if !strings.HasPrefix(fault.Field, "data.") || len(fault.Field) > 200 ||
				fault.Message == "" || len(fault.Message) > 1100 {
				t.Errorf("fault %+v", fault)
			}
		}
	})
}

// FuzzData gives any payload.
func FuzzData(f *testing.F) {
	list, id := newBatch().encode()
	f.Add(data(f, list, id, nil))
	f.Add(data(f, list, id, map[string]any{"trace": false, "dataChangeId": "x", "more": []int{1}}))
	f.Add([]byte(`{"ledger":null,"batchId":[],"batchList":"AA==","trace":1}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		p, faults := ledger.Parse(payload, []string{"grid"})
		usable := p.Ledger == "grid" && len(p.BatchID) == 128 && len(p.BatchList) > 0
		if (faults == nil) != usable || len(faults) > 16 {
			t.Errorf("%+v beside %v", p, faults)
		}
	})
}

// FuzzAnswers gives any answer to a post and to a question about two batches.
func FuzzAnswers(f *testing.F) {
	for _, row := range outcomes {
		f.Add(uint16(row.status-200), "7", row.body)
	}
	for _, protocol := range []ledger.Protocol{ledger.Sawtooth, ledger.Splinter} {
		for _, status := range []string{"COMMITTED", "INVALID", "Committed", "Invalid", "VALID", "Unknown"} {
			f.Add(uint16(0), "", answers(protocol,
				says(protocol, idOf(0), status, "[]"), says(protocol, idOf(1), status, "[{}]")))
		}
	}
	type scripted struct {
		status      int
		after, body string
	}
	var next atomic.Pointer[scripted]
	_, at := serve(f, func(w http.ResponseWriter, _ seen) {
		a := next.Load()
		w.Header().Set("Retry-After", a.after)
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
	ledgers := []ledger.Ledger{
		newLedger(f, ledger.Sawtooth, at, ledger.Options{}), newLedger(f, ledger.Splinter, at, ledger.Options{}),
	}
	f.Fuzz(func(t *testing.T, status uint16, after, body string) {
		a := &scripted{200 + int(status%400), after, body}
		next.Store(a)
		for _, l := range ledgers {
			checkAnswer(t, l, a.status, a.body, l.Submit(t.Context(), []byte("batch"), anID))
			ids := idsOf(0, 2)
			got, err := l.Statuses(t.Context(), ids)
			if (err == nil) != (len(got) == len(ids)) || a.status != http.StatusOK && err == nil {
				t.Errorf("%+v: %v, %v", a, got, err)
			}
			var turnedAway *ledger.HeldError
			if errors.As(err, &turnedAway) && (turnedAway.Why == 0 || a.status < 300) {
				t.Errorf("%+v: %v", a, err)
			}
			for id, s := range got {
				if !slices.Contains(ids, id) || !slices.Contains(states, s.State) ||
					s.State != ledger.Invalid && s.Invalid != nil {
					t.Errorf("%+v: %s is %+v", a, id, s)
				}
			}
		}
	})
}

var states = []ledger.State{ledger.Unknown, ledger.Pending, ledger.Valid, ledger.Committed, ledger.Invalid}

// checkAnswer holds what a post came to against the statuses that allow it.
func checkAnswer(t *testing.T, l ledger.Ledger, status int, body string, got ledger.Answer) {
	t.Helper()
	allowed := map[ledger.Outcome][]int{
		ledger.Accepted:     {202},
		ledger.NotProcessed: {429, 408, 503},
		ledger.Rejected:     {400, 413},
		ledger.Held:         {400, 401, 403, 404, 405, 301, 302, 307, 308},
	}[got.Outcome]
	if !l.Idempotent() && got.Outcome == ledger.NotProcessed {
		allowed = []int{429}
	}
	if got.Outcome == ledger.NotWritten || allowed != nil && !slices.Contains(allowed, status) {
		t.Errorf("%d %q: %+v", status, body, got)
	}
	var said struct{ Link string }
	if got.Outcome == ledger.Accepted {
		_ = json.Unmarshal([]byte(body), &said) // no link is an error of its own
		if link, err := url.QueryUnescape(said.Link); err != nil || !strings.Contains(link, anID) {
			t.Errorf("%q names no batch: %+v", body, got)
		}
	}
	if (got.Why != 0) != (got.Outcome == ledger.Held) || got.Wait < 0 || got.Wait > ledger.MaxWait ||
		got.Wait > 0 && got.Outcome != ledger.NotProcessed || len(got.Message) > 1024 || len(got.Code) > 1024 {
		t.Errorf("%d %q: %+v", status, body, got)
	}
	answered := strings.HasPrefix(got.Message, "the ledger answered HTTP "+strconv.Itoa(status))
	lost := strings.HasPrefix(got.Message, "the ledger's answer was lost: ") && got.Outcome == ledger.MayBeProcessed
	if got.Outcome != ledger.Accepted && (answered == lost || answered == (got.Code == "")) {
		t.Errorf("%d %q: %+v", status, body, got)
	}
}
