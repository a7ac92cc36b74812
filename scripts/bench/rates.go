package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// queueCount is how many queues posts are spread over.
const queueCount = 1_000

func (p pair) row(name, limit string, least float64) row {
	return row{
		name: name, ours: fmt.Sprintf("%.0f", p.ours), limit: fmt.Sprintf("%.0f %s", p.limit, limit),
		ratio: fmt.Sprintf("%.3f", p.ratio), want: fmt.Sprintf("≥ %v", least), reached: p.ratio >= least,
	}
}

// posts is figure 1: POST /transactions on 64 connections, each answered after
// its write, against the same requests to the bare handler. No sender is there,
// so that nothing else is done meanwhile.
func (b *bench) posts(ctx context.Context) ([]row, error) {
	plain, err := b.startRole(ctx, roleBare)
	if err != nil {
		return nil, err
	}
	s, ours, err := b.serve(ctx, queueCount)
	if err != nil {
		return nil, err
	}
	limit, err := newLoader(ctx, plain, queueCount)
	if err != nil {
		return nil, err
	}
	defer limit.close()
	p, err := alternate(ctx, b.scale.rounds,
		func() (float64, error) { return ours.rate(b.scale.window) },
		func() (float64, error) { return limit.rate(b.scale.window) })
	if err != nil {
		return nil, err
	}
	err = b.profile(ctx, s, func() error { _, err := ours.rate(b.scale.window); return err })
	return []row{p.row("1 POST/s, 64 connections", "bare handler", 0.5)}, err
}

// batches is figure 2: items per second in batches of 10,000, one after the
// other, against raw writes in pipelines.
func (b *bench) batches(ctx context.Context) ([]row, error) {
	const items = 10_000
	s, err := b.startService(ctx)
	if err != nil {
		return nil, err
	}
	var batch bytes.Buffer
	for i := range items {
		batch.Write(append(body(i%queueCount), '\n'))
	}
	post := func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+path+"/batch", bytes.NewReader(batch.Bytes()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-ndjson")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(resp.Body); err != nil {
			return err
		}
		if n := bytes.Count(answer.Bytes(), []byte(`"status":202`)); n != items {
			return fmt.Errorf("a batch was answered %s, with %d of %d items accepted", resp.Status, n, items)
		}
		return nil
	}
	writer, err := b.newRaw(ctx, queueCount)
	if err != nil {
		return nil, err
	}
	p, err := alternate(ctx, b.scale.rounds, func() (float64, error) {
		begin := time.Now()
		for range b.scale.batches {
			if err := post(); err != nil {
				return 0, err
			}
		}
		return float64(items*b.scale.batches) / time.Since(begin).Seconds(), nil
	}, func() (float64, error) { return writer.pipelined(ctx, items*b.scale.batches) })
	if err != nil {
		return nil, err
	}
	return []row{p.row("2 batch items/s", "raw, pipelined", 0.5)}, b.profile(ctx, s, post)
}

// cycles is figure 3: whole lives per second, from the first POST to the last
// DONE, of which the worker has been told, with 64 senders, a block every slot
// and workers that answer at once; against raw writes one by one on 64
// connections. All of it runs at once: posts, dispatches, blocks, callbacks.
func (b *bench) cycles(ctx context.Context) ([]row, error) {
	const queues = 4 * senderCount
	at, err := b.chain(ctx)
	if err != nil {
		return nil, err
	}
	s, load, err := b.serve(ctx, queues, "SEQUENCER_SENDERS="+senderSetting(at, 0, senderCount),
		"SEQUENCER_INCLUSION_INTERVAL="+inclusionInterval, "SEQUENCER_BUMP_AFTER=10000", "SEQUENCER_VALID_SLOTS=100000")
	if err != nil {
		return nil, err
	}
	writer, err := b.newRaw(ctx, queueCount)
	if err != nil {
		return nil, err
	}
	done := 0
	live := func() error {
		if err := load.send(b.scale.cycles); err != nil {
			return err
		}
		done += b.scale.cycles
		return awaitDone(ctx, at, done)
	}
	p, err := alternate(ctx, b.scale.rounds, func() (float64, error) {
		begin := time.Now()
		err := live()
		return float64(b.scale.cycles) / time.Since(begin).Seconds(), err
	}, func() (float64, error) { return writer.single(ctx, b.scale.window) })
	if err != nil {
		return nil, err
	}
	return []row{p.row("3 life cycles/s, 64 senders", "raw, one by one", 0.05)}, b.profile(ctx, s, live)
}

// inclusionInterval is how often the chain is asked: as often as it has blocks,
// about.
const inclusionInterval = "2ms"

// awaitDone waits until the workers have been told of count successes.
func awaitDone(ctx context.Context, world string, count int) error {
	const patience = time.Minute // without any progress
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	before, since := -1, time.Now()
	for {
		var text strings.Builder
		if err := get(ctx, "http://"+world+"/done", &text); err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(text.String()))
		if err != nil {
			return err
		}
		if n >= count {
			return nil
		}
		if n != before {
			before, since = n, time.Now()
		} else if time.Since(since) > patience {
			return fmt.Errorf("no transaction got DONE for %s; %d of %d are", patience, n, count)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
