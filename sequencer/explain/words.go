package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

func depth(g *tx.Sighting, want int) string {
	if g.Fate == tx.FateUnknown || g.Fate == "" {
		return ""
	}
	if !g.Agreed {
		return "the nodes do not all say so yet"
	}
	return fmt.Sprintf("%d of %d blocks deep", g.Depth, want)
}

func pools(g *tx.Sighting) string {
	if g.Agreed {
		return "the pool of every synced node"
	}
	return "the pool of at least one node"
}

func because(e *tx.Error) string {
	if e == nil {
		return ""
	}
	return " (" + e.Words() + ")"
}

// stamp is a time as everything that is said gives it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// counted is a number in words, in one of few for as long as there are some.
func counted(n int, many string, few ...string) string {
	if n < len(few) {
		return few[n]
	}
	return fmt.Sprint(n, many)
}

func times(n int) string   { return counted(n, " times", "never", "once", "twice") }
func retries(n int) string { return counted(n, " retries", "no retry", "one retry") }

func ordinal(n int) string {
	suffix := "th"
	if n%100/10 != 1 {
		suffix = cmp.Or(map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10], suffix)
	}
	return counted(n, suffix,
		"", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
}

// outOfUse is a sentence on why a sender takes nothing.
func outOfUse(p *Candidate) string {
	if p.Detail == "" {
		return fmt.Sprintf(" %s is %s.", p.AccountID, p.Reason)
	}
	return fmt.Sprintf(" %s is %s: %s.", p.AccountID, p.Reason, strings.TrimSuffix(tx.Short(p.Detail), "."))
}

// slot is when a slot begins, by the clock of Redis; zero if it is unknown.
func (s *Scene) slot(n int64) time.Time {
	at := s.Tip.Begins(n)
	if at.IsZero() {
		return at
	}
	return s.Now.Add(at.Sub(s.Clock))
}

// lastSlot is when the last open attempt can no longer be included.
func (s *Scene) lastSlot() time.Time {
	var last uint32
	for i := range s.Txn.Attempts {
		if a := &s.Txn.Attempts[i]; a.Open() {
			if a.ValidUntil == 0 {
				return time.Time{}
			}
			last = max(last, a.ValidUntil)
		}
	}
	return s.slot(int64(last) + 1)
}

// toldFor is how long a node tells its peers of what it was sent. Mina: 50
// minutes; it stays in the node's own pool after that.
const toldFor = 50 * time.Minute

// passed speaks of a nonce that was spent in a block which the nodes no longer
// have, as after a long outage. The archive may know that block.
func (s *Scene) passed() said {
	const gone = "Its nonce was spent in a block that the nodes no longer hold"
	asked := Wait{Code: WaitSettlement, Detail: "the archive"}
	next := Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	switch {
	case s.Sighting.Sought:
		return s.settledBy(gone + ", and the archive does not show it there.")
	case s.Tip.NoArchive:
		return s.settledBy(gone + ", and there is no archive to ask.")
	case s.Tip.ArchiveLost != "":
		asked.Detail = tx.Short(s.Tip.ArchiveLost)
		return said{gone + ", and the archive cannot be asked.", asked, next}
	}
	return said{gone + "; the archive is being searched.", asked, next}
}

func (s *Scene) settledBy(text string) said {
	d := said{text, Wait{Code: WaitPerson}, Next{Action: StepWatch}}
	if a := s.Txn.FirstOpen(); a != nil {
		d.summary += " Look for it, and say by resolve whether it landed."
		d.wait.Detail = "what became of attempt " + strconv.Itoa(a.Number)
		d.next = Next{Action: StepResolve}
	}
	return d
}

// stuck speaks of what a worker sent by itself, and not every node has heard of:
// nobody here has its bytes, and the node that was given them is silent by now.
func (s *Scene) stuck() said {
	return said{
		"In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: " +
			"have its worker send it again, or restart the nodes that show it and resolve it then.",
		Wait{Code: WaitPerson, Detail: pools(&s.Sighting)},
		Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)},
	}
}

// orphaned speaks of what was DONE in a block that is gone. What a worker sent by
// itself lands again from a pool, or not at all.
func (s *Scene) orphaned(a *tx.Attempt) said {
	was := fmt.Sprintf("It was DONE, and block %d is no longer on the chain", a.Height)
	wait := Wait{Code: WaitBlock, Detail: "its block was orphaned"}
	soon := s.Now.Add(s.Policy.InclusionInterval)
	g := &s.Sighting
	switch {
	case !s.Txn.Legacy():
		return said{was + "; the same bytes are sent again until it lands or cannot.", wait, Next{Action: StepSendAgain}}
	case g.Fate == tx.FatePooled && !g.Agreed && s.Now.Sub(a.StartedAt) > toldFor:
		d := s.stuck()
		d.summary = was + ". " + d.summary
		return d
	case g.Fate == tx.FatePooled:
		return said{was + ". In " + pools(g) + ", waiting for another block.", wait, Next{Action: StepWatch, At: soon}}
	}
	return said{was + ". Only its worker has its bytes: it lands if a node still has it or the worker sends it again. " +
		"If no node shows it for long, a person has to settle it.", wait, Next{Action: StepWatch, At: soon}}
}
