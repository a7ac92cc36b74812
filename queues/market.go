package queues

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/sequencer/fees"
)

// A Market is what all processes know of what others pay, and of what types weigh.
type Market struct {
	Looks   []fees.Look    // the latest first
	Weights map[string]int // by type: 1 + account updates of what its workers signed last
}

// MarketNews are what a process adds to it.
type MarketNews struct {
	// Turn is the time between two looks of all processes together, if this one would make
	// the next; 0 if not.
	Turn    time.Duration
	Look    *fees.Look // nil for none; its time is that of Redis
	Weights map[string]int
}

// Market adds what is new, and returns all that is known; mine, that the caller is to look
// at the pool. Error: ErrUnavailable.
func (s *Store) Market(ctx context.Context, news MarketNews) (m Market, mine bool, err error) {
	args := []any{news.Turn.Milliseconds(), encodeLook(news.Look), fees.Looks}
	for typ, weight := range news.Weights {
		args = append(args, typ, weight)
	}
	v, err := s.Run(ctx, marketScript, args...)
	if err != nil {
		return Market{}, false, err
	}
	r := reply{name: "market"}
	l := r.list(v)
	mine = r.int(r.at(l, 0)) == 1
	var e numbers
	for _, text := range r.strings(r.at(l, 1)) {
		m.Looks = append(m.Looks, e.look(text))
	}
	m.Weights = map[string]int{}
	for typ, weight := range r.fields(r.at(l, 2)) {
		m.Weights[typ] = int(e.int(weight))
	}
	if r.err == nil && e.err != nil {
		r.err = fmt.Errorf("what is known of the market is damaged: %w", e.err)
	}
	return m, mine, r.err
}

// encodeLook is the size of the pool and the ranks, as words.
func encodeLook(l *fees.Look) string {
	if l == nil {
		return ""
	}
	words := []string{strconv.Itoa(l.Size)}
	for _, rank := range l.Ranks {
		words = append(words, strconv.FormatUint(rank, 10))
	}
	return strings.Join(words, " ")
}

// look reads what market.lua keeps.
func (e *numbers) look(text string) fees.Look {
	w := strings.Fields(text)
	if len(w) < 2 {
		e.keep(fmt.Errorf("%q is no look", text))
		return fees.Look{}
	}
	l := fees.Look{At: fromMillis(e.int(w[0])), Size: int(e.int(w[1]))}
	for _, rank := range w[2:] {
		l.Ranks = append(l.Ranks, e.uint64(rank))
	}
	return l
}

// A Spent is what attempts that were begun on a day (UTC) cost, or may still cost.
type Spent struct {
	Day    time.Time
	Sender string // or
	Queue  string
	Fee    uint64 // nanomina
}

// spentDays is how long that is known, spentQueues how many queues of a day are told of:
// those that cost most.
const (
	spentDays   = 7
	spentQueues = 100
)

// Spent returns what the last seven days have cost, the latest first: each by sender, and
// by the hundred queues that cost most. Error: ErrUnavailable.
func (s *Store) Spent(ctx context.Context) ([]Spent, error) {
	v, err := s.Run(ctx, spentScript, spentDays, spentQueues)
	if err != nil {
		return nil, err
	}
	r := reply{name: "spent"}
	l := r.list(v)
	var all []Spent
	var e numbers
	for i := 0; i+2 < len(l); i += 3 {
		day := time.Unix(r.int(l[i])*24*60*60, 0).UTC()
		senders := r.fields(l[i+1])
		for _, sender := range slices.Sorted(maps.Keys(senders)) {
			if fee := e.uint64(senders[sender]); sender != "*" && fee > 0 {
				all = append(all, Spent{Day: day, Sender: sender, Fee: fee})
			}
		}
		queues := r.strings(l[i+2])
		for j := 0; j+1 < len(queues); j += 2 {
			if fee, err := strconv.ParseFloat(queues[j+1], 64); err != nil {
				e.keep(err)
			} else if fee > 0 {
				all = append(all, Spent{Day: day, Queue: queues[j], Fee: uint64(fee)})
			}
		}
	}
	if r.err == nil && e.err != nil {
		r.err = fmt.Errorf("what was spent is damaged: %w", e.err)
	}
	return all, r.err
}
