package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"mina-sequencer/sequencer/tx"
)

const (
	// zkAppsShown is how many a scrape shows, zkAppsCounted how many are counted: where one more comes, the
	// least busy is forgotten.
	zkAppsShown, zkAppsCounted = 20, 1000
)

// zkApps count the commands in blocks by the public keys that they touch.
type zkApps struct {
	mu     sync.Mutex
	counts map[string][2]uint64 // landed and failed
}

func (z *zkApps) add(touched []tx.Account, failed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.counts == nil {
		z.counts = map[string][2]uint64{}
	}
	for i, a := range touched {
		if slices.ContainsFunc(touched[:i], func(before tx.Account) bool { return before.Key == a.Key }) {
			continue // of another token
		}
		n, known := z.counts[a.Key]
		if !known && len(z.counts) == zkAppsCounted {
			delete(z.counts, z.busiest(zkAppsCounted)[zkAppsCounted-1])
		}
		if failed {
			n[1]++
		} else {
			n[0]++
		}
		z.counts[a.Key] = n
	}
}

// busiest are the keys of at most so many, under mu.
func (z *zkApps) busiest(most int) []string {
	sum := func(key string) uint64 { n := z.counts[key]; return n[0] + n[1] }
	keys := slices.SortedFunc(maps.Keys(z.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a, b))
	})
	return keys[:min(len(keys), most)]
}

// show passes on those of the busiest.
func (z *zkApps) show(show shown) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, key := range z.busiest(zkAppsShown) {
		n := z.counts[key]
		show("zkapp_commands_total", float64(n[0]), key, "landed")
		show("zkapp_commands_total", float64(n[1]), key, "failed")
	}
}
