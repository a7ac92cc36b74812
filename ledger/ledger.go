// Package ledger hands signed batches to ledgers that take them, Sawtooth and
// Splinter's Scabbard, and asks what became of them. It checks what is posted
// (see [Parse]) and what the ledgers answer; what follows from an answer is
// decided elsewhere.
package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A Ledger is one ledger that takes batches. Its methods may be called
// concurrently. No call follows redirects, uses a proxy of the environment or is
// repeated by itself, and each is over a connection of its own: so a request is
// never lost with an old connection that the ledger was about to close.
type Ledger interface {
	// Idempotent says whether the same batch posted again is harmless. Where it is
	// not, a batch that was [Accepted] or [MayBeProcessed] must never be posted
	// again: it would be executed once more.
	Idempotent() bool
	// Submit posts a BatchList of the one batch whose id is given. The bytes go
	// out as they are; [Parse] has checked them.
	Submit(ctx context.Context, batchList []byte, id string) Answer
	// Statuses asks what became of batches, any number of them, named twice or
	// not. What it has learnt it returns, also beside an error; an id that is
	// missing from the map was not answered. Where a question for some of them
	// fails the others are still asked for, until what has failed took four
	// timeouts; unless the ledger is not reached, is busy, or turns this caller
	// away, whatever is asked, which is a *[HeldError].
	Statuses(ctx context.Context, ids []string) (map[string]Status, error)
	// Receipts asks once for what the ledger keeps of committed transactions, by their ids, at most 1,000:
	// each receipt is a JSON object as the ledger writes it, up to 256 KiB. What it has none of is missing; a
	// ledger that keeps none for others, as Scabbard, is not asked.
	Receipts(ctx context.Context, ids []string) (map[string]json.RawMessage, error)
}

// An Outcome is what is known of a batch after it was posted.
type Outcome uint8

// The outcomes of a post. All but Accepted and MayBeProcessed say that the batch
// is not with the ledger by this post, so posting it again is safe.
const (
	// MayBeProcessed: it may have been taken, now or later; only its status tells.
	MayBeProcessed Outcome = iota
	// Accepted: the ledger has it. That says nothing of its validity.
	Accepted
	// NotProcessed: the ledger took it not, for it is busy or not ready.
	NotProcessed
	// Rejected: the ledger refuses this batch, for good.
	Rejected
	// Held: the ledger turns this caller away, and would do so with any batch.
	Held
	// NotWritten: no byte of the request left: the connection was refused, failed
	// or was not there in time, or the caller gave up before.
	NotWritten
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	return name(int(o), "MayBeProcessed", "Accepted", "NotProcessed", "Rejected", "Held", "NotWritten")
}

// A Why says for what a ledger turns a caller away.
type Why uint8

// The causes of Held.
const (
	WrongAddress  Why = iota + 1 // 404, 405, a redirect: it is not there, or not yet
	WrongAuth                    // 401, 403: SEQUENCER_LEDGER_AUTH is missing, wrong or may not
	WrongProtocol                // it speaks another version, or is no such ledger
)

// String returns the name of the cause.
func (w Why) String() string { return name(int(w), "", "WrongAddress", "WrongAuth", "WrongProtocol") }

func name(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return strconv.Itoa(i)
}

// An Answer is what came of a post. It is comparable; the zero value is the most
// cautious answer.
type Answer struct {
	Outcome Outcome
	// Wait is how long the ledger asked to be left alone, at most [MaxWait]; 0: it
	// named no time. Only in NotProcessed.
	Wait time.Duration
	// Why is set in Held only.
	Why Why
	// Code is the ledger's own code, or the HTTP status where it gave none; "" if
	// there was no answer. Message is one line for people and logs, at most 1 KiB;
	// it holds no secret. Both are empty in Accepted.
	Code, Message string
}

// MaxWait is the longest that a ledger can ask to be left alone.
const MaxWait = 10 * time.Minute

// A HeldError says that a ledger turns this caller away, whatever is asked.
type HeldError struct {
	Why     Why
	Message string
}

func (e *HeldError) Error() string { return e.Message }

// A State is what a ledger says of a batch.
type State string

// The states of a batch. Each is one node's view, and none but Committed is a
// promise: see the ledger's own words on what it forgets.
const (
	Unknown   State = "UNKNOWN"   // not there, not there any more, or not yet
	Pending   State = "PENDING"   // may never end
	Valid     State = "VALID"     // executed, not yet agreed upon: Scabbard only
	Committed State = "COMMITTED" // in the ledger
	Invalid   State = "INVALID"   // executed and refused; may yet turn into Committed
)

// A Status is what a ledger says of one batch.
type Status struct {
	State State
	// Invalid are the transactions that were refused, at most 16. Only in Invalid,
	// and there it may be empty.
	Invalid []InvalidTransaction
}

// An InvalidTransaction is a transaction that was refused. What the ledger did
// not say is empty.
type InvalidTransaction struct {
	ID           string `json:"id"`           // at most 128 bytes
	Message      string `json:"message"`      // at most 1 KiB
	ExtendedData []byte `json:"extendedData"` // base64 in JSON; its first 8 KiB
}

// Options configure a [Ledger].
type Options struct {
	// Timeout limits one HTTP call, half of it its connection; 0 means 15 s.
	Timeout time.Duration
	// Authorization returns the value of the Authorization header, "" for none. It
	// is asked before every call, possibly concurrently; nil means none.
	Authorization func() Secret
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New returns the ledger at a target of [ParseTargets]. It holds nothing that has
// to be closed.
func New(t Target, o Options) (Ledger, error) {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Authorization == nil {
		o.Authorization = func() Secret { return "" }
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	c := &client{url: t.URL, timeout: o.Timeout, authorization: o.Authorization, transport: newTransport(o)}
	switch t.Protocol {
	case Sawtooth:
		c.dialect = sawtooth{}
	case Splinter:
		c.dialect = scabbard{}
	default:
		return nil, fmt.Errorf("ledger %s: there is no protocol %q", t.Name, t.Protocol)
	}
	return c, nil
}
