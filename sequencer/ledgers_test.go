package sequencer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// An askedLedger counts what it is asked, and answers nothing or an error.
type askedLedger struct {
	ledger.Ledger
	mu    sync.Mutex
	asked []int // how many ids
	err   error
}

// took is what it was asked since.
func (l *askedLedger) took() (asked []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, l.asked = l.asked, nil
	return asked
}

func (l *askedLedger) answers(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *askedLedger) Statuses(_ context.Context, ids []string) (map[string]ledger.Status, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, len(ids))
	return nil, l.err
}

// TestLedgersStand: what is said of a ledger follows from what it answers. It is asked at the
// pace of its batches, and without any once a minute, if somebody wants to know.
func TestLedgersStand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := new(askedLedger)
		policy := lifecycle.Policy{InclusionInterval: 10 * time.Second, CycleInterval: time.Second}
		s := New(Options{Types: new(dispatcher.Registry), Ledgers: map[string]ledger.Ledger{"saw": l}, Policy: policy})
		b := s.books["saw"]
		go s.followLoop(t.Context(), b)
		step := func(what string, after time.Duration, want LedgerStanding, asked ...int) {
			t.Helper()
			<-time.After(after)
			s.Ledgers()
			synctest.Wait()
			got := s.Ledgers()[0]
			if want.Name = "saw"; want.Asked.IsZero() {
				got.Asked = time.Time{} // when, the calls tell
			}
			if diff := cmp.Diff([]LedgerStanding{want}, []LedgerStanding{got}); diff != "" {
				t.Errorf("%s: %s", what, diff)
			}
			if diff := cmp.Diff(asked, l.took()); diff != "" {
				t.Errorf("%s: asked %s", what, diff)
			}
		}
		if got := s.Ledgers()[0]; got.OK || !got.Asked.IsZero() {
			t.Errorf("before it was asked: %+v", got)
		}
		step("at once", 0, LedgerStanding{OK: true}, 1)
		step("a moment later", 59*time.Second, LedgerStanding{OK: true})
		l.answers(errors.New("it is away"))
		step("a minute later", time.Second, LedgerStanding{Detail: "it is away"}, 1)
		b.watch("u1", "b1")
		b.watch("u2", "b2")
		step("with batches", time.Second, LedgerStanding{Detail: "it is away", Followed: 2, Behind: time.Second}, 2)
		step("with batches, away", 25*time.Second,
			LedgerStanding{Detail: "it is away", Followed: 2, Behind: 26 * time.Second}, 2, 2)
		l.answers(nil)
		step("with batches, there", 6*time.Second, LedgerStanding{OK: true, Followed: 2, Behind: 2 * time.Second}, 2)
		b.forget("u1")
		b.forget("u2")
		b.answered(lifecycle.SubmitHeld, tx.Error{Message: "401"}, &policy)
		step("turned away", 0, LedgerStanding{Detail: "401"})
		b.answered(lifecycle.SubmitAccepted, tx.Error{}, &policy)
		step("let in", 0, LedgerStanding{OK: true})
		b.answered(lifecycle.SubmitHeld, tx.Error{Message: "401"}, &policy)
		step("turned away long ago", time.Hour, LedgerStanding{OK: true}, 1)
	})
}

// TestStopped: a call that this process has ended itself says nothing of whom it was for. One that
// came to the end of its time does.
func TestStopped(t *testing.T) {
	t.Parallel()
	connecting := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	target := ledger.Target{Name: "saw", Protocol: ledger.Sawtooth, URL: "http://ledger"}
	l, err := ledger.New(target, ledger.Options{Dial: connecting})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stop bool
		want string
	}{
		"stopped":  {true, "0 calls, 0 posts, ledger free true, worker away 0, greeted true"},
		"too late": {false, "2 calls, 1 posts, ledger free false, worker away 1, greeted false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				types := new(dispatcher.Registry)
				if err := types.Register(unreached{}); err != nil {
					t.Fatal(err)
				}
				calls, posts := 0, 0
				s := New(Options{Types: types, Ledgers: map[string]ledger.Ledger{"saw": l}, Meter: Meter{
					Called: func(WorkerCall) { calls++ }, Posted: func(Post) { posts++ }}})
				s.greeted["S"] = greeting{at: time.Now()}
				call := func(do func(context.Context)) {
					ctx, cancel := context.WithCancel(t.Context())
					if c.stop {
						time.AfterFunc(time.Second, cancel)
					}
					do(ctx)
					cancel()
				}
				batch := &tx.Transaction{Type: dispatcher.SubmitBatchType, Ledger: "saw", Data: []byte(`{}`)}
				call(func(ctx context.Context) { s.submit(ctx, batch, lifecycle.Effect{Kind: lifecycle.Submit}) })
				free := s.books["saw"].free()
				made := &tx.Transaction{Type: "T", Attempts: []tx.Attempt{{Number: 1, Sender: "S"}}}
				call(func(ctx context.Context) {
					s.ask(ctx, made, dispatcher.Worker{AccountID: "S", URL: "http://worker"},
						lifecycle.Effect{Kind: lifecycle.Prove, Number: 1}, nil, nil, nil, false)
				})
				got := fmt.Sprintf("%d calls, %d posts, ledger free %t, worker away %d, greeted %t",
					calls, posts, free, s.down["S"], s.greeted["S"].fresh())
				if got != c.want {
					t.Errorf("%s; want %s", got, c.want)
				}
			})
		})
	}
}

// An unreached dispatcher's workers are never reached.
type unreached struct{ dispatcher.Dispatcher }

func (unreached) Type() string { return "T" }

func (unreached) Prove(ctx context.Context, _ dispatcher.Worker, _ dispatcher.Call) (dispatcher.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	<-ctx.Done()
	return dispatcher.Result{}, &dispatcher.UnreachedError{Err: ctx.Err()}
}

// TestAskedInVain: that a ledger was asked and said nothing of a batch is known, beside what it
// has said last.
func TestAskedInVain(t *testing.T) {
	t.Parallel()
	b := newBooks(map[string]ledger.Ledger{"saw": new(askedLedger)})["saw"]
	b.watch("u", "b1")
	asks, at := map[string]string{"u": "b1", "gone": "b2"}, time.Unix(100, 0)
	learns := func(said map[string]ledger.Status, told []string, want lifecycle.BatchSeen) {
		t.Helper()
		at = at.Add(time.Second)
		got := b.learn(asks, said, at, errors.New("cut"))
		if diff := cmp.Diff([]any{told, map[string]lifecycle.BatchSeen{"u": want}}, []any{got, b.seen}); diff != "" {
			t.Error(diff)
		}
	}
	second := func(n int64) time.Time { return time.Unix(100+n, 0) }
	pending := map[string]ledger.Status{"b1": {State: ledger.Pending}, "b2": {State: ledger.Pending}}
	learns(nil, nil, lifecycle.BatchSeen{Since: second(1), Asked: second(1)})
	learns(nil, nil, lifecycle.BatchSeen{Since: second(1), Asked: second(2)})
	said := lifecycle.BatchSeen{At: second(3), Since: second(3), Asked: second(3), State: lifecycle.BatchPending}
	learns(pending, []string{"u"}, said)
	said.Since, said.Asked = second(4), second(4)
	learns(nil, nil, said)
	said.Asked = second(5)
	learns(nil, nil, said)
}

// TestAnswerNames: each answer to a post has a name, and each is one of those that are shown
// from the start; so have the ends of batches.
func TestAnswerNames(t *testing.T) {
	t.Parallel()
	for i, a := range []ledger.Answer{
		{Outcome: ledger.Accepted}, {Outcome: ledger.NotProcessed}, {Outcome: ledger.Rejected},
		{Outcome: ledger.Held, Why: ledger.WrongAuth}, {Outcome: ledger.Held, Why: ledger.WrongAddress},
		{Outcome: ledger.Held, Why: ledger.WrongProtocol}, {Outcome: ledger.NotWritten}, {Outcome: ledger.MayBeProcessed},
	} {
		if got := answerName(a); got != Answers[i] {
			t.Errorf("%+v is %q", a, got)
		}
	}
	for i, m := range []Move{
		{To: tx.PhaseDone},
		{To: tx.PhaseUnresolved, Reason: lifecycle.ReasonInvalid},
		{To: tx.PhaseUnresolved, Reason: lifecycle.ReasonAnswered},
		{To: tx.PhaseUnresolved, Reason: lifecycle.ReasonAmbiguous},
	} {
		if m.From = tx.PhaseWatching; m.Verdict() != "" {
			t.Errorf("%+v is no batch", m)
		}
		if m.Ledger = "saw"; m.Verdict() != Verdicts[i] {
			t.Errorf("%+v is %q", m, m.Verdict())
		}
		if m.From = m.To; m.Verdict() != "" {
			t.Errorf("%+v is no end", m)
		}
	}
	if m := (Move{Ledger: "saw", From: tx.PhaseWaiting, To: tx.PhaseFailed}); m.Verdict() != "" {
		t.Error("cancelling is no verdict")
	}
}
