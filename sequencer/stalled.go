package sequencer

import (
	"maps"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// Causes are why what is signed gets to no node, as [Stalled] counts them.
var Causes = []string{CauseNetwork, CauseGateway, CauseNodes}

const (
	CauseNetwork = string(tx.CauseNetwork) // it takes nothing from anybody, as before a fork
	CauseGateway = string(tx.CauseGateway) // something in front of the nodes says words that are not Mina's
	CauseNodes   = string(tx.CauseNodes)   // they do not answer
)

// A Stall is what waits for one cause, of what this process drives.
type Stall struct {
	N     int           // transactions
	For   time.Duration // since what it keeps away was sent, or signed before that, of the longest
	Words string        // what the nodes, or the gateway, said of that one last
}

// a stall is what keeps one transaction.
type stall struct {
	cause, words string
	since        time.Time
	tries        int // attempts in a row that were kept away
}

// stallOf is what keeps a transaction from all nodes by its record, nil for nothing.
func stallOf(t *tx.Transaction) (kept *stall) {
	if !t.Phase.Bound() || t.Ledger != "" {
		return nil
	}
	waits := []tx.AttemptState{tx.Signed, tx.Unknown, tx.Expired}
	for i := len(t.Attempts) - 1; i >= 0; i-- {
		a := &t.Attempts[i]
		if a.State.Unmade() {
			continue // it has not been out
		}
		if !slices.Contains(waits, a.State) || !slices.Contains(Causes, string(a.Cause)) {
			break
		}
		if kept == nil {
			kept = &stall{cause: string(a.Cause), words: a.Error.Message}
		}
		kept.since, kept.tries = a.StartedAt, kept.tries+1
	}
	// The first may have been proved for long before it was sent.
	if kept != nil && kept.tries == 1 && (t.Phase == tx.PhaseSent || t.Phase == tx.PhaseWatching) {
		kept.since = t.ChangedAt
	}
	return kept
}

// Stalled says of each cause what waits for it.
func (s *Sequencer) Stalled() map[string]Stall {
	s.mu.Lock()
	owners := slices.Collect(maps.Values(s.owners))
	s.mu.Unlock()
	now, all := s.Now(), make(map[string]Stall)
	for _, o := range owners {
		kept := o.stall.Load()
		if kept == nil || o.shows() {
			continue
		}
		x := all[kept.cause]
		x.N++
		if waited := now.Sub(kept.since); x.Words == "" || waited > x.For {
			x.For, x.Words = waited, kept.words
		}
		all[kept.cause] = x
	}
	return all
}

// shows reports whether a node has shown what o drives, whatever a sending was answered.
func (o *owner) shows() bool {
	o.train.mu.Lock()
	defer o.train.mu.Unlock()
	switch o.seen.Fate {
	case tx.FatePooled, tx.FateIncluded, tx.FateFailed, tx.FateDisplaced:
		return true
	}
	return false
}
