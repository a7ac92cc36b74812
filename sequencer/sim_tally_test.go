package sequencer_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/queues"
)

// A tally is what all seeds together have gone through.
type tally struct {
	began   time.Time
	rows    []row
	mu      sync.Mutex
	reached []int
	hits    map[boundary]map[string]int
	ends    map[queues.State]int
	done    int
	failed  int
	printed time.Time
	hours   time.Duration
}

func (y *tally) observe(s situation, e event, d decision, ok bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i, r := range y.rows {
		if r.hit(s, e, d, ok) {
			y.reached[i]++
		}
	}
}

func (y *tally) add(s *sim) {
	_, ts := s.check.settled(s.ctx)
	y.mu.Lock()
	defer y.mu.Unlock()
	y.hours += time.Since(s.began)
	for _, t := range ts {
		y.ends[t.State()]++
	}
	for b, faults := range s.in.hits {
		if y.hits[b] == nil {
			y.hits[b] = map[string]int{}
		}
		for what, n := range faults {
			y.hits[b][what] += n
		}
	}
}

// seed counts one that has ended, and tells once in a while how far it is.
func (y *tally) seed(failed bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.done++
	if failed {
		y.failed++
	}
	if time.Since(y.printed) > 10*time.Second {
		y.printed = time.Now()
		fmt.Fprintf(os.Stderr, "simulation: %d seeds, %d failed, %.1f/s\n", y.done, y.failed, float64(y.done)/time.Since(y.began).Seconds())
	}
}

func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d seeds, %d failed, %.1f/s, %v simulated; transactions ended %v\n",
		y.done, y.failed, float64(y.done)/time.Since(y.began).Seconds(), y.hours.Round(time.Hour), y.ends)
	for i, r := range y.rows {
		fmt.Fprintf(&b, "%7d  %s\n", y.reached[i], r.name)
	}
	for _, at := range slices.Sorted(maps.Keys(y.hits)) {
		for _, what := range slices.Sorted(maps.Keys(y.hits[at])) {
			fmt.Fprintf(&b, "%7d  %s %s\n", y.hits[at][what], at, what)
		}
	}
	return b.String()
}
