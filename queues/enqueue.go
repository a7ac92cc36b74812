package queues

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

// An Item is a transaction to accept.
type Item struct {
	UID   string // chosen by the client; "" lets the store make one
	Queue string
	Type  string
	Data  json.RawMessage
	// Terms are told to the millisecond.
	tx.Terms
	// Trace is the traceparent that is kept with it, if it is traced: no part of what a
	// repeat is compared with.
	Trace string
	// Ledger and BatchID are those of a batch, "" of what is for Mina. Together they are a
	// key of their own.
	Ledger, BatchID string
	// By is who posts it, the name of an API key, "" for nobody in particular: its queue stands
	// in the turn of that one while it is the first of it. It may be another one when the same is
	// posted again.
	By string
	// Also are other uids that may have it: one of them that has is what was posted.
	Also []Alias
	// Dry: what would become of it is asked for, and nothing is stored. The transaction that
	// is answered is as it would be now.
	Dry bool
}

// An Alias is a uid that stands for another one where its transaction is, or was, in a queue of
// Within, which is not empty.
type Alias struct {
	UID    string
	Within Prefixes
}

// alsoOf is how the script reads aliases.
func alsoOf(all []Alias) string {
	words := make([]string, 0, 2*len(all))
	for _, a := range all {
		words = append(words, a.UID, strings.Join(a.Within, "|"))
	}
	return strings.Join(words, " ")
}

// Accepted is what became of an Item.
type Accepted struct {
	// Transaction is the accepted one; where the uid was known already, the
	// one that was accepted first.
	Transaction *tx.Transaction
	// Existed: the same item had been accepted before.
	Existed bool
	// Err refuses the item: ErrKeyReused, ErrKeyGone, ErrTooManyWaiting, ErrDamaged,
	// ErrTooManyInAll, ErrFull, ErrUnavailable. Nothing was changed for it, except that
	// ErrUnavailable leaves open whether it was accepted.
	Err error
}

var (
	// ErrKeyReused: the uid belongs to another transaction.
	ErrKeyReused = errors.New("the key was used for another transaction")
	// ErrKeyGone: the uid belongs to a transaction that was removed.
	ErrKeyGone = errors.New("the key was used for a transaction that has been removed")
	// ErrTooManyWaiting: the queue takes no more.
	ErrTooManyWaiting = errors.New("the queue has too many waiting transactions")
	// ErrTooManyInAll: no queue takes any more.
	ErrTooManyInAll = errors.New("too many transactions are waiting in all")
)

// warnCrowded tells the log, once a minute, that a post was refused because too many wait.
func (s *Store) warnCrowded(queue string) {
	now := time.Now().Unix()
	if was := s.crowded.Load(); now-was >= 60 && s.crowded.CompareAndSwap(was, now) {
		s.Log.Warn("posts are refused: as many transactions wait as SEQUENCER_MAX_WAITING_TOTAL allows",
			"limit", s.MaxWaitingInAll, "queue", queue)
	}
}

// MaxBatch is the most items that one script call takes.
const MaxBatch = 500

// Enqueue accepts one transaction: when it returns without an error, the
// transaction is stored. Calls that come together share one script call. When ctx ends it gives
// up what is on its way in no call yet; else it waits for that call, which has an end, too, and
// reads the payload until then.
func (s *Store) Enqueue(ctx context.Context, item Item) Accepted {
	if err := ctx.Err(); err != nil {
		return Accepted{Err: storeError("enqueue", err)}
	}
	p := post{item, s.answers.Get().(chan Accepted)}
	s.posts.add(ctx, p)
	var a Accepted
	select {
	case a = <-p.done:
	case <-ctx.Done():
		// While Redis is slow, what nobody waits for any more would pile up.
		if s.posts.drop(func(o post) bool { return o.done == p.done }) {
			a.Err = storeError("enqueue", ctx.Err())
		} else {
			a = <-p.done
		}
	}
	s.answers.Put(p.done) // it has been answered once, or never will be, and nobody else has it
	return a
}

func (s *Store) enqueue(ctx context.Context, items []Item) []Accepted {
	out := make([]Accepted, len(items))
	args := make([]any, 2, 2+7*len(items))
	args[0], args[1] = s.MaxWaiting, s.MaxWaitingInAll
	uids := make([]string, len(items))
	for i, item := range items {
		uid, chosen := item.UID, "1"
		if uid == "" {
			uid, chosen = NewUID(), ""
		}
		if item.Dry {
			chosen = "dry"
		}
		uids[i] = uid
		// A copy: the caller's buffer may serve another post while a call that it no
		// longer waits for is still on its way.
		args = append(args, uid, chosen, kindOf(item.Type, item.Ledger), item.Queue, string(item.Data),
			postedWith(&item.Terms, item.BatchID, item.Trace, item.By), alsoOf(item.Also))
	}
	v, err := s.Run(ctx, enqueueScript, args...)
	r := reply{name: "enqueue", err: err}
	results := r.list(v)
	if r.err == nil && len(results) != len(items)+2 {
		r.fail("one answer for each item", v)
	}
	if r.err != nil {
		for i, item := range items {
			out[i].Err = r.err
			// What is there already needs no room.
			if item.UID == "" || !errors.Is(r.err, ErrFull) {
				continue
			}
			if a := s.first(ctx, item.UID, item); a.Err == nil || errors.Is(a.Err, ErrKeyReused) {
				out[i] = a
			}
			for _, also := range item.Also {
				if a := s.first(ctx, also.UID, item); a.Err == nil {
					out[i] = a
				}
			}
		}
		return out
	}
	now := fromMillis(r.int(results[0]))
	s.signal(r.int(results[1]))
	last := -1
	for i, item := range items {
		if first, text := results[i+2].(string); text {
			known := s.firstBatch
			if slices.ContainsFunc(item.Also, func(a Alias) bool { return a.UID == first }) {
				known = s.first
			}
			out[i] = known(ctx, first, item)
			continue
		}
		switch n := r.int(results[i+2]); {
		case r.err != nil:
			out[i].Err = r.err
		case n > 0:
			out[i].Transaction = fresh(uids[i], n, now, item)
			if !item.Dry {
				last = i
			}
		case n == -1:
			out[i].Err = ErrKeyGone
		case n == -2:
			out[i].Err = ErrTooManyWaiting
		case n == -3:
			out[i].Err = ErrTooManyInAll
			s.warnCrowded(item.Queue)
		case n == -4:
			out[i].Err = fmt.Errorf("the record of queue %s is damaged: %w", item.Queue, ErrDamaged)
		case n == 0:
			out[i] = s.first(ctx, uids[i], item)
			// A uid made here is there already only if the call was repeated.
			out[i].Existed = out[i].Existed && item.UID != ""
		default:
			r.fail("a sequence, or why there is none,", n)
			out[i].Err = r.err
		}
	}
	if last >= 0 {
		s.marks.accept(uids[last], r.int(results[last+2]))
	}
	return out
}

func fresh(uid string, sequence int64, now time.Time, item Item) *tx.Transaction {
	return &tx.Transaction{
		UID: uid, Queue: item.Queue, Sequence: sequence, Type: item.Type, Data: item.Data,
		Phase: tx.PhaseWaiting, ReceivedAt: now, ChangedAt: now, Ledger: item.Ledger, BatchID: item.BatchID,
		Terms: recorded(item.Terms), PostedBy: item.By, Trace: item.Trace,
	}
}

// firstBatch returns the transaction that a batch is in already, if its queue is the same.
func (s *Store) firstBatch(ctx context.Context, uid string, item Item) Accepted {
	t, err := s.Get(ctx, uid)
	switch {
	case errors.Is(err, ErrNotFound):
		return Accepted{Err: ErrKeyGone} // removed since the script looked
	case err != nil:
		return Accepted{Err: err}
	case t.Queue != item.Queue:
		return Accepted{Err: ErrKeyReused}
	}
	return Accepted{Transaction: t, Existed: true}
}

// first returns the transaction that has the uid already, if it is the same.
func (s *Store) first(ctx context.Context, uid string, item Item) Accepted {
	t, err := s.Get(ctx, uid)
	switch {
	case errors.Is(err, ErrNotFound):
		return Accepted{Err: ErrKeyGone} // removed since the script looked
	case err != nil:
		return Accepted{Err: err}
	case !isOf(t, item):
		return Accepted{Err: ErrKeyReused}
	}
	return Accepted{Transaction: t, Existed: true}
}

// isOf reports whether t is what item asks for.
func isOf(t *tx.Transaction, item Item) bool {
	return t.Queue == item.Queue && t.Type == item.Type && SameJSON(t.Data, item.Data) && t.Terms == recorded(item.Terms)
}

// recorded are terms as a record tells them.
func recorded(t tx.Terms) tx.Terms {
	t.NotBefore, t.ExpiresAt = inRecord(t.NotBefore), inRecord(t.ExpiresAt)
	return t
}

// NewUID makes a uid of 130 random bits.
func NewUID() string { return strings.ToLower(rand.Text()) }

// A post is one item on its way into the next script call.
type post struct {
	item Item
	done chan Accepted
}

// Posts that arrive while a script call is under way share the next one. One call
// at a time makes the largest groups, and a group costs less than its members.
const postCalls = 1

// maxPosted bounds the payloads of one script call, in bytes.
const maxPosted = 1 << 20

func newPosts(s *Store) *group[post] {
	return &group[post]{
		calls: postCalls, most: MaxBatch, bytes: maxPosted,
		size: func(p post) int { return len(p.item.Data) },
		send: func(ctx context.Context, posts []post) {
			items := make([]Item, len(posts))
			for i, p := range posts {
				items[i] = p.item
			}
			for i, a := range s.enqueue(ctx, items) {
				posts[i].done <- a
			}
		},
	}
}
