package sequencer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// disturb lets things go wrong that no call crosses: nodes, the chain, Redis,
// whole processes, and people.
func (s *sim) disturb() {
	var clean []func() // what ends a disturbance, by when
	var ends []time.Time
	var fork struct {
		node, blocks int
		on           bool
	}
	during := func(d time.Duration, end func()) {
		clean, ends = append(clean, end), append(ends, time.Now().Add(d))
	}
	over := time.Now().Add(s.trouble)
	for i := uint64(0); time.Now().Before(over); i++ {
		until(s.ctx, stride)
		for k := 0; k < len(clean); k++ {
			if !time.Now().Before(ends[k]) {
				end := clean[k]
				clean, ends = slices.Delete(clean, k, k+1), slices.Delete(ends, k, k+1)
				end()
				k--
			}
		}
		s.standUp(i)
		if fork.on && s.chance(350, "fork grows", i) {
			// What one node believes may be deep as long as it never becomes the chain.
			if at := s.net.Node(fork.node).State(); fork.blocks < s.deepest || at.Height+1 < at.Highest {
				fork.blocks++
				s.net.Node(fork.node).MakeBlock()
			}
		}
		if i%3 == 0 {
			s.check.always(s.ctx)
		}
		if !s.chance(200, "disturbance", i) {
			continue
		}
		n := s.pick(s.nodes, "node", i)
		d := s.between(20*time.Second, 6*time.Minute, "for", i)
		node := s.net.Node(n)
		faulty := func(what string, f devnet.Faults) {
			if node.Faults() != (devnet.Faults{}) {
				return
			}
			s.in.note(elsewhere, "node: "+what, fmt.Sprintf("node%d for %v", n, d))
			s.ok(node.SetFaults(f))
			during(d, func() { s.ok(node.SetFaults(devnet.Faults{})) })
		}
		switch s.pick(20, "kind", i) {
		case 0:
			faulty("lags", devnet.Faults{Lag: 1 + s.pick(6, "lag", i)})
		case 1:
			faulty("stands still", devnet.Faults{Lag: -1})
		case 2:
			faulty("answers 503", devnet.Faults{Status: 503})
		case 3:
			faulty("hangs", devnet.Faults{Hang: true})
		case 4:
			faulty("is not synced", devnet.Faults{Sync: []string{"BOOTSTRAP", "CATCHUP", "OFFLINE"}[s.pick(3, "sync", i)]})
		case 5:
			faulty("loses replies", devnet.Faults{LoseReplies: 1 + s.pick(3, "replies", i), LoseStatus: []int{0, 502}[s.pick(2, "status", i)]})
		case 6:
			if !s.legacy { // a legacy worker that sends thrice takes the last answer for all
				faulty("refuses", devnet.Faults{Refuse: []string{`["Overloaded"]`, "Insufficient fee", `(invalid (Invalid_proof))`, `["Bad_token"]`,
					`["Insufficient_funds"]`}[s.pick(5, "refusal", i)]})
			}
		case 7:
			if s.nodes > 1 && !fork.on && node.Faults() == (devnet.Faults{}) {
				s.in.note(elsewhere, "node: isolated", fmt.Sprintf("node%d for %v", n, 3*d))
				s.ok(node.SetFaults(devnet.Faults{Isolated: true}))
				fork.node, fork.blocks, fork.on = n, 0, true
				during(3*d, func() {
					fork.on = false
					s.ok(node.SetFaults(devnet.Faults{}))
				})
			}
		case 8, 9:
			if !fork.on {
				s.reorganise(i)
			}
		case 10, 11:
			if pooled := node.Pooled(); len(pooled) > 0 {
				hash := pooled[s.pick(len(pooled), "drop", i)]
				s.in.note(elsewhere, "pool: drops", hash)
				s.net.Drop(hash)
			}
		case 12:
			s.in.note(elsewhere, "pool: emptied", "")
			s.net.ClearPools()
		case 13:
			s.in.note(elsewhere, "Redis: loading", d.String())
			s.redis.SetError("LOADING Redis is loading the dataset in memory")
			during(d/2, func() { s.redis.SetError("") })
		case 14, 15:
			s.kill(i)
		case 16:
			s.pauseProcess(i)
		case 17:
			w := s.staff[s.pick(len(s.staff), "staff", i)]
			s.in.note(elsewhere, "worker: dies", w.name)
			w.crash()
		default:
			s.meddle(i)
		}
	}
	for _, end := range clean {
		end()
	}
}

func (s *sim) reorganise(i uint64) {
	depth := 1 + s.pick(s.deepest, "depth", i)
	if int(s.net.Node(0).State().Highest) <= depth+1 {
		return
	}
	r := devnet.Reorg{Depth: depth, Empty: s.chance(400, "empty", i)}
	for k, e := range s.net.Effects() {
		if s.chance(300, fmt.Sprintf("exclude %d", i), uint64(k)) {
			r.Exclude = append(r.Exclude, e.Hash)
		}
	}
	s.in.note(elsewhere, fmt.Sprintf("chain: reorganised %d deep", depth), fmt.Sprintf("empty %v", r.Empty))
	s.ok(s.net.Reorg(r))
}

// standUp brings back who died or was stopped long enough ago.
func (s *sim) standUp(i uint64) {
	now := time.Now()
	for k, r := range s.slots {
		switch {
		case r.dead.Load() && r.back.IsZero():
			r.back = now.Add(s.between(0, 4*time.Minute, "down "+r.name, 0))
		case !r.back.IsZero() && now.After(r.back):
			r.back = time.Time{}
			if r.dead.Load() {
				s.stand(k)
			} else {
				s.in.trace("%s goes on", r.name)
				r.resume()
			}
		}
	}
	for _, w := range s.staff {
		switch {
		case w.dead.Load() && w.back.IsZero():
			w.back = now.Add(s.between(0, 4*time.Minute, "down "+w.name, i))
		case w.dead.Load() && now.After(w.back):
			w.back = time.Time{}
			s.in.trace("%s is back", w.name)
			w.worker.Restart()
			w.revive()
		}
	}
}

func (s *sim) kill(i uint64) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if r.dead.Load() {
		return
	}
	if s.chance(250, "gently", i) {
		s.in.note(elsewhere, "process: ends", r.name)
		go r.proc.stop()
		return
	}
	s.in.note(elsewhere, "process: killed", r.name)
	r.crash()
}

func (s *sim) pauseProcess(i uint64) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if r.dead.Load() || !r.back.IsZero() {
		return
	}
	d := s.between(s.policy.ClaimTTL*2/3, s.policy.ClaimTTL*17/10, "stop", i)
	s.in.note(elsewhere, "process: stopped for a while", fmt.Sprintf("%s for %v", r.name, d))
	r.stop()
	r.back = time.Now().Add(d)
}

// meddle is what people do.
func (s *sim) meddle(i uint64) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	w := s.staff[s.pick(len(s.staff), "whom", i)]
	queue := s.queued[s.pick(len(s.queued), "which queue", i)]
	s.check.mu.Lock()
	uids := slices.Sorted(maps.Keys(s.check.accepted))
	s.check.mu.Unlock()
	var what string
	var err error
	switch s.pick(6, "meddle", i) {
	case 0:
		what, err = "drains a sender", s.pool.Drain(ctx, w.account)
	case 1, 2:
		if at, e := s.pool.Get(ctx, w.account); e == nil && at.Reason == senders.Draining {
			what, err = "resumes a sender", s.pool.Resume(ctx, w.account)
		}
	case 3:
		what, err = "pauses a queue", s.store.Pause(ctx, queue, "a break")
	case 4:
		what, err = "resumes a queue", s.store.Resume(ctx, queue)
	case 5:
		if len(uids) > 0 {
			uid := uids[s.pick(len(uids), "whose", i)]
			if s.chance(500, "retry", i) {
				what = "retries"
				_, err = s.desk.Retry(ctx, uid)
			} else {
				what = "cancels"
				_, _, err = s.desk.Cancel(ctx, uid)
			}
		}
	}
	if what != "" && err == nil {
		s.in.note(elsewhere, "person: "+what, "")
	}
}

// heal ends all faults, and waits until everything is final. Where a person is
// asked, it answers truly.
func (s *sim) heal() {
	s.in.heal()
	s.in.trace("all faults are over")
	s.redis.SetError("")
	for n := range s.nodes {
		s.ok(s.net.Node(n).SetFaults(devnet.Faults{}))
	}
	for k, r := range s.slots {
		r.resume()
		if r.dead.Load() {
			s.stand(k)
		}
	}
	for _, w := range s.staff {
		if w.dead.Load() {
			w.worker.Restart()
			w.revive()
		}
		at, err := s.pool.Get(s.ctx, w.account)
		s.ok(err)
		if at.Reason == senders.Draining {
			s.ok(s.pool.Resume(s.ctx, w.account))
		}
	}
	s.clients.Wait()
	for end := time.Now().Add(healing); time.Now().Before(end); until(s.ctx, 2*time.Minute) {
		for k, r := range s.slots {
			if r.dead.Load() { // it was on its way out
				s.stand(k)
			}
		}
		s.check.always(s.ctx)
		settled, ts := s.check.settled(s.ctx)
		if !s.attend(ts) && settled {
			return
		}
	}
}

// attend does what only a person can do, and reports whether there was any.
func (s *sim) attend(ts []*queues.Transaction) (busy bool) {
	for _, queue := range s.queued {
		if q, err := s.store.Queue(s.ctx, queue); err == nil && q.Paused != "" {
			s.ok(s.store.Resume(s.ctx, queue))
		}
	}
	byUID, _ := s.check.effects()
	for _, t := range ts {
		if t.State() != queues.Unresolved && t.State() != queues.Failed {
			continue
		}
		if t.Open() {
			busy = true
			es := byUID[t.UID]
			hash := ""
			if len(es) == 1 {
				hash = es[0].Hash
			}
			_, err := s.desk.Resolve(s.ctx, t.UID, hash != "", hash)
			s.in.trace("person: resolves %s with %.8q: %v", t.UID, hash, err)
		} else if s.chance(500, "second chance "+t.UID, uint64(t.Retries+len(t.Attempts))) && (t.Error == nil || t.Error.Code != "CANCELLED") {
			busy = true
			_, err := s.desk.Retry(s.ctx, t.UID)
			s.in.trace("person: retries %s: %v", t.UID, err)
		}
	}
	return busy
}
