// Package webhooks tells endpoints of others what happens, by Standard Webhooks 1.0.
//
// An endpoint follows the event log with a cursor of its own. One process at a time holds
// its lease, reads on from the cursor, and sends each event that the endpoint wants; those
// of one transaction in order, up to 16 of different ones at a time. The cursor passes
// what is done, from the front, so whoever takes over sends again what was not passed:
// every event at least once.
//
// What fails is parked: stored with its body, in the line of its transaction, and tried
// again by the standard's schedule. Later events of that transaction wait behind it, those
// of others go on. The log keeps what lies behind a cursor. What is older than the log is
// to keep is parked as well, as long as there is room, and then dropped and counted.
//
// All methods of [Service] may be called concurrently.
package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// Render writes the body of a webhook. Event opens an object with the fields of an event,
// and Transaction adds the transaction, which may be nil, and closes it.
type Render struct {
	Event       func(epoch string, e *queues.Entry) []byte
	Transaction func(event []byte, t *tx.Transaction) []byte
}

// Options are what webhooks work with. Store, Process and Render are needed.
type Options struct {
	Store   *queues.Store
	Process string // incarnation, which no other process has
	Render  Render
	// Now is the time that requests are signed with, which receivers compare with their own;
	// nil is this machine's.
	Now func() time.Time
	// Private are networks that endpoints may lie in although they are not public.
	Private []netip.Prefix
	// Lease is how long an endpoint stays with a process that is not heard of; 0 is 15 s.
	Lease time.Duration
	// Keep is how old an event may become before it is parked; 0 is a day.
	Keep time.Duration
	// MostParked and MostBytes bound what is parked of one endpoint; 0 is 10,000 events
	// and 64 MiB.
	MostParked int
	MostBytes  int64
	// Meter is told every try; nil tells nobody. It is called concurrently.
	Meter func(endpoint, outcome string, took time.Duration)
	// Passed is told how far an endpoint has come; nil tells nobody.
	Passed func(endpoint string, number int64)
	Log    *slog.Logger
}

const mostEndpoints = 100

// Status is how an endpoint is.
type Status struct {
	Endpoint
	Behind      int64     // events of the log that it has not taken over
	BehindSince time.Time // when the first of them happened; zero if there is none
	Parked      int64     // events
	ParkedBytes int64
	Lanes       int64 // transactions, queues and senders that have parked events
	Waiting     int64 // of them, those that wait for a person: the schedule is used up
	Dropped     int64 // events that were lost for want of room
	RestsUntil  time.Time
	Health      Health
	Holder      string    // process that delivers; "" if none does
	last        *Delivery // nil if there was none
	rev         int64
}

// A Health is how an endpoint is, in one word: of several the first.
type Health string

// All of these.
const (
	Disabled  Health = "DISABLED"        // nothing is sent
	Refused   Health = "REFUSED_ADDRESS" // its address is not one that webhooks may go to: nothing gets there
	InTrouble Health = "IN_TROUBLE"      // events wait for a replay, or were dropped
	Retrying  Health = "RETRYING"        // it asked for patience, or the last try failed, or events are tried again
	Well      Health = "WELL"
)

// health judges what is known of x.
func (s *Service) health(x *Status) Health {
	switch {
	case x.Disabled != "":
		return Disabled
	case (&guard{s.Private}).refuses(x.URL), x.last != nil && x.last.Failure == RefusedAddress:
		return Refused
	case x.Waiting > 0, x.Dropped > 0:
		return InTrouble
	case x.Parked > 0, !x.RestsUntil.IsZero(), x.last != nil && !x.last.Delivered:
		return Retrying
	}
	return Well
}

// A Lane is a transaction, a queue or a sender with parked events.
type Lane struct {
	Name   string // "t:<uid>", "q:<queue>", "s:<account>"
	Events int
	First  string    // id of the first event, which the others wait for
	At     time.Time // when that happened
	Tries  int       // how often it was tried
	NextAt time.Time // zero if a person has to ask for it
}

// cursor is where a list goes on behind l.
func (l *Lane) cursor() string {
	due := "inf"
	if !l.NextAt.IsZero() {
		due = itoa(l.NextAt.UnixMilli())
	}
	return due + "~" + l.Name
}

// A Delivery is one try.
type Delivery struct {
	Event     string    `json:"event"`
	At        time.Time `json:"at"`
	Try       int       `json:"try"`
	Delivered bool      `json:"delivered"`
	Status    int       `json:"status"`
	Failure   string    `json:"failure"`
	Took      int64     `json:"tookMs"`
}

// A Service delivers, and does what people ask.
type Service struct {
	Options
	store  store
	client *client

	kick chan struct{} // an endpoint has changed here

	mu         sync.Mutex
	renewed    time.Time    // when the last renewal began
	defined    []Definition // by the file, and not stored yet; nil if they are
	deliverers map[string]*running
}

// running is a deliverer at work.
type running struct {
	fence string
	stop  func()
	ended chan struct{}
	news  chan struct{}
}

// New returns webhooks; nothing is delivered before Run.
func New(o Options) *Service {
	if o.Lease == 0 {
		o.Lease = 15 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = 24 * time.Hour
	}
	if o.MostParked == 0 {
		o.MostParked = 10_000
	}
	if o.MostBytes == 0 {
		o.MostBytes = 64 << 20
	}
	if o.Passed == nil {
		o.Passed = func(string, int64) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{
		Options: o, store: store{o.Store}, client: newClient(o.Private, o.Now),
		kick: make(chan struct{}, 1), deliverers: map[string]*running{},
	}
}

// Run delivers until ctx ends, and then gives its leases up.
func (s *Service) Run(ctx context.Context) {
	var tail sync.WaitGroup
	tail.Go(func() { s.watch(ctx) })
	beat := time.NewTicker(s.Lease / 5)
	defer beat.Stop()
	for ctx.Err() == nil {
		s.configure(ctx)
		s.renew(ctx)
		select {
		case <-ctx.Done():
		case <-beat.C:
		case <-s.kick:
		}
	}
	s.assign(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	defer cancel()
	if _, err := s.store.lease(ctx, s.Process, 0); err != nil {
		s.Log.Warn("webhook endpoints are not given up; others wait for their leases to end", "err", err)
	}
	s.client.http.CloseIdleConnections()
	tail.Wait()
}

// renew renews the leases, and has a deliverer for each.
func (s *Service) renew(ctx context.Context) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.Lease/2)
	defer cancel()
	all, err := s.store.lease(ctx, s.Process, s.Lease)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("leases on webhook endpoints are not renewed", "err", err)
		}
		return
	}
	s.mu.Lock()
	s.renewed = began
	s.mu.Unlock()
	s.assign(all)
}

// alive reports whether the leases are surely still held.
func (s *Service) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.renewed) < s.Lease*2/3
}

// assign ends the deliverers of what is not held any more, or has changed, and starts those
// that are missing.
func (s *Service) assign(all []held) {
	wanted := map[string]held{}
	for _, h := range all {
		wanted[h.id] = h
	}
	s.mu.Lock()
	var ending []*running
	for id, r := range s.deliverers {
		if ended(r) || wanted[id].fence != r.fence {
			r.stop()
			ending = append(ending, r)
			delete(s.deliverers, id)
		}
	}
	s.mu.Unlock()
	for _, r := range ending {
		<-r.ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range wanted {
		if s.deliverers[id] == nil {
			s.deliverers[id] = s.begin(h)
		}
	}
}

func ended(r *running) bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// begin starts the deliverer of an endpoint. It ends when it is stopped, or by an error, and
// then another one starts with the next renewal.
func (s *Service) begin(h held) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{fence: h.fence, stop: cancel, ended: make(chan struct{}), news: make(chan struct{}, 1)}
	o := &deliverer{Service: s, held: h, alive: s.alive, news: r.news}
	go func() {
		defer close(r.ended)
		defer cancel()
		err := o.run(ctx)
		switch {
		case errors.Is(err, errLost), errors.Is(err, errStale):
			s.changed()
		case err != nil && ctx.Err() == nil:
			s.Log.Warn("webhooks are not delivered", "endpoint", h.id, "err", err)
		}
	}()
	return r
}

// changed has the leases looked at soon.
func (s *Service) changed() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

const (
	newsPatience = time.Second
	newsPause    = 50 * time.Millisecond // gathers what happens in quick succession
)

// watch tells the deliverers when there are new events. It asks only while there are deliverers.
func (s *Service) watch(ctx context.Context) {
	last := int64(0)
	for ctx.Err() == nil {
		wait, busy := newsPause, s.tell(0)
		if !busy {
			wait = newsPatience
		} else if err := s.store.AwaitEvent(ctx, last, newsPatience); err != nil {
			wait = newsPatience
		} else if p, err := s.store.ReadLog(ctx, last, 0); err == nil && p.Last != last {
			last = p.Last
			s.tell(1)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// tell signals all deliverers, n times at most once; it reports whether there are any.
func (s *Service) tell(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.deliverers {
		if n == 0 {
			break
		}
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
	return len(s.deliverers) > 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func cutLane(lane string, kind queues.EventKind) (string, bool) {
	return strings.CutPrefix(lane, string(kind)+":")
}

func decodeDelivery(line string) (d Delivery) {
	_ = json.Unmarshal([]byte(line), &d) // what cannot be read is shown empty
	return d
}
