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

// TestGather: the more listen, the longer it is gathered what they are told: the writes to all of them
// are bounded.
func TestGather(t *testing.T) {
	t.Parallel()
	for clients, want := range map[int]time.Duration{0: tailPause, tailClients: tailPause, 2 * tailClients: 2 * tailPause, 4000: 800 * time.Millisecond} {
		if got := (&feed{clients: clients}).gather(); got != want {
			t.Errorf("%d listen: %v, want %v", clients, got, want)
		}
	}
}

// TestSight: what a key for some queues sees is made once for all who follow by it: what is in its
// queues, by its own uids.
func TestSight(t *testing.T) {
	t.Parallel()
	entry := func(n int64, queue, uid string) queues.Entry {
		return queues.Entry{Event: queues.Event{Number: n, Kind: queues.OfTransaction, ID: uid}, Queue: queue, Type: "ANY"}
	}
	c := newChunk("1", []queues.Entry{entry(1, "a-1", "one~x"), entry(2, "b-1", "two~x"), entry(3, "a-2", "y"), entry(4, "c", "z")})
	one, two := caller{name: "one", within: queues.Prefixes{"a-"}}, caller{name: "two", within: queues.Prefixes{"b-"}}
	seen, other := c.sight("1", "1", one), c.sight("1", "2", two)
	for text, want := range map[string]bool{`"x"`: true, `"y"`: true, "one~": false, "two~": false, `"z"`: false, "id: 1-3": true, "id: 1-2": false} {
		if strings.Contains(string(seen.text), text) != want {
			t.Errorf("one sees %s: %v in\n%s", text, !want, seen.text)
		}
	}
	if seen.last != 3 || other.last != 2 || !strings.Contains(string(other.text), `"x"`) {
		t.Errorf("up to %d, and the other %d: %s", seen.last, other.last, other.text)
	}
	if again := c.sight("1", "1", one); &again.text[0] != &seen.text[0] {
		t.Error("it is made twice")
	}
	if none := c.sight("1", "3", caller{name: "three", within: queues.Prefixes{"d"}}); len(none.text) > 0 || none.last != 0 {
		t.Errorf("who has no queue sees %s", none.text)
	}
}

// The ring holds no more than it may, whatever is read.
func TestRing(t *testing.T) {
	t.Parallel()
	f := newFeed(&Options{EventMemory: 300 << 10})
	tl := newTail("1", queues.Event{})
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

// Clients of all groups are woken.
func TestWake(t *testing.T) {
	t.Parallel()
	f := newFeed(&Options{EventMemory: 1 << 20})
	tl := newTail("1", queues.Event{Number: 1})
	var asleep [wakeGroups]<-chan struct{}
	for group := range asleep {
		_, _, asleep[group] = f.next(tl, 1, group)
	}
	f.extend(tl, []queues.Entry{{Event: queues.Event{Number: 2, Kind: queues.OfQueue, ID: "q"}}})
	f.wake(tl)
	for group, more := range asleep {
		select {
		case <-more:
		default:
			t.Errorf("group %d sleeps on", group)
		}
	}
}

// Wherever a client stands, what it is handed goes on right there.
func TestNext(t *testing.T) {
	t.Parallel()
	const first, last = 11, 60
	f := newFeed(&Options{EventMemory: 1 << 20})
	tl := newTail("1", queues.Event{Number: first - 1})
	for n := first; n <= last; n += 7 {
		var entries []queues.Entry
		for i := n; i < min(n+7, last+1); i++ {
			entries = append(entries, queues.Entry{Event: queues.Event{Number: int64(i), Kind: queues.OfQueue, ID: "q"}})
		}
		f.extend(tl, entries)
	}
	for at := range int64(last + 2) {
		where, c, more := f.next(tl, at, 0)
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
	if where, _, _ := f.next(tl, first, 0); where != adrift {
		t.Errorf("after the end: %v", where)
	}
}
