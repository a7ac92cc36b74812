package explain

import (
	"cmp"
	"fmt"
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
