package explorer

import (
	"fmt"
	"strings"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// changeOf says what a change of a record was.
func changeOf(before, after *tx.Transaction, step *lifecycle.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", after.UID, before.Phase)
	if before.Phase != after.Phase {
		fmt.Fprintf(&b, " → %s", after.Phase)
	}
	fmt.Fprintf(&b, " (%s", step.Reason)
	if step.Aside.Code != "" {
		fmt.Fprintf(&b, ", %s", step.Aside.Code)
	}
	b.WriteString(")")
	if r := step.Aside.Rest; r != nil {
		fmt.Fprintf(&b, ", %s rests: %s", after.Sender, r.Why)
	}
	if n := step.Aside.NextNonce; n != nil {
		fmt.Fprintf(&b, ", next nonce of %s is %d", after.Sender, *n)
	}
	for account, n := range step.Aside.Least {
		fmt.Fprintf(&b, ", next nonce of %s at least %d", account, n)
	}
	if step.Aside.ForgetNonce {
		fmt.Fprintf(&b, ", next nonce of %s forgotten", after.Sender)
	}
	b.WriteString("; " + attemptsOf(after))
	return b.String()
}

func attemptsOf(t *tx.Transaction) string {
	if len(t.Attempts) == 0 {
		return "no attempt"
	}
	var all []string
	for i := range t.Attempts {
		a := &t.Attempts[i]
		word := fmt.Sprintf("attempt %d %s (%s, nonce %d, fee %d", a.Number, a.State, a.Sender, a.Nonce, a.Fee)
		if a.Legacy {
			word += ", legacy"
		} else {
			word += fmt.Sprintf(", until slot %d", a.ValidUntil)
		}
		if a.Over() {
			word += ", ended"
		}
		all = append(all, word+")")
	}
	return strings.Join(all, ", ")
}

// String is the whole state, for a person.
func (s *State) String() string {
	var b strings.Builder
	b.WriteString("what is stored:\n")
	for i := range s.store.Records {
		t := s.store.Records[i].Txn
		fmt.Fprintf(&b, "  %s of %s: %s, claim %q, sender %q, retries %d, landed %d, ending %q, callback %q; %s\n",
			t.UID, t.Queue, t.Phase,
			t.Claim, t.Sender, t.Retries, t.Landed, t.Ending, t.Callback, attemptsOf(t))
	}
	for i := range s.store.Senders {
		a := &s.store.Senders[i]
		fmt.Fprintf(&b, "  sender %s: queue %q, next nonce %d (known %v), reasons %v\n", a.Account, a.Queue, a.Next,
			a.Known, a.Reasons)
	}
	for i := range s.store.Queues {
		q := &s.store.Queues[i]
		fmt.Fprintf(&b, "  queue %s: runs %q, holds %v for %q\n", q.Name, q.Run, q.Hold.After(s.now), q.Holder)
	}
	for n := range max(1, s.world.Nodes) {
		fmt.Fprintf(&b, "the chain of node %d:\n", n+1)
		for i := range s.chain[n].blocks {
			if bl := &s.chain[n].blocks[i]; bl.full {
				fmt.Fprintf(&b, "  block %d: %s, %s\n", bl.height, bl.cmd, []string{"succeeded", "failed",
					"failed for good"}[bl.fate])
			}
		}
		fmt.Fprintf(&b, "  tip %d\n", s.chain[n].tip())
	}
	for i := range s.net {
		fmt.Fprintf(&b, "on the wire: %s, known %v, pooled %v\n", s.net[i].cmd, s.net[i].known, s.pooled(0, i))
	}
	for p := range s.procs {
		proc := &s.procs[p]
		fmt.Fprintf(&b, "process %s: alive %v, claims live %v\n", proc.id, proc.alive, proc.live)
		for t, h := range proc.held {
			if h != nil {
				fmt.Fprintf(&b, "  drives %s (%s): under way %q, stale %v, sees %s (agreed %v, depth %d)\n", uid(t),
					h.drive.Txn().Phase, h.call.Kind, h.stale, h.sighting.Fate, h.sighting.Agreed, h.sighting.Depth)
			}
		}
	}
	return b.String()
}
