//go:build unix

package processes

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// allDone waits until all that was posted is DONE, final and let go of, and
// every sender is free. Then it reads on the chain that each transaction took
// effect once, and those of a queue in their order.
func (r *rig) allDone() {
	r.Helper()
	r.eventually(patience, "everything is DONE, final and free", func() bool {
		return r.unfinished() == ""
	})
	at := map[string][]int{} // places of successes on the chain, by hash and by memo
	successes, failures := 0, 0
	for i, e := range r.effects() {
		if !e.OK {
			failures++
			continue
		}
		successes++
		at[e.Hash] = append(at[e.Hash], i)
		if !r.legacy[e.Payer] {
			at[e.Memo] = append(at[e.Memo], i)
		}
	}
	last := map[string]int{}
	attempts := 0
	for _, p := range r.posted {
		t := r.get(p.uid)
		attempts += len(t.Attempts)
		if t.State() != tx.Done || t.Open() {
			r.Errorf("%s is %s, open: %v", p.uid, t.State(), t.Open())
		}
		for _, a := range t.Attempts {
			found := a.Alone // by recovery: on a chain so young it may have been made at slot 0
			if a.Slot == 0 && !found || !a.Legacy && a.ValidUntil <= a.Slot {
				r.Errorf("%s: attempt %d was planned at slot %d, to be valid until %d", p.uid, a.Number, a.Slot, a.ValidUntil)
			}
		}
		places := at[t.Hash()]
		if len(places) != 1 {
			r.Errorf("%s with hash %s took effect %d times", p.uid, t.Hash(), len(places))
			continue
		}
		if own := at[lifecycle.Memo(r.namespace, p.uid)]; !r.legacy[t.Attempt(t.Landed).Sender] && !slices.Equal(own, places) {
			r.Errorf("%s, by its memo, took effect at %v, by its hash at %v", p.uid, own, places)
		}
		if r.strayed[p.uid] {
			continue
		}
		if before, ok := last[p.queue]; ok && places[0] < before {
			r.Errorf("%s took effect before an earlier one of queue %s", p.uid, p.queue)
		}
		last[p.queue] = places[0]
	}
	if successes != len(r.posted) {
		r.Errorf("%d effects of %d transactions", successes, len(r.posted))
	}
	r.Logf("%d transactions DONE once, in order; %d attempts, %d of them failed in a block", len(r.posted), attempts, failures)
}

// effects lists what is on the chain.
func (r *rig) effects() []devnet.Effect {
	r.Helper()
	var chain struct{ Effects []devnet.Effect }
	if status := r.call(http.MethodGet, "http://"+r.node+"/control/effects", "", &chain); status != http.StatusOK {
		r.Fatalf("effects: status %d", status)
	}
	return chain.Effects
}

// unfinished names something that is not over yet.
func (r *rig) unfinished() string {
	r.Helper()
	for _, p := range r.posted {
		t, err := r.store.Get(r.Context(), p.uid)
		if err != nil {
			return err.Error()
		}
		if t.State() != tx.Done || t.FinalAt.IsZero() || t.Claim != "" {
			return p.uid
		}
	}
	all, _, err := r.pool.List(r.Context(), 100, "")
	if err != nil {
		return err.Error()
	}
	for _, s := range all {
		if s.State() != tx.QueueFree || !s.Available() {
			return s.AccountID
		}
	}
	return ""
}

// tellFailure prints what helps to understand a failed test.
func (r *rig) tellFailure() {
	for _, p := range r.programs {
		if found := p.out.find(regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|WARNING: DATA RACE)$`)); found != nil {
			r.Errorf("%s: %s", p.name, p.out.after(found[1]))
		}
	}
	if !r.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range r.posted {
		t, err := r.store.Get(ctx, p.uid)
		if err == nil && t.State() == tx.Done && !t.FinalAt.IsZero() {
			continue
		}
		text, _ := json.MarshalIndent(t, "", " ")
		r.Logf("%s: %v\n%s", p.uid, err, text)
	}
	if all, _, err := r.pool.List(ctx, 100, ""); err == nil {
		for _, s := range all {
			r.Logf("sender %s: %s %q %s", s.AccountID, s.State(), s.Queue, s.Reason)
		}
	}
	for _, p := range r.programs[max(0, len(r.programs)-6):] {
		r.Logf("the end of what %s printed:\n%s", p.name, p.out.lines(60))
	}
}
