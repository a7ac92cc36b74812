package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// cost is figure 8: what one life costs Redis, from its POST until it is final, in a
// running service: its commands, those inside of scripts included, and the CPU time of
// Redis' main thread. What the service asks in as long an idle time is taken off.
func (b *bench) cost(ctx context.Context) ([]row, error) {
	const queues = 4 * senderCount
	at, err := b.chain(ctx)
	if err != nil {
		return nil, err
	}
	_, load, err := b.serve(ctx, queues, "SEQUENCER_SENDERS="+senderSetting(at, senderCount),
		"SEQUENCER_INCLUSION_INTERVAL=20ms", "SEQUENCER_BUMP_AFTER=10000", "SEQUENCER_VALID_SLOTS=100000")
	if err != nil {
		return nil, err
	}
	done := 0
	live := func(count int) error {
		if err := load.send(count); err != nil {
			return err
		}
		done += count
		return errors.Join(awaitDone(ctx, at, done), b.awaitFinal(ctx))
	}
	if err := live(senderCount); err != nil { // connections, scripts, first nonces
		return nil, err
	}
	var commands, micros []float64
	for range b.scale.rounds {
		begin, before := time.Now(), b.spent(ctx)
		if err := live(b.scale.cycles); err != nil {
			return nil, err
		}
		took, busy := time.Since(begin), b.spent(ctx)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
		idle := b.spent(ctx).since(busy)
		part, lives := took.Seconds()/2, float64(b.scale.cycles)
		spent := busy.since(before)
		commands = append(commands, (spent.commands-idle.commands*part)/lives)
		micros = append(micros, (spent.micros-idle.micros*part)/lives)
	}
	n, t := median(commands), median(micros)
	return []row{
		{"8 Redis commands of a life", fmt.Sprintf("%.1f", n), "", "", "≤ 35", n <= 35},
		{"8 Redis time of a life", fmt.Sprintf("%.0f µs", t), "", "", "", true},
	}, nil
}

// A spending is what Redis has done since it began.
type spending struct{ commands, micros float64 }

func (s spending) since(before spending) spending {
	return spending{s.commands - before.commands, s.micros - before.micros}
}

var calls = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+),`)

func (b *bench) spent(ctx context.Context) (s spending) {
	for _, m := range calls.FindAllStringSubmatch(b.redis.Info(ctx, "commandstats").Val(), -1) {
		if n, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] != "keys" {
			s.commands += n
		}
	}
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		if seconds, err := strconv.ParseFloat(b.infoField(ctx, "cpu", name), 64); err == nil {
			s.micros += seconds * 1e6
		}
	}
	return s
}

// awaitFinal waits until no process has a claim: nothing is watched any more.
func (b *bench) awaitFinal(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		held := 0
		for _, key := range b.redis.Keys(ctx, "*}:own:*").Val() {
			if !strings.HasSuffix(key, ":own:") {
				held++
			}
		}
		if held == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
	return errors.New("not all lives became final within a minute")
}
