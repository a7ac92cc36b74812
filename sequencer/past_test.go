package sequencer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// outage is longer than the nodes remember: 400 blocks, of which they hold 290.
const outage = 400 * harness.Slot

// TestOutage stops the only process while an attempt is on its way, and starts
// the next one when the nodes no longer hold the block that took it.
func TestOutage(t *testing.T) {
	t.Parallel()
	type ending struct {
		state  tx.State
		code   string
		waits  explain.WaitCode
		landed bool
	}
	for name, tt := range map[string]struct {
		archive bool
		net     func(*harness.World)         // before it is sent
		sent    func(*harness.World, string) // when it is, its hash
		want    ending
		person  bool // has to settle it, and it is tried again then
	}{
		"included": {archive: true, want: ending{state: tx.Done, landed: true}},
		"failed": {
			archive: true, net: func(w *harness.World) { w.Net.FailNext("", 1, "Account_nonce_precondition_unsatisfied") },
			want: ending{state: tx.Unresolved, code: "Account_nonce_precondition_unsatisfied"}, person: true,
		},
		"never included": {
			sent: func(w *harness.World, hash string) { w.Net.Drop(hash) },
			want: ending{state: tx.Done, landed: true}, // expired, and tried again
		},
		"included, and no archive": {want: ending{state: tx.Revision, waits: explain.WaitPerson}, person: true},
		"a stranger's, with an archive": {
			archive: true, sent: func(w *harness.World, hash string) {
				w.Net.Drop(hash)
				w.Stranger(devnet.Key(1), 0, 1_000_000_000)
			},
			want: ending{state: tx.Revision, waits: explain.WaitPerson}, person: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
				w.Archive = tt.archive
				account, _ := w.Worker(1, devworker.Options{})
				p := w.Start()
				if tt.net != nil {
					tt.net(w)
				}
				w.Post("claim", "a")
				before := w.Await("a", tx.Revision, time.Hour)
				p.Kill()
				if tt.sent != nil {
					tt.sent(w, before.Hash())
				}
				<-time.After(outage)
				took := w.Effects("a")
				p = w.Start()
				got := w.AwaitTxn("a", string(tt.want.state), 3*time.Hour, func(t *tx.Transaction) bool {
					return t.State() == tt.want.state && t.Claim != before.Claim
				})
				if tt.want.landed {
					e := w.Net.Effects()[0]
					if a := got.Attempts[got.Landed-1]; a.Height != e.Height || a.StateHash != e.StateHash || a.KnownHash() != e.Hash {
						t.Errorf("landed %+v, in fact %+v", a, e)
					}
				}
				if got.Error != nil != (tt.want.code != "") || got.Error != nil && got.Error.Code != tt.want.code {
					t.Errorf("error %+v", got.Error)
				}
				if tt.want.waits != "" {
					// It stays so, and says why; the sender stays.
					<-time.After(time.Hour)
					x, err := p.Explain(w.Ctx, "a", false)
					if s, _ := w.Pool.Get(w.Ctx, account); err != nil || x.Wait.Code != tt.want.waits || x.State != tt.want.state ||
						s.Queue != "claim" {
						t.Errorf("%+v, %v; sender %+v", x, err, s)
					}
				}
				if tt.person {
					landed := len(took) > 0
					if tt.want.state == tx.Unresolved {
						_, err := p.Retry(w.Ctx, "a")
						w.OK(err)
					} else if _, err := p.Resolve(w.Ctx, "a", landed, before.Hash()); err != nil {
						t.Fatal(err)
					}
				}
				w.Await("a", tx.Done, 12*time.Hour)
				w.Post("claim", "b")
				w.Await("b", tx.Done, 12*time.Hour)
				if got := w.Effects("a", "b"); len(got) != 2 || got[0] != "a" {
					t.Errorf("effects %v", got)
				}
			})
		})
	}
}

// TestOutageAfterDone: what was DONE and not yet final when the last process ended becomes final by the
// archive's word and, where there is none, by the height of its block: nobody will tell any more.
func TestOutageAfterDone(t *testing.T) {
	t.Parallel()
	for _, archive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
			w.Archive = archive
			w.Worker(1, devworker.Options{})
			p := w.Start()
			w.Post("claim", "a")
			w.Await("a", tx.Done, time.Hour)
			p.Kill()
			<-time.After(outage)
			w.Start()
			<-time.After(time.Hour)
			if got := w.Get("a"); got.State() != tx.Done || got.Reopened || got.FinalAt.IsZero() {
				t.Errorf("archive %v: %+v", archive, got)
			}
			w.Post("claim", "b")
			w.Await("b", tx.Done, time.Hour)
			if got := w.Effects("a", "b"); len(got) != 2 {
				t.Errorf("effects %v", got)
			}
		})
	}
}

// TestUndone: what was DONE when the last process ended, and has failed in another block since, as the
// archive alone says, is not DONE: a person hears of it, and may retry it.
func TestUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
		w.Archive = true
		_, worker := w.Worker(1, devworker.Options{})
		p := w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Done, time.Hour)
		p.Kill()
		w.Net.FailNext("", 1, "Account_nonce_precondition_unsatisfied")
		w.OK(w.Net.Reorg(devnet.Reorg{Depth: 1}))
		<-time.After(outage)
		if n := len(w.Effects("a")); n != 0 {
			t.Fatalf("%d effects", n)
		}
		p = w.Start()
		a := w.Await("a", tx.Unresolved, 3*time.Hour)
		if a.Error == nil || a.Error.Code != "Account_nonce_precondition_unsatisfied" || a.Landed != 0 || a.Open() {
			t.Errorf("%+v", a)
		}
		<-time.After(time.Minute)
		if told := worker.Told(); len(told) != 2 || told[1].Kind != devworker.OnFailure {
			t.Errorf("told: %+v", told)
		}
		_, err := p.Retry(w.Ctx, "a")
		w.OK(err)
		w.Await("a", tx.Done, 12*time.Hour)
		if n := len(w.Effects("a")); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestResolveAsksTheArchive: a person cannot call dead what the archive shows,
// also where the process asked does not watch it; nor does it from then on.
func TestResolveAsksTheArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{FillRate: 1}, harness.PatientPolicy())
		w.Worker(1, devworker.Options{})
		p := w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Revision, time.Hour)
		p.Kill()
		<-time.After(3000 * harness.Slot) // more than one poll's search
		w.Start()                         // it watches, and has no archive
		<-time.After(time.Hour)
		if got := w.Get("a"); got.State() != tx.Revision {
			t.Fatalf("%+v", got)
		}
		w.Archive = true
		other := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		if _, err := other.Resolve(w.Ctx, "a", false, ""); !errors.Is(err, tx.ErrContradicted) {
			t.Errorf("dead, says a person: %v", err)
		}
		if _, err := other.Resolve(w.Ctx, "a", true, w.Get("a").Hash()); err != nil {
			t.Errorf("landed, says a person: %v", err)
		}
		if n := other.Chain.Watching(); n > 0 {
			t.Errorf("the process that was asked goes on watching %d", n)
		}
		w.Await("a", tx.Done, time.Minute)
	})
}
