package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// An Item is a transaction to post.
type Item struct {
	Queue, Type string
	// Data is a JSON object; its tokens are sent as they are.
	Data json.RawMessage
	// UID names the transaction and makes it known when it is posted again: 1 to
	// 128 of A-Z a-z 0-9 . _ : -. Post and PostBatch make one up where it is "". To others it is
	// name~uid where the client's key, name, is limited to some queues.
	UID string
	// NotBefore: it is not dispatched before, and what stands behind it in its queue waits,
	// too. ExpiresAt: it lands before, or never. MaxFee: the most that an attempt of it may
	// pay, in nanomina. Each may be zero.
	NotBefore, ExpiresAt time.Time
	MaxFee               uint64
}

// append adds the item as JSON. Data passes as it is: an encoder would rewrite
// its tokens.
func (i *Item) append(b []byte) ([]byte, error) {
	if !json.Valid(i.Data) {
		return nil, fmt.Errorf("the data of %s is not JSON", i.UID)
	}
	for n, field := range [][2]string{{"queue", i.Queue}, {"type", i.Type}, {"uid", i.UID}} {
		text, err := json.Marshal(field[1])
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", field[0], err)
		}
		b = append(b, "{,,"[n], '"')
		b = append(append(b, field[0]...), '"', ':')
		b = append(b, text...)
	}
	for n, at := range []time.Time{i.NotBefore, i.ExpiresAt} {
		if !at.IsZero() {
			b = fmt.Appendf(b, `,"%s":"%s"`, []string{"notBefore", "expiresAt"}[n], at.UTC().Format(time.RFC3339Nano))
		}
	}
	if i.MaxFee > 0 {
		b = fmt.Appendf(b, `,"maxFee":"%d"`, i.MaxFee)
	}
	b = append(b, `,"data":`...)
	// On one line: a batch has one item per line.
	for part := range bytes.FieldsFuncSeq(i.Data, func(r rune) bool { return r == '\n' || r == '\r' }) {
		b = append(b, part...)
	}
	return append(b, '}'), nil
}

// Posted is what came of posting a transaction.
type Posted struct {
	*Transaction
	// Existed: it had been accepted before, by the same uid.
	Existed bool
}

// Post posts a transaction. It is accepted once, however often it is posted with
// its uid; without one it gets one here. Whether it was accepted is not known
// where the error is an UnreachableError or Temporary.
// Codes: InvalidData, UnknownType, KeyReused, TooLarge, TooManyWaiting, StoreFull.
func (c *Client) Post(ctx context.Context, item Item) (Posted, error) {
	item.UID = cmp.Or(item.UID, rand.Text())
	body, err := item.append(nil)
	if err != nil {
		return Posted{}, err
	}
	t := new(Transaction)
	status, err := c.call(ctx, request{method: http.MethodPost, path: base + "/transactions", body: body}, t)
	if err != nil {
		return Posted{}, err
	}
	return Posted{t, status == http.StatusOK}, nil
}

// DryRun tells what Post would come to now: all that accepting checks, and, where a worker simulates
// the type, what the transaction would do by the accounts as they are. Nothing is stored. Codes are
// those of Post, and SimulatorsBusy where all checks are passed and no worker has the time.
func (c *Client) DryRun(ctx context.Context, item Item) (*Trial, error) {
	item.UID = cmp.Or(item.UID, rand.Text())
	body, err := item.append(nil)
	if err != nil {
		return nil, err
	}
	return ask[Trial](ctx, c, request{
		method: http.MethodPost, query: url.Values{"dryRun": {"true"}}, body: body, wait: longestTrial,
	}, "transactions")
}

// longestTrial is how long the service may take for a dry run, beside what any call takes.
const longestTrial = time.Minute

// Transaction returns a transaction. Code: NotFound.
func (c *Client) Transaction(ctx context.Context, uid string) (*Transaction, error) {
	return ask[Transaction](ctx, c, request{method: http.MethodGet}, "transactions", uid)
}

// longestWait is how long one request is kept waiting.
const longestWait = 30 * time.Second

// Wait returns the transaction as soon as it is final, or as it is when the time
// is over. A service that goes away meanwhile is waited for. Code: NotFound.
func (c *Client) Wait(ctx context.Context, uid string, most time.Duration) (*Transaction, error) {
	end := time.Now().Add(most)
	for known := false; ; {
		wait := time.Duration(0) // a first look, so that it is known to be there
		if known {
			wait = max(0, min(time.Until(end), longestWait)).Truncate(time.Millisecond)
		}
		asked := time.Now()
		t, err := ask[Transaction](ctx, c, request{
			method: http.MethodGet, wait: wait, query: url.Values{"wait": {wait.String()}},
		}, "transactions", uid)
		left := time.Until(end)
		switch {
		case err == nil && (t.State.Final() || left <= 0):
			return t, nil
		case err != nil && (!known || left <= 0 || !passing(err, false)):
			return nil, err
		}
		if !known {
			known = true
			continue
		}
		// What answers at once although it was asked to wait is not asked at once again.
		if !sleep(ctx, min(c.Backoff-time.Since(asked), left)) {
			return nil, ctx.Err()
		}
	}
}

// Explain says where a transaction stands and what happens next. Code: NotFound.
func (c *Client) Explain(ctx context.Context, uid string) (*Explanation, error) {
	return ask[Explanation](ctx, c, request{method: http.MethodGet}, "transactions", uid, "explain")
}

// LedgerBatch says what a batch is in Grid's words and, once it is Committed or Invalid, what became of its
// transactions: the receipts of a committed one are asked of its ledger anew in each call. Code: NotFound,
// also of what is no batch.
func (c *Client) LedgerBatch(ctx context.Context, uid string) (*LedgerBatch, error) {
	return ask[LedgerBatch](ctx, c, request{method: http.MethodGet}, "transactions", uid, "batch")
}

// A Filter chooses transactions; empty fields choose all.
type Filter struct {
	Queue  string `json:"queue,omitempty"`
	Type   string `json:"type,omitempty"`
	Sender string `json:"sender,omitempty"`
	State  State  `json:"state,omitempty"`
	Error  string `json:"error,omitempty"` // the code that they ended with, or last failed with
	Hash   string `json:"-"`               // of one of their attempts; of lists alone
	// ZkApp is an account that one of their attempts touches: a public key, or that, a colon and the
	// id of its token; of lists alone.
	ZkApp       string `json:"-"`
	QueueFilter        // of CancelAll, RetryAll and DeleteAll alone
}

// A QueueFilter chooses queues: those whose names begin with Prefix, or those that the API keys
// of a name, Key, are limited to; not both.
type QueueFilter struct {
	Prefix string `json:"prefix,omitempty"`
	Key    string `json:"key,omitempty"`
}

// A Cut is the part of a list that is asked for.
type Cut struct {
	Limit  int    // the most items, up to 500; 0 leaves it to the service
	Cursor string // NextCursor of the part before; "" begins
}

func (c Cut) query(q url.Values) url.Values {
	if c.Limit > 0 {
		q.Set("limit", strconv.Itoa(c.Limit))
	}
	if c.Cursor != "" {
		q.Set("cursor", c.Cursor)
	}
	return q
}

// Transactions lists transactions in the order in which they were accepted. A
// page may be short and still have a NextCursor. Code: BadCursor.
func (c *Client) Transactions(ctx context.Context, f Filter, cut Cut) (*Page[Transaction], error) {
	q := url.Values{}
	for name, value := range map[string]string{"queue": f.Queue, "type": f.Type, "sender": f.Sender, "state": string(f.State), "error": f.Error, "hash": f.Hash,
		"zkApp": f.ZkApp, "prefix": f.Prefix, "key": f.Key} { // the last two are refused there
		if value != "" {
			q.Set(name, value)
		}
	}
	return ask[Page[Transaction]](ctx, c, request{method: http.MethodGet, query: cut.query(q)}, "transactions")
}

// EachTransaction goes over all transactions that f chooses, page by page. It
// ends with the first error.
func (c *Client) EachTransaction(ctx context.Context, f Filter) iter.Seq2[*Transaction, error] {
	return each(func(cursor string) (*Page[Transaction], error) {
		return c.Transactions(ctx, f, Cut{500, cursor})
	})
}

// each goes over the items of all pages.
func each[T any](page func(cursor string) (*Page[T], error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor := ""; ; {
			p, err := page(cursor)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range p.Items {
				if !yield(&p.Items[i], nil) {
					return
				}
			}
			if p.NextCursor == "" || p.NextCursor == cursor {
				return
			}
			cursor = p.NextCursor
		}
	}
}

// Retry gives a FAILED or UNRESOLVED transaction fresh retries, at its old place
// in the queue. Codes: NotRetryable, MightStillLand, NotFound.
func (c *Client) Retry(ctx context.Context, uid string) (*Transaction, error) {
	return ask[Transaction](ctx, c, request{method: http.MethodPost, once: true}, "transactions", uid, "retry")
}

// Cancel takes a transaction back. Where an attempt might still land no further
// one is made, CancelRequested is set, and what becomes of this one decides.
// Codes: NotCancellable, NotFound.
func (c *Client) Cancel(ctx context.Context, uid string) (*Transaction, error) {
	return ask[Transaction](ctx, c, request{method: http.MethodPost, once: true}, "transactions", uid, "cancel")
}

// Resolve settles an attempt whose outcome only a person can know: it landed,
// with this hash, which may be "", or none will ever land. Codes: Contradicted if
// the chain contradicts it, NotRetryable if nothing is open, NotFound.
func (c *Client) Resolve(ctx context.Context, uid string, landed bool, hash string) (*Transaction, error) {
	answer := map[string]string{"outcome": "dead"}
	if landed {
		answer["outcome"] = "landed"
	}
	if hash != "" {
		answer["hash"] = hash
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("writing the outcome: %w", err)
	}
	return ask[Transaction](ctx, c, request{method: http.MethodPost, body: body, once: true}, "transactions", uid, "resolve")
}

// Delete removes a transaction that is over. Codes: MightStillLand if it is not,
// NotFound.
func (c *Client) Delete(ctx context.Context, uid string) error {
	return c.tell(ctx, request{method: http.MethodDelete, once: true}, "transactions", uid)
}

// A Bulk is what came of one step of a bulk command.
type Bulk struct {
	Matched  int             `json:"matched"`  // transactions that the filter chose and the command is for
	Done     int             `json:"done"`     // of these
	Refused  int             `json:"refused"`  // of these
	Refusals map[Code]int    `json:"refusals"` // how many by why
	Next     string          `json:"nextCursor"`
	Raw      json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (b *Bulk) UnmarshalJSON(doc []byte) error {
	type plain Bulk
	b.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(b))
}

// ErrNoFilter: a bulk command without a filter would be for everything.
var ErrNoFilter = errors.New("a filter is needed: nothing is done to all transactions at once")

// CancelAll cancels all transactions that f chooses and that are not over, on the
// side of the service and in steps; with dry they are only counted. It yields
// what came of each step, and ends with the first error.
func (c *Client) CancelAll(ctx context.Context, f Filter, dry bool) iter.Seq2[*Bulk, error] {
	return c.bulk(ctx, "cancel", f, dry)
}

// RetryAll is CancelAll for retrying those that are FAILED or UNRESOLVED.
func (c *Client) RetryAll(ctx context.Context, f Filter, dry bool) iter.Seq2[*Bulk, error] {
	return c.bulk(ctx, "retry", f, dry)
}

// DeleteAll is CancelAll for removing those that are FAILED, UNRESOLVED, or DONE past finality.
func (c *Client) DeleteAll(ctx context.Context, f Filter, dry bool) iter.Seq2[*Bulk, error] {
	return c.bulk(ctx, "delete", f, dry)
}

func (c *Client) bulk(ctx context.Context, command string, f Filter, dry bool) iter.Seq2[*Bulk, error] {
	return bulk(ctx, c, f, func(cursor string) any {
		return struct {
			Filter Filter `json:"filter"`
			DryRun bool   `json:"dryRun"`
			Cursor string `json:"cursor,omitempty"`
		}{f, dry, cursor}
	}, "transactions", command)
}

func bulk[F comparable](ctx context.Context, c *Client, f F, command func(cursor string) any, path ...string) iter.Seq2[*Bulk, error] {
	return func(yield func(*Bulk, error) bool) {
		var none F
		if f == none {
			yield(nil, ErrNoFilter)
			return
		}
		for cursor := ""; ; {
			body, err := json.Marshal(command(cursor))
			var b *Bulk
			if err == nil {
				b, err = ask[Bulk](ctx, c, request{method: http.MethodPost, body: body}, path...)
			}
			if !yield(b, err) || err != nil || b.Next == "" || b.Next == cursor {
				return
			}
			cursor = b.Next
		}
	}
}
