package sequencer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// A Race is between two queues of which commands were in flight at a time, and one required what the other
// changes: which of them succeeds is a matter of chance. This process has seen it among those that it drives.
type Race struct {
	Queues  [2]string // in order of their names
	Account tx.Account
	What    string // of Account, as in "state 2"
	Since   time.Time
	Seen    time.Time // last
	Times   int

	told time.Time
}

const (
	// raceTold is how long a race is told of since it was seen last, and how long the log is not told again.
	raceTold = time.Hour
	// mostNoticed bounds of how many accounts, transactions and races this process knows. What is forgotten
	// beyond that is noticed again.
	mostNoticed = 10_000
)

// noticed is what this process has seen signed, so that it notices races. It is a hint, and stops nothing.
type noticed struct {
	mu sync.Mutex
	// flying are by uid; at are the latest by account and queue, those that have ended just now among them.
	flying map[string]*flight
	at     map[tx.Account]map[string]*flight
	races  map[[2]string]*Race
}

type flight struct {
	does dispatcher.Footprint
	over time.Time // when it was in flight no longer; zero before
}

// notice looks whether what was signed for t races with what other queues have in flight, or had when its proof was
// begun, and tells of it. It looks at those alone that touch an account that it touches.
func (s *Sequencer) notice(t *tx.Transaction, began time.Time, does dispatcher.Footprint) {
	for _, r := range s.noticed.add(t, began, time.Now(), s.Policy.DispatchTimeout, does) {
		s.Log.Warn("two queues race: post to one of them what changes this account", about(t, "with", r.other(t.Queue),
			"account", r.Account.Key, "token", r.Account.Token, "what", r.What)...)
		s.work.Go(func(ctx context.Context) {
			for _, queue := range r.Queues {
				if err := s.Store.NoteRace(ctx, queue); err != nil && !errors.Is(err, queues.ErrNotFound) {
					s.Log.Warn("a race is not in the log of events", "queue", queue, "err", err)
				}
			}
		})
	}
}

// add notes a command, and returns the races that are to be told of. What was over for longer than a
// proof may take races with nothing.
func (n *noticed) add(t *tx.Transaction, began, now time.Time, proof time.Duration,
	does dispatcher.Footprint) (news []Race) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.races == nil || max(len(n.flying), len(n.at), len(n.races)) >= mostNoticed {
		n.flying, n.at = map[string]*flight{}, map[tx.Account]map[string]*flight{}
		n.races = map[[2]string]*Race{}
	}
	f := &flight{does: does}
	n.flying[t.UID] = f
	for _, account := range does.Touched {
		for queue, other := range n.at[account] {
			switch {
			case !other.over.IsZero() && now.Sub(other.over) > proof:
				delete(n.at[account], queue)
				continue
			case queue == t.Queue, !other.over.IsZero() && !other.over.After(began):
				continue
			}
			of, what := does.Races(&other.does)
			if what == "" {
				continue
			}
			r := n.race(t.Queue, queue, now)
			if r.Times == 0 || r.Seen != now { // else they share two accounts
				r.Account, r.What, r.Seen, r.Times = of, what, now, r.Times+1
			}
			if now.Sub(r.told) >= raceTold {
				r.told = now
				news = append(news, *r)
			}
		}
		if n.at[account] == nil {
			n.at[account] = map[string]*flight{}
		}
		n.at[account][t.Queue] = f
	}
	return news
}

// race is that of two queues; one that was not seen for long begins anew.
func (n *noticed) race(a, b string, now time.Time) *Race {
	pair := [2]string{min(a, b), max(a, b)}
	r := n.races[pair]
	if r == nil || now.Sub(r.Seen) > raceTold {
		r = &Race{Queues: pair, Since: now}
		n.races[pair] = r
	}
	return r
}

// landed notes that a transaction is in flight no longer.
func (n *noticed) landed(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.flying[uid]; f != nil {
		f.over = time.Now()
		delete(n.flying, uid)
	}
}

// Races are those that this process has seen in the last hour, the latest first.
func (s *Sequencer) Races() (all []Race) {
	n := &s.noticed
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.races {
		if time.Since(r.Seen) <= raceTold {
			all = append(all, *r)
		}
	}
	slices.SortFunc(all, func(a, b Race) int {
		return cmp.Or(b.Seen.Compare(a.Seen), slices.Compare(a.Queues[:], b.Queues[:]))
	})
	return all
}

func (r *Race) other(queue string) string {
	if r.Queues[0] == queue {
		return r.Queues[1]
	}
	return r.Queues[0]
}

// raceOf says that the queue of t races, "" if it does not. limited is for who may not know other queues.
func (s *Sequencer) raceOf(t *tx.Transaction, limited bool) string {
	for _, r := range s.Races() {
		if slices.Contains(r.Queues[:], t.Queue) {
			with := r.other(t.Queue)
			if limited {
				with = "another one"
			}
			return fmt.Sprintf("Its queue has raced with %s since %s: of what both have in flight one requires and the other "+
				"changes the %s of %s, so what comes second may fail. Post to one queue what changes an account",
				with, r.Since.UTC().Format("2006-01-02 15:04Z"), r.What, r.Account.Key)
		}
	}
	return ""
}
