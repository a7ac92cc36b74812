package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// A doer does what it is asked to any number at once, and notes it.
type doer struct {
	control
	mu    sync.Mutex
	uids  []string
	fails func(uid string) error
}

func (d *doer) Cancel(_ context.Context, uid string) (*tx.Transaction, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uids = append(d.uids, uid)
	if d.fails != nil {
		return nil, false, d.fails(uid)
	}
	return nil, false, nil
}

func (d *doer) Retry(ctx context.Context, uid string) (*tx.Transaction, error) {
	t, _, err := d.Cancel(ctx, uid)
	return t, err
}

func (d *doer) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	uids := d.uids
	d.uids = nil
	slices.Sort(uids)
	return uids
}

func setupBulk(t *testing.T, change ...func(*Options)) (*service, *doer) {
	t.Helper()
	d := new(doer)
	return setup(t, append(change, func(o *Options) { o.Control = d })...), d
}

// all follows a bulk command to its end and returns the sums of its steps.
func (s *service) all(command, filter string, dry bool) (steps int, sum map[string]int) {
	s.Helper()
	sum = map[string]int{}
	for cursor := "null"; ; {
		body := fmt.Sprintf(`{"filter":%s,"dryRun":%t,"cursor":%s}`, filter, dry, cursor)
		got := s.ask("POST", "/transactions/"+command, body).want(200).read()
		steps++
		for name, v := range got {
			if n, ok := v.(json.Number); ok {
				i, _ := n.Int64()
				sum[name] += int(i)
			}
		}
		for code, v := range got["refusals"].(map[string]any) {
			i, _ := v.(json.Number).Int64()
			sum[code] += int(i)
		}
		next, more := got["nextCursor"].(string)
		if !more {
			return steps, sum
		}
		cursor = `"` + next + `"`
	}
}

// TestBulkDelete: what is final is removed, and what may still land is not.
func TestBulkDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"failed", "done", "final", "open", "waits"} {
		post(s, "q-"+uid, uid)
	}
	s.finish(tx.PhaseFailed, func(c *queues.Change) { c.After.Error = &tx.Error{Code: "X"} })
	s.finish(tx.PhaseDone, func(c *queues.Change) { c.Keep = true })
	s.finish(tx.PhaseDone, func(c *queues.Change) { c.After.FinalAt = c.Now })
	s.finish(tx.PhaseUnresolved, func(c *queues.Change) {
		c.Keep, c.After.Attempts = true, []tx.Attempt{{Number: 1, Sender: "B62x", State: tx.Sent}}
	})
	all := `{"prefix":"q-"}`
	if _, sum := s.all("delete", all, true); sum["matched"] != 3 || sum["done"] != 0 {
		t.Errorf("to be deleted: %v", sum)
	}
	if _, sum := s.all("delete", all, false); sum["done"] != 2 || sum["MIGHT_STILL_LAND"] != 1 {
		t.Errorf("deleted: %v", sum)
	}
	for uid, status := range map[string]int{"failed": 404, "done": 200, "final": 404, "open": 200, "waits": 200} {
		s.ask("GET", "/transactions/"+uid, "").want(status)
	}
}

// TestBulk: a bulk command is for what the filter chooses and nothing else, and a
// dry run only counts.
func TestBulk(t *testing.T) {
	t.Parallel()
	s, d := setupBulk(t)
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []string{"q:failed", "q:a", "p:b", "q:c"} {
		queue, _, _ := strings.Cut(uid, ":")
		s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":%q,"type":"ANY","data":{},"uid":%q}`, queue, uid)).want(202)
	}
	s.ask("POST", "/transactions", `{"queue":"q","type":"STRICT","data":{"a":1,"b":2},"uid":"q:strict"}`).want(202)
	s.finish(tx.PhaseFailed, func(c *queues.Change) {
		c.After.Error = &tx.Error{Code: "X", Message: "m"}
		c.After.DoneAt = c.Now
	})
	refuse := func(uid string) error {
		switch uid {
		case "q:a":
			return tx.ErrMightStillLand
		case "q:c":
			return fmt.Errorf("gone: %w", queues.ErrNotFound)
		case "q:strict":
			return errors.New("a fault of ours")
		}
		return nil
	}
	for _, test := range []struct {
		command, filter string
		fails           func(string) error
		want            []string
		sum             map[string]int
	}{
		{"cancel", `{"queue":"q"}`, nil, []string{"q:a", "q:c", "q:strict"}, map[string]int{"matched": 3, "done": 3, "refused": 0}},
		{"cancel", `{"type":"ANY"}`, nil, []string{"p:b", "q:a", "q:c"}, map[string]int{"matched": 3, "done": 3, "refused": 0}},
		{"cancel", `{"state":"WAITING","type":"ANY","queue":"p"}`, nil, []string{"p:b"}, map[string]int{"matched": 1, "done": 1, "refused": 0}},
		{"cancel", `{"state":"FAILED"}`, nil, nil, map[string]int{"matched": 0, "done": 0, "refused": 0}},
		{"cancel", `{"queue":"none"}`, nil, nil, map[string]int{"matched": 0, "done": 0, "refused": 0}},
		{"retry", `{"queue":"q"}`, nil, []string{"q:failed"}, map[string]int{"matched": 1, "done": 1, "refused": 0}},
		{"retry", `{"error":"X"}`, nil, []string{"q:failed"}, map[string]int{"matched": 1, "done": 1, "refused": 0}},
		{"retry", `{"error":"Y"}`, nil, nil, map[string]int{"matched": 0, "done": 0, "refused": 0}},
		{"retry", `{"since":"2999-01-01T00:00:00Z"}`, nil, nil, map[string]int{"matched": 0, "done": 0, "refused": 0}},
		{"retry", `{"until":"2999-01-01T00:00:00Z"}`, nil, []string{"q:failed"}, map[string]int{"matched": 1, "done": 1, "refused": 0}},
		{"retry", `{"sender":"B62y"}`, nil, nil, map[string]int{"matched": 0, "done": 0, "refused": 0}},
		{"cancel", `{"queue":"q"}`, refuse, []string{"q:a", "q:c", "q:strict"},
			map[string]int{"matched": 2, "done": 0, "refused": 2, "MIGHT_STILL_LAND": 1, "STORE_UNAVAILABLE": 1}},
	} {
		d.fails = test.fails
		if _, sum := s.all(test.command, test.filter, true); sum["matched"] != len(test.want) || sum["done"] != 0 || d.take() != nil {
			t.Errorf("dry %s %s: %v", test.command, test.filter, sum)
		}
		_, sum := s.all(test.command, test.filter, false)
		if diff := cmp.Diff(test.want, d.take()); diff != "" {
			t.Errorf("%s %s: %s", test.command, test.filter, diff)
		}
		if diff := cmp.Diff(test.sum, sum); diff != "" {
			t.Errorf("%s %s: %s", test.command, test.filter, diff)
		}
	}
	for query, status := range map[string]int{"?dryRun=true": 200, "?dryRun=yes": 400} {
		s.ask("POST", "/transactions/cancel"+query, `{"filter":{"queue":"q"}}`).want(status)
		if did := d.take(); did != nil {
			t.Errorf("%s: %v", query, did)
		}
	}
	if log := s.log.String(); !strings.Contains(log, "a fault of ours") {
		t.Errorf("the fault is not in the log: %s", log)
	}
}

// TestBulkInSteps: one request does no more than it may, and the cursor leads to
// the end, each transaction once. On a real Redis: so many rows in one that runs
// its scripts in Go take longer than a call may, under -race.
func TestBulkInSteps(t *testing.T) {
	t.Parallel()
	d := new(doer)
	s := setupOn(t, redistest.Start(t).Client, "t", func(o *Options) { o.Control = d })
	const n = 12_345
	items := make([]queues.Item, 0, queues.MaxBatch)
	for i := range n {
		items = append(items, queues.Item{UID: fmt.Sprint("u", i), Queue: fmt.Sprint("q", i%10), Type: "ANY", Data: []byte("{}")})
		if len(items) == cap(items) || i == n-1 {
			for _, r := range s.store.EnqueueBatch(t.Context(), items) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			items = items[:0]
		}
	}
	got := s.ask("POST", "/transactions/cancel", `{"filter":{"type":"ANY"}}`).want(200).read()
	matched, _ := got["matched"].(json.Number).Int64()
	if matched == 0 || matched > bulkMost || got["nextCursor"] == nil {
		t.Errorf("the first request matched %d of %d, cursor %v", matched, n, got["nextCursor"])
	}
	d.take()
	steps, sum := s.all("cancel", `{"type":"ANY"}`, false)
	if uids := d.take(); steps < 2 || len(slices.Compact(uids)) != n || len(uids) != n || sum["done"] != n {
		t.Errorf("%d steps did %d, %d of them once: %v", steps, len(uids), len(slices.Compact(uids)), sum)
	}
	if _, sum := s.all("cancel", `{"type":"STRICT"}`, false); sum["matched"] != 0 || d.take() != nil {
		t.Errorf("of another type: %v", sum)
	}
}

// TestBulkStoreFails: what was done is told, and the cursor repeats what was not.
func TestBulkStoreFails(t *testing.T) {
	t.Parallel()
	for _, err := range []error{queues.ErrUnavailable, queues.ErrUnsettled} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			s, d := setupBulk(t)
			items := make([]queues.Item, queues.MaxBatch)
			for batch := range 3 {
				for i := range items {
					items[i] = queues.Item{UID: fmt.Sprint("u", batch, "-", i), Queue: fmt.Sprint("q", batch), Type: "ANY", Data: []byte("{}")}
				}
				s.store.EnqueueBatch(t.Context(), items)
			}
			away := func(uid string) error {
				if strings.HasPrefix(uid, "u1-") {
					return fmt.Errorf("advance: %w", err)
				}
				return nil
			}
			d.fails = away
			got := s.ask("POST", "/transactions/cancel", `{"filter":{"state":"WAITING"}}`).want(200).read()
			if got["done"] != json.Number(fmt.Sprint(mostPage)) || got["nextCursor"] == nil {
				t.Fatalf("answered %v", got)
			}
			next := fmt.Sprintf(`{"filter":{"state":"WAITING"},"cursor":%q}`, got["nextCursor"])
			s.ask("POST", "/transactions/cancel", next).wantProblem(503, "STORE_UNAVAILABLE")
			d.fails = nil
			got = s.ask("POST", "/transactions/cancel", next).want(200).read()
			if got["done"] != json.Number(fmt.Sprint(2*mostPage)) || got["nextCursor"] != nil {
				t.Errorf("answered %v", got)
			}

		})
	}
}

func TestBulkRefused(t *testing.T) {
	t.Parallel()
	s, d := setupBulk(t)
	for _, test := range []struct {
		body   string
		status int
		code   string
		fields []string
	}{
		{``, 400, "BAD_REQUEST", nil},
		{`[]`, 400, "BAD_REQUEST", nil},
		{`{}`, 422, "INVALID_DATA", []string{"filter"}},
		{`{"filter":null}`, 422, "INVALID_DATA", []string{"filter"}},
		{`{"filter":"q"}`, 422, "INVALID_DATA", []string{"filter"}},
		{`{"filter":{}}`, 422, "INVALID_DATA", []string{"filter"}},
		{`{"filter":{"queue":null}}`, 422, "INVALID_DATA", []string{"filter"}},
		{`{"filter":{"queue":""}}`, 422, "INVALID_DATA", []string{"filter.queue"}},
		{`{"filter":{"quue":"q"}}`, 422, "INVALID_DATA", []string{"filter.quue"}},
		{`{"filter":{"queue":"q","queue":"p"}}`, 422, "INVALID_DATA", []string{"filter.queue"}},
		{`{"filter":{"queue":"/"}}`, 422, "INVALID_DATA", []string{"filter.queue"}},
		{`{"filter":{"state":"GONE"}}`, 422, "INVALID_DATA", []string{"filter.state"}},
		{`{"filter":{"sender":"x"}}`, 422, "INVALID_DATA", []string{"filter.sender"}},
		{`{"filter":{"type":"a b"}}`, 422, "INVALID_DATA", []string{"filter.type"}},
		{`{"filter":{"queue":1}}`, 422, "INVALID_DATA", []string{"filter.queue"}},
		{`{"filter":{"queue":"q"},"dryRun":"yes"}`, 422, "INVALID_DATA", []string{"dryRun"}},
		{`{"filter":{"queue":"q"},"dryrun":true}`, 422, "INVALID_DATA", []string{"dryrun"}},
		{`{"filter":{"queue":"q"},"cursor":"x"}`, 400, "BAD_CURSOR", nil},
		{`{"filter":{"queue":"q"},"cursor":"` + strings.Repeat("x", 300) + `"}`, 400, "BAD_CURSOR", nil},
	} {
		for _, command := range []string{"cancel", "retry"} {
			p := s.ask("POST", "/transactions/"+command, test.body).wantProblem(test.status, test.code)
			if diff := cmp.Diff(test.fields, fields(p)); diff != "" {
				t.Errorf("%s %s: %s", command, test.body, diff)
			}
		}
	}
	if d.take() != nil {
		t.Error("something was done")
	}
}
