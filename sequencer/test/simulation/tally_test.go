package simulation

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// A tally is what all seeds together have gone through.
type tally struct {
	name     string
	began    time.Time
	rows     []harness.Row
	mu       sync.Mutex
	reached  []int
	hits     map[boundary]map[string]int
	ends     map[string]int
	done     int
	failed   int
	told     int
	unknown  int
	unmarked int
	printed  time.Time
	lasted   time.Duration
	calls    map[boundary]uint64
	polled   map[tx.QueueState]int
}

func newTally(name string) *tally {
	y := &tally{
		name: name, began: time.Now(), rows: harness.Rows(), hits: map[boundary]map[string]int{}, ends: map[string]int{},
		calls: map[boundary]uint64{}, printed: time.Now(), polled: map[tx.QueueState]int{},
	}
	y.reached = make([]int, len(y.rows))
	return y
}

func (y *tally) observe(before, after *tx.Transaction, s *lifecycle.Step) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i, r := range y.rows {
		if r.Hit(before, after, s) {
			y.reached[i]++
		}
	}
}

// seed counts one that has ended, and tells once in a while how far it is.
func (y *tally) seed(s *sim) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.done++
	if len(s.check.problems) > 0 {
		y.failed++
		y.broke(s.check.problems[0])
	}
	y.lasted += s.lasted
	y.unknown += len(s.check.unknown)
	y.unmarked += len(s.check.unmarked)
	for _, phase := range s.check.phase {
		y.ends[phase]++
	}
	for state, n := range s.check.polled {
		y.polled[state] += n
	}
	for b, n := range s.in.total {
		y.calls[b] += n
	}
	for b, faults := range s.in.hits {
		if y.hits[b] == nil {
			y.hits[b] = map[string]int{}
		}
		for what, n := range faults {
			y.hits[b][what] += n
		}
	}
	if time.Since(y.printed) > 10*time.Second {
		y.printed = time.Now()
		fmt.Fprintf(os.Stderr, "%s: %d seeds, %d failed, %.1f/s\n", y.name, y.done, y.failed, y.pace())
	}
}

// tellAll reports whether there is room for one more story.
func (y *tally) tellAll() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.told++
	return y.told <= 3
}

// broke tells of the first problem. The caller holds mu.
func (y *tally) broke(problem string) {
	if y.failed == 1 {
		fmt.Fprintf(os.Stderr, "first broken after %d seeds: %s\n", y.done, problem)
	}
}

// endless ends all, for a world whose clock stands still cannot be left.
func (y *tally) endless(seed uint64, why string) {
	y.mu.Lock()
	y.done++
	y.failed++
	y.broke(why)
	y.mu.Unlock()
	panic(fmt.Sprintf("seed %d: %s", seed, why))
}

// stopped reports whether a promise was broken.
func (y *tally) stopped() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.failed > 0
}

func (y *tally) pace() float64 { return float64(y.done) / time.Since(y.began).Seconds() }

// crossings are the boundaries that calls cross.
var crossings = []boundary{clientToProcess, processToRedis, processToWorker, processToNode, workerToNode}

// possible are all faults that there are, by boundary.
func possible() map[boundary][]string {
	all := map[boundary][]string{elsewhere: {"fails in a block, mendable", "fails in a block, for good"}}
	for _, b := range crossings {
		all[b] = slices.Compact(slices.Sorted(slices.Values(befalling(b))))
	}
	for _, f := range wrongs(devworker.Prove, true, 0) {
		all[processToWorker] = append(all[processToWorker], nameOf(f))
	}
	for _, f := range wrongs(devworker.OnSuccess, false, 0) {
		all[processToWorker] = append(all[processToWorker], nameOf(f))
	}
	for _, t := range troubles() {
		all[elsewhere] = append(all[elsewhere], t.name)
	}
	return all
}

// enough is how many seeds must come upon every fault. Some rows take three
// misfortunes at once: TestEveryRow goes through all of them, and it takes more
// seeds here.
const enough, enoughForRows = 2000, 10_000

// missing is what so many seeds should have come upon, and did not.
func (y *tally) missing() (all []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.done < enough {
		return nil
	}
	for i, r := range y.rows {
		if y.reached[i] == 0 && y.done >= enoughForRows {
			all = append(all, "the row "+r.Name)
		}
	}
	for _, state := range tx.QueueStates {
		if y.polled[state] == 0 {
			all = append(all, "a queue in "+string(state))
		}
	}
	for b, faults := range possible() {
		for _, what := range faults {
			if y.hits[b][what] == 0 {
				all = append(all, fmt.Sprintf("%s %s", b, what))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s: %d seeds, %d failed, %.1f/s, %v simulated; "+
			"transactions ended %v, of %d only a person knew the outcome, of %d nobody could know after Redis forgot\n",
		y.name,
		y.done,
		y.failed,
		y.pace(),
		y.lasted.Round(time.Hour),
		y.ends,
		y.unknown,
		y.unmarked,
	)
	fmt.Fprintf(&b, "queues were as their events draw them: %v\n", y.polled)
	for _, at := range crossings {
		fmt.Fprintf(&b, "%9d  calls %s, %.1f a minute\n", y.calls[at], at, float64(y.calls[at])/max(1, y.lasted.Minutes()))
	}
	for i, r := range y.rows {
		fmt.Fprintf(&b, "%9d  row: %s\n", y.reached[i], r.Name)
	}
	for _, at := range slices.Sorted(maps.Keys(y.hits)) {
		for _, what := range slices.Sorted(maps.Keys(y.hits[at])) {
			fmt.Fprintf(&b, "%9d  %s %s\n", y.hits[at][what], at, what)
		}
	}
	return b.String()
}
