package api

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/queues"
)

// The log is read once for all clients, and not at all without any.
func TestFeedCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		web := overPipes(t, s)
		minute := func() int64 {
			start := s.store.Calls()
			<-time.After(time.Minute)
			return s.store.Calls() - start
		}
		var all []*follower
		reading := func(n int) {
			for range n {
				f := web.follow("", "")
				all = append(all, f)
				go func() { _, _ = io.Copy(io.Discard, f.resp.Body) }()
			}
		}
		reading(1)
		one := minute()
		reading(49)
		if fifty := minute(); one == 0 || fifty > one+2 {
			t.Errorf("%d reads a minute for one client, %d for fifty", one, fifty)
		}
		for _, f := range all {
			f.close()
		}
		<-time.After(2 * tailBlock)
		if none := minute(); none != 0 {
			t.Errorf("%d reads a minute for nobody", none)
		}
	})
}

// The ring holds no more than it may, whatever is read.
func TestRing(t *testing.T) {
	t.Parallel()
	f := newFeed(&Options{EventMemory: 300 << 10})
	tl := &tail{epoch: "1", more: make(chan struct{})}
	number := int64(0)
	for range 60 {
		var entries []queues.Entry
		for range 1 + rand.N(500) {
			number++
			entries = append(entries, queues.Entry{Event: queues.Event{Number: number, Kind: queues.OfTransaction, ID: strings.Repeat("u", 128)}, Queue: strings.Repeat("q", 128)})
		}
		f.extend(tl, entries)
		held := 0
		for i, c := range tl.chunks {
			held += c.size()
			if len(c.entries) > chunkEvents || i > 0 && c.first != tl.chunks[i-1].last+1 {
				t.Fatalf("chunk %d holds %d to %d", i, c.first, c.last)
			}
		}
		if held != tl.bytes || held > f.ring || len(tl.chunks) == 0 {
			t.Fatalf("%d chunks of %d bytes, counted %d", len(tl.chunks), held, tl.bytes)
		}
		if last := tl.chunks[len(tl.chunks)-1].last; last != number || tl.last.Number != number {
			t.Fatalf("the ring ends with %d, the tail with %d, of %d", last, tl.last.Number, number)
		}
	}
}

// Wherever a client stands, what it is handed goes on right there.
func TestNext(t *testing.T) {
	t.Parallel()
	const first, last = 11, 60
	f := newFeed(&Options{EventMemory: 1 << 20})
	tl := &tail{epoch: "1", last: queues.Event{Number: first - 1}, more: make(chan struct{})}
	for n := first; n <= last; n += 7 {
		var entries []queues.Entry
		for i := n; i < min(n+7, last+1); i++ {
			entries = append(entries, queues.Entry{Event: queues.Event{Number: int64(i), Kind: queues.OfQueue, ID: "q"}})
		}
		f.extend(tl, entries)
	}
	for at := range int64(last + 2) {
		where, c, more := f.next(tl, at)
		switch {
		case at < first-1:
			if where != behind || c != nil {
				t.Errorf("at %d: %v, %v", at, where, c)
			}
		case at >= last:
			if where != level || c != nil || more == nil {
				t.Errorf("at %d: %v, %v", at, where, c)
			}
		default:
			if where != inRing || c == nil || at+1 < c.first || at+1 > c.last {
				t.Errorf("at %d: %v, %v", at, where, c)
			}
		}
	}
	f.lose(tl)
	if where, _, _ := f.next(tl, first); where != adrift {
		t.Errorf("after the end: %v", where)
	}
}
