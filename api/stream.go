package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"mina-sequencer/queues"
)

const (
	// heartbeat is how often a client hears something at least.
	heartbeat = 15 * time.Second
	// eventsPatience is how long a client may take to make room for what is sent.
	eventsPatience = 10 * time.Second
	// sendBuffer is what the kernel keeps for a client that does not read, about.
	sendBuffer = 128 << 10
	// writeBytes is about how much of what a filter lets through is sent at once.
	writeBytes = 32 << 10
)

// A stream sends events to one client. One goroutine uses it.
type stream struct {
	feed    *feed
	tail    *tail
	epoch   string
	filter  eventFilter
	sees    string          // names all who see what it does
	name    string          // of the key that it was opened with
	granted func() bool     // that key still lets see the same
	group   int             // of clients that are woken together
	crowded <-chan struct{} // closed when another one needs its seat
	w       http.ResponseWriter
	control *http.ResponseController
	past    bool  // it wants to know when it has all that there was
	at      int64 // all up to here is sent, or not for this client
	known   int64 // the last id that the client was told; -1 for none
	live    bool  // it has been level with the tail
	wrote   time.Time
	checked time.Time // when the key was
}

// run sends until the client is gone, does not read, or has to come again. The
// error is that of a write.
func (s *stream) run(ctx context.Context) error {
	if err := s.say("", 2*time.Second); err != nil {
		return err
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	stopping := stoppingOf(ctx)
	for {
		var err error
		where, c, more := s.feed.next(s.tail, s.at, s.group)
		//exhaustive:enforce
		switch where {
		case inRing:
			err = s.pass(c)
		case level:
			if s.past && !s.live {
				if err := s.say("level", 0); err != nil {
					return err
				}
			}
			s.live = true
			beat.Reset(max(0, heartbeat-time.Since(s.wrote)))
			select {
			case <-more:
			case <-beat.C:
			case <-stopping:
			case <-s.crowded:
			case <-ctx.Done():
				return nil
			}
		case behind:
			if s.live {
				return s.part("too slow: come again from here", time.Second)
			}
			if done, err := s.catchUp(ctx); done {
				return err
			}
		case adrift:
			return s.say("the store has lost events", time.Second)
		}
		select {
		case <-stopping:
			// Not all at once: others have to take them.
			return s.part("this process ends: come again from here", time.Second+rand.N(2*time.Second))
		case <-s.crowded:
			return s.part("other keys need the place: come again from here", 5*time.Second+rand.N(10*time.Second))
		default:
		}
		if time.Since(s.checked) >= heartbeat {
			s.checked = time.Now()
			if !s.granted() {
				return s.part("the key is none any more, or for other queues: come again from here", time.Second)
			}
		}
		if err == nil && time.Since(s.wrote) >= heartbeat {
			err = s.beat()
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// pass sends what is for the client in a chunk.
func (s *stream) pass(c *chunk) error {
	if !s.filter.within(c) {
		s.at = c.last
		return nil
	}
	skip := int(s.at + 1 - c.first)
	if skip == 0 && s.filter.only() {
		seen := c.sight(s.epoch, s.sees, s.filter.who)
		if len(seen.text) > 0 {
			if err := s.write(seen.text); err != nil {
				return err
			}
			s.known = seen.last
		}
		s.at = c.last
		return nil
	}
	if s.filter.some() {
		return s.choose(c.entries[skip:], func(b []byte, i int) []byte {
			start := 0
			if i += skip; i > 0 {
				start = c.ends[i-1]
			}
			return append(b, c.text[start:c.ends[i]]...)
		})
	}
	text := c.text
	if skip > 0 {
		text = text[c.ends[skip-1]:]
	}
	if err := s.write(text); err != nil {
		return err
	}
	s.at, s.known = c.last, c.last
	return nil
}

// texts are buffers of choose: few clients are sent to at a time, however many there are.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// choose sends those entries that the filter lets through, each as the client knows it; text
// appends entry i as it is.
func (s *stream) choose(entries []queues.Entry, text func(b []byte, i int) []byte) error {
	buffer := texts.Get().(*[]byte)
	defer texts.Put(buffer)
	b := (*buffer)[:0]
	for i := range entries {
		if e := &entries[i]; s.filter.match(e) {
			if told := s.filter.who.event(e); told != e {
				b = appendEvent(b, s.epoch, told)
			} else {
				b = text(b, i)
			}
			s.known = entries[i].Number
		}
		if len(b) > writeBytes || len(b) > 0 && i == len(entries)-1 {
			if err := s.write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		s.at = entries[i].Number
	}
	*buffer = b
	return nil
}

// catchUp reads and sends one page of the log. It is done if the client has to
// come again.
func (s *stream) catchUp(ctx context.Context) (done bool, err error) {
	p, err := s.feed.page(ctx, s.name, s.at)
	switch {
	case ctx.Err() != nil:
		return true, nil
	case err != nil:
		return true, s.part("the store does not answer: come again from here", 3*time.Second)
	case p.Doubted: // what comes behind here by now may be another story
		return true, s.part("the store is being reconciled: come again from here", 3*time.Second)
	case p.Epoch != s.epoch || p.Last < s.at:
		return true, s.say("the store has lost events", time.Second)
	case p.First > s.at+1:
		return true, s.say("the events behind this one have left the log", time.Second)
	}
	err = s.choose(p.Entries, func(b []byte, i int) []byte { return appendEvent(b, s.epoch, &p.Entries[i]) })
	return err != nil, err
}

// part is say to a client that is to come again from where it is.
func (s *stream) part(comment string, retry time.Duration) error {
	s.known = -1
	return s.say(comment, retry)
}

func (s *stream) beat() error {
	if s.feed.answers(s.tail) {
		return s.say("heartbeat", 0)
	}
	return s.say("the store does not answer", 0)
}

// say sends a comment, when to come again, and where from if the client does not
// know. It is no event.
func (s *stream) say(comment string, retry time.Duration) error {
	var b []byte
	if comment != "" {
		b = append(append(append(b, ": "...), comment...), '\n')
	}
	if retry > 0 {
		b = fmt.Appendf(b, "retry: %d\n", retry.Milliseconds())
	}
	if s.known != s.at {
		b = append(appendID(append(b, "id: "...), s.epoch, s.at), '\n')
	}
	if err := s.write(append(b, '\n')); err != nil {
		return err
	}
	s.known = s.at
	return nil
}

// write sends b. Not every connection has deadlines.
func (s *stream) write(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(eventsPatience))
	_, err := s.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // it is for writing, not for what lies between
	s.wrote = time.Now()
	return err
}

// limitSendBuffer bounds what the kernel keeps for the client. By itself it would
// keep megabytes for each that does not read.
func limitSendBuffer(ctx context.Context) {
	conn := ctx.Value(connKey{})
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetWriteBuffer(sendBuffer)
	}
}
