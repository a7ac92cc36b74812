package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
)

// A view is what one caller sees of transactions and queues, and by which uids. Whatever a route
// takes or gives of them goes through here, so that no handler knows of spaces.
//
// A key that is limited to some queues has a space of uids of its own. What it posts as uid is
// kept as name~uid, name being the key's: so it is known to the store, to workers, on the chain,
// and to callers without a limit. The key itself says and is told uid. No name of a key and no
// uid that is posted has a ~, so no two spaces meet, and nobody posts into another's.
//
// What a key sees that is not of its space keeps its uid: name~uid of another key, or a uid
// without a ~, which was posted before there were spaces, or by a key without a limit. Such a
// plain one is looked up behind the key's own; that no two transactions are one uid to the same
// caller is seen to as they are posted (aliases).
type view struct {
	*api
	caller
	hides *veil // in front of addresses
}

func (a *api) viewOf(w http.ResponseWriter) view { return view{a, callerOf(w), a.veilFor(w)} }

// mark stands between the name of a space and a uid in it.
const mark = "~"

// uidPattern is what a caller may say for a transaction: uid or name~uid.
var uidPattern = regexp.MustCompile(`^([A-Za-z0-9._-]{1,64}~)?[A-Za-z0-9._:-]{1,128}$`)

// space is how the uids of the caller's own space begin, "" of who has none.
func (who caller) space() string {
	if len(who.within) == 0 {
		return ""
	}
	return who.name + mark
}

// meant are the uids that a caller may mean by one, what it means first.
func (who caller) meant(uid string) []string {
	if who.space() == "" || strings.Contains(uid, mark) {
		return []string{uid}
	}
	return []string{who.space() + uid, uid}
}

// shown is the uid by which a caller knows a transaction.
func (who caller) shown(uid string) string { return strings.TrimPrefix(uid, who.space()) }

// words are words of ours, with the uids in them as the caller knows them.
func (who caller) words(text string) string {
	space := who.space()
	if space == "" || !strings.Contains(text, space) {
		return text
	}
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, space)
		b.WriteString(before)
		// The end of a longer name is another space.
		if found && before != "" && queues.ValidUID(before[len(before)-1:]) {
			b.WriteString(space)
		}
		text = rest
	}
	return b.String()
}

// problem is how an error is told to the caller.
func (v view) problem(ctx context.Context, err error) *problem {
	p := *v.api.problem(ctx, err)
	p.Detail = v.words(p.Detail)
	return v.hides.problem(&p)
}

// transaction is one as the caller knows it.
func (who caller) transaction(t *tx.Transaction) *tx.Transaction {
	if t == nil || who.space() == "" {
		return t
	}
	shown := *t
	shown.UID = who.shown(t.UID)
	return &shown
}

// event is one as the caller knows it: e itself where that is so.
func (who caller) event(e *queues.Entry) *queues.Entry {
	if uid := who.shown(e.ID); uid != e.ID {
		shown := *e
		shown.ID = uid
		return &shown
	}
	return e
}

// queue has q as the caller knows it.
func (who caller) queue(q *queues.Queue) *queues.Queue {
	q.Running, q.Paused = who.shown(q.Running), who.words(q.Paused)
	for i, uid := range q.InFlight {
		q.InFlight[i] = who.shown(uid)
	}
	return q
}

// find returns the transaction that the caller means by a uid, as it is stored. What it may not
// see is not there.
func (v view) find(ctx context.Context, uid string) (t *tx.Transaction, err error) {
	for _, stored := range v.meant(uid) {
		t, err = v.Store.Get(ctx, stored)
		if err == nil {
			err = v.sees(t.Queue, "transaction "+stored)
		}
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, queues.ErrNotFound) {
			break
		}
	}
	return nil, err
}

// get is find for who is told.
func (v view) get(ctx context.Context, uid string) (*tx.Transaction, error) {
	t, err := v.find(ctx, uid)
	return v.transaction(t), err
}

// follows returns what is to be looked for in the log of whom a caller follows by uid, there or
// to come.
func (v view) follows(ctx context.Context, uid string) (string, error) {
	all := v.meant(uid)
	if uid == "" || len(all) == 1 {
		return uid, nil
	}
	t, err := v.find(ctx, uid)
	switch {
	case errors.Is(err, queues.ErrNotFound):
		return all[0], nil
	case err != nil:
		return "", err
	}
	return t.UID, nil
}

func (v view) list(
	ctx context.Context, f queues.Filter, limit int, cursor string,
) (ts []*tx.Transaction, next string, err error) {
	f.Within = v.within
	if f.Queue != "" && !f.Within.Admit(f.Queue) {
		return nil, "", nil
	}
	ts, next, err = v.Store.List(ctx, f, limit, cursor)
	if err == nil {
		err = v.Store.FindClaims(ctx, ts...)
	}
	for i, t := range ts {
		ts[i] = v.transaction(t)
	}
	return ts, next, err
}

func (v view) explain(ctx context.Context, uid string) (explain.Explanation, error) {
	t, err := v.find(ctx, uid)
	if err != nil {
		return explain.Explanation{}, err
	}
	e, err := v.Control.Explain(ctx, t.UID, len(v.within) > 0)
	e.Summary, e.Wait.Detail = v.words(e.Summary), v.words(e.Wait.Detail)
	e.Attempts = slices.Clone(e.Attempts)
	for i := range e.Attempts {
		e.Attempts[i].Detail = v.words(e.Attempts[i].Detail)
	}
	return e, err
}

// change has something done to the transaction that the caller means.
func (v view) change(
	ctx context.Context, uid string, do func(ctx context.Context, uid string) (*tx.Transaction, error),
) (*tx.Transaction, error) {
	if len(v.within) > 0 {
		t, err := v.find(ctx, uid)
		if err != nil {
			return nil, err
		}
		uid = t.UID
	}
	t, err := do(ctx, uid)
	return v.transaction(t), err
}

// take makes what was read of a request the caller's: what is to be stored, if it may post it.
func (v view) take(item *queues.Item) error {
	if err := v.mayPost(item.Queue); err != nil {
		return err
	}
	item.By, item.Also = v.name, v.aliases(item)
	if space := v.space(); space != "" {
		if item.UID == "" {
			item.UID = queues.NewUID()
		}
		item.UID = space + item.UID
	}
	return nil
}

// aliases are the uids that are one with what an item is posted as, to somebody who sees both: a
// plain one in the queues of a caller that has a space, and for any other caller the same in the
// space of a key that sees the queue.
func (v view) aliases(item *queues.Item) (all []queues.Alias) {
	switch {
	case item.UID == "":
	case v.space() != "":
		return []queues.Alias{{UID: item.UID, Within: v.within}}
	default:
		for _, l := range *v.Keys.locks.Load() {
			if l.space() != "" && l.within.Admit(item.Queue) {
				all = append(all, queues.Alias{UID: l.space() + item.UID, Within: l.within})
			}
		}
	}
	return all
}

func (v view) queues(
	ctx context.Context, f queues.QueueFilter, limit int, cursor string,
) (qs []*queues.Queue, next string, err error) {
	f.Within = v.within
	qs, next, err = v.Store.ListQueues(ctx, f, limit, cursor)
	for _, q := range qs {
		v.queue(q)
	}
	return qs, next, err
}

// readQueue returns a queue with when the oldest in it was posted.
func (v view) readQueue(ctx context.Context, name string) (*queues.Queue, error) {
	if err := v.sees(name, "queue "+name); err != nil {
		return nil, err
	}
	q, err := v.Store.Queue(ctx, name)
	if err == nil {
		err = v.Store.FindOldest(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	return v.queue(q), nil
}

// mayPost says why a caller may not post to a queue.
func (who caller) mayPost(queue string) error {
	if who.within.Admit(queue) {
		return nil
	}
	return &problem{
		Status: http.StatusForbidden, Code: codeForbidden, Title: "The key is not for this queue",
		Detail: "It is limited to queues whose names begin with " + strings.Join(who.within, " or ") + ".",
	}
}

// sees says that something of a queue is not there where a caller must not know of it, as
// the store does.
func (who caller) sees(queue, what string) error {
	if who.within.Admit(queue) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, queues.ErrNotFound)
}
