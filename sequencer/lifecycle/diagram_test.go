package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"mina-sequencer/sequencer/tx"
)

var update = flag.Bool("update", false, "rewrite what is drawn in the documentation")

const (
	document     = "../../docs/architecture/decisions.md"
	diagramStart = "<!-- state diagram: written by go test ./sequencer/lifecycle -update -->\n"
	diagramEnd   = "<!-- end of state diagram -->\n"
)

// diagramIsDrawn compares the state diagram in the documentation with the steps that
// were seen.
func diagramIsDrawn(t *testing.T, c *checker) {
	drawnBetween(t, diagramStart, diagramEnd, diagram(c.arrows))
}

var drawing sync.Mutex // two tests draw in it

// drawnBetween compares a part of the documentation with what it is to be.
func drawnBetween(t *testing.T, start, end, want string) {
	t.Helper()
	drawing.Lock()
	defer drawing.Unlock()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), start)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for %s", document, start)
	}
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s is stale: run go test ./sequencer/lifecycle -update\nit has\n%s\nand it is to have\n%s",
			document, old, want)
	}
	if err := os.WriteFile(document, []byte(before+start+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// diagram draws steps: one arrow for each pair of phases, with its reasons. What leads
// from every phase with a sender to the same one is drawn once. Of the steps that stay
// in a phase those are left out that only note what was said, or what comes again.
func diagram(steps map[arrow]int) string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    state \"a sender is bound\" as bound {\n")
	for _, p := range tx.Phases {
		if p.Bound() {
			fmt.Fprintf(&b, "        state \"%s · %s\" as %s\n", p.State(), p.Queue(), p)
		}
	}
	b.WriteString("    }\n")
	for _, p := range tx.Phases {
		if !p.Bound() {
			fmt.Fprintf(&b, "    state \"%s · %s\" as %s\n", p.State(), p.Queue(), p)
		}
	}
	fmt.Fprintf(&b, "    [*] --> %s: posted\n", tx.PhaseWaiting)
	var all []string // what leads there from every phase with a sender
	for _, to := range tx.Phases {
		whys := reasons(steps, func(a arrow) bool { return a.to == to && everyBound(steps, a) })
		if len(whys) > 0 {
			all = append(all, fmt.Sprintf("    bound --> %s: %s\n", to, strings.Join(whys, ", ")))
		}
	}
	for _, from := range tx.Phases {
		for _, to := range tx.Phases {
			whys := reasons(steps, func(a arrow) bool {
				return a.from == from && a.to == to && !everyBound(steps, a) && (from != to || !quiet(a.why))
			})
			if len(whys) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(whys, ", "))
			}
		}
	}
	b.WriteString(strings.Join(all, "") + "```\n")
	return b.String()
}

// quiet reasons note something of what goes on.
func quiet(r Reason) bool {
	return slices.Contains([]Reason{ReasonOrdered, ReasonSent, ReasonAnswered, ReasonResending}, r)
}

// everyBound reports whether what a is leads to its phase from every one with a sender.
func everyBound(steps map[arrow]int, a arrow) bool {
	if !a.from.Bound() {
		return false
	}
	for _, p := range tx.Phases {
		if p.Bound() && steps[arrow{p, a.to, a.why}] == 0 {
			return false
		}
	}
	return true
}

func reasons(steps map[arrow]int, which func(arrow) bool) []string {
	var out []string
	for a := range steps {
		if which(a) && !slices.Contains(out, string(a.why)) {
			out = append(out, string(a.why))
		}
	}
	slices.Sort(out)
	return out
}
