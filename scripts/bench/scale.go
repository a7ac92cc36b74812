package main

import (
	"context"
	"slices"
	"time"
)

// A scale is how much is measured.
type scale struct {
	rounds     int           // in which ours and the limit take turns
	window     time.Duration // of a round that counts what is done in a time
	batches    int           // of 10,000 items, per round
	cycles     int           // life cycles per round
	turns      int           // dispatches after a release
	waiting    int           // transactions whose memory is measured
	few, many  int           // ready queues that are compared
	repetition int           // pairs of them
	rest       time.Duration // in which nothing is to do
}

var (
	full  = scale{rounds: 7, window: 3 * time.Second, batches: 3, cycles: 6_000, turns: 2_000, waiting: 100_000, few: 1_000, many: 1_000_000, repetition: 4_000, rest: time.Minute}
	small = scale{rounds: 3, window: 500 * time.Millisecond, batches: 1, cycles: 1_000, turns: 200, waiting: 20_000, few: 1_000, many: 30_000, repetition: 500, rest: 20 * time.Second}
)

// median of at least one value.
func median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// A pair is what alternate measured: medians over the rounds, and the median of
// each round's ratio.
type pair struct{ ours, limit, ratio float64 }

// alternate measures ours and the limit in turns, after one round of each that
// does not count. Which goes first alternates too.
func alternate(ctx context.Context, rounds int, ours, limit func() (float64, error)) (pair, error) {
	var a, b, ratios []float64
	for round := range rounds + 1 {
		if err := ctx.Err(); err != nil {
			return pair{}, err
		}
		values := [2]float64{}
		for i := range 2 {
			which := (round + i) % 2
			v, err := [2]func() (float64, error){ours, limit}[which]()
			if err != nil {
				return pair{}, err
			}
			values[which] = v
		}
		if round > 0 {
			a, b, ratios = append(a, values[0]), append(b, values[1]), append(ratios, values[0]/values[1])
		}
	}
	return pair{median(a), median(b), median(ratios)}, nil
}
