package provers

import (
	"context"
	"errors"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

const (
	// askEvery is how often a prover in use is asked for its health.
	askEvery = time.Minute
	// askedAtOnce bounds how many are asked at a time.
	askedAtOnce = 16
)

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
