package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/sequencer/test/harness"
)

// dial is a dialer for calls over one boundary. Where again is set, a request
// can be made twice; victim is who crashes if somebody does.
func (h *host) dial(b boundary, lane string, again bool, victim *host,
	dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		c := &brittle{host: h, victim: victim, b: b, lane: h.name + "→" + lane, gone: make(chan struct{})}
		if b == processToRedis {
			// go-redis dials with a lock held, and a bubble's time does not pass while
			// somebody waits for a lock: so this does not wait.
			if h.stopped() {
				return nil, os.ErrDeadlineExceeded
			}
			c.each, c.out = true, make(chan parcel, 100)
		} else {
			if err := h.running(ctx.Done()); err != nil {
				return nil, err
			}
			c.plan, c.n = h.in.befalls(b, c.lane)
			switch {
			case c.plan == noConnection:
				return nil, errors.New("connection refused")
			case c.plan == crashBefore:
				victim.crash()
				return nil, harness.ErrDead
			case c.plan == twice && again:
				c.dial = dial
			}
		}
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		c.Conn = conn
		if c.each {
			c.Conn = newMailbox(conn)
			go c.deliver()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.conns == nil {
			_ = c.Conn.Close()
			c.once.Do(func() { close(c.gone) })
			return nil, harness.ErrDead
		}
		h.conns[c] = true
		return c, nil
	}
}

// brittle is a connection on which calls go wrong: each time something is
// written on one to Redis, once on any other.
type brittle struct {
	net.Conn
	host   *host
	victim *host
	b      boundary
	lane   string
	each   bool
	dial   func(context.Context) (net.Conn, error) // for the second request, nil if there is none

	out      chan parcel
	mu       sync.Mutex
	plan     string
	n        uint64
	sent     []byte
	hello    bool // the call under way is the greeting
	deadline time.Time
	once     sync.Once
	gone     chan struct{}
}

func (c *brittle) take(plans ...string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range plans {
		if c.plan == p {
			c.plan = ""
			return p
		}
	}
	return ""
}

func (c *brittle) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.gone:
	}
}

func (c *brittle) late() time.Duration {
	longest := 40 * time.Second
	if c.each {
		longest = 8 * time.Second // some are longer than the client waits
	}
	c.mu.Lock()
	n := c.n
	c.mu.Unlock()
	return c.host.in.between(100*time.Millisecond, longest, c.lane+" late", n)
}

// A parcel is what was written, and how long it is under way.
type parcel struct {
	content []byte
	late    time.Duration
	hello   bool
}

// deliver passes on what was written, as a network does: who writes does not wait.
func (c *brittle) deliver() {
	for {
		select {
		case <-c.gone:
			return
		case p := <-c.out:
			if p.late > 0 {
				c.wait(p.late)
			}
			if !p.hello && c.host.running(c.gone) != nil {
				return
			}
			if _, err := c.Conn.Write(p.content); err != nil {
				_ = c.Close()
				return
			}
		}
	}
}

// Write draws what befalls a call to Redis, but never its greeting, which
// go-redis waits for with a lock held.
func (c *brittle) Write(p []byte) (int, error) {
	var sent parcel
	if c.each {
		sent = parcel{
			content: bytes.Clone(p),
			hello:   bytes.Contains(p, []byte("\r\nhello\r\n")) || bytes.Contains(p, []byte("\r\nclient\r\n")),
		}
		var plan string
		var n uint64
		if !sent.hello {
			plan, n = c.host.in.befalls(c.b, c.lane)
		}
		c.mu.Lock()
		c.plan, c.n, c.hello = plan, n, sent.hello
		c.mu.Unlock()
	} else if err := c.host.running(c.gone); err != nil {
		return 0, err
	}
	if c.b == processToNode && bytes.Contains(p, []byte("sendZkapp")) {
		c.mu.Lock()
		if c.plan == "" {
			c.plan = c.host.in.sending(c.b, c.lane, c.n)
		}
		c.mu.Unlock()
	}
	switch c.take(loseRequest, lateRequest, crashBefore) {
	case loseRequest:
		_ = c.Close()
		return len(p), nil
	case crashBefore:
		c.victim.crash()
		return 0, harness.ErrDead
	case lateRequest:
		if sent.late = c.late(); !c.each {
			c.wait(sent.late)
			if err := c.host.running(c.gone); err != nil {
				return 0, err
			}
		}
	}
	if c.each {
		select {
		case c.out <- sent:
			return len(p), nil
		case <-c.gone:
			return 0, net.ErrClosed
		}
	}
	if c.dial != nil {
		c.mu.Lock()
		c.sent = append(c.sent, p...)
		c.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (c *brittle) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	hello := c.hello
	c.mu.Unlock()
	if !hello {
		if gate := c.host.running(c.gone); gate != nil {
			return 0, gate
		}
	}
	if err != nil {
		return n, err
	}
	switch c.take(loseReply, lateReply, crashAfter, twice) {
	case loseReply:
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	case crashAfter:
		c.victim.crash()
		return 0, harness.ErrDead
	case lateReply:
		c.wait(c.late())
		c.mu.Lock()
		deadline := c.deadline
		c.mu.Unlock()
		if !deadline.IsZero() && time.Now().After(deadline) {
			return 0, os.ErrDeadlineExceeded
		}
	case twice:
		if c.dial != nil {
			c.mu.Lock()
			request := c.sent
			c.mu.Unlock()
			go again(c.dial, request)
		}
	}
	return n, nil
}

// again makes a request once more; nobody hears the answer.
func again(dial func(context.Context) (net.Conn, error), request []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := dial(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
	if _, err := conn.Write(request); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

func (c *brittle) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

func (c *brittle) SetDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetDeadline(t)
}

func (c *brittle) Close() error {
	c.once.Do(func() { close(c.gone) })
	c.host.mu.Lock()
	delete(c.host.conns, c)
	c.host.mu.Unlock()
	return c.Conn.Close()
}

// A mailbox takes what arrives at a connection at once, as a socket does: a
// server that writes to somebody who does not read just now is not kept waiting.
type mailbox struct {
	net.Conn
	mu       sync.Mutex
	content  bytes.Buffer
	err      error
	deadline time.Time
	more     chan struct{}
}

func newMailbox(conn net.Conn) *mailbox {
	m := &mailbox{Conn: conn, more: make(chan struct{}, 1)}
	go func() {
		p := make([]byte, 4096)
		for {
			n, err := conn.Read(p)
			m.mu.Lock()
			m.content.Write(p[:n])
			m.err = err
			m.mu.Unlock()
			select {
			case m.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return m
}

func (m *mailbox) Read(p []byte) (int, error) {
	for {
		m.mu.Lock()
		deadline := m.deadline
		switch {
		case m.content.Len() > 0:
			defer m.mu.Unlock()
			return m.content.Read(p)
		case m.err != nil:
			defer m.mu.Unlock()
			return 0, m.err
		}
		m.mu.Unlock()
		if deadline.IsZero() {
			<-m.more
			continue
		}
		t := time.NewTimer(time.Until(deadline))
		select {
		case <-m.more:
			t.Stop()
		case <-t.C:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (m *mailbox) SetReadDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline = t
	return nil
}

func (m *mailbox) SetDeadline(t time.Time) error { return m.SetReadDeadline(t) }

// spoil decides what a worker does wrong.
func (s *sim) spoil(c *colleague, call devworker.Call) *devworker.Fault {
	s.in.mu.Lock()
	off := s.in.off
	lane := fmt.Sprintf("worker %s %s %s", c.name, call.Kind, call.UID)
	s.in.calls[lane]++
	n := s.in.calls[lane]
	asked := "proofs of " + call.UID
	if call.Kind == devworker.Prove {
		s.in.calls[asked]++
	}
	first := s.in.calls[asked] == 1
	s.in.mu.Unlock()
	if f := s.payload(c, call, off); f != nil {
		return f
	}
	rate := s.in.rate[processToWorker]
	if call.Kind == devworker.Prove && !first {
		rate = max(rate, 500) // beside an attempt that is open, it makes a difference
	}
	if off || !s.chance(rate, lane, n) {
		return nil
	}
	faults := wrongs(call.Kind, first, s.between(30*time.Second, 8*time.Minute, lane+" hang", n))
	f := faults[s.pick(len(faults), lane+" what", n)]
	if f.Kind == devworker.Wrong {
		f.Field = []string{devworker.WrongNonce, devworker.WrongFee, devworker.WrongMemo,
			devworker.WrongValidUntil, devworker.WrongPayer, devworker.WrongHash}[s.pick(6, lane+" field", n)]
		if s.builds && s.chance(400, lane+" effects", n) {
			f.Field = devworker.WrongEffects
		}
	}
	s.in.note(processToWorker, nameOf(f), lane+" "+f.Field)
	return &f
}

// payload is what a bad one does to whatever worker has it, at each call, also when all else is well
// again; nil for a good one.
func (s *sim) payload(c *colleague, call devworker.Call, off bool) (f *devworker.Fault) {
	if !s.bad || call.Kind != devworker.Prove && call.Kind != devworker.Dispatch || !s.chance(200, "bad "+call.UID, 0) {
		return nil
	}
	switch s.pick(5, "how bad "+call.UID, 0) {
	case 0:
		f = &devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"}
	case 1:
		f = &devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"}
	case 2:
		f = &devworker.Fault{Kind: devworker.Answer, Status: 400, Body: `<pre>Cannot read it</pre>`}
	case 3:
		f = &devworker.Fault{Kind: devworker.Cut}
	default:
		f = &devworker.Fault{Kind: devworker.Cut}
		if !off && !c.legacy { // what sends by itself may have sent
			go c.crash()
		}
	}
	if c.legacy && f.Kind == devworker.Cut {
		return nil
	}
	s.in.note(processToWorker, "bad payload: "+nameOf(*f), call.UID)
	return f
}

// wrongs is what a worker can do wrong in a call. Only in the first call for a
// transaction is it said to need no block: once a worker may have signed, that
// would be a lie.
func wrongs(kind string, first bool, long time.Duration) []devworker.Fault {
	faults := []devworker.Fault{
		{Kind: devworker.Hang, Wait: long},
		{Kind: devworker.Cut},
		{Kind: devworker.Busy, Wait: long / 4},
		{Kind: devworker.Hang, Wait: long, After: true},
		{Kind: devworker.Cut, After: true},
	}
	switch kind {
	case devworker.OnSuccess, devworker.OnFailure:
		faults = append(faults, devworker.Fault{Kind: devworker.Answer, Body: `{"success":false}`})
	case devworker.Build, devworker.Prove, devworker.Resign, devworker.Dispatch:
		faults = append(faults,
			devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"},
			devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"},
			devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"},
			devworker.Fault{Kind: devworker.Error, Code: "502", Message: "no way to the network"})
	}
	switch kind {
	case devworker.Prove, devworker.Resign:
		faults = append(faults,
			devworker.Fault{Kind: devworker.Answer, Body: `{"hash":`},
			devworker.Fault{Kind: devworker.Answer, Status: 500, Body: `oh`},
			devworker.Fault{Kind: devworker.Wrong})
		if !first {
			busy := devworker.Fault{Kind: devworker.Busy, Wait: long / 4}
			hopeless := devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"}
			faults = append(faults, busy, busy, busy, busy, busy, busy, hopeless, hopeless, hopeless)
		} else {
			faults = append(faults,
				devworker.Fault{Kind: devworker.Answer, Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
		}
	}
	return faults
}

// nameOf is under which name a worker's fault is counted.
func nameOf(f devworker.Fault) string {
	name := "worker: " + f.Kind
	switch {
	case f.Kind == devworker.Answer:
		name += " " + f.Body
	case f.After:
		name += " after"
	case f.Code != "":
		name += " " + f.Code
	}
	return name
}
