package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// List returns all endpoints, by id. Error: queues.ErrUnavailable.
func (s *Service) List(ctx context.Context) ([]*Status, error) { return s.show(ctx, "") }

func (s *Service) show(ctx context.Context, id string) ([]*Status, error) {
	all, err := s.store.show(ctx, id)
	for _, x := range all {
		x.Health = s.health(x)
	}
	return all, err
}

// Get returns one endpoint. Errors: ErrNotFound, queues.ErrUnavailable.
func (s *Service) Get(ctx context.Context, id string) (*Status, error) {
	all, err := s.show(ctx, id)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Add stores a new endpoint, which is told what happens from then on. Without a secret it
// gets one. The same definition once more changes nothing. Errors: InvalidError, ErrExists,
// ErrTooMany, queues.ErrUnavailable.
func (s *Service) Add(ctx context.Context, d Definition) (secret string, _ error) {
	d.Secret = cmp.Or(d.Secret, newSecret())
	if err := d.check(len(s.Private) > 0); err != nil {
		return "", err
	}
	e := &Endpoint{ID: d.ID, Source: ByAPI}
	e.apply(&d, time.Now().UTC())
	err := s.store.put(ctx, e, 0)
	if errors.Is(err, ErrExists) {
		if x, getErr := s.Get(ctx, d.ID); getErr == nil && x.is(&d) {
			err = nil // the answer was lost
		}
	}
	if err != nil {
		return "", err
	}
	s.changed()
	return d.Secret, nil
}

// change alters an endpoint, from what is stored, however often that changes meanwhile.
func (s *Service) change(ctx context.Context, id string, alter func(*Endpoint) error) error {
	for {
		x, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		before := x.encode()
		if err := alter(&x.Endpoint); err != nil {
			return err
		}
		if x.encode() == before {
			return nil
		}
		if err = s.store.put(ctx, &x.Endpoint, x.rev); err == nil {
			s.changed()
		}
		if !errors.Is(err, errStale) {
			return err
		}
	}
}

// An Edit is what of an endpoint is to be otherwise; what is nil stays as it is.
type Edit struct {
	URL           *string
	Types, Queues *[]string
	States        *[]tx.State
}

// Edit changes where an endpoint is and what it is told, from its next event on. Its secret stays, and so
// does what is parked of it. Errors: InvalidError, ErrConfigured, ErrNotFound, queues.ErrUnavailable.
func (s *Service) Edit(ctx context.Context, id string, edit Edit) error {
	return s.change(ctx, id, func(e *Endpoint) error {
		if e.Source == ByFile {
			return ErrConfigured
		}
		e.edit(edit)
		d := Definition{ID: e.ID, URL: e.URL, Secret: e.Secrets[0].Key, Types: e.Types, Queues: e.Queues, States: e.States}
		return d.check(len(s.Private) > 0)
	})
}

// Remove forgets an endpoint with all that is parked of it. Errors: ErrNotFound,
// ErrConfigured, queues.ErrUnavailable.
func (s *Service) Remove(ctx context.Context, id string) error {
	x, err := s.Get(ctx, id)
	switch {
	case err != nil:
		return err
	case x.Source == ByFile && !x.Unnamed:
		return ErrConfigured
	}
	defer s.changed()
	return s.store.act(ctx, id, "remove", "")
}

func (s *Service) disable(ctx context.Context, id, why string) error {
	return s.change(ctx, id, func(e *Endpoint) error {
		e.disable(why)
		return nil
	})
}

// Disable has nothing sent to an endpoint. Errors: ErrNotFound, queues.ErrUnavailable.
func (s *Service) Disable(ctx context.Context, id string) error {
	return s.disable(ctx, id, ByPerson)
}

// Enable has it told again, from where it was. Errors: ErrNotFound, queues.ErrUnavailable.
func (s *Service) Enable(ctx context.Context, id string) error {
	return s.change(ctx, id, func(e *Endpoint) error {
		e.Disabled, e.DisabledAt = "", time.Time{}
		return nil
	})
}

// Rotate gives an endpoint another secret, a new one if it is "". The one before signs
// beside it for a day. Errors: InvalidError, ErrConfigured, ErrNotFound, queues.ErrUnavailable.
func (s *Service) Rotate(ctx context.Context, id, secret string) (string, error) {
	secret = cmp.Or(secret, newSecret())
	if secretKey(secret) == nil {
		return "", InvalidError{{"secret", "must be whsec_ and 24 to 64 bytes in base64"}}
	}
	return secret, s.change(ctx, id, func(e *Endpoint) error {
		if e.Source == ByFile {
			return ErrConfigured
		}
		e.rotate(secret, time.Now().UTC())
		return nil
	})
}

// Ping sends an event that tells of nothing, once, whether or not the endpoint is disabled.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (s *Service) Ping(ctx context.Context, id string) (Delivery, error) {
	x, err := s.Get(ctx, id)
	if err != nil {
		return Delivery{}, err
	}
	now := time.Now().UTC()
	event := queues.Entry{Event: queues.Event{
		Number: now.UnixMilli(), At: now, Kind: queues.OfTransaction, Code: "PING"}}
	body := s.Render.Transaction(s.Render.Event("ping", &event), nil)
	a := s.client.send(ctx, &x.Endpoint, "ping-"+itoa(event.Number), body)
	return Delivery{
		Event: "ping-" + itoa(event.Number), At: now, Try: 1, Delivered: judge(a).delivered,
		Status: a.Status, Failure: a.Failure, Took: a.Took.Milliseconds(),
	}, nil
}

// Replay has all that is parked tried at once, and ends a rest that the endpoint has asked for.
// Errors: ErrNotFound, queues.ErrUnavailable.
func (s *Service) Replay(ctx context.Context, id string) error {
	defer s.changed()
	return s.store.act(ctx, id, "replay")
}

// Rewind has all events behind one delivered once more. Errors: ErrNotFound, ErrGone,
// ErrAhead, queues.ErrUnavailable.
func (s *Service) Rewind(ctx context.Context, id, epoch string, number int64) error {
	defer s.changed()
	return s.store.act(ctx, id, "rewind", number, epoch)
}

// Discard forgets what is parked in a lane, "" in all of them. Errors: ErrNotFound,
// queues.ErrUnavailable.
func (s *Service) Discard(ctx context.Context, id, lane string) error {
	defer s.changed()
	return s.store.act(ctx, id, "discard", lane)
}

// Parked lists lanes with parked events, by when they are tried, and returns the cursor of
// the next page, "" if there is none. One that is tried meanwhile may come twice; only a
// replay may leave some out. Errors: ErrNotFound, queues.ErrBadCursor, queues.ErrUnavailable.
func (s *Service) Parked(ctx context.Context, id string, most int, cursor string) ([]Lane, string, error) {
	lanes, _, err := s.store.lanes(ctx, id, cursor, most, 0)
	if err != nil || len(lanes) < most {
		return lanes, "", err
	}
	return lanes, lanes[most-1].cursor(), nil
}

// Deliveries lists the last tries, the latest first. Errors: ErrNotFound,
// queues.ErrUnavailable.
func (s *Service) Deliveries(ctx context.Context, id string, most int) ([]Delivery, error) {
	_, lines, err := s.store.lanes(ctx, id, "", 0, most)
	out := make([]Delivery, len(lines))
	for i, l := range lines {
		out[i] = decodeDelivery(l)
	}
	return out, err
}

// Define has the endpoints of the file be these from now on, as soon as the store takes
// them. An endpoint that it names no longer is disabled until it is named again; one that was
// disabled for another reason stays so.
func (s *Service) Define(all []Definition) {
	s.mu.Lock()
	s.defined = append([]Definition{}, all...)
	s.mu.Unlock()
	s.changed()
}

// configure stores what is defined and is not stored yet.
func (s *Service) configure(ctx context.Context) {
	s.mu.Lock()
	all := s.defined
	s.defined = nil
	s.mu.Unlock()
	if all == nil {
		return
	}
	if err := s.Configure(ctx, all); err != nil && ctx.Err() == nil {
		s.Log.Error("webhook endpoints are not as their file says", "err", err)
		if !errors.Is(err, queues.ErrUnavailable) {
			return // another try would end as this one did
		}
	} else if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.defined == nil { // the next beat does it
		s.defined = all
	}
}

// Configure has the endpoints be as a file says. Error: queues.ErrUnavailable.
func (s *Service) Configure(ctx context.Context, all []Definition) error {
	if err := CheckAll(all, len(s.Private) > 0); err != nil {
		return err
	}
	now, named := time.Now().UTC(), map[string]bool{}
	for _, d := range all {
		named[d.ID] = true
	}
	stored, err := s.List(ctx)
	if err != nil {
		return err
	}
	// First what nothing must be sent to any more, and then each by itself: one that cannot be
	// stored keeps no other from being as the file says.
	var failed []error
	for _, x := range stored {
		if x.Source == ByFile && !named[x.ID] {
			failed = append(failed, s.change(ctx, x.ID, func(e *Endpoint) error {
				e.Unnamed = true
				e.disable(Unconfigured)
				return nil
			}))
		}
	}
	for _, d := range all {
		e := &Endpoint{ID: d.ID, Source: ByFile}
		e.apply(&d, now)
		err := s.store.put(ctx, e, 0)
		if errors.Is(err, ErrExists) {
			err = s.change(ctx, d.ID, func(e *Endpoint) error {
				if e.Source != ByFile {
					return fmt.Errorf("endpoint %s: %w", d.ID, ErrExists)
				}
				e.apply(&d, now)
				e.Unnamed = false
				if e.Disabled == Unconfigured {
					e.Disabled, e.DisabledAt = "", time.Time{}
				}
				return nil
			})
		}
		failed = append(failed, err)
	}
	s.changed()
	return errors.Join(failed...)
}
