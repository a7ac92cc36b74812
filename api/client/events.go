package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// An Event is one change. Absent values are zero.
type Event struct {
	ID     string    `json:"id"` // to go on behind it
	At     time.Time `json:"at"`
	UID    string    `json:"uid"`
	Queue  string    `json:"queue"`
	Type   string    `json:"type"` // of the transaction
	Sender string    `json:"sender"`
	From   State     `json:"from"`
	To     State     `json:"to"` // equal to From where Code says all
	// QueueFrom and QueueTo are what the queue showed before it and after it, as Queue.State does; equal
	// where it did not move, "" of a sender.
	QueueFrom string `json:"queueFrom"`
	QueueTo   string `json:"queueTo"`

	Attempt int    `json:"attempt"`
	Code    string `json:"code"`
	Actor   string `json:"actor"` // the name of the key whose word it was, "" for nobody's

	Of  string          `json:"-"` // "transaction", "queue" or "sender"
	Raw json.RawMessage `json:"-"` // as it was sent
}

// An EventFilter chooses events; empty fields choose all.
type EventFilter struct{ Queue, UID, Type, Actor string }

const (
	// silence is how long nothing may come of a stream that has a heartbeat every
	// 15 seconds.
	silence = 45 * time.Second
	// maxFrame bounds one line of a stream.
	maxFrame = 1 << 20
)

// Events yields what happens, each event once and in order: from now on, or
// behind the event of the id from. A stream that breaks, also because the service
// restarts, is resumed where it was, by itself and for as long as it takes; only
// one that never came to be is given up like any call.
//
// It ends when the caller ends it, or with an error: ctx.Err(), EventsGone if the
// log does not reach back to where it has to go on (follow anew, without an id,
// and read again the state of what you know), or what else the service refuses.
func (c *Client) Events(ctx context.Context, from string, filter EventFilter) iter.Seq2[*Event, error] {
	return c.events(ctx, &follower{Client: c, filter: filter, last: from})
}

func (c *Client) events(ctx context.Context, f *follower) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		f.yield = yield
		for tried := 0; ; tried++ {
			before := f.last
			err := f.follow(ctx)
			switch {
			case f.ended:
				return
			case ctx.Err() != nil:
				yield(nil, ctx.Err())
				return
			case !f.begun && tried >= c.Retries, !passing(err, false) && (!f.begun || !broken(err)):
				yield(nil, err)
				return
			}
			if f.last != before {
				tried = 0
			}
			if f.retry > 0 && f.begun {
				if c.OnRetry != nil {
					c.OnRetry(err)
				}
				sleep(ctx, f.retry)
				f.retry = 0
				continue
			}
			c.rest(ctx, err, tried)
		}
	}
}

// Past yields the events that the log holds, from the oldest to the last there is when they
// have been read, and ends. Its errors are those of Events.
func (c *Client) Past(ctx context.Context, filter EventFilter) iter.Seq2[*Event, error] {
	return c.events(ctx, &follower{Client: c, filter: filter, past: true})
}

// broken reports whether the service failed, rather than refused.
func broken(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status >= 500
}

// A follower reads the events of one caller, over one stream after the other.
type follower struct {
	*Client
	filter EventFilter
	last   string        // where to go on
	retry  time.Duration // when, as the service said
	begun  bool          // there was a stream
	yield  func(*Event, error) bool
	ended  bool // yield wants no more, or all that is past has come
	past   bool // it ends when that has
}

// follow opens a stream and reads it to its end, which is an error unless the
// caller has ended it.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Nothing in HTTP tells that the other side is gone; its heartbeat does.
	watchdog := time.AfterFunc(f.Timeout, cancel)
	defer watchdog.Stop()
	r := request{method: http.MethodGet, path: base + "/events", stream: true, query: url.Values{}, header: map[string]string{"Accept": "text/event-stream"}}
	for name, value := range map[string]string{"queue": f.filter.Queue, "uid": f.filter.UID, "type": f.filter.Type, "actor": f.filter.Actor} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	if f.past {
		r.query.Set("from", "oldest")
	}
	if f.last != "" {
		r.header["Last-Event-ID"] = f.last
	}
	resp, err := f.open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return errors.New("the answer is not what a sequencer says: it is no stream of events")
	}
	f.begun = true
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	var fr frame
	for {
		watchdog.Reset(silence)
		line, err := readLine(lines)
		if err != nil {
			return &UnreachableError{f.URL, fmt.Errorf("the stream of events ended: %w", err)}
		}
		if len(line) > 0 {
			fr.take(line)
			continue
		}
		err = f.deliver(&fr)
		if f.ended || err != nil {
			return err
		}
		fr = frame{}
	}
}

// readLine reads a line without its end. Its memory is used again.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxFrame {
			line, err = r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// A frame is what stands between two empty lines.
type frame struct {
	id, event, comment string
	data               []byte
	retry              time.Duration
}

func (fr *frame) take(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "":
		fr.comment = string(value)
	case "id":
		fr.id = string(value)
	case "event":
		fr.event = string(value)
	case "data":
		fr.data = append(fr.data, value...)
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
			fr.retry = min(time.Duration(ms)*time.Millisecond, mostPatience)
		}
	}
}

// deliver hands the event of a frame over, if it holds one. What has an id and no
// event says where the stream stands.
func (f *follower) deliver(fr *frame) error {
	f.retry = cmp.Or(fr.retry, f.retry)
	if len(fr.data) > 0 {
		e := &Event{Of: fr.event, Raw: fr.data}
		if err := decode(fr.data, e); err != nil {
			return err
		}
		f.last = cmp.Or(fr.id, f.last)
		f.ended = !f.yield(e, nil)
		return nil
	}
	f.last = cmp.Or(fr.id, f.last)
	f.ended = f.past && fr.comment == "level"
	return nil
}
