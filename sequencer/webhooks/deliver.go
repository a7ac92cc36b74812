package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

const (
	sendsAtOnce = 16   // to one endpoint
	againAtOnce = 8    // of them of parked events; the others are left to first tries
	mostWindow  = 1024 // events that are read ahead of the cursor
	passEvery   = 100 * time.Millisecond
	passFull    = 256 // events that are passed without waiting for more
	dueEvery    = 5 * time.Second
	mostPassage = 1 << 20         // bytes that are parked at a time
	lastSends   = 5 * time.Second // for what is under way when the process ends
)

// An item is an event that was read and is not passed yet.
type item struct {
	*queues.Entry
	lane   string
	state  itemState
	tries  int
	delay  time.Duration
	failed time.Time
}

type itemState int

const (
	waiting itemState = iota
	flying
	delivered // or not for this endpoint
	parking   // to be parked with the next passage
)

// A deliverer delivers to one endpoint. One goroutine runs it; requests have their own.
type deliverer struct {
	*Service
	held
	*loaded
	alive func() bool // the lease is surely still held
	news  <-chan struct{}

	read     int64 // events up to here are in the window
	more     bool  // there may be more behind it
	window   []*item
	lanes    map[string]*line
	flights  int
	trying   map[string]bool // lanes with a parked event under way
	results  chan result
	told     []string
	failures int // first tries in vain in a row
	failed   time.Time
	firsts   int       // first tries under way
	rests    time.Time // nothing is sent before
	resting  time.Duration
	passed   time.Time
	due      time.Time // when parked events are looked at again
}

// A line is what is known of a lane: what waits in the window, and how many events of it
// are parked, or will be with the next passage. While there are any, all go there.
type line struct {
	waiting []*item
	parked  int
	flying  bool
}

type result struct {
	item   *item
	parked *parked
	id     string
	Answer
}

// run delivers until ctx ends, or the lease is lost, or the endpoint changes.
func (o *deliverer) run(ctx context.Context) error {
	l, err := o.store.load(ctx, o.held)
	if err != nil {
		return err
	}
	o.loaded, o.read, o.more = l, l.cursor, true
	o.lanes, o.trying, o.results = map[string]*line{}, map[string]bool{}, make(chan result, sendsAtOnce)
	for name, n := range l.lanes {
		o.lanes[name] = &line{parked: n}
	}
	o.rests, o.passed = time.Now().Add(l.rest), time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer o.land(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		next, err := o.step(ctx)
		if err != nil {
			return err
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
		case r := <-o.results:
			err = o.learn(ctx, r)
		case <-o.news:
			o.more = true
		case <-timer.C:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step reads, sends and passes what there is, and says when to look again.
func (o *deliverer) step(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	if o.more && len(o.window) < mostWindow {
		if err := o.fill(ctx); err != nil {
			return 0, err
		}
	}
	if err := o.retry(ctx, now); err != nil { // before start, which may take all that is free
		return 0, err
	}
	o.start(ctx, now)
	if err := o.pass(ctx, now); err != nil {
		return 0, err
	}
	return o.next(now), nil
}

// next is after how long there is something to do, unless something happens before.
func (o *deliverer) next(now time.Time) time.Duration {
	if o.more && len(o.window) < mostWindow {
		return 0
	}
	next := dueEvery
	if o.retries(now) {
		next = min(next, max(0, o.due.Sub(now)))
	}
	times := []time.Time{o.rests, o.failed.Add(pause(o.failures))}
	if len(o.window)+len(o.told) > 0 {
		times = append(times, o.passed.Add(passEvery))
	}
	for _, at := range times {
		if at.After(now) {
			next = min(next, at.Sub(now))
		}
	}
	return next
}

// fill reads on in the log.
func (o *deliverer) fill(ctx context.Context) error {
	p, err := o.store.ReadLog(ctx, o.read, min(queues.MaxBatch, mostWindow-len(o.window)))
	switch {
	case err != nil:
		return err
	case p.Epoch != o.epoch:
		return errLost // the numbers tell another story
	}
	if p.First > o.read+1 && p.Last > o.read {
		o.Log.Error("events have left the log before a webhook endpoint had them",
			"endpoint", o.ID, "events", p.First-1-o.read)
	}
	o.more = false
	for i := range p.Entries {
		x := &item{Entry: &p.Entries[i], lane: laneOf(&p.Entries[i]), state: delivered}
		o.read, o.more = x.Number, x.Number < p.Last
		o.window = append(o.window, x)
		if !o.wants(x.Entry) {
			continue
		}
		l := o.lane(x.lane)
		if x.state = waiting; l.parked > 0 {
			o.park(l, x)
			continue
		}
		l.waiting = append(l.waiting, x)
	}
	return nil
}

func (o *deliverer) lane(name string) *line {
	l := o.lanes[name]
	if l == nil {
		l = &line{}
		o.lanes[name] = l
	}
	return l
}

// forget drops a lane in which there is nothing.
func (o *deliverer) forget(name string) {
	if l := o.lanes[name]; l != nil && l.parked == 0 && len(l.waiting) == 0 && !l.flying {
		delete(o.lanes, name)
	}
}

// park has an item parked with the next passage, and all that wait behind it.
func (o *deliverer) park(l *line, x *item) {
	x.state = parking
	l.parked++
	for _, behind := range l.waiting {
		if behind != x {
			behind.state = parking
			l.parked++
		}
	}
	l.waiting = nil
}

// sends reports whether anything may be sent now.
func (o *deliverer) sends(now time.Time) bool {
	return o.Disabled == "" && !now.Before(o.rests) && o.flights < sendsAtOnce && o.alive()
}

// start begins first tries, in order of the log. While an endpoint is suspected to be down,
// one at a time.
func (o *deliverer) start(ctx context.Context, now time.Time) {
	for _, x := range o.window {
		if !o.sends(now) || o.failures >= suspicious && (o.firsts > 0 || now.Before(o.failed.Add(pause(o.failures)))) {
			return
		}
		if l := o.lanes[x.lane]; x.state == waiting && !l.flying && l.waiting[0] == x {
			x.state, l.flying = flying, true
			o.flights++
			o.firsts++
			go o.first(context.WithoutCancel(ctx), x)
		}
	}
}

func (o *deliverer) eventID(number int64) string { return o.epoch + "-" + itoa(number) }

// first sends an event with its transaction as it is now.
func (o *deliverer) first(ctx context.Context, x *item) {
	id := o.eventID(x.Number)
	body, _, err := o.body(ctx, o.Render.Event(o.epoch, x.Entry), x.lane)
	if err != nil {
		o.results <- result{item: x, id: id, Answer: Answer{Failure: unread}}
		return
	}
	o.results <- result{item: x, id: id, Answer: o.client.send(ctx, o.Endpoint, id, body)}
}

// unread: the store did not answer, which is no fault of the endpoint.
const unread = "STORE_UNAVAILABLE"

// body appends to an event the transaction that it is about, null if it is about none or that
// is gone or cannot be read, which no try would mend. found is false in these cases.
func (o *Service) body(ctx context.Context, event []byte, lane string) (body []byte, found bool, err error) {
	var t *tx.Transaction
	if uid, is := cutLane(lane, queues.OfTransaction); is {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		t, err = o.store.Get(ctx, uid)
		switch {
		case errors.Is(err, queues.ErrDamaged):
			o.Log.Error("a webhook event is told without its transaction, which cannot be read", "err", err)
			err = nil
		case errors.Is(err, queues.ErrNotFound):
			err = nil
		}
	}
	return o.Render.Transaction(event, t), t != nil, err
}

// retries reports whether a parked event may be sent now.
func (o *deliverer) retries(now time.Time) bool { return o.sends(now) && len(o.trying) < againAtOnce }

// retry begins tries of parked events whose time has come.
func (o *deliverer) retry(ctx context.Context, now time.Time) error {
	if now.Before(o.due) || !o.retries(now) {
		return nil
	}
	if o.parked == 0 {
		o.due = now.Add(dueEvery)
		return nil
	}
	all, next, err := o.store.due(ctx, o.held, 2*againAtOnce)
	if err != nil {
		return err
	}
	if o.due = now.Add(dueEvery); next >= 0 && next < dueEvery {
		o.due = now.Add(max(next, 10*time.Millisecond))
	}
	for i := range all {
		p := &all[i]
		if o.trying[p.lane] {
			continue
		}
		if !o.retries(now) {
			o.due = now // when one has come back
			return nil
		}
		o.trying[p.lane] = true
		o.flights++
		go o.again(context.WithoutCancel(ctx), p)
	}
	return nil
}

// again sends a parked event, with its transaction as it is now, or as it was when it was
// parked if that has been removed.
func (o *deliverer) again(ctx context.Context, p *parked) {
	body, found, err := o.body(ctx, append([]byte(nil), p.body[:min(p.fixed, len(p.body))]...), p.lane)
	switch {
	case err != nil:
		o.results <- result{parked: p, id: p.id, Answer: Answer{Failure: unread}}
		return
	case !found:
		body = p.body
	}
	o.results <- result{parked: p, id: p.id, Answer: o.client.send(ctx, o.Endpoint, p.id, body)}
}

// learn takes in what came of a request.
func (o *deliverer) learn(ctx context.Context, r result) error {
	now := time.Now()
	o.flights--
	if r.Failure == unread {
		if at := now.Add(leastRest); at.After(o.rests) {
			o.rests = at
		}
		o.backToLine(&r)
		return nil
	}
	v := judge(r.Answer)
	o.note(&r, v)
	if v.rest > 0 && now.Add(v.rest).After(o.rests) {
		o.rests, o.resting = now.Add(v.rest), v.rest
	}
	if v.delivered {
		o.failures = 0
	}
	if v.gone {
		o.Log.Warn("a webhook endpoint wants no more: it is disabled", "endpoint", o.ID)
		return errors.Join(o.disable(ctx, o.ID, Gone), errLost) // the event is kept
	}
	if r.parked != nil {
		return o.learnParked(ctx, &r, v)
	}
	o.learnFirst(r.item, v, now)
	return nil
}

// backToLine has an event wait as before.
func (o *deliverer) backToLine(r *result) {
	if r.parked != nil {
		delete(o.trying, r.parked.lane)
		return
	}
	o.firsts--
	r.item.state = waiting
	o.lanes[r.item.lane].flying = false
}

func (o *deliverer) learnFirst(x *item, v verdict, now time.Time) {
	l := o.lanes[x.lane]
	switch {
	case v.delivered:
		x.state = delivered
		l.waiting = l.waiting[1:]
	case v.counted:
		o.failures++
		o.failed = now
		x.tries, x.failed = 1, now
		x.delay = max(after(1, rand.Float64()), v.rest)
		o.park(l, x)
	default:
		x.state = waiting
	}
	o.firsts--
	l.flying = false
	o.forget(x.lane)
}

func (o *deliverer) learnParked(ctx context.Context, r *result, v verdict) error {
	p, again := r.parked, wasDelivered
	if !v.delivered {
		again = v.rest
	}
	if v.counted {
		p.tries++
		if again = after(p.tries, rand.Float64()); again >= 0 {
			again = max(again, v.rest)
		} else {
			o.Log.Warn("a webhook event was tried for the last time", "endpoint", o.ID, "event", p.id)
		}
	}
	left, err := o.store.tried(ctx, o.held, p, again, v.rest, o.line(r))
	if err != nil {
		return err
	}
	o.bytes = left
	delete(o.trying, p.lane)
	if v.delivered {
		o.parked--
		l := o.lanes[p.lane]
		l.parked--
		o.forget(p.lane)
	}
	o.due = time.Now() // the next of its lane, or one for which there was no room
	return nil
}

// note counts a try and keeps it to be shown.
func (o *deliverer) note(r *result, v verdict) {
	if o.Meter != nil {
		o.Meter(o.ID, outcome(v), r.Took)
	}
	if r.item != nil {
		o.told = append(o.told, o.line(r))
		if len(o.told) > mostTold {
			o.told = o.told[len(o.told)-mostTold:]
		}
	}
}

const mostTold = 200 // deliveries that are kept to be shown

func outcome(v verdict) string {
	switch {
	case v.delivered:
		return "delivered"
	case v.counted, v.gone:
		return "failed"
	}
	return "throttled"
}

// line is a try as it is stored.
func (o *deliverer) line(r *result) string {
	d := Delivery{
		Event: r.id, At: time.Now().UTC().Truncate(time.Millisecond), Status: r.Status, Failure: r.Failure,
		Took: r.Took.Milliseconds(),
	}
	if d.Try = 1; r.parked != nil {
		d.Try = r.parked.tries
	}
	d.Delivered = judge(r.Answer).delivered
	b, _ := json.Marshal(d) // nothing in it cannot be written
	return string(b)
}
