// Package provers keeps the pool of provers: workers that have no payer's key. A transaction of a
// sender whose own worker only signs takes one of them for its proof.
//
// Which provers there are stands in Redis, so that a person's word outlives a restart and holds for
// all processes ([Pool.Register], [Pool.Configure]). All else is this process's own: it asks each
// prover for its health, gives it to one transaction after the other ([Pool.Take]), and leaves alone
// what does not answer, with growing pauses, as senders are left alone.
//
// Several processes share the pool without a word to each other, for only a prover knows what it is
// at work on: one that is taken by somebody else answers 503, and another is taken. A lease in Redis
// would be a second opinion of the same thing, which has to be renewed, and is wrong from when a
// process dies until it runs out; this way nothing is held by a process that is gone. What is noted
// there is which prover a transaction was last with, so that whoever takes it over asks that one first,
// which answers with the proof that it is at work on, or keeps.
//
// What a transaction costs does not grow with how many provers there are: the free ones of a type
// stand in a ring, and what waits for one is told by whoever gives it back.
//
// All methods may be called concurrently.
package provers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// A Word is what a prover says of itself at /health.
type Word struct {
	AccountID string // whose key it has; a prover has none
	Types     []string
	Network   string
	O1js      string
	AtOnce    int    // how many it proves at a time, at least 1
	Ahead     bool   // it builds on what is in flight
	Builds    bool   // it tells what it would prove before it does
	Memory    uint64 // bytes that it takes up, 0 if it does not say
	Hour      int    // proofs that it made in the last hour, -1 if it does not say
}

// Hooks are what a pool needs of others.
type Hooks struct {
	// Ask asks a prover for its health.
	Ask func(ctx context.Context, url string) (Word, error)
	// Wrong says why a prover cannot serve the network, and in words; "" if nothing speaks against
	// it. nil knows nothing.
	Wrong func(w Word) (why tx.SenderReason, detail string)
}

// Source is who registered a prover.
type Source string

const (
	ByAPI           Source = "api"
	ByConfiguration Source = "config"
)

// An Entry is a prover as it is registered.
type Entry struct {
	ID, URL string
	Source  Source
	Since   time.Time // when it was registered
	// Drained is since when it is taken out of use, zero if it is not.
	Drained time.Time
}

// A Prover is one of the pool as this process sees it.
type Prover struct {
	Entry
	Word
	Load    int // proofs that this process has with it
	Reason  tx.SenderReason
	Detail  string    // why it is out of use, in words
	At      time.Time // when it went out of use
	Until   time.Time // when it is asked again; zero where a person has to see to it
	Greeted bool      // it has told its health
}

// Available reports whether p is given proofs.
func (p *Prover) Available() bool { return p.Reason == "" }

// State is FREE, or PROVING where this process has something with it.
func (p *Prover) State() string {
	if p.Load > 0 {
		return "PROVING"
	}
	return "FREE"
}

const (
	// askEvery is how often a prover in use is asked for its health.
	askEvery = time.Minute
	// askedAtOnce bounds how many are asked at a time.
	askedAtOnce = 16
	// keptFor is how long a prover stays with a transaction that it is at work on, and that is not
	// asked for again.
	keptFor = 30 * time.Second
	// longestBusy is how long a prover that is busy is left alone: others may have ended what it does.
	longestBusy = 5 * time.Second
	// doubtful is how many that a prover calls hopeless in a row have the next one asked of another one.
	doubtful = 3
)

// A prover is one of the pool; all of it under mu of the pool.
type prover struct {
	Prover
	place   uint64 // in the ring
	busy    bool   // with another process's, by its own word
	asking  bool
	again   bool // it is to be asked once more, for it went out of use meanwhile
	away    int  // times in a row that its health was not well
	wrong   int  // times in a row that an answer was, or that there was none
	hopeful int  // -: what it called hopeless in a row
	made    [60]minute
	rest    *time.Timer
}

type minute struct {
	at    int64
	count int
}

func (p *prover) free() bool { return p.Reason == "" && !p.busy && p.Load < p.AtOnce }

// A lane is of one type.
type lane struct {
	ring    []*prover // all that make it, by place
	free    int
	inUse   int
	waiting []*waiter
	turn    uint64 // when it was last given one that another lane wanted, too
}

type waiter struct {
	uid string
	at  time.Time
	but []string
	got chan *prover // nil where nobody is left who could
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
// Errors: ErrNone, and that of ctx.
func (p *Pool) Take(ctx context.Context, typ, uid string, but ...string) (*Lease, error) {
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
	return nil, fmt.Errorf("waiting for a prover that makes %s: %w", typ, ctx.Err())
}

// Again takes the prover that another process had last taken for a transaction, which may be at work on it
// still or keep its proof, whether it is free or not; nil if there is none in use.
func (p *Pool) Again(ctx context.Context, typ, uid string) *Lease {
	p.mu.Lock()
	held := p.holds[uid] != nil
	p.mu.Unlock()
	if held {
		return nil
	}
	v, err := p.Store.Run(ctx, script, "with", uid)
	noted, _ := v.(string)
	by, id, _ := strings.Cut(noted, " ")
	if err != nil || by == p.self {
		return nil
	}
	p.asked(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[id]
	if one == nil || one.Reason != "" || !slices.Contains(one.Types, typ) {
		return nil
	}
	p.give(one)
	return &Lease{pool: p, p: one, uid: uid, URL: one.URL, ID: one.ID}
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

// Together is what the provers in use can as one worker: how many proofs they make at a time, 0 where
// there is none, and what all of them can of building on what is in flight, and before they prove.
func (p *Pool) Together() (w Word) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Ahead, w.Builds = true, true
	for _, one := range p.all {
		if one.Reason == "" {
			w.AtOnce += one.AtOnce
			w.Ahead, w.Builds = w.Ahead && one.Ahead, w.Builds && one.Builds
		}
	}
	w.Ahead, w.Builds = w.Ahead && w.AtOnce > 0, w.Builds && w.AtOnce > 0
	return w
}

// Waits says since when a transaction waits here for a prover of its type, and how many in use make that, all
// of which are at work; zero if it does not.
func (p *Pool) Waits(typ, uid string) (since time.Time, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lanes[typ]; l != nil {
		if i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return w.uid == uid }); i >= 0 {
			return l.waiting[i].at, l.inUse
		}
	}
	return since, 0
}

// Waiting is how many transactions wait for a prover here, by type.
func (p *Pool) Waiting() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for typ, l := range p.lanes {
		all[typ] = len(l.waiting)
	}
	return all
}

// none says why nobody makes a type, under mu.
func (p *Pool) none(typ string, but []string) error {
	l := p.lanes[typ]
	switch {
	case len(p.all) == 0:
		return fmt.Errorf("no prover is registered: name some in SEQUENCER_PROVERS, or by 'sequencer prover add': %w", ErrNone)
	case l == nil || len(l.ring) == 0:
		return fmt.Errorf("none of %d provers names %s among the types of its /health: register one that does: %w",
			len(p.all), typ, ErrNone)
	case l.inUse > 0:
		return fmt.Errorf("no other prover makes %s than %s: %w", typ, strings.Join(but, ", "), ErrNone)
	}
	one := l.ring[0]
	return fmt.Errorf("all %d provers that make %s are out of use, such as %s since %s (%s): %w", len(l.ring), typ,
		one.ID, one.At.UTC().Format("15:04:05Z"), cmp.Or(one.Detail, string(one.Reason)), ErrNone)
}

// serves reports whether one in use is not among some.
func (l *lane) serves(but []string) bool {
	if l.inUse > len(but) {
		return true
	}
	return slices.ContainsFunc(l.ring, func(p *prover) bool { return p.Reason == "" && !slices.Contains(but, p.ID) })
}

// from is where the order of a transaction begins.
func (l *lane) from(uid string) int {
	i, _ := slices.BinarySearchFunc(l.ring, placeOf(uid), func(p *prover, place uint64) int {
		return cmp.Compare(p.place, place)
	})
	return i
}

// choose is the first free one in the order of a transaction.
func (l *lane) choose(uid string, but []string) *prover {
	if l.free == 0 {
		return nil
	}
	for i, from := 0, l.from(uid); i < len(l.ring); i++ {
		if p := l.ring[(from+i)%len(l.ring)]; p.free() && !slices.Contains(but, p.ID) {
			return p
		}
	}
	return nil
}

func placeOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	// FNV leaves names that end alike side by side.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// change changes what decides whether a prover is free, and in use, and gives it to what waits.
func (p *Pool) change(one *prover, f func()) {
	free, used := one.free(), one.Reason == ""
	f()
	nowFree, nowUsed := one.free(), one.Reason == ""
	for _, typ := range one.Types {
		l := p.lanes[typ]
		l.free += one01(nowFree) - one01(free)
		l.inUse += one01(nowUsed) - one01(used)
	}
	if used && !nowUsed {
		p.dismiss(one.Types)
	}
	for one.free() && p.serve(one) {
		continue
	}
}

func one01(is bool) int {
	if is {
		return 1
	}
	return 0
}

// dismiss tells what waits for what nobody is left to make.
func (p *Pool) dismiss(types []string) {
	for _, typ := range types {
		l := p.lanes[typ]
		l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
			if l.serves(w.but) {
				return false
			}
			w.got <- nil
			return true
		})
	}
}

// serve gives a free one to the first that waits, of the type whose turn is the longest ago.
func (p *Pool) serve(one *prover) bool {
	var next *lane
	at := 0
	for _, typ := range one.Types {
		l := p.lanes[typ]
		if len(l.waiting) == 0 || next != nil && next.turn <= l.turn {
			continue
		}
		if i := slices.IndexFunc(l.waiting, func(w *waiter) bool { return !slices.Contains(w.but, one.ID) }); i >= 0 {
			next, at = l, i
		}
	}
	if next == nil {
		return false
	}
	p.turn++
	next.turn = p.turn
	w := next.waiting[at]
	next.waiting = slices.Delete(next.waiting, at, at+1)
	p.give(one)
	w.got <- one
	return true
}

func (p *Pool) give(one *prover) { p.change(one, func() { one.Load++ }) }
func (p *Pool) back(one *prover) { p.change(one, func() { one.Load-- }) }

// A Lease is a prover that a transaction has. Exactly one of its methods ends it.
type Lease struct {
	ID, URL string
	Note    string // that it was kept with
	pool    *Pool
	p       *prover
	uid     string
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

// out takes one out of use, and has it asked for its health after a while. It is called within change.
func (p *Pool) out(one *prover, why tx.SenderReason, detail string, d time.Duration) {
	if p.all[one.ID] != one || one.Reason == tx.Draining {
		return
	}
	now := time.Now()
	if one.Reason == "" || one.At.IsZero() {
		p.Log.Warn("a prover is out of use", "prover", one.ID, "why", why, "detail", detail, "for", d)
		one.At = now
	}
	one.Reason, one.Detail, one.Until = why, detail, now.Add(d)
	p.askIn(one, d)
}

func (p *Pool) askIn(one *prover, d time.Duration) {
	if one.rest != nil {
		one.rest.Stop()
	}
	one.rest = time.AfterFunc(d, func() { p.look(one) })
}

// look asks one for its health, unless somebody does.
func (p *Pool) look(one *prover) {
	p.mu.Lock()
	ctx, ask := p.ctx, p.hooks.Ask
	if ctx == nil || ctx.Err() != nil || ask == nil || p.all[one.ID] != one {
		p.mu.Unlock()
		return
	}
	if one.Load > 0 && one.Reason == "" {
		p.askIn(one, askEvery) // it answers for itself, and may say nothing else while it proves
		p.mu.Unlock()
		return
	}
	if one.asking {
		one.again = true
		p.mu.Unlock()
		return
	}
	one.asking = true
	p.toAsk = append(p.toAsk, one)
	if p.asking < askedAtOnce {
		p.asking++
		p.looks.Go(func() { p.ask(ctx, ask) })
	}
	p.mu.Unlock()
}

// ask asks one after the other while there is one to be asked: at the start of a large pool a goroutine for each
// would be a thousand stacks, which the collector makes room for many times over.
func (p *Pool) ask(ctx context.Context, ask func(context.Context, string) (Word, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.toAsk) > 0 {
		one := p.toAsk[0]
		p.toAsk = p.toAsk[1:]
		url := one.URL
		p.mu.Unlock()
		w, err := ask(ctx, url)
		p.heard(one, w, err)
		p.mu.Lock()
	}
	p.asking--
}

// heard takes what one says of itself.
func (p *Pool) heard(one *prover, w Word, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again := one.again
	one.asking, one.again = false, false
	if p.all[one.ID] != one || p.ctx.Err() != nil {
		return
	}
	why, detail := tx.Rested, ""
	if err != nil {
		detail = err.Error()
	} else {
		why, detail = Judge(w, p.hooks.Wrong)
		p.tells(one, w)
	}
	switch {
	case one.Reason == tx.Draining:
		p.askIn(one, askEvery)
	case one.Reason == "" && errors.Is(err, context.DeadlineExceeded):
		p.askIn(one, askEvery) // it is there, and may be proving for another process
	case why != "":
		one.away++
		// It is asked no more seldom than one in use, for those that are started are soon wanted.
		p.change(one, func() { p.out(one, why, detail, min(p.pause(one.away-1), askEvery)) })
	case again:
		p.askIn(one, 0)
	default:
		if one.Reason != "" && one.Greeted {
			p.Log.Info("a prover is back in use", "prover", one.ID)
		}
		one.Greeted, one.away = true, 0
		one.At, one.Until, one.Detail = time.Time{}, time.Time{}, ""
		next := askEvery
		if one.Reason != "" {
			next = time.Duration(one.place % uint64(askEvery)) // so that what came together is not asked together for ever
		}
		p.change(one, func() { one.Reason = "" })
		p.askIn(one, next)
	}
}

// Judge says why a prover is not used by what it says of itself, and in words; "" if it is. wrong is
// [Hooks.Wrong].
func Judge(w Word, wrong func(Word) (why tx.SenderReason, detail string)) (why tx.SenderReason, detail string) {
	switch {
	case w.AccountID != "":
		return tx.WrongAccount, "it has the key of " + w.AccountID +
			", and a prover has none: make it the worker of that sender, or start it without a payer"
	case len(w.Types) == 0:
		return tx.Rested, "its /health names no types, so nobody knows what it proves"
	case wrong != nil:
		return wrong(w)
	}
	return "", ""
}

// tells notes what one says of itself, and puts it where its types are.
func (p *Pool) tells(one *prover, w Word) {
	w.AtOnce = max(w.AtOnce, 1)
	slices.Sort(w.Types)
	w.Types = slices.Compact(w.Types)
	if slices.Equal(w.Types, one.Types) && w.AtOnce == one.AtOnce {
		one.Word = w
		return
	}
	before := one.Types
	p.unlist(one)
	one.Word = w
	p.list(one)
	p.dismiss(before)
}

// list puts one into the lanes of its types, and unlist takes it out.
func (p *Pool) list(one *prover) {
	for _, typ := range one.Types {
		l := p.lanes[typ]
		if l == nil {
			l = &lane{}
			p.lanes[typ] = l
		}
		i := l.placeOf(one)
		l.ring = slices.Insert(l.ring, i, one)
		l.free += one01(one.free())
		l.inUse += one01(one.Reason == "")
	}
	for one.free() && p.serve(one) {
		continue
	}
}

func (l *lane) placeOf(one *prover) int {
	i, _ := slices.BinarySearchFunc(l.ring, one, func(a, b *prover) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.ID, b.ID))
	})
	return i
}

func (p *Pool) unlist(one *prover) {
	for _, typ := range one.Types {
		l := p.lanes[typ]
		l.ring = slices.DeleteFunc(l.ring, func(o *prover) bool { return o == one })
		l.free -= one01(one.free())
		l.inUse -= one01(one.Reason == "")
	}
}

// Shown are all provers as this process sees them, by their ids.
func (p *Pool) Shown() []Prover {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Prover, 0, len(p.all))
	for _, one := range p.all {
		all = append(all, one.shown())
	}
	slices.SortFunc(all, func(a, b Prover) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (p *prover) shown() Prover {
	s := p.Prover
	s.Types = slices.Clone(s.Types)
	if s.Hour < 0 {
		s.Hour = 0
		for since, i := time.Now().Unix()/60-60, 0; i < len(p.made); i++ {
			if p.made[i].at > since {
				s.Hour += p.made[i].count
			}
		}
	}
	return s
}

// A Pool is the provers of one namespace.
type Pool struct {
	Options
	mu    sync.Mutex
	all   map[string]*prover // by id
	lanes map[string]*lane   // by type
	holds map[string]*hold   // by uid
	turn  uint64
	// version is that of what is stored, as it was last read.
	version string
	hooks   Hooks
	ctx     context.Context // of Run
	looks   sync.WaitGroup
	toAsk   []*prover // for their health
	asking  int       // how many are asked
	changed chan struct{}
	self    string // this process, among those that share the provers
}

// Options are the parts of a Pool.
type Options struct {
	// Store keeps which provers there are.
	Store *queues.Store
	// Pause is how long one is left alone after it was not there n times in a row before.
	Pause func(n int) time.Duration
	Log   *slog.Logger
}

// New returns a pool; Run has it know its provers.
func New(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{Options: o, all: map[string]*prover{}, lanes: map[string]*lane{}, holds: map[string]*hold{},
		changed: make(chan struct{}, 1), self: rand.Text()}
}

func (p *Pool) pause(n int) time.Duration {
	if p.Pause == nil {
		return time.Second
	}
	return p.Pause(n)
}
