package sequencer

import (
	"cmp"
	"fmt"
	"strings"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

func depth(g lifecycle.Sighting, want int) string {
	if g.Fate == lifecycle.FateUnknown || g.Fate == "" {
		return ""
	}
	if !g.Agreed {
		return "the nodes do not all say so yet"
	}
	return fmt.Sprintf("%d of %d blocks deep", g.Depth, want)
}

func pools(g lifecycle.Sighting) string {
	if g.Agreed {
		return "the pool of every synced node"
	}
	return "the pool of at least one node"
}

func because(e *lifecycle.Error) string {
	if e == nil {
		return ""
	}
	return " (" + short(cmp.Or(e.Message, e.Code)) + ")"
}

// short bounds what workers and nodes have to say, on one line.
func short(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func lower(text string) string { return strings.ToLower(text[:1]) + text[1:] }
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprint(n, " times")
}

func retries(n int) string {
	switch n {
	case 0:
		return "no retry"
	case 1:
		return "one retry"
	}
	return fmt.Sprint(n, " retries")
}

func ordinal(n int) string {
	words := []string{"", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth"}
	if n < len(words) {
		return words[n]
	}
	suffix := "th"
	if n%100/10 != 1 {
		suffix = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
		if suffix == "" {
			suffix = "th"
		}
	}
	return fmt.Sprint(n, suffix)
}

// outOfUse is a sentence on why a sender takes nothing.
func outOfUse(p *senders.Sender) string {
	if p.Detail == "" {
		return fmt.Sprintf(" %s is %s.", p.AccountID, p.Reason)
	}
	return fmt.Sprintf(" %s is %s: %s.", p.AccountID, p.Reason, strings.TrimSuffix(short(p.Detail), "."))
}
