package api

import (
	"encoding/json"
	"testing"
	"time"

	"mina-sequencer/queues"
)

// TestHistory: what a process has told is shown, by the part of each span.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var x queues.Sample
	for range 4 {
		x.Took(3 * time.Minute)
	}
	x.Accepted, x.Failed, x.Retried, x.Fees, x.Waiting, x.Bound = 9, 1, 2, 300_000_000, 12, 3
	if err := s.store.Keep(t.Context(), &x); err != nil {
		t.Fatal(err)
	}
	for over, want := range map[string][2]string{"": {"60", "60"}, "?over=hour": {"60", "60"}, "?over=day": {"900", "96"}, "?over=week": {"7200", "84"}} {
		got := s.ask("GET", "/history"+over, "").want(200).read()
		if got["seconds"] != json.Number(want[0]) || got["parts"] != json.Number(want[1]) {
			t.Errorf("%s: parts of %v, %v of them", over, got["seconds"], got["parts"])
		}
		items, _ := got["items"].([]any)
		if len(items) != 1 {
			t.Fatalf("%s: %v", over, items)
		}
		part, _ := items[0].(map[string]any)
		for name, value := range map[string]any{"accepted": json.Number("9"), "done": json.Number("4"), "failed": json.Number("1"), "retried": json.Number("2"),
			"fees": "300000000", "waiting": json.Number("12"), "bound": json.Number("3")} {
			if part[name] != value {
				t.Errorf("%s: %s is %v, want %v", over, name, part[name], value)
			}
		}
		if ms, _ := part["medianMs"].(json.Number).Int64(); ms != 150_000 { // the middle of those that took from two to three minutes
			t.Errorf("%s: half are done within %d ms", over, ms)
		}
	}
	s.ask("GET", "/history?over=year", "").wantProblem(400, codeBadRequest)
}
