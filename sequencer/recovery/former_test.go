package recovery

import (
	"context"
	"log/slog"
	"testing"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

func begun(t *testing.T) *Recovery {
	t.Helper()
	store, err := queues.Open(redistest.Mini(t).Client, queues.Options{Namespace: "seq"})
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{
		Store: store, Process: "P", Log: slog.New(slog.DiscardHandler), Open: func() {}, Reread: func() {},
		Driven: func(string) bool { return true }, Heartbeat: func(context.Context) {},
	})
}

// TestJudge: a process goes on if this very Redis was reconciled with it; what held of a
// former one counts for nothing.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		home, joined string
		settled      bool
		want         string
	}{
		"just begun":                     {"", "", true, shutStarting},
		"reconciled with it":             {"now", "", true, ""},
		"reconciled, and not settled":    {"now", "now", false, shutForgotten},
		"reconciled with another":        {"former", "", true, shutForgotten},
		"waited for on it":               {"former", "now", true, ""},
		"waited for on a former one":     {"former", "former", true, shutForgotten},
		"waited for on yet another one":  {"former", "between", true, shutForgotten},
		"just begun, and waited for":     {"", "now", true, ""},
		"just begun, waited for before":  {"", "former", true, shutStarting},
		"waited for, and not settled":    {"former", "now", false, shutForgotten},
		"reconciled, joined another one": {"now", "former", true, ""},
	} {
		r := begun(t)
		r.home, r.joined = c.home, c.joined
		if got := r.judge(queues.Stage{Server: "now", Settled: c.settled}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.want != "" && r.home != c.home {
			t.Errorf("%s: at home on %q", name, r.home)
		}
	}
}

// TestReplacedMeanwhile: who reconciled a Redis that was replaced meanwhile stays shut.
func TestReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	r := begun(t)
	r.home, r.shut, r.stage = "first", shutForgotten, queues.Stage{Server: "third"}
	if r.reconciled(queues.Stage{Server: "second", Settled: true}) || r.Shut() == "" || r.home != "first" {
		t.Errorf("goes on: %q, at home on %q", r.Shut(), r.home)
	}
	r.stage.Server = "second"
	if !r.reconciled(queues.Stage{Server: "second", Settled: true}) || r.Shut() != "" || r.home != "second" {
		t.Errorf("stays shut: %q, at home on %q", r.Shut(), r.home)
	}
}

// TestLateForSettling: only who wrote back before a Redis was settled was waited for.
func TestLateForSettling(t *testing.T) {
	t.Parallel()
	for _, settled := range []bool{true, false} {
		r := begun(t)
		r.home = "former"
		p := queues.Stage{Server: "now", Settled: settled}
		if !r.writtenBack(t.Context(), p) || r.WrittenBack() != "now" {
			t.Fatal("not written back")
		}
		p.Settled = true
		if got, want := r.judge(p), map[bool]string{true: shutForgotten, false: ""}[settled]; got != want {
			t.Errorf("settled before: %t: %q, want %q", settled, got, want)
		}
	}
}

// TestThereAndBack: a Redis that comes back after another was heard lacks what that one
// took, whatever was reconciled with it before.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	first, second := queues.Stage{Server: "first", Settled: true}, queues.Stage{Server: "second"}
	for _, joined := range []string{"", "first"} { // who waited for it with the first knows no more
		r := begun(t)
		r.home, r.joined = "first", joined
		for i, c := range []struct {
			stage queues.Stage
			want  string
		}{{first, ""}, {first, ""}, {second, shutForgotten}, {first, shutForgotten}, {first, shutForgotten}} {
			if got := r.judge(c.stage); got != c.want {
				t.Errorf("joined %q, heartbeat %d: %q, want %q", joined, i+1, got, c.want)
			}
		}
		r.stage = first
		if r.WrittenBack() != "" || !r.reconciled(first) || r.judge(first) != "" {
			t.Errorf("reconciled once more: %q", r.Shut())
		}
	}
}

// TestLacks: a record that lacks what is out is not gone on with, and has it written back
// although this Redis was never another one.
func TestLacks(t *testing.T) {
	t.Parallel()
	r := begun(t)
	r.home, r.back = "now", "now"
	now := queues.Stage{Server: "now", Settled: true}
	before := &tx.Transaction{UID: "u", Phase: tx.PhaseDispatching}
	sent := before.Clone()
	sent.Phase = tx.PhaseSent
	sent.Attempts = []tx.Attempt{{Number: 1, Sender: "S", State: tx.Signed}}
	if r.Stored(before, nil); r.Lacks(before) || r.judge(now) != "" {
		t.Error("nothing is out, and something is lacked")
	}
	if r.Stored(sent, nil); r.Lacks(sent) {
		t.Error("what is there is lacked")
	}
	if !r.Lacks(before) || r.Shut() == "" || r.WrittenBack() != "" || r.judge(now) != shutForgotten {
		t.Errorf("gone on with: %q, written back to %q", r.Shut(), r.WrittenBack())
	}
}
