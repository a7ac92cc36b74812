package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"
)

// One request holds at most this much.
const (
	batchItems = 10_000
	batchBytes = 16 << 20
	batchWait  = 2 * time.Minute
	// rateWait is the longest that a batch waits for its rate.
	rateWait = 15 * time.Minute
)

// A Result is what came of one item of a batch.
type Result struct {
	Index       int // of the item
	UID         string
	Transaction *Transaction // nil if it was refused
	Existed     bool         // it had been accepted before
	Err         *Error       // why it was refused
	Raw         json.RawMessage
}

// PostBatch posts items as a [Batch] of its own.
func (c *Client) PostBatch(ctx context.Context, items []Item) iter.Seq2[Result, error] {
	return c.NewBatch().Post(ctx, items)
}

// A Batch posts items that are to stay in order, in as many parts as they are given in. One call
// at a time.
type Batch struct {
	c      *Client
	closed map[string]*Error // why nothing more of a queue is posted
}

// NewBatch begins a batch.
func (c *Client) NewBatch() *Batch { return &Batch{c, map[string]*Error{}} }

// Post posts any number of items, in order, and yields what came of each, in order. Where the
// service fails on the way, or cannot take an item now, what has no answer yet is posted again,
// Retries times behind the last answer; that repeats nothing, for each item has its uid. If that
// does not help, an item that its queue has no room for is refused, with all of the queue behind
// it (TooManyWaiting), as is at once what the service fails with (500: its queue cannot be read);
// anything else ends it: a last error, with a zero Result, says that the rest has no answer.
func (b *Batch) Post(ctx context.Context, items []Item) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		items = slices.Clone(items)
		for i := range items {
			items[i].UID = cmp.Or(items[i].UID, rand.Text())
		}
		p := &posting{Batch: b, items: items, yield: yield}
		for tried := 0; p.next < len(items); {
			before := p.next
			err := p.post(ctx, tried >= b.c.Retries)
			if p.ended {
				return
			}
			if p.next > before {
				tried = 0
			}
			if err == nil {
				continue
			}
			if ctx.Err() != nil || tried >= b.c.Retries || !passing(err, false) && !limited(err) ||
				!b.c.rest(ctx, err, tried) {
				yield(Result{}, err)
				return
			}
			tried++
		}
	}
}

// limited reports whether a batch has to wait for what the batches before it have
// used up: at a low rate that is long.
func limited(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == RateLimited && e.RetryAfter <= rateWait
}

// A posting is of the items of one call.
type posting struct {
	*Batch
	items []Item
	next  int // the first item without an answer
	yield func(Result, error) bool
	ended bool // yield wants no more
}

// post makes one request of the items from next on. It stops at one that was neither taken nor
// refused for good, for what stands behind it could overtake it: unless nothing more of its queue
// is posted, for want of room at the last try, or because the service fails with it.
func (p *posting) post(ctx context.Context, last bool) error {
	var body []byte
	var asked []int
	end := p.next
	for ; end < len(p.items) && len(asked) < batchItems && len(body) < batchBytes; end++ {
		if p.closed[p.items[end].Queue] != nil {
			continue
		}
		var err error
		if body, err = p.items[end].append(body); err != nil {
			return err
		}
		body = append(body, '\n')
		asked = append(asked, end)
	}
	if len(asked) > 0 {
		if err := p.ask(ctx, body, asked, last); err != nil || p.ended {
			return err
		}
	}
	p.refuse(end)
	return nil
}

// ask posts the items at these places, and takes in what came of each.
func (p *posting) ask(ctx context.Context, body []byte, places []int, last bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.c.Timeout+batchWait)
	defer cancel()
	const lines = "application/x-ndjson"
	resp, err := p.c.open(ctx, request{
		method: http.MethodPost, path: base + "/transactions/batch", body: body,
		header: map[string]string{"Content-Type": lines, "Accept": lines + ", application/problem+json"},
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	answers.Buffer(make([]byte, 64<<10), maxAnswer)
	n := 0
	for n < len(places) && answers.Scan() {
		line := bytes.TrimSpace(answers.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			break // the connection broke within it
		}
		r, err := readResult(line, n)
		if err != nil {
			return err
		}
		item := p.items[places[n]]
		if r.Err != nil && (r.Err.Temporary() || r.Err.Status >= 500) {
			if r.Err.Temporary() && (!last || r.Err.Code != TooManyWaiting) {
				return r.Err
			}
			p.closed[item.Queue] = r.Err
		}
		r.UID = item.UID
		if r.Transaction != nil {
			r.UID = r.Transaction.UID // that of who posted it first, where that was not by uid
		}
		if p.refuse(places[n]); !p.ended {
			p.tell(r)
		}
		if p.ended {
			return nil
		}
		n++
	}
	if n < len(places) {
		return &UnreachableError{p.c.URL, fmt.Errorf("the answer ended early: %w", cmp.Or(answers.Err(), errors.New("cut short")))}
	}
	return nil
}

// refuse tells of the items from next up to one that nothing more of their queues is posted.
func (p *posting) refuse(end int) {
	for p.next < end && !p.ended {
		item := p.items[p.next]
		p.tell(Result{UID: item.UID, Err: p.closed[item.Queue]})
	}
}

// tell yields what came of the next item.
func (p *posting) tell(r Result) {
	r.Index = p.next
	p.next++
	p.ended = !p.yield(r, nil)
}

func readResult(line []byte, want int) (Result, error) {
	var answer struct {
		Index       int             `json:"index"`
		Status      int             `json:"status"`
		Transaction *Transaction    `json:"transaction"`
		Problem     json.RawMessage `json:"problem"`
	}
	if err := decode(line, &answer); err != nil {
		return Result{}, err
	}
	if answer.Index != want {
		return Result{}, fmt.Errorf("the answer is not what a sequencer says: item %d where %d is due", answer.Index, want)
	}
	r := Result{Transaction: answer.Transaction, Existed: answer.Status == http.StatusOK, Raw: bytes.Clone(line)}
	if answer.Status/100 != 2 {
		r.Transaction, r.Err = nil, parseError(answer.Status, answer.Problem)
	}
	return r, nil
}
