package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
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

// A bulk is one command on all transactions, or queues, that a filter chooses.
type bulk struct {
	filter queues.Filter
	dry    bool
	// meant reports whether the command is for such a transaction at all.
	meant func(*tx.Transaction) bool
	// page returns the names of those that the command is for behind a cursor, and whether
	// more may be asked for at once.
	page func(ctx context.Context, cursor string) (names []string, next string, more bool, err error)
	do   func(ctx context.Context, name string) error

	matched, done, refused int
	refusals               map[string]int // by code
	next                   string         // cursor of the rest
}

func (a *api) cancelAll(w http.ResponseWriter, r *http.Request) error {
	return a.bulk(w, r, &bulk{
		meant: func(t *tx.Transaction) bool { return !t.State().Final() && !t.CancelRequested },
		do: func(ctx context.Context, uid string) error {
			_, _, err := a.Control.Cancel(ctx, uid)
			return err
		},
	})
}

func (a *api) retryAll(w http.ResponseWriter, r *http.Request) error {
	return a.bulk(w, r, &bulk{
		meant: func(t *tx.Transaction) bool {
			return t.State() == tx.Failed || t.State() == tx.Unresolved
		},
		do: func(ctx context.Context, uid string) error {
			_, err := a.Control.Retry(ctx, uid)
			return err
		},
	})
}

// removeAll is for what may be removed one by one, too: DONE once its block is deep enough.
func (a *api) removeAll(w http.ResponseWriter, r *http.Request) error {
	return a.bulk(w, r, &bulk{
		meant: func(t *tx.Transaction) bool {
			return t.State().Final() && (t.State() != tx.Done || !t.FinalAt.IsZero())
		},
		do: a.Store.Remove,
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
	b.page = func(ctx context.Context, cursor string) (uids []string, next string, more bool, err error) {
		ts, next, err := a.Store.List(ctx, b.filter, mostPage, cursor)
		for _, t := range ts {
			if b.meant(t) {
				uids = append(uids, t.UID)
			}
		}
		// A short page has cost as much as may be looked at.
		return uids, next, len(ts) == mostPage, err
	}
	return a.sendBulk(w, r, b)
}

func (a *api) sendBulk(w http.ResponseWriter, r *http.Request, b *bulk) error {
	if err := a.runBulk(r.Context(), b); err != nil {
		return err
	}
	return send(w, http.StatusOK, appendBulk(nil, b))
}

func (a *api) pauseAll(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "filter", "dryRun", "cursor", "reason", "until")
	if err != nil {
		return err
	}
	reason, until := f.pause()
	return a.queueBulk(w, r, f, reason, until, func(*queues.Queue) bool { return true })
}

func (a *api) resumeAll(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "filter", "dryRun", "cursor")
	if err != nil {
		return err
	}
	return a.queueBulk(w, r, f, "", time.Time{}, func(q *queues.Queue) bool { return q.Paused != "" })
}

// queueBulk is bulk for queues, of those that f has read so far: they are paused for a reason, or with
// "" go on. It is said of those that come to be first, so that none slips in between.
func (a *api) queueBulk(w http.ResponseWriter, r *http.Request, f *form, reason string, until time.Time,
	meant func(*queues.Queue) bool) error {
	b := &bulk{do: func(ctx context.Context, name string) error {
		return a.Store.PauseUntil(ctx, name, reason, until)
	}}
	inner, texts := f.filter("prefix", "key")
	within := a.chosen(inner, texts)
	if err := b.read(r, f, inner, texts); err != nil {
		return err
	}
	if !b.dry {
		if err := a.Store.Stop(r.Context(), within, reason, until); errors.Is(err, queues.ErrTooManyStops) {
			return invalid(dispatcher.FieldError{Field: "filter", Message: fmt.Sprintf("must not be of one more beginning: %d are "+
				"stopped at most; resume some of those that GET /overview names as stops", queues.MostStops)})
		} else if err != nil {
			return err
		}
	}
	b.page = func(ctx context.Context, cursor string) (names []string, next string, more bool, err error) {
		qs, next, err := a.Store.QueuesNamed(ctx, "", within, mostPage, cursor)
		for _, q := range qs {
			if meant(q) {
				names = append(names, q.Name)
			}
		}
		return names, next, len(qs) == mostPage, err
	}
	return a.sendBulk(w, r, b)
}

// chosen are the beginnings of the queues that a filter is for: the prefix that it gives, or
// what the keys of a name are limited to; none for all.
func (a *api) chosen(inner *form, texts map[string]string) queues.Prefixes {
	prefix, key := texts["prefix"], texts["key"]
	switch {
	case prefix != "" && key != "":
		inner.wrong("key", "must not be given beside prefix")
	case prefix != "" && !queues.ValidUID(prefix):
		inner.wrong("prefix", "must be the beginning of a name: it "+wantUID[len("must "):])
	case prefix != "":
		return queues.Prefixes{prefix}
	case key != "":
		within, known := a.Keys.within(key)
		if len(within) > 0 {
			return within
		}
		if inner.wrong("key", "must be the name of keys that are for some queues; those of this name are for all: give prefix"); !known {
			inner.Errors[len(inner.Errors)-1].Message = "must be the name of keys that this service knows; of one that was taken out give prefix"
		}
	}
	return nil
}

// readBulk reads what is to be done to which transactions.
func (a *api) readBulk(r *http.Request, f *form, b *bulk) error {
	inner, texts := f.filter("queue", "type", "state", "sender", "error", "since", "until", "prefix", "key")
	moment := func(name string) time.Time {
		t, ok := parseTime(texts[name])
		if texts[name] != "" && !ok {
			inner.wrong(name, timeWanted)
		}
		return t
	}
	b.filter = queues.Filter{Queue: texts["queue"], Type: texts["type"], Sender: texts["sender"], State: tx.State(texts["state"]),
		Error: texts["error"], Since: moment("since"), Until: moment("until")}
	for name, text := range texts {
		if text == "" {
			continue // which read tells
		} else if message := a.wrongFilter(b.filter, name); message != "" {
			inner.wrong(name, message)
		}
	}
	b.filter.Within = a.chosen(inner, texts)
	return b.read(r, f, inner, texts)
}

// filter reads the filter of a bulk command, with these fields.
func (f *form) filter(names ...string) (inner *form, texts map[string]string) {
	texts = make(map[string]string)
	doc := f.value("filter")
	if isNull(doc) || doc[0] != '{' {
		doc = []byte("{}")
	}
	inner = readForm(doc, names...)
	for _, name := range inner.names {
		if text, ok := inner.text(name); ok {
			texts[name] = text
		}
	}
	return inner, texts
}

// read reads what all bulk commands have, and says what is wrong with them. There must be a
// filter: none would choose everything.
func (b *bulk) read(r *http.Request, f, inner *form, texts map[string]string) error {
	for _, name := range inner.names {
		if text, given := texts[name]; given && text == "" {
			inner.wrong(name, "must not be empty; leave it out to choose all")
		}
	}
	for _, e := range inner.Errors {
		f.wrong("filter."+e.Field, e.Message)
	}
	if len(texts) == 0 && len(inner.Errors) == 0 {
		f.wrong("filter", "must be an object with at least one of "+strings.Join(inner.names, ", "))
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
		names, next, more, err := b.page(ctx, b.next)
		if err == nil {
			err = a.stepBulk(ctx, b, names)
		}
		if err != nil && !first {
			return nil
		}
		if err != nil {
			return err
		}
		b.next = next
		if next == "" || !more || b.matched+mostPage > bulkMost || time.Now().After(end) {
			return nil
		}
	}
}

// stepBulk does the command to those that it is for. The error is that of the
// store.
func (a *api) stepBulk(ctx context.Context, b *bulk, names []string) error {
	if b.dry {
		b.matched += len(names)
		return nil
	}
	errs := make([]error, len(names))
	turns := make(chan struct{}, bulkAtOnce)
	var wg sync.WaitGroup
	for i, name := range names {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			errs[i] = b.do(ctx, name)
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
