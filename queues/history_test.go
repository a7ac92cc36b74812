package queues_test

import (
	"fmt"
	"testing"
	"time"

	"mina-sequencer/queues"
)

// testHistory: what several processes saw is added up, per part of each span, and what is older than a span
// is forgotten.
func testHistory(f *fixture) {
	took := func(ds ...time.Duration) *queues.Sample {
		x := new(queues.Sample)
		for _, d := range ds {
			x.Took(d)
		}
		return x
	}
	first := took(time.Minute, time.Minute, time.Minute, time.Hour)
	first.Accepted, first.Fees, first.Waiting = 7, 100_000_000, 9
	f.ok(f.store.Keep(f.ctx, first))
	second := took(time.Minute)
	second.Failed, second.Retried, second.Waiting, second.Bound = 1, 2, 3, 4
	f.ok(f.store.Keep(f.ctx, second))
	want := queues.Sample{Accepted: 7, Done: 5, Failed: 1, Retried: 2, Fees: 100_000_000, Waiting: 3, Bound: 4}
	for over, step := range queues.Spans {
		all, err := f.store.History(f.ctx, over)
		f.ok(err)
		sum := queues.Sample{}
		for _, x := range all { // two, where a part has just ended
			if x.At.After(f.now()) || f.now().Sub(x.At) > 2*step {
				f.Errorf("of %v a part of %v began at %v", over, step, x.At)
			}
			sum.Accepted, sum.Done = sum.Accepted+x.Accepted, sum.Done+x.Done
			sum.Failed, sum.Retried, sum.Fees = sum.Failed+x.Failed, sum.Retried+x.Retried, sum.Fees+x.Fees
			sum.Waiting, sum.Bound = x.Waiting, x.Bound
		}
		if fmt.Sprintf("%+v", sum) != fmt.Sprintf("%+v", want) {
			f.Errorf("over %v: %+v, want %+v", over, sum, want)
		}
	}
	f.ok(f.client.HSet(f.ctx, f.key("over:60"), "17", "9 9 9 9 9 9 9").Err())
	minute := f.now().Unix() / 60
	f.ok(f.client.HDel(f.ctx, f.key("over:60"), fmt.Sprint(minute-1), fmt.Sprint(minute), fmt.Sprint(minute+1)).Err())
	f.ok(f.store.Keep(f.ctx, second))
	all, err := f.store.History(f.ctx, time.Hour)
	f.ok(err)
	if len(all) != 1 || all[0].Done != 1 {
		f.Errorf("of the last hour there is %+v", all)
	}
}

// TestWithin: the middle of what was counted lies where it should, to the width of the part that it is
// counted in.
func TestWithin(t *testing.T) {
	t.Parallel()
	x := new(queues.Sample)
	if x.Within(0.5) != 0 {
		t.Errorf("of nothing it is %v", x.Within(0.5))
	}
	for i := range 100 {
		x.Took(time.Duration(i+1) * time.Second)
	}
	for part, want := range map[float64]time.Duration{
		0.5: 50 * time.Second, 0.95: 95 * time.Second, 1: 100 * time.Second,
	} {
		if got := x.Within(part); (got - want).Abs() > 20*time.Second {
			t.Errorf("%v of a hundred are done within %v, want about %v", part, got, want)
		}
	}
	x = new(queues.Sample)
	x.Took(30 * 24 * time.Hour)
	if got := x.Within(1); got != 7*24*time.Hour {
		t.Errorf("what took longer than all is said to be within %v", got)
	}
}
