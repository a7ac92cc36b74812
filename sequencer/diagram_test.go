package sequencer_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

var update = flag.Bool("update", false, "rewrite the state diagram in the documentation")

const (
	document     = "../docs/architecture.md"
	diagramStart = "<!-- state diagram: written by go test ./sequencer -update -->\n"
	diagramEnd   = "<!-- end of state diagram -->\n"
)

// TestDiagram compares the state diagram in the documentation with the machine.
func TestDiagram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), diagramStart)
	old, after, ended := strings.Cut(rest, diagramEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the state diagram", document)
	}
	want := diagram()
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: run go test ./sequencer -update\n%s", document, cmp.Diff(old, want))
	}
	if err := os.WriteFile(document, []byte(before+diagramStart+want+diagramEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An arrow is one event that leads from one phase to another; do tells those
// apart that stay where they are.
type arrow struct {
	from lifecycle.Phase
	on   Event
	to   lifecycle.Phase
	do   Action
}

// diagram draws the machine. Each arrow bears the conditions that set it apart
// from the others of its event; they are found, not written down.
func diagram() string {
	all := map[lifecycle.Phase][]Situation{}
	under := map[arrow][]Situation{}
	var arrows []arrow
	for s := range steps() {
		// Only what can come about, see TestReachable.
		if s.Situation.Ending != "" && s.Phase != lifecycle.PhaseWatching || s.Reopened && s.Phase != lifecycle.PhaseDone ||
			s.Phase == lifecycle.PhaseWaiting && (s.Open || s.Cancelled) {
			continue
		}
		if s.Event == Events[0] {
			all[s.Phase] = append(all[s.Phase], s.Situation)
		}
		if !s.ok || s.Do == FlagCancel {
			continue
		}
		a := arrow{from: s.Phase, on: s.Event, to: s.To}
		if a.from == a.to {
			a.do = s.Do
		}
		if under[a] == nil {
			arrows = append(arrows, a)
		}
		under[a] = append(under[a], s.Situation)
	}

	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	state := func(indent string, p lifecycle.Phase) {
		fmt.Fprintf(&b, "%sstate \"%s · %s\" as %s\n", indent, p.State(), p.Queue(), p)
	}
	b.WriteString("    state \"a sender is bound\" as bound {\n")
	for _, p := range lifecycle.Phases {
		if p.Bound() {
			state("        ", p)
		}
	}
	b.WriteString("    }\n")
	for _, p := range lifecycle.Phases {
		if !p.Bound() {
			state("    ", p)
		}
	}
	fmt.Fprintf(&b, "    [*] --> %s: posted\n", lifecycle.PhaseWaiting)
	// What leads from one phase to another under the same conditions is one line.
	type line struct{ from, to, under string }
	var lines []line
	events := map[line][]string{}
	for _, a := range arrows {
		l := line{string(a.from), string(a.to), conditions(under[a], all[a.from])}
		if a.from.Bound() && everyBound(under, all, a) {
			l.from = "bound"
		}
		if a.do != Nothing {
			l.under = " / " + string(a.do) + l.under
		}
		if events[l] == nil {
			lines = append(lines, l)
		}
		if !slices.Contains(events[l], string(a.on)) {
			events[l] = append(events[l], string(a.on))
		}
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "    %s --> %s: %s%s\n", l.from, l.to, strings.Join(events[l], " or "), l.under)
	}
	b.WriteString("```\n")
	return b.String()
}

// everyBound reports whether an arrow leaves every phase in which a sender is
// bound, whatever the conditions.
func everyBound(under map[arrow][]Situation, all map[lifecycle.Phase][]Situation, a arrow) bool {
	for _, p := range lifecycle.Phases {
		if p.Bound() && len(under[arrow{p, a.on, a.to, a.do}]) < len(all[p]) {
			return false
		}
	}
	return true
}

// conditions names as few conditions as set some of the situations apart from
// all.
func conditions(some, all []Situation) string {
	candidates := []struct {
		yes, no string
		holds   func(Situation) bool
	}{
		{"something open", "nothing open", func(s Situation) bool { return s.Open }},
		{"legacy", "two-phase", func(s Situation) bool { return s.Legacy }},
		{"third loss", "first or second loss", func(s Situation) bool { return s.Losses >= 2 }},
		{"no further try", "may be tried again", func(s Situation) bool {
			return s.Cancelled || s.Ending != "" || s.Phase == lifecycle.PhaseFailing && !s.RetriesLeft
		}},
		{"finished before", "not finished before", func(s Situation) bool { return s.Ending == lifecycle.PhaseDone }},
		{"unresolvable before", "not unresolvable before", func(s Situation) bool { return s.Ending == lifecycle.PhaseUnresolved }},
		{"cancelled", "not cancelled", func(s Situation) bool { return s.Cancelled }},
		{"fee at cap", "fee below cap", func(s Situation) bool { return s.FeeAtCap }},
		{"sender out of use or queue overtaken", "sender still good", func(s Situation) bool { return s.Unusable || s.Overtaken }},
		{"reopened", "not reopened", func(s Situation) bool { return s.Reopened }},
	}
	var words []string
	for _, c := range candidates {
		value := c.holds(some[0])
		if slices.ContainsFunc(some, func(s Situation) bool { return c.holds(s) != value }) {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(s Situation) bool { return c.holds(s) != value })
		if len(rest) == len(all) {
			continue
		}
		all = rest
		if value {
			words = append(words, c.yes)
		} else {
			words = append(words, c.no)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}
