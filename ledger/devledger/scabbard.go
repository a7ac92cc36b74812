package devledger

import (
	"slices"
	"time"
)

const (
	historySize   = 100              // batches that a service remembers
	refuseFrom    = 30               // queued batches from which the coordinator refuses
	takeBelow     = 15               // until there are fewer than these
	proposalLasts = 30 * time.Second // without all votes
)

// The statuses of Scabbard.
const (
	isPending   = "Pending"
	isValid     = "Valid"
	isInvalid   = "Invalid"
	isCommitted = "Committed"
)

// A record is what a service remembers of a batch.
type record struct {
	status       string
	transactions []string
	why          *refusal
	at           time.Time
}

// A service is one member of a circuit.
type service struct {
	circuit *circuit
	id      string // within its circuit
	history map[string]*record
	order   []string  // of history, oldest first
	up      time.Time // it does not run until then
	life    int       // grows when it restarts
}

func (s *service) name() string { return s.circuit.id + "::" + s.id }

// A proposal is a batch that a service took.
type proposal struct {
	*Batch
	fault Fault
	from  *service
}

// A circuit has one shared state. Its queue is the coordinator's, the service
// with the lowest id.
type circuit struct {
	*core
	config   *SplinterConfig
	id       string
	services []*service // by id
	queue    []proposal
	refusing bool
	current  *proposal
	times    map[string]int // how often a batch or transaction took effect, by id
}

func (c *circuit) coordinator() *service { return c.services[0] }

// set writes a status. A batch that the service does not remember is inserted,
// at the cost of the oldest, if insert says so.
func (s *service) set(b *Batch, status string, why *refusal, insert bool) {
	r := s.history[b.ID]
	if r == nil {
		if !insert {
			return
		}
		r = &record{transactions: b.TransactionIDs, at: s.circuit.at}
		s.history[b.ID] = r
		s.order = append(s.order, b.ID)
		if len(s.order) > historySize {
			s.forget(s.order[0])
		}
	}
	r.status, r.why = status, why
}

// forget takes a batch out of the history.
func (s *service) forget(id string) {
	delete(s.history, id)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == id })
}

// everywhere writes a status at all services that run.
func (c *circuit) everywhere(b *Batch, status string, insert bool) {
	for _, s := range c.services {
		if !c.at.Before(s.up) {
			s.set(b, status, nil, insert)
		}
	}
}

// take queues batches that were checked, whatever is known of them, and says
// whether the coordinator was reached.
func (c *circuit) take(from *service, list []*Batch, f Fault) bool {
	reached := !c.at.Before(c.coordinator().up)
	for _, b := range list {
		from.set(b, isPending, nil, true)
		switch {
		case f.Fate == Lost:
			c.in(c.config.ProposalTime, func() { from.forget(b.ID) })
		case reached:
			c.queue = append(c.queue, proposal{b, f, from})
		}
	}
	c.refusing = c.refusing || len(c.queue) >= refuseFrom
	c.propose()
	return reached
}

// full says whether posts are refused.
func (c *circuit) full() bool { return c.refusing && !c.config.V1 && c.config.Release != "0.4" }

// propose begins with the next batch unless one is under way.
func (c *circuit) propose() {
	for c.current == nil && len(c.queue) > 0 {
		p := c.queue[0]
		c.queue = slices.Delete(c.queue, 0, 1)
		if len(c.queue) < takeBelow {
			c.refusing = false
		}
		if why := judge(p.Batch, p.fault, c.config.Refuse, func(id string) int { return c.times[id] }); why != nil {
			c.refuse(p, why)
			continue
		}
		c.everywhere(p.Batch, isValid, true)
		c.current = &p
		lasts, end := c.config.ProposalTime, c.commit
		if p.fault.Fate == Stuck {
			// Rolled back, which touches no status.
			lasts, end = proposalLasts, func() {}
		}
		c.in(lasts, func() {
			if c.current == &p {
				end()
				c.current = nil
				c.propose()
			}
		})
	}
}

// refuse writes a verdict: where the batch was posted with protocol V1, with V2
// at the coordinator, which tells nobody.
func (c *circuit) refuse(p proposal, why *refusal) {
	at := c.coordinator()
	if c.config.V1 {
		at = p.from
	}
	at.set(p.Batch, isInvalid, why, true)
}

// commit is the end of a proposal that has all votes. The state is written. If
// a transaction was executed before, its receipt cannot be, and the status stays.
func (c *circuit) commit() {
	b := c.current.Batch
	again := false
	for _, id := range b.TransactionIDs {
		again = again || c.times[id] > 0
		c.times[id]++
	}
	c.times[b.ID]++
	if !again {
		c.everywhere(b, isCommitted, false)
	}
	c.config.record(Effect{
		Batch: b.ID, Transactions: b.TransactionIDs, Service: c.current.from.name(), Times: c.times[b.ID], At: c.at,
	})
}

// restart empties the memory of a service, which does not run for a while.
func (s *service) restart(down time.Duration) {
	s.history, s.order, s.up = map[string]*record{}, nil, s.circuit.at.Add(down)
	s.life++
	if c := s.circuit; s == c.coordinator() {
		c.queue, c.current, c.refusing = nil, nil, false
		c.in(down, c.propose)
	}
}
