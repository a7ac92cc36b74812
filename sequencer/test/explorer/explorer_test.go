package explorer

import (
	"flag"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"mina-sequencer/sequencer/test/lane"
)

var (
	only  = flag.String("world", "", "explore the worlds whose name contains this alone")
	bound = flag.Int("bound", 0, "the most states of each world, 0 for all")
	batch = flag.Int("batch", 0, "how many states are gone on from at once, for worlds too large for memory; 0 is all")
	first = flag.Bool("first", false, "stop at the first broken promise")
	every = flag.Int("fair", 16, "follow one of so many states to its end")
	wide  = flag.Bool("wide", false, "one more of each fault, and higher chains")
	pairs = flag.Bool("pairs", false, "the worlds of width 2 that end, and are too many for every change")
)

// quickly is how many states of each world make test visits; the later lanes visit all.
const quickly = 10_000

// unmet are the words that no world of CI meets, and why.
var unmet = map[string]string{
	"answer working":      "it changes nothing: the same question follows, within bounds that the table shows",
	"answer spent":        "as one that its worker is away, and its sender rests until it may sign: the table shows it",
	"reason waiting":      "what waits is driven by nobody",
	"reason bound":        "a bind is the store's, and no decision",
	"denial used":         "it takes three of a queue, and a reorganisation of two blocks",
	"reason unchanged":    "a result that says nothing new makes no step that is seen",
	"restore not the end": "a process sleeps while another one ends what it has out: one of Pairs",
	"restore kept":        "two queues, and what is found of one that is DONE: larger than those that end",
	"reason passed":       "the nodes of these worlds hold every block",
}

// TestWorlds walks all states of the worlds, and sees that everything is met in some.
func TestWorlds(t *testing.T) {
	debug.SetGCPercent(400) // millions of small states, few of which stay
	met, states := NewCoverage(), 0
	worlds := Worlds()
	switch {
	case *wide:
		worlds = WiderWorlds()
	case *pairs:
		worlds = Pairs()
	}
	part := *only != "" || *bound > 0 || *wide || *pairs
	switch {
	case lane.Raced: // one shows all that the walk shares
		worlds, part = worlds[:1], true
	case lane.Sampled() && !part: // breadth first: the shortest stories of each
		*bound, part = quickly, true
	}
	for _, w := range worlds {
		if !strings.Contains(w.Name, *only) {
			continue
		}
		r := Explore(w, Options{FairEvery: *every, Bound: *bound, Batch: *batch})
		t.Log(r)
		if r.Broken != "" {
			t.Error(r.Story)
		}
		states += r.States
		met.Add(r.Met)
		if *first && r.Broken != "" {
			break
		}
	}
	t.Logf("%d states together\n%s", states, met.Table())
	if part || t.Failed() {
		return
	}
	missed := met.Missed()
	for _, name := range missed {
		if unmet[name] == "" {
			t.Errorf("no world meets: %s", name)
		}
	}
	for name := range unmet {
		if !slices.Contains(missed, name) {
			t.Errorf("listed as never met, and met: %s", name)
		}
	}
}
