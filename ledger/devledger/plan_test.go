package devledger_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/ledger/devledger"
)

// fault posts a batch to both kinds of ledgers while a fault happens.
func fault(t *testing.T, f Fault, test func(r *rig, b Made)) {
	t.Helper()
	t.Run("sawtooth", func(t *testing.T) {
		onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) { s.Fail(f); test(r, batch("a")) })
	})
	t.Run("scabbard", func(t *testing.T) {
		onScabbard(t, SplinterConfig{}, func(r *rig, n *Splinter) { n.Fail(f); test(r, batch("a")) })
	})
}

func TestFaultsOfPosts(t *testing.T) {
	minute := time.Minute
	tests := []struct {
		name      string
		fault     Fault
		ok        func(reply) bool
		after     time.Duration // the answer
		processed bool
	}{
		{"the answer is lost", Fault{Answer: Cut}, reply.cut, 0, true},
		{"the request is lost", Fault{Answer: Cut, Drop: true}, reply.cut, 0, false},
		{"it hangs after processing", Fault{Answer: Hang}, reply.gaveUp, minute, true},
		{"it hangs before", Fault{Answer: Hang, Drop: true}, reply.gaveUp, minute, false},
		{"it is slow", Fault{Wait: 20 * time.Second}, is(202, 0), 20 * time.Second, true},
		{"it is processed late", Fault{Delay: 20 * time.Second}, is(202, 0), 20 * time.Second, true},
		{"it is processed when its client is gone", Fault{Delay: 2 * minute}, reply.gaveUp, minute, true},
		{"a proxy gives up before it is processed", Fault{Delay: 2 * minute, Status: 504, Wait: 9 * time.Second},
			is(504, 0), 9 * time.Second, true},
		{"503 before", Fault{Drop: true, Status: 503, Code: 17}, is(503, 17), 0, false},
		{"503 after", Fault{Status: 503, Code: 18}, is(503, 18), 0, true},
		{"queue full", Fault{Drop: true, Status: 429, Code: 31}, is(429, 31), 0, false},
		{"refused", Fault{Drop: true, Status: 401}, is(401, 0), 0, false},
		{"any body", Fault{Status: 200, Body: "<p>"}, func(a reply) bool {
			return a.status == 200 && a.body == "<p>" && a.header.Get("Content-Type") == "text/html"
		}, 0, true},
		{"a long answer", Fault{Answer: Long}, func(a reply) bool { return len(a.body) > 64<<20 }, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fault(t, tt.fault, func(r *rig, b Made) {
				before := time.Now()
				a := r.postFor(minute, b)
				if took := time.Since(before); !tt.ok(a) || took != tt.after {
					r.Errorf("%v after %v", a, took)
				}
				if done := r.statuses(b) != "UNKNOWN" && r.statuses(b) != "Unknown"; done && tt.fault.Delay > minute {
					r.Error("processed already")
				}
				<-time.After(time.Hour)
				if tt.processed {
					r.effects(b)
				} else {
					r.effects()
				}
			})
		})
	}
}

// is checks a status and, where the ledger has one, a code.
func is(status, code int) func(reply) bool {
	return func(a reply) bool { return a.status == status && (a.code() == code || a.code() == 0) }
}

func TestFaultsOfStatusCalls(t *testing.T) {
	unknown := func(a reply) bool { return strings.Contains(strings.ToUpper(a.body), `"UNKNOWN"`) }
	for name, tt := range map[string]struct {
		fault Fault
		ok    func(reply) bool
	}{
		"cut":                  {Fault{Answer: Cut}, reply.cut},
		"a proxy":              {Fault{Status: 502}, is(502, 0)},
		"slow":                 {Fault{Wait: time.Minute}, is(200, 0)},
		"a lost connection":    {Fault{Status: 503, Code: 18}, is(503, 18)},
		"no statuses":          {Fault{Status: 500, Code: 27}, is(500, 27)},
		"by another validator": {Fault{Answer: Unknown}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			tt.fault.On = Status
			fault(t, tt.fault, func(r *rig, b Made) {
				r.mustPost(b)
				<-time.After(10 * time.Second)
				target := r.path + "/batch_statuses?id=" + b.ID + "&ids=" + b.ID
				before := time.Now()
				if a := r.get(target, nil); !tt.ok(a) || time.Since(before) != tt.fault.Wait {
					r.Errorf("%v after %v", a, time.Since(before))
				}
				if a := r.get(target, nil); !strings.Contains(strings.ToUpper(a.body), `"COMMITTED"`) {
					r.Errorf("the next call: %v", a)
				}
			})
		})
	}
}

func TestFatesAreOfABatch(t *testing.T) {
	fault(t, Fault{Fate: Invalid, Message: "no", Data: []byte("why")}, func(r *rig, b Made) {
		r.mustPost(b)
		<-time.After(10 * time.Second)
		if got := strings.ToUpper(r.statuses(b)); got != "INVALID" {
			r.Error(got)
		}
		r.effects()
	})
}

func TestReleaseAndHealLetGoOfWhatHangs(t *testing.T) {
	for name, free := range map[string]func(Ledger){"release": Ledger.Release, "heal": Ledger.Heal} {
		t.Run(name, func(t *testing.T) {
			fault(t, Fault{Answer: Hang, Times: -1}, func(r *rig, b Made) {
				got := make(chan reply)
				go func() { got <- r.post(b) }()
				<-time.After(time.Second)
				free(r.Ledger)
				if a := <-got; !a.cut() {
					r.Errorf("%v", a)
				}
				if left := len(r.State().Faults); (left == 0) != (name == "heal") {
					r.Errorf("%d faults are left", left)
				}
			})
		})
	}
}

func TestCloseBreaksOffWhatWaits(t *testing.T) {
	fault(t, Fault{Delay: time.Hour}, func(r *rig, b Made) {
		got := make(chan reply)
		go func() { got <- r.post(b) }()
		<-time.After(time.Second)
		r.Close()
		if a := <-got; !a.cut() {
			r.Errorf("%v", a)
		}
		if a := r.post(b); !a.cut() {
			r.Errorf("after Close: %v", a)
		}
		<-time.After(2 * time.Hour)
		r.effects()
	})
}

func TestFaultsAreUsedUpInTheirOrder(t *testing.T) {
	t.Parallel()
	b := batches(2)
	plan := Script(
		Fault{Batch: b[1].ID, Status: 500},
		Fault{Status: 501, Times: 2},
		Fault{On: Status, Status: 502, Times: -1},
	)
	var got []int
	for _, c := range []Call{
		{On: Post, Batches: []string{b[0].ID}}, {On: Post, Batches: []string{b[0].ID, b[1].ID}}, {On: Status},
		{On: Post, Batches: []string{b[1].ID}}, {On: Post}, {On: Status},
	} {
		if f := plan(c); f != nil {
			got = append(got, f.Status)
		} else {
			got = append(got, 0)
		}
	}
	if diff := cmp.Diff([]int{501, 500, 502, 501, 0, 502}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFaultsInJSON(t *testing.T) {
	t.Parallel()
	f := Fault{
		On: Post, Batch: "b", Times: 2, Delay: time.Minute, Status: 503, Code: 17, Wait: time.Second,
		Fate: Invalid, Message: "m", Data: []byte("d"),
	}
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back Fault
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{
		`{"on":"get"}`, `{"answer":"no"}`, `{"fate":"no"}`, `{"status":99}`, `{"status":600}`,
		`{"status":500,"answer":"cut"}`, `{"delay":"1"}`, `{"wait":"-1s"}`, `{"on":"status","drop":true,"answer":"cut"}`,
		`{"on":"status","delay":"1s"}`,
		`{"on":"status","fate":"lost"}`, `{"answer":"unknown"}`, `{"drop":true}`, `{"unheard":1}`,
	} {
		if err := json.Unmarshal([]byte(bad), &Fault{}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestDiceDependOnTheSeedAndTheCallAlone(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	calls := []Call{{KindSawtooth, Post, []string{"a"}, 1}, {KindScabbard, Status, []string{"a"}, 2}}
	for seed := range uint64(4000) {
		d := Dice{Seed: seed, Trouble: 0.5, Fates: 0.25}
		for _, c := range calls {
			f := d.Plan(c)
			if diff := cmp.Diff(f, d.Plan(c)); diff != "" {
				t.Fatalf("seed %d rolls anew: %s", seed, diff)
			}
			if f == nil {
				seen["nothing"]++
				continue
			}
			f.On = c.On
			Script(*f) // panics if it is none
			seen[fmt.Sprint(c.On, " trouble ", f.Answer, f.Status, f.Code, f.Drop, f.Delay > 0)]++
			seen["fate "+f.Fate]++
		}
		first, again := d.Plan(calls[0]), d.Plan(Call{KindSawtooth, Post, []string{"a"}, 2})
		bad := first != nil && first.Fate != ""
		if (again != nil && again.Fate != "") != bad {
			t.Errorf("seed %d: posting again changes the fate", seed)
		}
	}
	if seen["nothing"] < 3000 || seen["nothing"] > 3900 {
		t.Errorf("nothing happens to %d of 8000 calls", seen["nothing"])
	}
	for _, fate := range []string{Invalid, Stuck, Lost} {
		if seen["fate "+fate] < 250 {
			t.Errorf("%s is the fate of %d", fate, seen["fate "+fate])
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d kinds of trouble: %v", len(seen), seen)
	}
	if f := (Dice{Seed: 1}).Plan(Call{On: Post}); f != nil {
		t.Errorf("dice without trouble: %+v", f)
	}
}

// TestDiceOnALedger: what the dice do to calls never has a batch committed twice
// on Sawtooth, and only what was posted twice on Scabbard.
func TestDiceOnALedger(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			plan := Dice{Seed: seed, Trouble: 0.5}.Plan
			t.Run("sawtooth", func(t *testing.T) {
				onSawtooth(t, SawtoothConfig{Plan: plan}, func(r *rig, _ *Sawtooth) { insist(r, true) })
			})
			t.Run("scabbard", func(t *testing.T) {
				onScabbard(t, SplinterConfig{Plan: plan}, func(r *rig, _ *Splinter) { insist(r, false) })
			})
		})
	}
}

// insist posts every batch until it is taken.
func insist(r *rig, once bool) {
	made := batches(10)
	posts := map[string]int{}
	for _, b := range made {
		for a := (reply{}); a.status != http.StatusAccepted; {
			posts[b.ID]++
			a = r.postFor(15*time.Second, b)
		}
	}
	<-time.After(24 * time.Hour)
	times := map[string]int{}
	for _, e := range r.Effects() {
		times[e.Batch]++
	}
	for _, b := range made {
		if n := times[b.ID]; n < 1 || n > posts[b.ID] || once && n > 1 {
			r.Errorf("batch %.8s was posted %d times and took effect %d times", b.ID, posts[b.ID], n)
		}
	}
}
