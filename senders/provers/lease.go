package provers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

const (
	// keptFor is how long a prover stays with a transaction that it is at work on, and that is not
	// asked for again.
	keptFor = 30 * time.Second
	// longestBusy is how long a prover that is busy is left alone: others may have ended what it does.
	longestBusy = 5 * time.Second
	// doubtful is how many that a prover calls hopeless in a row have the next one asked of another one.
	doubtful = 3
)

// A Lease is a prover that a transaction has. Exactly one of its methods ends it.
type Lease struct {
	ID, URL string
	Note    string // that it was kept with
	pool    *Pool
	p       *prover
	uid     string
}

// A hold is what a transaction has until its prover has answered.
type hold struct {
	p    *prover
	end  *time.Timer
	used bool
	note string
}

// ErrNone: no prover in use makes the type. It is wrapped with why, and what to do.
var ErrNone = errors.New("no prover makes it now")

// Take takes a prover that makes a type, for a transaction, but for some by their ids: the one that is
// at work on it already, or else a free one. It waits for one, until ctx ends; which of several types that
// want the same one gets it goes round. Every [Lease] has to be ended.
//
// Errors: ErrNone, and that of ctx, also where it has ended before.
func (p *Pool) Take(ctx context.Context, typ, uid string, but ...string) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, notTaken(ctx, typ)
	}
	p.mu.Lock()
	if h := p.holds[uid]; h != nil && !h.used && !slices.Contains(but, h.p.ID) && slices.Contains(h.p.Types, typ) {
		h.used = true
		h.end.Stop()
		p.mu.Unlock()
		return &Lease{pool: p, p: h.p, uid: uid, URL: h.p.URL, ID: h.p.ID, Note: h.note}, nil
	}
	l := p.lanes[typ]
	if l == nil || !l.serves(but) {
		err := p.none(typ, but)
		p.mu.Unlock()
		return nil, err
	}
	if got := l.choose(uid, but); got != nil {
		p.give(got)
		p.mu.Unlock()
		return p.lease(ctx, got, uid), nil
	}
	w := &waiter{uid: uid, at: time.Now(), but: but, got: make(chan *prover, 1)}
	l.waiting = append(l.waiting, w)
	p.mu.Unlock()
	select {
	case got := <-w.got:
		if got == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			return nil, p.none(typ, but)
		}
		return p.lease(ctx, got, uid), nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else if got := <-w.got; got != nil { // it came at the same time
		p.back(got)
	}
	return nil, notTaken(ctx, typ)
}

func notTaken(ctx context.Context, typ string) error {
	return fmt.Errorf("waiting for a prover that makes %s: %w", typ, ctx.Err())
}

// Again takes the prover that another process had last taken for a transaction, which may be at work on it
// still or keep its proof, whether it is free or not; nil if there is none in use. Error: the store cannot be
// asked, so nobody knows, and to take another one would have it proved twice.
func (p *Pool) Again(ctx context.Context, typ, uid string) (*Lease, error) {
	p.mu.Lock()
	held := p.holds[uid] != nil
	p.mu.Unlock()
	if held {
		return nil, nil
	}
	v, err := p.Store.Run(ctx, script, "with", uid)
	if err != nil {
		return nil, fmt.Errorf("which prover it was with is not known: %w", err)
	}
	noted, _ := v.(string)
	by, id, _ := strings.Cut(noted, " ")
	if by == p.self {
		return nil, nil
	}
	p.asked(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	if one == nil || one.Reason != "" || !slices.Contains(one.Types, typ) {
		return nil, nil
	}
	p.give(one)
	return &Lease{pool: p, p: one, uid: uid, URL: one.URL, ID: one.ID}, nil
}

// asked waits until one has been asked for its health, in a process that has just begun.
func (p *Pool) asked(ctx context.Context, id string) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		p.mu.Lock()
		one := p.all[id]
		unread := p.version == "" || one != nil && !one.Greeted && one.away == 0 && one.Reason == tx.Rested
		runs := p.ctx != nil && p.ctx.Err() == nil
		p.mu.Unlock()
		if !unread || !runs {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

// lease notes, for whoever takes it over, with which prover a transaction is.
func (p *Pool) lease(ctx context.Context, one *prover, uid string) *Lease {
	if _, err := p.Store.Run(ctx, script, "note", uid, p.self+" "+one.ID); err != nil && ctx.Err() == nil {
		p.Log.Warn("what a prover is at work on was not noted: whoever takes it over has it proved again",
			"prover", one.ID, "err", err)
	}
	return &Lease{pool: p, p: one, uid: uid, URL: one.URL, ID: one.ID}
}

// Any is the URL of a prover in use that makes a type, whether it is free or not: for what its program
// has to say beside proofs. Error: ErrNone.
func (p *Pool) Any(typ, uid string) (url string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[typ]
	if l == nil || l.inUse == 0 {
		return "", p.none(typ, nil)
	}
	for i, from := 0, l.from(uid); ; i++ {
		if one := l.ring[(from+i)%len(l.ring)]; one.Reason == "" {
			return one.URL, nil
		}
	}
}

// Made ends it with an answer that was worth asking for: a proof, or that there is nothing to prove.
func (l *Lease) Made() {
	l.end(func(p *prover) {
		p.away, p.wrong, p.hopeful = 0, 0, 0
		now := time.Now().Unix() / 60
		m := &p.made[now%60]
		if m.at != now {
			*m = minute{at: now}
		}
		m.count++
	})
}

// Said ends it with any other answer, which says nothing of the prover.
func (l *Lease) Said() { l.end(func(p *prover) { p.away = 0 }) }

// Hopeless ends it with the word that no retry can mend it, and reports whether another one should
// be asked before that is believed: it has said so of all of late.
func (l *Lease) Hopeless() (doubted bool) {
	l.end(func(p *prover) {
		p.away = 0
		p.hopeful--
		doubted = p.hopeful <= -doubtful
	})
	return doubted
}

// Alike ends it with the word of a second one that says the same: it is the transaction's.
func (p *Pool) Alike(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.all[id]; one != nil {
		one.hopeful = 0
	}
}

// Busy ends it with the word that it took nothing on, and is to be asked again after a while.
func (l *Lease) Busy(after time.Duration) {
	l.end(func(p *prover) { p.busy = true })
	time.AfterFunc(min(max(after, time.Second), longestBusy), func() {
		l.pool.mu.Lock()
		defer l.pool.mu.Unlock()
		l.pool.change(l.p, func() { l.p.busy = false })
	})
}

// Rest ends it, and takes the prover out of use: it is not there, out of order, or has answered what
// it was not asked for. The pause grows with each time in a row.
func (l *Lease) Rest(why string) {
	l.end(func(p *prover) {
		p.wrong++
		l.pool.out(p, tx.Rested, why, l.pool.pause(p.wrong-1))
	})
}

// Rest takes a prover out of use that another one has shown to be wrong; see [Lease.Rest].
func (p *Pool) Rest(id, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.all[id]; one != nil {
		one.wrong++
		p.change(one, func() { p.out(one, tx.Rested, why, p.pause(one.wrong-1)) })
	}
}

// Doubt ends it where its answer was lost. It is out of use until it has told its health, which it is
// asked for at once.
func (l *Lease) Doubt(why string) {
	l.end(func(p *prover) { l.pool.out(p, tx.Rested, why, 0) })
}

// Keep leaves the prover to the transaction, which it is at work on and is soon asked for again, with a
// note for whoever asks.
func (l *Lease) Keep(note string) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &hold{p: l.p, note: note}
	if before := p.holds[l.uid]; before != nil && before.p != l.p {
		before.end.Stop()
		p.back(before.p)
	}
	h.end = time.AfterFunc(keptFor, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.holds[l.uid] == h && !h.used {
			delete(p.holds, l.uid)
			p.back(h.p)
		}
	})
	p.holds[l.uid] = h
}

func (l *Lease) end(f func(*prover)) {
	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.holds[l.uid]; h != nil && h.p == l.p {
		h.end.Stop()
		delete(p.holds, l.uid)
	}
	p.change(l.p, func() {
		l.p.Load--
		f(l.p)
	})
}
