package sequencer_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestSimulateFirst: what Mina would refuse for good is not proved, and ends; what a later state may mend is tried
// again, as often as any failure, and proved once it is mended. All else is proved as ever.
func TestSimulateFirst(t *testing.T) {
	t.Parallel()
	const forGood, mendable = "Update_not_permitted_app_state", "Account_app_state_0_precondition_unsatisfied"
	for name, c := range map[string]struct {
		types    []string
		says     []string // one for each time that it is asked, the last again and again; nil: it does not simulate
		state    tx.State
		code     string
		attempts int
		proofs   int
		asked    int
	}{
		"nothing wrong":           {[]string{"MINT"}, []string{""}, tx.Done, "", 1, 1, 1},
		"for good":                {[]string{"MINT"}, []string{forGood}, tx.Unresolved, forGood, 1, 0, 1},
		"mended by a later state": {[]string{"MINT"}, []string{mendable, mendable, ""}, tx.Done, "", 3, 1, 3},
		"never mended":            {[]string{"MINT"}, []string{mendable}, tx.Failed, mendable, 4, 0, 4},
		"a name nobody knows":     {[]string{"MINT"}, []string{"A_new_word"}, tx.Failed, "A_new_word", 4, 0, 4},
		"its worker, for good":    {[]string{"MINT"}, []string{"-500"}, tx.Unresolved, "500", 1, 0, 1},
		"its worker, for now":     {[]string{"MINT"}, []string{"-20201", ""}, tx.Done, "", 2, 1, 2},
		"of another type":         {[]string{"BURN"}, []string{forGood}, tx.Done, "", 1, 1, 0},
		"no simulator":            {[]string{"MINT"}, nil, tx.Done, "", 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.New(t, devnet.Config{FillRate: 1})
				log := new(page)
				w.Logger = slog.New(slog.NewTextHandler(log, nil))
				w.SimulateFirst = c.types
				asked := 0
				o := devworker.Options{ProveTime: 20 * time.Second, SimulateTime: 2 * time.Second}
				if c.says != nil {
					o.Simulate = func(devworker.Call) string {
						asked++
						return c.says[min(asked, len(c.says))-1]
					}
				}
				_, worker := w.Worker(1, o)
				w.Start()
				w.Post("q", "a")
				got := w.Await("a", c.state, 10*time.Hour)
				calls := worker.Calls()
				if len(got.Attempts) != c.attempts || calls[devworker.Prove] != c.proofs || calls[devworker.Simulate] != c.asked {
					t.Errorf("%d attempts, calls %v", len(got.Attempts), calls)
				}
				if c.code != "" && (got.Error == nil || got.Error.Code != c.code ||
					!strings.HasPrefix(got.Error.Message, "simulated before it was proved, it fails: account update 1 of 1: ")) {
					t.Errorf("it ended with %v", got.Error)
				}
				if c.says == nil { // which is told once
					w.Post("q", "b")
					w.Await("b", tx.Done, 10*time.Hour)
				}
				want := 0
				if c.says == nil {
					want = 1
				}
				if n := log.count("does not say that it simulates"); n != want {
					t.Errorf("the log says %d times that it does not simulate", n)
				}
			})
		})
	}
}

// TestSimulateFirstOnce: a worker that has no time to simulate, or whose answer is lost, is asked for the proof; and
// of what it may have begun with, and of what is behind others in flight, it is asked for nothing else.
func TestSimulateFirstOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.SimulateFirst = []string{"MINT"}
		_, worker := w.Worker(1, devworker.Options{
			ProveTime: 20 * time.Second, Simulate: func(devworker.Call) string { return "" },
		})
		refused := map[string]bool{}
		worker.Script(func(call devworker.Call) *devworker.Fault {
			first := !refused[call.Kind+call.UID]
			refused[call.Kind+call.UID] = true
			switch {
			case call.Kind == devworker.Simulate && call.UID == "busy":
				return &devworker.Fault{Kind: devworker.Busy}
			case call.Kind == devworker.Simulate && call.UID == "cut",
				call.Kind == devworker.Prove && call.UID == "lost" && first:
				return &devworker.Fault{Kind: devworker.Cut}
			}
			return nil
		})
		w.Start()
		for _, uid := range []string{"busy", "cut", "lost"} {
			before := worker.Calls()
			w.Post("q", uid)
			got := w.Await(uid, tx.Done, 10*time.Hour)
			calls := worker.Calls()
			proofs, asked := calls[devworker.Prove]-before[devworker.Prove], calls[devworker.Simulate]-before[devworker.Simulate]
			want := 1
			if uid == "lost" {
				want = 2
			}
			if len(got.Attempts) != 1 || asked != 1 || proofs != want {
				t.Errorf("%s: %d attempts, simulated %d times, proved %d times", uid, len(got.Attempts), asked, proofs)
			}
		}
	})
}

// TestSimulateFirstBehind: what is behind others in flight is simulated as those leave the accounts. That it would
// fail there is no verdict: it is made as the first, and no try is counted.
func TestSimulateFirstBehind(t *testing.T) {
	for name, c := range map[string]struct {
		fails bool
		want  string
	}{
		"all would do":   {want: "q-00 on 0, q-01 on 1, q-02 on 2"},
		"the last fails": {fails: true, want: "q-00 on 0, q-01 on 1, q-02 on 2, q-02 on 0"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Trains(t, 3, devnet.Config{FillRate: 1, SlotTime: 10 * time.Minute}, func(w *harness.World) {
				w.SimulateFirst = []string{"MINT"}
				var asked []string // one at a time
				_, worker := w.Worker(1, devworker.Options{
					ProveTime: 20 * time.Second, Simulate: func(c devworker.Call) string {
						asked = append(asked, fmt.Sprint(c.UID, " on ", c.Ahead))
						return ""
					},
				})
				if c.fails {
					worker.Script(func(call devworker.Call) *devworker.Fault {
						if call.Kind != devworker.Simulate || call.Ahead < 2 {
							return nil
						}
						asked = append(asked, fmt.Sprint(call.UID, " on ", call.Ahead))
						return &devworker.Fault{Kind: devworker.Answer,
							Body: `{"ok":false,"failure":{"index":1,"code":"Overflow","message":"m"}}`}
					})
				}
				w.Start()
				uids := w.PostAll("q", 3)
				for _, uid := range uids {
					if x := w.Await(uid, tx.Done, 10*time.Hour); x.Retries > 0 {
						t.Errorf("%s: %d retries", uid, x.Retries)
					}
				}
				if got := strings.Join(asked, ", "); got != c.want {
					t.Errorf("simulated: %s, want %s", got, c.want)
				}
				if n := worker.Calls()[devworker.Prove]; n != 3 {
					t.Errorf("%d proofs", n)
				}
			})
		})
	}
}

// TestSimulateFirstCost: what a transaction that fails costs, proved at once and simulated first, with the settings
// that are the defaults: -v prints docs/from-your-zkapp.md's table.
func TestSimulateFirstCost(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"Update_not_permitted_app_state", "Account_app_state_0_precondition_unsatisfied"} {
		for _, first := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				policy := harness.Policy()
				policy.SettleDepth, policy.Finality = 15, 15
				paid := uint64(0)
				fails := func(c devnet.Command) []string {
					paid += c.Fee
					return []string{code}
				}
				w := harness.NewWith(t,
					devnet.Config{SlotTime: 90 * time.Second, FillRate: 0.75, Seed: 7, FailWhen: fails}, policy)
				if first {
					w.SimulateFirst = []string{"MINT"}
				}
				_, worker := w.Worker(1, devworker.Options{
					ProveTime: 21 * time.Second, SimulateTime: 2 * time.Second, Simulate: func(devworker.Call) string { return code },
				})
				w.Start()
				began := time.Now()
				w.Post("q", "a")
				got := w.AwaitTxn("a", "over", 100*time.Hour, func(t *tx.Transaction) bool { return t.State().Final() })
				proofs := worker.Calls()[devworker.Prove]
				t.Logf("%s, simulated first %t: %s, %d proofs, %.1f minutes, %.4f MINA", code, first, got.State(), proofs,
					got.DoneAt.Sub(began).Minutes(), float64(paid)/1e9)
				if first != (proofs == 0) || first != (paid == 0) {
					t.Errorf("%s, simulated first %t: %d proofs, %d nanomina", code, first, proofs, paid)
				}
			})
		}
	}
}
