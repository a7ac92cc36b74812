package simulation

import (
	"net/http"
	"slices"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
)

// healing is the time within which everything must be final once all faults are
// over: one after the other where they share a queue, each with a retry.
func (s *sim) healing() time.Duration {
	longest, queues := 0, map[string]int{}
	for _, p := range s.posts {
		queues[p.queue]++
		longest = max(longest, queues[p.queue])
	}
	return max(6*time.Hour, time.Duration(longest)*45*time.Minute)
}

// reviveStaff brings all workers back that are dead.
func (s *sim) reviveStaff() {
	for _, w := range s.staff {
		if w.dead.Load() {
			w.revive()
			w.worker.Restart()
		}
	}
}

// heal ends all faults, and waits until everything is final. Where a person is
// asked, it answers truly.
func (s *sim) heal() {
	s.in.heal()
	s.healed = time.Now()
	s.story.tell("all faults are over")
	s.Redis.SetError("")
	for n := range s.nodes {
		s.OK(s.Net.Node(n).SetFaults(devnet.Faults{}))
	}
	for _, r := range s.slots {
		r.resume()
	}
	s.standAll()
	s.reviveStaff()
	posted := make(chan struct{})
	go func() { s.clients.Wait(); close(posted) }()
	for end, waiting := time.Now().Add(s.healing()), true; waiting; {
		select {
		case <-posted:
			waiting = false
		case <-time.After(stride):
			s.standAll() // a client may wait for one that was on its way out
			if time.Now().After(end) {
				s.check.fail("%v after all faults were over not all is posted", s.healing())
				return
			}
		}
	}
	for end := time.Now().Add(s.healing()); time.Now().Before(end); harness.Until(s.Ctx, 2*time.Minute) {
		s.standAll()
		s.reviveStaff() // one may die of a call that went wrong before, and ends late
		s.check.always()
		again := s.postAgain()
		settled, ts := s.check.settled()
		if !s.attend(ts) && settled && !again {
			return
		}
	}
}

// standAll starts whoever is dead once more.
func (s *sim) standAll() {
	for k, r := range s.slots {
		if r.dead.Load() {
			s.stand(k)
		}
	}
}

// postAgain posts what Redis has forgotten that it had accepted, as a client does
// that finds nothing under its key. What is on its way into a block already is
// not posted twice: nobody can know it any more by its key alone.
func (s *sim) postAgain() (busy bool) {
	byUID, _ := s.check.effects()
	for i, p := range s.posts {
		_, known := s.check.accepted[p.uid]
		if known && !s.check.forgot || s.check.lost[p.uid] || s.check.late[p.uid] {
			continue
		}
		var t txnDoc
		asked := time.Now()
		a, there := s.ask("GET", "/transactions/"+p.uid, nil, &t)
		switch {
		case there && known:
			continue
		case there:
			s.check.promised(i, asked, a.status, &t)
		case a.status != http.StatusNotFound:
		case len(byUID[p.uid]) > 0 || len(s.check.pooled(p.uid)) > 0:
			s.check.lost[p.uid] = true
			delete(s.check.accepted, p.uid)
		default:
			// The answer may have come from before Redis forgot.
			delete(s.check.accepted, p.uid)
			a, ok := s.ask("POST", "/transactions", p.body(i), &t)
			switch {
			case ok:
				s.check.promised(i, asked, a.status, &t)
			case a.tooLate(p):
				s.check.tooLate(p.uid)
				continue
			}
		}
		busy = true
	}
	return busy
}

// attend does what only a person can do, and reports whether there was any.
func (s *sim) attend(ts []*txnDoc) (busy bool) {
	c := &caller{s: s}
	for _, queue := range s.queued {
		var q queueDoc
		if _, ok := s.ask("GET", "/queues/"+queue, nil, &q); ok && q.Paused {
			s.ask("POST", "/queues/"+queue+"/resume", nil, nil)
		}
	}
	for _, w := range s.staff {
		var at senderDoc
		_, ok := s.ask("GET", "/senders/"+w.account, nil, &at)
		switch until, err := time.Parse(time.RFC3339, at.Until); {
		case !ok:
		case err == nil:
			busy = busy || !until.After(time.Now()) // this reason is over, and may hide another
		case at.Reason == "NO_PROCESS": // until the next heartbeat, at most
			busy = true
		case at.Reason == "RESTED":
			s.check.fail("sender %.8s rests without an end: %s", w.account, at.Detail)
		case s.waitsForPerson(w.account, at.Reason):
			busy = true
			s.ask("POST", "/senders/"+w.account+"/resume", nil, nil)
		}
	}
	for _, t := range ts {
		if s.restartsFor(t) {
			busy = true
		}
		unseen := s.unseen(t)
		if t.State != "UNRESOLVED" && t.State != "FAILED" && !unseen {
			continue
		}
		if unseen || t.State == "UNRESOLVED" && s.unsettled(t.UID) {
			busy = true
			s.story.tell("person: resolves %s: %v", t.UID, s.resolve(c, t).status)
		} else if s.chance(500, "second chance "+t.UID, uint64(t.Retries+len(t.Attempts))) && t.code() != "CANCELLED" {
			a, ok := s.ask("POST", "/transactions/"+t.UID+"/retry", nil, nil)
			busy = busy || ok || t.ExpiresAt.IsZero() // what has expired is not tried again
			s.story.tell("person: retries %s: %v", t.UID, a.status)
		}
	}
	return busy
}

// unseen reports whether a person is asked what became of what a worker sent by itself, in a
// block that no node holds any more: the process that waited for the worker died, so that
// nobody knows its hash, and the archive cannot show it.
func (s *sim) unseen(t *txnDoc) bool {
	if s.frontier == 0 || t.State != "REVISION" {
		return false
	}
	var x struct {
		WaitingFor, Next struct{ Code, Action string }
		Attempts         []attemptDoc
	}
	s.ask("GET", "/transactions/"+t.UID+"/explain", nil, &x)
	return x.WaitingFor.Code == "PERSON" && x.Next.Action == "RESOLVE" &&
		slices.ContainsFunc(x.Attempts, func(a attemptDoc) bool { return a.Open && a.Hash == "" })
}

// restartsFor does what a person is asked to where a node keeps to itself what a
// worker sent, which nobody else can send again: it restarts the node, which keeps
// no pool. It reports whether there was such a one.
func (s *sim) restartsFor(t *txnDoc) (did bool) {
	if t.State != "REVISION" && (t.State != "DONE" || t.FinalAt != "") || len(s.check.pooled(t.UID)) == 0 {
		return false
	}
	var x struct {
		WaitingFor struct{ Code string }
	}
	s.ask("GET", "/transactions/"+t.UID+"/explain", nil, &x)
	if x.WaitingFor.Code != "PERSON" {
		return false
	}
	for n := range s.nodes {
		node := s.Net.Node(n)
		if slices.ContainsFunc(node.Waiting(), func(c devnet.Command) bool { return s.check.whose(c) == t.UID }) {
			s.story.tell("person: restarts node%d, which alone has %s", n, t.UID)
			node.ClearPool()
			did = true
		}
	}
	return did
}

// waitsForPerson reports whether a sender is out of use until a person acts: drained
// by a request that came late. Where blocks that were final are gone, what was in them may
// land once more, at a nonce that was free again; and Redis may have forgotten what
// nobody else can know. No other sender may be taken for used by somebody else.
func (s *sim) waitsForPerson(account, reason string) bool {
	switch reason {
	case "DRAINING":
		return true
	case "STOPPED_NONCE":
		return s.beyond || s.check.forgotten(account)
	}
	return false
}

// unsettled reports whether an attempt may still land, as far as the service knows.
func (s *sim) unsettled(uid string) bool {
	var x struct{ Attempts []attemptDoc }
	s.ask("GET", "/transactions/"+uid+"/explain", nil, &x)
	for _, a := range x.Attempts {
		if a.Open {
			return true
		}
	}
	return false
}

// resolve tells the service truly what became of a transaction; over the
// network if c has one.
func (s *sim) resolve(c *caller, t *txnDoc) answer {
	body := map[string]string{"outcome": "dead"}
	byUID, _ := s.check.effects()
	if es := byUID[t.UID]; len(es) == 1 && !s.over(es[0].Slot).Before(t.ReceivedAt) { // else it was posted again
		body = map[string]string{"outcome": "landed", "hash": es[0].Hash}
	} else if len(s.check.pooled(t.UID)) > 0 {
		return answer{} // wait and see
	}
	path := "/transactions/" + t.UID + "/resolve"
	if c.client != nil {
		return c.do(s.Ctx, "POST", path, body)
	}
	a, _ := s.ask("POST", path, body, nil)
	return a
}

// idle lets nothing happen for a while and counts the calls: what there is not
// to do costs nothing.
func (s *sim) idle() {
	const rest = 20 * time.Minute
	harness.Until(s.Ctx, 7*time.Minute) // what is on its way may end, and what was not heard be told again
	before := s.in.made()
	harness.Until(s.Ctx, rest)
	after := s.in.made()
	for b, most := range map[boundary]uint64{
		// A heartbeat each fifth of CLAIM_TTL, a cycle each CYCLE_INTERVAL, and the
		// connection that listens. A chain that nobody watches is asked for nothing but
		// the senders' accounts: a handful of questions at each look at the balances.
		processToRedis: uint64(s.processes) * uint64(rest/time.Minute) * 12,
		processToNode:  uint64(s.processes*s.nodes) * (uint64(rest/balanceInterval) + 1) * 6, processToWorker: 0,
		workerToNode: 0,
	} {
		if n := after[b] - before[b]; n > most {
			s.check.fail("with nothing to do, %d calls %s in %v, more than %d", n, b, rest, most)
		}
	}
}
