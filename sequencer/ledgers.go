package sequencer

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/ledger"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// A LedgerStanding is how a ledger stands to this process.
type LedgerStanding struct {
	Name string
	// Asked is when it was last asked what became of batches, or of none; zero if never,
	// and then nothing is known of it.
	Asked time.Time
	// OK: it answers, and turns no batch away. Detail says why it is not.
	OK     bool
	Detail string
	// Followed is how many batches it is asked about, Behind how old its last answer for
	// them is.
	Followed int
	Behind   time.Duration
}

// lookAgain is how long it is believed what a ledger has last shown of itself.
const lookAgain = time.Minute

// nobodys is the id of a batch that nobody has made.
var nobodys = strings.Repeat("0", 128)

// Ledgers says how the ledgers stand, in the order of their names. It waits for none of
// them: one that was not asked for a minute is asked now, and the answer shown to whoever
// asks next.
func (s *Sequencer) Ledgers() []LedgerStanding {
	all := make([]LedgerStanding, 0, len(s.books))
	for _, name := range slices.Sorted(maps.Keys(s.books)) {
		all = append(all, s.books[name].standing())
	}
	return all
}

func (b *books) standing() LedgerStanding {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.asked) >= lookAgain && len(b.asks) == 0 {
		b.wanted = true
		notify(b.begin)
	}
	x := LedgerStanding{Name: b.name, Asked: b.asked, Followed: len(b.asks)}
	if len(b.asks) > 0 {
		x.Behind = now.Sub(later(b.looked, b.since))
	}
	switch {
	case b.turned > 0 && now.Before(b.held.Add(lookAgain)): // of what is longer ago nothing is known
		x.Detail = b.why.Message
	case b.lost != nil:
		x.Detail = b.lost.Error()
	default:
		x.OK = !b.asked.IsZero()
	}
	return x
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ask asks a ledger what became of batches, by their ids; of none whether it answers.
func (b *books) ask(ctx context.Context, asks map[string]string) (map[string]ledger.Status, error) {
	if len(asks) == 0 {
		return b.Statuses(ctx, []string{nobodys})
	}
	return b.Statuses(ctx, slices.Collect(maps.Values(asks)))
}

// answerName is what figures call the answer to a post.
func answerName(a ledger.Answer) string {
	switch a.Outcome {
	case ledger.Accepted:
		return "accepted"
	case ledger.NotProcessed:
		return "busy"
	case ledger.Rejected:
		return "rejected"
	case ledger.NotWritten:
		return "unreached"
	case ledger.Held:
		switch a.Why {
		case ledger.WrongAuth:
			return "auth"
		case ledger.WrongAddress:
			return "address"
		}
		return "protocol"
	}
	return "unknown"
}

// Answers are the names of all answers to a post, and Verdicts of the ends of batches.
var (
	Answers  = []string{"accepted", "busy", "rejected", "auth", "address", "protocol", "unreached", "unknown"}
	Verdicts = []string{"committed", "invalid", "rejected", "silent"}
)

// Verdict is how a batch came to its end by this move, "" if it did not, or by no word of
// its ledger.
func (m Move) Verdict() string {
	to := m.To.State()
	switch {
	case m.Ledger == "" || to == m.From.State():
	case to == tx.Done:
		return "committed"
	case to != tx.Unresolved:
	case m.Reason == lifecycle.ReasonInvalid:
		return "invalid"
	case m.Reason == lifecycle.ReasonAmbiguous:
		return "silent"
	default:
		return "rejected"
	}
	return ""
}
