package webhooks

import (
	"context"
	"time"
)

// pass moves the cursor over what is done at the front of the window.
func (o *deliverer) pass(ctx context.Context, now time.Time) error {
	if now.Sub(o.passed) < passEvery && !o.full() {
		return nil
	}
	p := passage{epoch: o.epoch, from: o.cursor, to: o.cursor, rest: o.resting, told: o.told}
	n, bytes := 0, 0
	for ; n < len(o.window) && n < slice; n++ {
		x := o.window[n]
		if x.state == waiting && o.old(x) {
			o.park(o.lanes[x.lane], x) // the log is about to drop it
		}
		if x.state == parking {
			if !o.room(&p) && !o.old(x) {
				break // the log keeps it until there is room
			} else if !o.room(&p) {
				p.dropped++
				o.lanes[x.lane].parked--
				o.forget(x.lane)
				p.to = x.Number
				continue
			}
			e, err := o.parkedOf(ctx, x, now)
			if err != nil {
				return err
			}
			p.parked = append(p.parked, e)
			if bytes += len(e.body); bytes > mostPassage {
				p.to = x.Number
				n++
				break
			}
		} else if x.state != delivered {
			break
		}
		p.to = x.Number
	}
	o.passed = now
	if p.to == p.from && len(p.told) == 0 && p.rest == 0 {
		return nil
	}
	if err := o.store.pass(ctx, o.held, &p); err != nil {
		return err
	}
	if p.dropped > 0 {
		o.Log.Error("webhook events are dropped: there is no room to park them", "endpoint", o.ID, "events", p.dropped)
	}
	o.cursor, o.told, o.resting = p.to, nil, 0
	o.window = o.window[n:]
	for _, e := range p.parked {
		o.parked++
		o.bytes += int64(len(e.text()))
		if at := now.Add(e.delay); at.Before(o.due) {
			o.due = at
		}
	}
	o.Passed(o.ID, p.to)
	return nil
}

// full reports whether so much is done that it is passed at once.
func (o *deliverer) full() bool {
	return len(o.window) >= passFull && o.window[passFull-1].state == delivered && o.window[0].state == delivered
}

// old reports whether the log drops an event once it has been passed.
func (o *deliverer) old(x *item) bool { return time.Since(x.At) >= o.Keep }

// room reports whether there is room to park one more.
func (o *deliverer) room(p *passage) bool {
	bytes := o.bytes
	for _, e := range p.parked {
		bytes += int64(len(e.body))
	}
	return o.parked+int64(len(p.parked)) < int64(o.MostParked) && bytes < o.MostBytes
}

// parkedOf is an item as it is parked.
func (o *deliverer) parkedOf(ctx context.Context, x *item, now time.Time) (*parked, error) {
	event := o.Render.Event(o.epoch, x.Entry)
	fixed := len(event)
	body, _, err := o.body(ctx, event, x.lane)
	if err != nil {
		return nil, err
	}
	p := &parked{
		lane: x.lane, number: x.Number, tries: x.tries, fixed: fixed, id: o.eventID(x.Number), at: x.At, body: body,
	}
	if x.tries > 0 {
		p.delay = max(0, x.delay-now.Sub(x.failed))
	}
	return p, nil
}

// land waits for what is under way, and stores what came of it.
func (o *deliverer) land(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastSends)
	defer cancel()
	for o.flights > 0 {
		select {
		case r := <-o.results:
			if o.learn(ctx, r) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
	o.passed = time.Time{}
	_ = o.pass(ctx, time.Now()) // else it is delivered once more
}
