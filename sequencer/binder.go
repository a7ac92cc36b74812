package sequencer

import (
	"fmt"
	"time"

	"mina-sequencer/sequencer/tx"
)

// binder is what this process says of itself to all: whether it binds senders of Mina, and whose
// workers it runs.
func (s *Sequencer) binder() tx.Binder {
	b := tx.Binder{Types: s.proved, Why: s.idle(), Since: s.Now().UTC(), Shut: s.Recovering(),
		Unconfirmed: s.Store.Unconfirmed()}
	if was := s.said.Load(); b.Why == "" {
		b.Since = time.Time{}
	} else if was != nil && was.Why == b.Why {
		b.Since = was.Since
	}
	if s.Local != nil {
		b.Local = s.Local()
	}
	s.said.Store(&b)
	return b
}

// idle is why nothing is bound here now, "" if what is ready is. While nothing is ready nobody asks
// for the chain, and that it is not known keeps nobody.
func (s *Sequencer) idle() string {
	c, limit := s.Chain.Chain(), s.Policy.ClaimLimit
	switch {
	case s.draining.Load():
		return "it is to end"
	case s.Recovering() != "":
		return s.Recovering()
	case limit > 0 && s.boundQueues() >= limit:
		return fmt.Sprintf("it drives as many queues as SEQUENCER_CLAIM_LIMIT allows it, %d: raise it, or start another "+
			"process", limit)
	case s.outdated(c) && !s.wanted.Load(): // nobody asks
	case s.outdated(c):
		return "the Mina nodes do not answer it: see them, and SEQUENCER_MINA_URL"
	case !c.Quorum:
		return "too few Mina nodes are synced: see them"
	}
	return ""
}
