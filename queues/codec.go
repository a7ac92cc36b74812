package queues

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// millis and fromMillis translate times as they are kept in Redis; 0 is none. What is before
// all times that Redis can hold is the first of them, which is as long past.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.UnixMilli(), 1)
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// A stored is what Redis has of a transaction: the strings of load.lua.
type stored struct {
	posted string // "<sequence> <received ms> <type> <queue>[ <more>]\n<payload>", see postedWith
	text   string // words that scripts read or write, see state, and behind them JSON, see record
	facts  map[string]string
}

// decode builds a transaction.
func (s stored) decode(uid string) (*tx.Transaction, error) {
	head, data, found := strings.Cut(s.posted, "\n")
	of := strings.Split(head, " ")
	if !found || len(of) < 4 {
		return nil, fmt.Errorf("record of %s is damaged", uid)
	}
	var e numbers
	t := &tx.Transaction{
		UID: uid, Sequence: e.int(of[0]), ReceivedAt: fromMillis(e.int(of[1])),
		Queue: of[3], Data: json.RawMessage(data), Phase: tx.PhaseWaiting,
	}
	t.Type, t.Ledger = splitKind(of[2])
	e.postedWith(t, of[4:])
	t.ChangedAt = t.ReceivedAt
	words, record, found := strings.Cut(s.text, "\n")
	if s.text != "" {
		e.state(t, words)
	}
	if found && record != "" {
		e.keep(decodeRecord(t, record))
	}
	addFacts(t, s.facts)
	if e.err != nil {
		return nil, fmt.Errorf("record of %s is damaged: %w", uid, e.err)
	}
	return t, nil
}

// postedWith is how the first line of what was posted ends: words in this order, empty for
// none; nothing if there are none at all.
func postedWith(terms *tx.Terms, batch, trace, by string) string {
	word := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatUint(n, 10)
	}
	if *terms == (tx.Terms{}) && batch+trace+by == "" {
		return ""
	}
	return " " + strings.Join([]string{
		word(uint64(millis(terms.NotBefore))), word(uint64(millis(terms.ExpiresAt))), word(terms.MaxFee), batch, trace, by,
	}, " ")
}

// postedWith reads what the function of that name wrote.
func (e *numbers) postedWith(t *tx.Transaction, words []string) {
	switch len(words) {
	case 0:
	case 6:
		t.NotBefore, t.ExpiresAt, t.MaxFee = fromMillis(e.int(words[0])), fromMillis(e.int(words[1])), e.uint64(words[2])
		t.BatchID, t.Trace, t.PostedBy = words[3], words[4], words[5]
	default:
		e.keep(fmt.Errorf("%q end the first line of what was posted", words))
	}
}

// state reads the words that lib.lua names, in that order.
func (e *numbers) state(t *tx.Transaction, words string) {
	w := strings.Split(words, " ")
	if len(w) != 13 {
		e.keep(fmt.Errorf("%q are not the words of a state", words))
		return
	}
	t.Revision, t.Claim, t.Phase, t.Sender = e.int(w[0]), w[2], tx.Phase(w[3]), w[4]
	if !t.Phase.Valid() {
		e.keep(fmt.Errorf("%q is no phase", w[3]))
	}
	counted, _, _ := strings.Cut(w[11], ":")
	if w[5] != "" { // else its phase is the one in which it was accepted
		t.ChangedAt = fromMillis(e.int(w[5]))
	}
	t.DueAt = fromMillis(e.int(w[6]))
	t.Callback, t.CallbackTries, t.Counted = tx.Callback(w[8]), int(e.int(w[9])), e.uint64(counted)
}

// heard is what a worker said to a callback, as called.lua stores it: the first field of the record, on a line of
// its own, which stays whatever record follows it.
type heard struct {
	At       int64       `json:"at"` // ms
	Tries    int         `json:"tries"`
	Callback tx.Callback `json:"callback"`
	Done     bool        `json:"done"`
	Said     said        `json:"said"`
}

type said struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// encodeSaid is what called.lua stores of t as it is.
func encodeSaid(t *tx.Told) string {
	b, err := marshal(said{t.Answer, t.Before, shorten(t.Error, mostDetail)})
	if err != nil {
		return "{}" // it is no JSON that somebody has answered
	}
	return string(b)
}

// kindOf is what queues are ready by: the type, and of batches the ledger behind it, for
// each ledger has senders of its own.
func kindOf(typ, ledger string) string {
	if ledger == "" {
		return typ
	}
	return typ + "/" + ledger
}

// kindsOf are the kinds of some types, in order: by all of them it is known who had the last turn.
func kindsOf(types []string, ledger string) []any {
	kinds := make([]any, len(types))
	for i, typ := range slices.Sorted(slices.Values(types)) {
		kinds[i] = kindOf(typ, ledger)
	}
	return kinds
}

func splitKind(kind string) (typ, ledger string) {
	typ, ledger, _ = strings.Cut(kind, "/")
	return typ, ledger
}

// A record is what is stored of a transaction beside what scripts read or write. What
// it does not name of a stored one is ignored.
type record struct {
	Told      *heard          `json:"told,omitempty"` // of who reads it; no change writes it
	Retries   int             `json:"retries,omitempty"`
	Deferred  int             `json:"deferred,omitempty"`
	Losses    int             `json:"losses,omitempty"`
	Doubted   string          `json:"doubted,omitempty"`
	Ending    tx.Phase        `json:"ending,omitempty"`
	Cancel    bool            `json:"cancel,omitempty"`
	Reopened  bool            `json:"reopened,omitempty"`
	Error     *tx.Error       `json:"error,omitempty"`
	Done      json.RawMessage `json:"done,omitempty"` // unless the landed attempt's block tells it
	Landed    int             `json:"landed,omitempty"`
	Submitted int64           `json:"submitted,omitempty"` // this and all times: ms
	Retried   int64           `json:"retried,omitempty"`
	Ended     int64           `json:"ended,omitempty"`
	Final     int64           `json:"final,omitempty"`
	Attempts  []attempt       `json:"attempts,omitempty"`
}

type attempt struct {
	Sender        string          `json:"sender"`
	Nonce         uint32          `json:"nonce"`
	Fee           uint64          `json:"fee"`
	ValidUntil    uint32          `json:"validUntil,omitempty"`
	Base          string          `json:"base,omitempty"`
	Beside        []string        `json:"beside,omitempty"`
	Effects       string          `json:"effects,omitempty"`
	Legacy        bool            `json:"legacy,omitempty"`
	Hash          string          `json:"hash,omitempty"`
	NodeHash      string          `json:"nodeHash,omitempty"`
	State         tx.AttemptState `json:"state"`
	Cause         tx.Cause        `json:"cause,omitempty"`
	Height        uint32          `json:"height,omitempty"`
	StateHash     string          `json:"stateHash,omitempty"`
	Confirmations int             `json:"confirmations,omitempty"`
	Error         *tx.Error       `json:"error,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
	Slot          uint32          `json:"slot,omitempty"`
	SentSlot      uint32          `json:"sentSlot,omitempty"`
	Started       int64           `json:"started,omitempty"`
	Ended         int64           `json:"ended,omitempty"`
	Weight        int             `json:"weight,omitempty"`
	Alone         bool            `json:"alone,omitempty"`
	Touched       []string        `json:"touched,omitempty"` // see touchedWords
	Quote         *quote          `json:"quote,omitempty"`
}

type quote struct {
	Fee       uint64      `json:"fee"`
	PerWeight uint64      `json:"perWeight,omitempty"`
	Weight    int         `json:"weight"`
	Why       fees.Reason `json:"why"`
}

// sameTouched stands for the accounts of the attempt before: one that is signed again has the same.
const sameTouched = "="

// touchedWords are the accounts of an attempt as they are stored: "<key> <token>", or "<key>" of MINA.
func touchedWords(attempts []tx.Attempt, i int) (words []string) {
	all := attempts[i].Touched
	if i > 0 && len(all) > 0 && slices.Equal(all, attempts[i-1].Touched) {
		return []string{sameTouched}
	}
	for _, a := range all {
		words = append(words, strings.TrimSuffix(a.Key+" "+a.Token, " "+tx.MinaToken))
	}
	return words
}

// touchedOf reads what touchedWords wrote of the attempt behind others.
func touchedOf(before []tx.Attempt, words []string) (all []tx.Account) {
	if len(words) == 1 && words[0] == sameTouched && len(before) > 0 {
		return before[len(before)-1].Touched
	}
	for _, w := range words {
		key, token, _ := strings.Cut(w, " ")
		all = append(all, tx.Account{Key: key, Token: cmp.Or(token, tx.MinaToken)})
	}
	return all
}

// quoteOf is a quote as it is stored, nil for the zero one.
func quoteOf(q fees.Quote) *quote {
	if q == (fees.Quote{}) {
		return nil
	}
	return new(quote(q))
}

// encodeRecord is the record of t.
func encodeRecord(t *tx.Transaction) string {
	r := record{
		Retries: t.Retries, Deferred: t.Deferred, Losses: t.Losses,
		Doubted: t.Doubted, Ending: t.Ending, Cancel: t.CancelRequested,
		Reopened: t.Reopened, Error: bounded(t.Error), Done: t.Done, Landed: t.Landed,
		Submitted: millis(t.SubmittedAt), Retried: millis(t.RetriedAt), Ended: millis(t.DoneAt), Final: millis(t.FinalAt),
		Attempts: make([]attempt, len(t.Attempts)),
	}
	if b := blockOf(t); b != nil && bytes.Equal(t.Done, b) {
		r.Done = nil
	} else if b != nil && t.Done == nil {
		r.Done = json.RawMessage("null")
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		r.Attempts[i] = attempt{
			Sender: a.Sender, Nonce: a.Nonce, Fee: a.Fee, ValidUntil: a.ValidUntil, Base: a.Base, Legacy: a.Legacy,
			Effects: a.Effects,
			Hash:    a.Hash, NodeHash: a.NodeHash, State: a.State, Cause: a.Cause, Height: a.Height, StateHash: a.StateHash,
			Confirmations: a.Confirmations, Error: bounded(a.Error), Data: a.Data, Slot: a.Slot, SentSlot: a.SentSlot,
			Started: millis(a.StartedAt), Ended: millis(a.EndedAt), Weight: a.Weight, Alone: a.Alone,
			Quote: quoteOf(a.Quote), Beside: a.Beside, Touched: touchedWords(t.Attempts, i),
		}
	}
	b, err := marshal(r)
	if err != nil {
		return err.Error() // of JSON that was checked when it came: refused by who reads it
	}
	return string(b)
}

// marshal keeps JSON that is passed on as it is: its tokens are not rewritten.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// decodeRecord reads what encodeRecord wrote.
func decodeRecord(t *tx.Transaction, text string) error {
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	t.Retries, t.Deferred, t.Losses, t.Doubted, t.Ending = r.Retries, r.Deferred, r.Losses, r.Doubted, r.Ending
	t.CancelRequested, t.Reopened, t.Error, t.Landed = r.Cancel, r.Reopened, r.Error, r.Landed
	t.SubmittedAt, t.RetriedAt = fromMillis(r.Submitted), fromMillis(r.Retried)
	t.DoneAt, t.FinalAt = fromMillis(r.Ended), fromMillis(r.Final)
	if h := r.Told; h != nil {
		t.Told = tx.Told{
			At: fromMillis(h.At), Tries: h.Tries, Callback: h.Callback, Done: h.Done,
			Answer: h.Said.Answer, Before: h.Said.Before, Error: h.Said.Error,
		}
	}
	for i, a := range r.Attempts {
		if !a.State.Valid() {
			return fmt.Errorf("%q is no state of an attempt", a.State)
		}
		t.Attempts = append(t.Attempts, tx.Attempt{
			Number: i + 1, Sender: a.Sender, Nonce: a.Nonce, Fee: a.Fee, ValidUntil: a.ValidUntil, Base: a.Base,
			Effects: a.Effects,
			Legacy:  a.Legacy, Hash: a.Hash, NodeHash: a.NodeHash, State: a.State, Cause: a.Cause, Height: a.Height,
			StateHash: a.StateHash, Confirmations: a.Confirmations, Error: a.Error, Data: a.Data,
			Slot: a.Slot, SentSlot: a.SentSlot,
			StartedAt: fromMillis(a.Started), EndedAt: fromMillis(a.Ended), Weight: a.Weight,
			Alone: a.Alone, Beside: a.Beside, Touched: touchedOf(t.Attempts, a.Touched),
		})
		if a.Quote != nil {
			t.Attempts[i].Quote = fees.Quote(*a.Quote)
		}
	}
	switch {
	case r.Done == nil:
		t.Done = blockOf(t)
	case string(r.Done) != "null":
		t.Done = r.Done
	}
	return nil
}

// blockOf is the result that the landed attempt's block makes, nil if none landed.
func blockOf(t *tx.Transaction) json.RawMessage {
	a := t.Attempt(t.Landed)
	if a == nil || a.StateHash == "" {
		return nil
	}
	hash, _ := json.Marshal(a.StateHash)
	return fmt.Appendf(nil, `{"blockHeight":%d,"stateHash":%s}`, a.Height, hash)
}

// bounded limits what a worker or a node can make us store.
func bounded(e *tx.Error) *tx.Error {
	const most = 4096
	if e == nil || max(len(e.Code), len(e.Message), len(e.Exception)) <= most {
		return e
	}
	return &tx.Error{
		Code: shorten(e.Code, most), Message: shorten(e.Message, most), Exception: shorten(e.Exception, most),
	}
}

// mostDetail bounds what a worker can make a sender say of itself, in bytes.
const mostDetail = 300

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// numbers parses stored values and keeps the first error.
type numbers struct{ err error }

func (e *numbers) keep(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *numbers) int(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	e.keep(err)
	return n
}

func (e *numbers) uint64(s string) uint64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 64)
	e.keep(err)
	return n
}

// words splits s into exactly n words.
func (e *numbers) words(s string, n int) []string {
	w := strings.Fields(s)
	if len(w) != n {
		e.keep(fmt.Errorf("%q has not %d words", s, n))
		return make([]string, n)
	}
	return w
}
