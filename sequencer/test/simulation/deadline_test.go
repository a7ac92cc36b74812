package simulation

import (
	"slices"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

// terms gives one transaction in four a deadline, and one in ten a time before which it is
// not to be dispatched. Where blocks may go that were final they promise nothing.
func (s *sim) terms(p post, k uint64) post {
	if s.chance(100, "not before", k) {
		p.notBefore = s.began.Add(s.between(0, s.trouble, "when", k)).Truncate(time.Millisecond)
	}
	if s.chance(250, "deadline", k) {
		p.expires = s.began.Add(s.between(2*time.Minute, s.trouble+20*time.Minute, "until", k)).Truncate(time.Millisecond)
		if !p.expires.After(p.notBefore) {
			p.notBefore = time.Time{}
		}
	}
	return p
}

// deadline is that of a transaction as it was posted, zero if it has none.
func (s *sim) deadline(uid string) time.Time {
	i := slices.IndexFunc(s.posts, func(p post) bool { return p.uid == uid })
	if i < 0 {
		return time.Time{}
	}
	return s.posts[i].expires
}

// over is when a slot is.
func (s *sim) over(slot uint32) time.Time {
	return s.began.Add((time.Duration(slot) + 1) * simSlot)
}

// inTime: nothing takes effect in a block that is not over before its deadline.
func (c *checker) inTime(uid string, es []devnet.Effect) {
	at := c.s.deadline(uid)
	for _, e := range es {
		if over := c.s.over(e.Slot); !at.IsZero() && over.After(at) {
			c.fail("%s took effect in slot %d, over %v after its deadline", uid, e.Slot, over.Sub(at))
		}
	}
}

// overdue: what could not land any more was FAILED no later than the chain had settled it,
// what was in flight behind it was over, or all faults were, and a few looks at the chain.
func (c *checker) overdue(t *txnDoc) {
	const slack = 10 * time.Minute
	if t.State != "FAILED" || t.code() != tx.CodeExpired || t.ExpiresAt.IsZero() {
		return
	}
	at := c.s.healed
	if t.ReceivedAt.After(at) {
		at = t.ReceivedAt
	}
	deep := 0
	for _, slot := range c.s.Net.Slots() {
		if over := c.s.over(slot); !over.Before(t.ExpiresAt) {
			if deep++; deep == c.s.Policy.SettleDepth+1 && over.After(at) {
				at = over
			}
		}
	}
	if deep <= c.s.Policy.SettleDepth {
		return // that took fewer blocks: it never was open, or something settled it before
	}
	ended, err := time.Parse(time.RFC3339, t.DoneAt)
	c.s.OK(err)
	if over := c.followed(t, at); over.After(at) {
		at = over
	}
	if late := ended.Sub(at); late > slack {
		c.fail("%s ended %v after it could not land any more", t.UID, late)
	}
}

// followed is when what was planned behind a transaction up to a time was over; zero if nothing was.
func (c *checker) followed(t *txnDoc, up time.Time) (over time.Time) {
	if len(t.Attempts) == 0 {
		return over
	}
	last := t.Attempts[len(t.Attempts)-1]
	for i := range c.s.posts {
		other, err := c.s.Store.Get(c.s.Ctx, c.s.posts[i].uid)
		if err != nil || other.Queue != t.Queue || other.UID == t.UID {
			continue
		}
		for _, a := range other.Attempts {
			behind := a.Sender == last.Sender && a.Nonce > last.Nonce && !a.State.Unmade()
			if behind && a.StartedAt.Before(up) && a.EndedAt.After(over) {
				over = a.EndedAt
			}
		}
	}
	return over
}
