package mina

import (
	"context"
	"errors"
	"mina-sequencer/sequencer/lifecycle"
	"testing"
	"testing/synctest"
	"time"
)

// slowly runs a test over three nodes in simulated time, and lets end what still goes on.
func slowly(t *testing.T, test func(n *net)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNet(t, 3, chainOf(10))
		n.least = leastGrace
		test(n)
		<-time.After(5 * time.Minute)
	})
}

// takes fails unless something takes exactly so long.
func (n *net) takes(want time.Duration, what string, do func()) {
	n.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took != want {
		n.Errorf("%s takes %v, want %v", what, took, want)
	}
}

// poll ends when all that this instant allows has been done: a look that was not waited
// for would otherwise meet what the test does to its node next.
func (n *net) poll() {
	n.Poll(n.Context())
	synctest.Wait()
}

// TestHangingNode: it is waited for once. What goes on goes on without it; what would
// allow another attempt waits until it has lost its vote.
func TestHangingNode(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		n.see("a", lifecycle.Sighting{Fate: lifecycle.FateAbsent, Agreed: true, TipSlot: 1010, AccountNext: 7})
		n.nodes[2].do(func() { n.nodes[2].hang = true })
		for _, d := range n.nodes[:2] {
			d.set(grow(chainOf(10), "", commandA(t)))
		}
		n.takes(leastGrace, "the first poll", n.poll)
		n.takes(0, "the second", n.poll)
		in := lifecycle.Sighting{
			Fate: lifecycle.FateIncluded, Agreed: true, Depth: 1, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111", TipSlot: 1011,
		}
		n.see("a", in)
		c := n.Chain()
		if c.Synced != 2 || !c.Quorum || c.TipSlot != 1011 || len(c.Lost) != 1 || !errors.Is(c.Lost[0], ErrLate) {
			n.Errorf("chain %+v", c)
		}
		for _, d := range n.nodes[:2] {
			d.set(extend(grow(chainOf(10), "r", Command{Hash: hashOf("x"), Payer: keyA, Nonce: 7, Payment: true}), 2, "r"))
		}
		n.takes(0, "a poll after a reorg", n.poll)
		n.see("a", lifecycle.Sighting{Fate: lifecycle.FateUnknown})
		<-time.After(defaultTimeout)
		n.takes(0, "a poll after its vote is lost", n.poll)
		n.see("a", lifecycle.Sighting{
			Fate: lifecycle.FateDisplaced, Agreed: true, Depth: 3, Hash: hashOf("x"), Nonce: 7, Height: 111, StateHash: "3N-111r", TipSlot: 1013,
		})
		// It is no quorum's part by its last word.
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		n.takes(leastGrace, "a poll without a quorum", n.poll)
		if c := n.Chain(); c.Quorum || n.Sighting("a").Agreed {
			n.Errorf("chain %+v", c)
		}
	})
}

// TestSlowNode: its last word is what it says, and no poll is kept waiting. One that is
// to be sure of all waits for a new word.
func TestSlowNode(t *testing.T) {
	slowly(t, func(n *net) {
		n.Watch("a", watchA())
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = 2 * time.Second })
		n.poll()
		failed := commandA(t)
		failed.Failed, failed.Failures = true, []Failure{{1, []string{"Predicate"}}}
		<-time.After(time.Minute)
		for _, d := range n.nodes {
			d.set(extend(grow(chainOf(10), "", failed), 1, ""))
		}
		n.takes(0, "a poll", n.poll)
		if s := n.Sighting("a"); s.Fate != lifecycle.FateFailed || s.Agreed {
			n.Errorf("before its look has ended: %+v", s)
		}
		<-time.After(time.Minute)
		for _, d := range n.nodes[:2] {
			d.set(extend(grow(chainOf(10), "", failed), 2, ""))
		}
		n.takes(0, "a poll", n.poll)
		if s := n.Sighting("a"); !s.Agreed || s.Depth != 2 {
			n.Errorf("by its last word: %+v", s)
		}
		n.nodes[2].do(func() { n.nodes[2].blocks = n.nodes[1].blocks })
		n.Forget("a")
		// The look under way may have begun too early: it is waited for (4 s), and another one (2 s).
		n.takes(6*time.Second, "a poll of all", func() { n.PollAll(n.Context()) })
		if c := n.Chain(); c.Synced != 3 || c.TipSlot != 1013 {
			n.Errorf("chain %+v", c)
		}
		n.nodes[2].do(func() { n.nodes[2].delay = 0 })
		<-time.After(time.Minute)
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = leastGrace / 2 })
		n.takes(leastGrace/2, "a poll when it is quick again", n.poll)
	})
}

// TestLookOfThePollBefore: where a slow node is needed for a quorum, what it was asked before
// the poll began is not enough.
func TestLookOfThePollBefore(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		n.nodes[2].do(func() { n.nodes[2].delay = 10 * time.Second })
		n.poll() // and its look goes on
		<-time.After(4 * time.Second)
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		time.AfterFunc(7*time.Second, func() { n.nodes[2].do(func() { n.nodes[2].sync = "BOOTSTRAP" }) })
		n.takes((10*time.Second-leastGrace-4*time.Second)+10*time.Second, "a poll", n.poll)
		if c := n.Chain(); c.Quorum || c.Synced != 1 {
			n.Errorf("a node that has no vote by now is one of a quorum: %+v", c)
		}
	})
}

// TestSendGoesOn: the first that takes it is enough, and the others get it; a refusal
// takes all of them.
func TestSendGoesOn(t *testing.T) {
	slowly(t, func(n *net) {
		slow := n.nodes[0]
		slow.delay = 5 * time.Second
		n.takes(0, "a sending", func() {
			ctx, cancel := context.WithCancel(n.Context())
			defer cancel()
			if r := n.Send(ctx, []byte("{}")); !r.Accepted || r.Hash != hashOf("{}") {
				n.Errorf("%+v", r)
			}
		})
		<-time.After(time.Minute)
		slow.do(func() {
			if len(slow.bodies) != 1 {
				n.Errorf("the slow node got it %d times", len(slow.bodies))
			}
		})
		const refusal = "Couldn't send zkApp command: Insufficient fee"
		for _, d := range n.nodes[1:] {
			d.do(func() { d.refusal = refusal })
		}
		n.takes(slow.delay, "a sending that only the slow one takes", func() {
			if r := n.Send(n.Context(), []byte("{}")); !r.Accepted {
				n.Errorf("%+v", r)
			}
		})
		slow.do(func() { slow.refusal = refusal })
		n.takes(slow.delay, "a sending that all refuse", func() {
			if r := n.Send(n.Context(), []byte("{}")); !r.Refused {
				n.Errorf("%+v", r)
			}
		})
		n.poll()
		n.takes(leastGrace, "a sending that is refused, with a late node", func() {
			if r := n.Send(n.Context(), []byte("{}")); r.Refused || r.Accepted || r.Err.Class != Transport {
				n.Errorf("%+v", r)
			}
		})
	})
}

// TestAccountGoesOn: a quorum is enough for an account and for the network.
func TestAccountGoesOn(t *testing.T) {
	slowly(t, func(n *net) {
		n.nodes[0].do(func() { n.nodes[0].hang = true })
		ask := func() {
			if a, err := n.Account(n.Context(), keyA); err != nil || a.Nonce != 7 {
				n.Errorf("%+v, %v", a, err)
			}
			if id, err := n.Network(n.Context()); err != nil || id != "mina:testnet" {
				n.Errorf("%q, %v", id, err)
			}
			if all, err := n.Accounts(n.Context(), []string{keyA}); err != nil || all[keyA].Nonce != 7 {
				n.Errorf("%+v, %v", all, err)
			}
		}
		n.takes(leastGrace, "to ask for the first time", ask)
		n.takes(0, "to ask again", ask)
		n.nodes[1].do(func() { n.nodes[1].status = 500 })
		n.takes(defaultTimeout, "to ask where it is needed", func() {
			if _, err := n.Account(n.Context(), keyA); !errors.Is(err, ErrNoQuorum) {
				n.Error(err)
			}
		})
	})
}
