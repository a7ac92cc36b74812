package provers

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

//go:embed provers.lua
var source string

var script = queues.NewScript("provers", source)

var (
	// ErrExists: the id is that of another prover.
	ErrExists = errors.New("the id is that of a prover with another URL")
	// ErrNotFound: there is no such prover.
	ErrNotFound = queues.ErrNotFound
)

// readAgain is when what is stored is read again where nobody has told of a change, for that may
// have been missed.
const readAgain = time.Minute

// IDOf is the id that a prover has by its URL, which is an http or https one: host and port, and what
// the path says.
func IDOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
		host = strings.ReplaceAll(host, "%", "-")
	}
	id := host + ":" + port
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" {
		id += "-" + path
	}
	id = strings.Map(func(r rune) rune {
		if queues.ValidUID(string(r)) {
			return r
		}
		return '-'
	}, id)
	return id[:min(len(id), 128)]
}

// Register adds a prover; the same one again changes nothing. Errors: ErrExists, queues.ErrUnavailable.
func (p *Pool) Register(ctx context.Context, id, url string) error {
	return p.do(ctx, id, "register", id, url)
}

// Remove takes a prover out for good. What it is at work on it may end. Errors: ErrNotFound,
// queues.ErrUnavailable.
func (p *Pool) Remove(ctx context.Context, id string) error { return p.do(ctx, id, "remove", id) }

// Drain takes a prover out of use; what it is at work on it ends. Errors: ErrNotFound,
// queues.ErrUnavailable.
func (p *Pool) Drain(ctx context.Context, id string) error {
	return p.do(ctx, id, "drain", id, "person")
}

// Resume takes a prover back into use: it is asked for its health at once. Errors: ErrNotFound,
// queues.ErrUnavailable.
func (p *Pool) Resume(ctx context.Context, id string) error {
	if err := p.do(ctx, id, "resume", id); err != nil {
		return err
	}
	p.mu.Lock()
	one := p.all[id]
	p.mu.Unlock()
	if one != nil {
		p.look(one)
	}
	return nil
}

// Configure brings the provers that a configuration names, URLs by their ids, into the pool, and
// drains those that an earlier one named and this one does not. Error: queues.ErrUnavailable.
func (p *Pool) Configure(ctx context.Context, named map[string]string) error {
	const together = 200
	args := []any{"configure"}
	flush := func() error {
		defer func() { args = args[:1] }()
		if len(args) == 1 {
			return nil
		}
		_, err := p.Store.Run(ctx, script, args...)
		return err
	}
	for id, url := range named {
		if args = append(args, id, url); len(args) > 2*together {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	for _, x := range p.Shown() {
		if _, is := named[x.ID]; x.Source == ByConfiguration && !is && x.Drained.IsZero() {
			if err := p.do(ctx, x.ID, "drain", x.ID, "config"); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty reports whether no prover is known.
func (p *Pool) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all) == 0
}

// Get is one as this process sees it. Error: ErrNotFound.
func (p *Pool) Get(id string) (Prover, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	if one == nil {
		return Prover{}, fmt.Errorf("prover %s: %w", id, ErrNotFound)
	}
	return one.shown(), nil
}

// Registered are the provers as they are stored, whether or not they have been asked for their health. Error:
// queues.ErrUnavailable.
func (p *Pool) Registered(ctx context.Context) ([]Prover, error) {
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	return p.Shown(), nil
}

// do changes what is stored, and takes it over.
func (p *Pool) do(ctx context.Context, id string, args ...any) error {
	v, err := p.Store.Run(ctx, script, args...)
	if err != nil {
		return err
	}
	switch verdict, _ := v.(string); verdict {
	case "ok":
		return p.read(ctx)
	case "none":
		return fmt.Errorf("prover %s: %w", id, ErrNotFound)
	case "exists":
		return fmt.Errorf("prover %s: %w", id, ErrExists)
	}
	return fmt.Errorf("provers answered %v", v)
}

// read takes over what is stored, where that has changed.
func (p *Pool) read(ctx context.Context) error {
	p.mu.Lock()
	version := p.version
	p.mu.Unlock()
	v, err := p.Store.Run(ctx, script, "list", version)
	if err != nil {
		return err
	}
	list, is := v.([]any)
	if !is {
		return fmt.Errorf("provers answered %v", v)
	}
	if len(list) == 0 {
		return nil
	}
	stored := map[string]Entry{}
	for i := 1; i+1 < len(list); i += 2 {
		id, _ := list[i].(string)
		value, _ := list[i+1].(string)
		if x, ok := entryOf(id, value); ok {
			stored[id] = x
		} else {
			p.Log.Error("what is stored of a prover cannot be read: remove it, and register it again", "prover", id)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, _ := list[0].(string); older(now, p.version) {
		return nil // another reading was later
	} else {
		p.version = now
	}
	p.take(stored)
	return nil
}

// older reports whether one version came before another one. A store that has begun anew counts from
// the beginning, and is read as it is by the next who asks.
func older(a, b string) bool {
	n, _ := strconv.ParseInt(a, 10, 64)
	m, _ := strconv.ParseInt(b, 10, 64)
	return n < m && m-n < 16
}

func entryOf(id, value string) (x Entry, ok bool) {
	w := strings.Split(value, " ")
	if len(w) != 5 {
		return x, false
	}
	since, err := strconv.ParseInt(w[1], 10, 64)
	drained, err2 := strconv.ParseInt(w[2], 10, 64)
	if err != nil || err2 != nil {
		return x, false
	}
	x = Entry{ID: id, URL: w[4], Source: Source(w[0]), Since: time.UnixMilli(since).UTC()}
	if drained > 0 {
		x.Drained = time.UnixMilli(drained).UTC()
	}
	return x, true
}

// take takes over which provers there are, under mu.
func (p *Pool) take(stored map[string]Entry) {
	for id, one := range p.all {
		if x, is := stored[id]; is && x.URL == one.URL {
			continue
		}
		p.drop(one)
	}
	for id, x := range stored {
		one := p.all[id]
		fresh := one == nil
		if fresh {
			one = &prover{place: placeOf(x.URL)}
			one.Hour, one.Reason, one.Detail = -1, tx.Rested, "its /health has not been asked yet"
			p.all[id] = one
		}
		one.Entry = x
		drained := one.Reason == tx.Draining
		switch {
		case !x.Drained.IsZero() && !drained:
			p.change(one, func() {
				one.Reason, one.Detail, one.At, one.Until = tx.Draining, "it was taken out of use", x.Drained, time.Time{}
			})
			p.askIn(one, 0)
		case x.Drained.IsZero() && drained:
			one.Reason, one.Detail, one.At = tx.Rested, "its /health is asked", time.Now()
			p.askIn(one, 0)
		case fresh:
			p.askIn(one, 0)
		}
	}
}

// drop takes one out for good, under mu.
func (p *Pool) drop(one *prover) {
	types := one.Types
	p.unlist(one)
	one.Types, one.Reason, one.Detail = nil, tx.Draining, "it was removed"
	if one.rest != nil {
		one.rest.Stop()
	}
	delete(p.all, one.ID)
	p.dismiss(types)
	for uid, h := range p.holds {
		if h.p == one && !h.used {
			h.end.Stop()
			delete(p.holds, uid)
			one.Load--
		}
	}
}

// Changed has what is stored read again: somebody has changed it, or may have.
func (p *Pool) Changed() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Run keeps what this process knows of the provers as it is stored, and as they say, until ctx ends.
// Without any it does nothing.
func (p *Pool) Run(ctx context.Context, h Hooks) {
	p.mu.Lock()
	p.ctx, p.hooks = ctx, h
	for _, one := range p.all {
		p.askIn(one, 0)
	}
	p.mu.Unlock()
	for ctx.Err() == nil {
		err := p.read(ctx)
		next := readAgain
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("which provers there are was not read", "err", err)
			next = time.Second
		}
		timer := time.NewTimer(next)
		if err == nil && p.empty() {
			timer.Stop() // whoever registers one says so
		}
		select {
		case <-ctx.Done():
		case <-p.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
	p.mu.Lock()
	for _, one := range p.all {
		if one.rest != nil {
			one.rest.Stop()
		}
	}
	p.mu.Unlock()
	p.looks.Wait()
}
