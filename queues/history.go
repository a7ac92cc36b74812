package queues

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spans are what is kept of what happened: for each over which time, the length of a part of it.
var Spans = map[time.Duration]time.Duration{
	time.Hour: time.Minute, 24 * time.Hour: 15 * time.Minute, 7 * 24 * time.Hour: 2 * time.Hour,
}

// tookEdges are the times, in seconds, by which what became DONE is counted: so many took no longer than
// each, and longer than the one before.
var tookEdges = []float64{
	5, 10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 7200, 14400, 28800, 86400,
	604800,
}

// A Sample is what happened in a part of a span, by all processes together.
type Sample struct {
	At                              time.Time // when it began, by the clock of Redis
	Accepted, Done, Failed, Retried int64     // Failed: and UNRESOLVED
	Fees                            uint64    // nanomina that blocks took
	// Waiting is how many waited, and Bound how many had a sender, when a process last looked.
	Waiting, Bound int64

	took []int64 // of Done, by tookEdges
}

// Took counts one that became DONE so long after it was accepted.
func (s *Sample) Took(d time.Duration) {
	s.Done++
	if s.took == nil {
		s.took = make([]int64, len(tookEdges))
	}
	i, _ := slices.BinarySearch(tookEdges, d.Seconds())
	s.took[min(i, len(tookEdges)-1)]++
}

// Within returns in which time a part of those became DONE that did, about: 0.5 is the median. It is zero
// if none did.
func (s *Sample) Within(part float64) time.Duration {
	all := int64(0)
	for _, n := range s.took {
		all += n
	}
	rank := part * float64(all)
	below, from := 0.0, 0.0
	for i, n := range s.took {
		if n > 0 && below+float64(n) >= rank {
			seconds := from + (tookEdges[i]-from)*(rank-below)/float64(n)
			return time.Duration(seconds * float64(time.Second)).Round(time.Second / 10)
		}
		below, from = below+float64(n), tookEdges[i]
	}
	return 0
}

// Keep adds what a process saw since it last said. Error: ErrUnavailable.
func (s *Store) Keep(ctx context.Context, x *Sample) error {
	args := []any{NewUID(), x.Accepted, x.Done, x.Failed, x.Retried, x.Fees, x.Waiting, x.Bound}
	for _, n := range x.took {
		args = append(args, n)
	}
	_, err := s.Run(ctx, historyScript, args...)
	return err
}

// History returns what is kept of a span, one of Spans, in order of time; parts of which nobody said
// anything are left out. Error: ErrUnavailable.
func (s *Store) History(ctx context.Context, over time.Duration) ([]Sample, error) {
	step := Spans[over]
	fields, err := s.client.HGetAll(ctx, s.key("over:"+strconv.Itoa(int(step/time.Second)))).Result()
	if err != nil {
		return nil, storeError("reading the history", err)
	}
	var e numbers
	all := make([]Sample, 0, len(fields))
	for field, text := range fields {
		var n []int64
		for _, word := range strings.Fields(text) {
			n = append(n, e.int(word))
		}
		if len(n) < 7 {
			continue
		}
		all = append(all, Sample{
			At:       time.Unix(e.int(field)*int64(step/time.Second), 0).UTC(),
			Accepted: n[0], Done: n[1], Failed: n[2], Retried: n[3],
			Fees: uint64(n[4]), Waiting: n[5], Bound: n[6], took: n[7:min(len(n), 7+len(tookEdges))],
		})
	}
	slices.SortFunc(all, func(a, b Sample) int { return a.At.Compare(b.At) })
	return all, e.err
}
