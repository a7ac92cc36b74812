package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

const (
	// bulkMost bounds what one request of a bulk command looks for and does.
	bulkMost = 10_000
	// bulkTime is when it stops and leaves the rest to the next request, in time
	// to finish what it has begun.
	bulkTime = callTimeout / 2
	// bulkAtOnce is how many transactions are changed at a time.
	bulkAtOnce = 8
)

// A bulk is one command on all transactions that a filter chooses.
type bulk struct {
	filter queues.Filter
	dry    bool
	// meant reports whether the command is for such a transaction at all.
	meant func(*lifecycle.Transaction) bool
	do    func(ctx context.Context, uid string) error

	matched, done, refused int
	refusals               map[string]int // by code
	next                   string         // cursor of the rest
}

func (a *api) cancelAll(w http.ResponseWriter, r *http.Request) error {
	return a.bulk(w, r, &bulk{
		meant: func(t *lifecycle.Transaction) bool { return !t.State().Final() && !t.CancelRequested },
		do: func(ctx context.Context, uid string) error {
			_, _, err := a.Control.Cancel(ctx, uid)
			return err
		},
	})
}

func (a *api) retryAll(w http.ResponseWriter, r *http.Request) error {
	return a.bulk(w, r, &bulk{
		meant: func(t *lifecycle.Transaction) bool {
			return t.State() == lifecycle.Failed || t.State() == lifecycle.Unresolved
		},
		do: func(ctx context.Context, uid string) error {
			_, err := a.Control.Retry(ctx, uid)
			return err
		},
	})
}

func (a *api) bulk(w http.ResponseWriter, r *http.Request, b *bulk) error {
	f, err := a.object(w, r, false, "filter", "dryRun", "cursor")
	if err != nil {
		return err
	}
	if err := a.readBulk(r, f, b); err != nil {
		return err
	}
	if err := a.runBulk(r.Context(), b); err != nil {
		return err
	}
	return send(w, http.StatusOK, appendBulk(nil, b))
}

// readBulk reads what is to be done to which transactions. There must be a
// filter: none would choose everything.
func (a *api) readBulk(r *http.Request, f *form, b *bulk) error {
	doc := f.value("filter")
	if isNull(doc) || doc[0] != '{' {
		f.wrong("filter", "must be an object with at least one of queue, type, state and sender")
		return invalid(f.Errors...)
	}
	inner := readForm(doc, "queue", "type", "state", "sender")
	texts := make(map[string]string)
	for _, name := range inner.names {
		if text, ok := inner.text(name); ok {
			texts[name] = text
		}
	}
	b.filter = queues.Filter{Queue: texts["queue"], Type: texts["type"], Sender: texts["sender"], State: lifecycle.State(texts["state"])}
	for name, text := range texts {
		if text == "" {
			inner.wrong(name, "must not be empty; leave it out to choose all")
		} else if message := a.wrongFilter(b.filter, name); message != "" {
			inner.wrong(name, message)
		}
	}
	for _, e := range inner.Errors {
		f.wrong("filter."+e.Field, e.Message)
	}
	if len(texts) == 0 && len(inner.Errors) == 0 {
		f.wrong("filter", "must have at least one of queue, type, state and sender")
	}
	if dry := f.value("dryRun"); !isNull(dry) && string(dry) != "true" && string(dry) != "false" {
		f.wrong("dryRun", "must be true or false")
	} else {
		b.dry = string(dry) == "true"
	}
	switch dry := r.URL.Query().Get("dryRun"); dry {
	case "", "false":
	case "true":
		b.dry = true
	default:
		return badRequest("The parameter dryRun must be true or false. Nothing was done.")
	}
	b.next, _ = f.text("cursor")
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	if len(b.next) > 256 {
		return queues.ErrBadCursor
	}
	return nil
}

// runBulk goes over what the filter chooses until it has looked at enough. Where
// the store fails on the way, what was done is answered, with the cursor of the
// step that failed: to repeat it is harmless.
func (a *api) runBulk(ctx context.Context, b *bulk) error {
	end := time.Now().Add(bulkTime)
	for first := true; ; first = false {
		ts, next, err := a.Store.List(ctx, b.filter, mostPage, b.next)
		if err == nil {
			err = a.stepBulk(ctx, b, ts)
		}
		if err != nil && !first {
			return nil
		}
		if err != nil {
			return err
		}
		b.next = next
		// A short page has cost as much as may be looked at.
		if next == "" || len(ts) < mostPage || b.matched+mostPage > bulkMost || time.Now().After(end) {
			return nil
		}
	}
}

// stepBulk does the command to those that it is for. The error is that of the
// store.
func (a *api) stepBulk(ctx context.Context, b *bulk, ts []*lifecycle.Transaction) error {
	ts = slices.DeleteFunc(ts, func(t *lifecycle.Transaction) bool { return !b.meant(t) })
	if b.dry {
		b.matched += len(ts)
		return nil
	}
	errs := make([]error, len(ts))
	turns := make(chan struct{}, bulkAtOnce)
	var wg sync.WaitGroup
	for i, t := range ts {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			errs[i] = b.do(ctx, t.UID)
		})
	}
	wg.Wait()
	var failure error
	for _, err := range errs {
		switch {
		case err == nil:
			b.done++
		case errors.Is(err, queues.ErrNotFound):
			continue // removed meanwhile
		case errors.Is(err, queues.ErrUnavailable), errors.Is(err, queues.ErrUnsettled), errors.Is(err, queues.ErrFull):
			failure = err
			continue
		default:
			b.refuse(a.problem(ctx, err).Code)
		}
		b.matched++
	}
	return failure
}

func (b *bulk) refuse(code string) {
	if b.refusals == nil {
		b.refusals = make(map[string]int)
	}
	b.refusals[code]++
	b.refused++
}

func appendBulk(b []byte, r *bulk) []byte {
	o := object{b}
	o.open()
	o.number("matched", int64(r.matched))
	o.number("done", int64(r.done))
	o.number("refused", int64(r.refused))
	o.name("refusals")
	o.open()
	for _, code := range slices.Sorted(maps.Keys(r.refusals)) {
		o.number(code, int64(r.refusals[code]))
	}
	o.close()
	o.optional("nextCursor", r.next)
	o.close()
	return o.b
}
