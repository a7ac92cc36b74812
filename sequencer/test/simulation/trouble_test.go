package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
)

// stride is how often something new can go wrong.
const stride = 20 * time.Second

// A trouble is something that no call crosses. It says for whom it is and how
// long it lasts, and what ends it; "" if there is no occasion for it.
type trouble struct {
	name   string
	weight int
	begin  func(s *sim, i uint64, d time.Duration) (who string, end func())
}

func faulty(name string, f func(s *sim, i uint64) devnet.Faults) trouble {
	return trouble{"node: " + name, 1, func(s *sim, i uint64, d time.Duration) (string, func()) {
		n := s.pick(s.nodes, "node", i)
		node := s.Net.Node(n)
		if node.Faults() != (devnet.Faults{}) {
			return "", nil
		}
		s.OK(node.SetFaults(f(s, i)))
		return fmt.Sprintf("node%d for %v", n, d), func() { s.OK(node.SetFaults(devnet.Faults{})) }
	}}
}

// where has a trouble come only where it may.
func (t trouble) where(may func(*sim) bool) trouble {
	begin := t.begin
	t.begin = func(s *sim, i uint64, d time.Duration) (string, func()) {
		if !may(s) {
			return "", nil
		}
		return begin(s, i, d)
	}
	return t
}

// belongs reports whether it is known of which network the namespace is: whoever gives it its
// first nodes gives it the right ones, or has to begin with another namespace.
func (s *sim) belongs() bool {
	known, err := s.Redis.Client.Keys(s.Ctx, "*is:network").Result()
	return err == nil && len(known) == 1
}

// troubles are all of them.
func troubles() []trouble {
	return []trouble{
		faulty("lags", func(s *sim, i uint64) devnet.Faults { return devnet.Faults{Lag: 1 + s.pick(6, "lag", i)} }),
		faulty("stands still", func(*sim, uint64) devnet.Faults { return devnet.Faults{Lag: -1} }),
		faulty("answers 503",
			func(*sim, uint64) devnet.Faults { return devnet.Faults{Status: http.StatusServiceUnavailable} }),
		faulty("hangs", func(*sim, uint64) devnet.Faults { return devnet.Faults{Hang: true} }),
		faulty("takes seconds", func(s *sim, i uint64) devnet.Faults {
			return devnet.Faults{DelayMs: 500 + s.pick(10_000, "delay", i)}
		}),
		faulty("is not synced", func(s *sim, i uint64) devnet.Faults {
			return devnet.Faults{Sync: []string{"BOOTSTRAP", "CATCHUP", "OFFLINE"}[s.pick(3, "sync", i)]}
		}),
		faulty("loses replies", func(s *sim, i uint64) devnet.Faults {
			return devnet.Faults{LoseReplies: 1 + s.pick(3, "replies", i), LoseStatus: []int{0, 502}[s.pick(2, "status", i)]}
		}),
		faulty("is not passed on to by its gateway", func(s *sim, i uint64) devnet.Faults {
			f := s.gateway(i)
			f.LoseRequests = 1 + s.pick(3, "requests", i)
			return f
		}),
		faulty("is talked over by its gateway", func(s *sim, i uint64) devnet.Faults {
			f := s.gateway(i)
			f.LoseReplies = 1 + s.pick(3, "replies", i)
			return f
		}),
		{"node: gateways of all", 2, (*sim).gateways},
		faulty("refuses", func(s *sim, i uint64) devnet.Faults {
			return devnet.Faults{Refuse: refusals[s.pick(len(refusals), "refusal", i)]}
		}),
		faulty("is of another network", func(*sim, uint64) devnet.Faults { return devnet.Faults{NetworkID: "mainnet"} }).
			where((*sim).belongs),
		{"node: all refuse", 1,
			func(s *sim, i uint64, d time.Duration) (string, func()) { return s.refuse(i), s.nobodyRefuses }},
		{"node: isolated, with a fork of its own", 1, (*sim).isolate},
		{"chain: reorganised", 3, (*sim).reorganise},
		{"pool: drops", 2, func(s *sim, i uint64, _ time.Duration) (string, func()) {
			pooled := s.Net.Node(s.pick(s.nodes, "node", i)).Pooled()
			if len(pooled) == 0 {
				return "", nil
			}
			hash := pooled[s.pick(len(pooled), "drop", i)]
			s.Net.Drop(hash)
			return hash, nil
		}},
		{"pool: emptied", 1, func(s *sim, _ uint64, _ time.Duration) (string, func()) {
			s.Net.ClearPools()
			return "everywhere", nil
		}},
		{"redis: loading", 1, func(s *sim, _ uint64, d time.Duration) (string, func()) {
			if s.loading {
				return "", nil
			}
			s.loading = true
			s.Redis.SetError("LOADING Redis is loading the dataset in memory")
			return fmt.Sprint("for ", d), func() {
				s.loading = false
				s.Redis.SetError("")
			}
		}},
		{"redis: slow", 1, func(s *sim, _ uint64, d time.Duration) (string, func()) {
			s.in.slowDown(processToRedis, true)
			return fmt.Sprint("for ", d), func() { s.in.slowDown(processToRedis, false) }
		}},
		{"redis: restarted", 1, func(s *sim, _ uint64, _ time.Duration) (string, func()) {
			if s.loading {
				return "", nil
			}
			s.Redis.Restart()
			return "with all it had", nil
		}},
		{"redis: fails over", 3, (*sim).failOver},
		{"redis: fails over, a process cut off", 1, (*sim).cutOff},
		{"process: killed", 2, (*sim).kill},
		{"process: ends", 1, (*sim).end},
		{"process: stopped for a while", 1, (*sim).pauseProcess},
		{"worker: dies", 1, func(s *sim, i uint64, _ time.Duration) (string, func()) {
			w := s.staff[s.pick(len(s.staff), "staff", i)]
			w.crash()
			return w.name, nil
		}},
		person("drains a sender", 1, func(s *sim, c *caller, i uint64) answer {
			return c.do(s.Ctx, "POST", "/senders/"+s.someone(i).account+"/drain", nil)
		}),
		person("resumes a sender", 2, func(s *sim, c *caller, i uint64) answer {
			account := s.someone(i).account
			var at senderDoc
			if _, ok := s.ask("GET", "/senders/"+account, nil, &at); !ok || at.Reason != "DRAINING" {
				return answer{}
			}
			return c.do(s.Ctx, "POST", "/senders/"+account+"/resume", nil)
		}),
		person("pauses a queue", 1, func(s *sim, c *caller, i uint64) answer {
			return c.do(s.Ctx, "POST", "/queues/"+s.somewhere(i)+"/pause", map[string]string{"reason": "a break"})
		}),
		person("resumes a queue", 1, func(s *sim, c *caller, i uint64) answer {
			return c.do(s.Ctx, "POST", "/queues/"+s.somewhere(i)+"/resume", nil)
		}),
		person("retries", 2, func(s *sim, c *caller, i uint64) answer {
			return c.do(s.Ctx, "POST", "/transactions/"+s.something(i)+"/retry", nil)
		}),
		person("cancels", 2, func(s *sim, c *caller, i uint64) answer {
			return c.do(s.Ctx, "POST", "/transactions/"+s.something(i)+"/cancel", nil)
		}),
		person("resolves", 1, func(s *sim, c *caller, i uint64) answer {
			for _, p := range s.posts {
				var t txnDoc
				if _, ok := s.ask("GET", "/transactions/"+p.uid, nil, &t); ok && t.State == "UNRESOLVED" {
					return s.resolve(c, &t)
				}
			}
			return answer{}
		}),
	}
}

// person is somebody who asks for something, over a network that fails.
func person(what string, weight int, do func(*sim, *caller, uint64) answer) trouble {
	return trouble{"person: " + what, weight, func(s *sim, i uint64, _ time.Duration) (string, func()) {
		a := do(s, s.caller("person"+what+fmt.Sprint(i)), i)
		switch {
		case a.ok():
			return fmt.Sprint(a.status), nil
		case a.status >= 500 && !a.none():
			s.check.fail("person %s: %v", what, a)
		}
		return "", nil
	}}
}

func (s *sim) someone(i uint64) *colleague { return s.staff[s.pick(len(s.staff), "whom", i)] }
func (s *sim) somewhere(i uint64) string   { return s.queued[s.pick(len(s.queued), "which queue", i)] }
func (s *sim) something(i uint64) string   { return s.posts[s.pick(len(s.posts), "whose", i)].uid }

// A lasting trouble goes on until its time is over.
type lasting struct {
	end  func()
	ends time.Time
}

func (s *sim) lasts(d time.Duration, end func()) {
	s.going = append(s.going, lasting{end, time.Now().Add(d)})
}

// disturb lets troubles come and go.
func (s *sim) disturb() {
	var all []trouble
	for _, t := range troubles() {
		weight := t.weight
		if s.theme != "" && strings.HasPrefix(t.name, s.theme) {
			weight *= 8
		}
		for range weight {
			all = append(all, t)
		}
	}
	over := time.Now().Add(s.trouble)
	for i := uint64(0); time.Now().Before(over); i++ {
		harness.Until(s.Ctx, stride)
		s.going = slices.DeleteFunc(s.going, func(l lasting) bool {
			past := !time.Now().Before(l.ends)
			if past {
				l.end()
			}
			return past
		})
		s.standUp(i)
		s.trade()
		if s.fork.on && s.chance(350, "fork grows", i) {
			// What one node believes may be deep as long as it never becomes the chain.
			if at := s.Net.Node(s.fork.node).State(); s.fork.blocks < s.deepest || at.Height+1 < at.Highest {
				s.fork.blocks++
				s.Net.Node(s.fork.node).MakeBlock()
			}
		}
		if i%3 == 0 {
			s.check.always()
		}
		often := 250
		if s.theme != "" {
			often = 400
		}
		if !s.chance(often, "disturbance", i) {
			continue
		}
		t := all[s.pick(len(all), "kind", i)]
		d := s.between(20*time.Second, 6*time.Minute, "for", i)
		who, end := t.begin(s, i, d)
		if who == "" {
			continue
		}
		s.in.note(elsewhere, t.name, who)
		if end != nil {
			s.lasts(d, end)
		}
	}
	for _, l := range s.going {
		l.end()
	}
}

// refusals are a node's words of each class.
var refusals = []string{
	`["Overloaded"]`,
	"Insufficient fee",
	`(invalid (Invalid_proof))`,
	`["Bad_token"]`,
	`["Insufficient_funds"]`,
	`["Fee_payer_not_permitted_to_send"]`,
	`(invalid (Mismatched_authorization_kind))`,
	`["After_slot_tx_end"]`,
}

// gateway is what stands in front of a node and says something else than the node does.
func (s *sim) gateway(i uint64) devnet.Faults {
	words := devnet.GatewayWords()
	return devnet.Faults{
		LoseStatus: []int{200, 200, 408, 499, 502}[s.pick(5, "gateway's status", i)],
		LoseBody:   words[s.pick(len(words), "gateway's words", i)],
	}
}

// gateways stand in front of all nodes, and pass on what is sent to some.
func (s *sim) gateways(i uint64, d time.Duration) (string, func()) {
	for n := range s.nodes {
		if s.Net.Node(n).Faults() != (devnet.Faults{}) {
			return "", nil
		}
	}
	for n := range s.nodes {
		f := s.gateway(i)
		f.LoseReplies = 1 + s.pick(8, "replies", i)
		if s.chance(400, fmt.Sprintf("not passed on %d", n), i) {
			f.LoseRequests, f.LoseReplies = f.LoseReplies, 0
		}
		s.OK(s.Net.Node(n).SetFaults(f))
	}
	return fmt.Sprint("for ", d), func() {
		for n := range s.nodes {
			s.OK(s.Net.Node(n).SetFaults(devnet.Faults{}))
		}
	}
}

// refuse has all nodes refuse what they are sent.
func (s *sim) refuse(i uint64) string {
	word := refusals[s.pick(len(refusals), "refusal", i)]
	for n := range s.nodes {
		if s.Net.Node(n).Faults() != (devnet.Faults{}) {
			return ""
		}
	}
	for n := range s.nodes {
		s.OK(s.Net.Node(n).SetFaults(devnet.Faults{Refuse: word}))
	}
	return word
}

func (s *sim) nobodyRefuses() {
	for n := range s.nodes {
		if f := s.Net.Node(n).Faults(); f.Refuse != "" {
			s.OK(s.Net.Node(n).SetFaults(devnet.Faults{}))
		}
	}
}

// failOver has a replica take the place of Redis that lacks what is written from
// now until the next stride or, where the flag says so, some strides later.
func (s *sim) failOver(i uint64, _ time.Duration) (string, func()) { return s.promote(i, func() {}) }

// cutOff stops a process with what it knows when Redis fails over, for so long that the others have settled
// without it.
func (s *sim) cutOff(i uint64, d time.Duration) (string, func()) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if len(s.slots) == 1 || r.dead.Load() || !r.back.IsZero() {
		return "", nil
	}
	what, end := s.promote(i, func() {
		if !r.dead.Load() && r.back.IsZero() {
			r.stop()
			r.back = time.Now().Add(2*s.Policy.ClaimTTL + d)
		}
	})
	if what != "" {
		what = fmt.Sprintf("%s; %s cut off for %v more", what, r.name, d)
	}
	return what, end
}

// promote has Redis fail over to a replica that stands still from now on; before is done at that moment.
func (s *sim) promote(i uint64, before func()) (string, func()) {
	if !s.forgets || s.loading {
		return "", nil
	}
	had, since := s.Redis.Snapshot(), time.Now()
	lag := stride
	if *simLag > 1 {
		lag *= time.Duration(1 + s.pick(*simLag, "lag of the replica", i))
	}
	s.lasts(lag-stride/2, func() {
		if !s.loading {
			before()
			s.check.doubt()
			s.Redis.FailOver(had)
			s.check.forget(since)
		}
	})
	return fmt.Sprintf("to a replica as of now, %v later", lag), nil
}

func (s *sim) isolate(i uint64, _ time.Duration) (string, func()) {
	n := s.pick(s.nodes, "node", i)
	node := s.Net.Node(n)
	if s.nodes == 1 || s.fork.on || node.Faults() != (devnet.Faults{}) {
		return "", nil
	}
	s.OK(node.SetFaults(devnet.Faults{Isolated: true}))
	s.fork.node, s.fork.blocks, s.fork.on = n, 0, true
	return fmt.Sprintf("node%d", n), func() {
		s.fork.on = false
		s.OK(node.SetFaults(devnet.Faults{}))
	}
}

func (s *sim) reorganise(i uint64, _ time.Duration) (string, func()) {
	depth := 1 + s.pick(s.deepest, "depth", i)
	if s.fork.on || int(s.Net.Node(0).State().Highest) <= depth+1 {
		return "", nil
	}
	r := devnet.Reorg{Depth: depth, Empty: s.chance(400, "empty", i), Sooner: s.chance(400, "sooner", i)}
	for k, e := range s.Net.Effects() {
		if s.chance(300, fmt.Sprintf("exclude %d", i), uint64(k)) {
			r.Exclude = append(r.Exclude, e.Hash)
		}
	}
	s.OK(s.Net.Reorg(r))
	return fmt.Sprintf("%d deep, empty %v", depth, r.Empty), nil
}

// standUp brings back who died or was stopped long enough ago.
func (s *sim) standUp(i uint64) {
	now := time.Now()
	for k, r := range s.slots {
		switch {
		case r.dead.Load() && r.back.IsZero():
			r.back = now.Add(s.between(0, 4*time.Minute, "down "+r.name, 0))
			// Misfortunes never come singly: what it has sent may be refused to the
			// next one.
			likely := 300
			if s.theme == "sends" {
				likely = 800
			}
			if s.chance(likely, "refused to the next "+r.name, 0) {
				if word := s.refuse(i); word != "" {
					s.in.note(elsewhere, "node: all refuse", word)
					s.lasts(s.between(time.Minute, 6*time.Minute, "refusal of "+r.name, 0), s.nobodyRefuses)
				}
			}
		case !r.back.IsZero() && now.After(r.back):
			r.back = time.Time{}
			if r.dead.Load() {
				s.stand(k)
			} else {
				s.story.tell("%s goes on", r.name)
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
			s.story.tell("%s is back", w.name)
			w.revive()
			w.worker.Restart()
		}
	}
}

func (s *sim) kill(i uint64, _ time.Duration) (string, func()) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if r.dead.Load() {
		return "", nil
	}
	r.crash()
	return r.name, nil
}

func (s *sim) end(i uint64, _ time.Duration) (string, func()) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if r.dead.Load() {
		return "", nil
	}
	go r.proc.Stop()
	return r.name, nil
}

func (s *sim) pauseProcess(i uint64, _ time.Duration) (string, func()) {
	r := s.slots[s.pick(len(s.slots), "which", i)]
	if r.dead.Load() || !r.back.IsZero() {
		return "", nil
	}
	d := s.between(s.Policy.ClaimTTL*2/3, s.Policy.ClaimTTL*17/10, "stop", i)
	r.stop()
	r.back = time.Now().Add(d)
	return fmt.Sprintf("%s for %v", r.name, d), nil
}
