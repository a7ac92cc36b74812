package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// shown is what encoding/json makes of a transaction, field by field as the
// contract names them.
type shown struct {
	UID             string          `json:"uid"`
	Queue           string          `json:"queue"`
	Sequence        int64           `json:"sequence"`
	Type            string          `json:"type"`
	Data            json.RawMessage `json:"data"`
	Posted          json.RawMessage `json:"posted"`
	State           tx.State        `json:"state"`
	Hash            *string         `json:"hash"`
	Retries         int             `json:"retries"`
	Sender          *string         `json:"sender"`
	Done            json.RawMessage `json:"done"`
	Error           *shownError     `json:"error"`
	Attempts        []shownAttempt  `json:"attempts"`
	NotBefore       *shownTime      `json:"notBefore"`
	ExpiresAt       *shownTime      `json:"expiresAt"`
	MaxFee          *uint64         `json:"maxFee,string"`
	ReceivedAt      *shownTime      `json:"receivedAt"`
	SubmittedAt     *shownTime      `json:"submittedAt"`
	RetriedAt       *shownTime      `json:"retriedAt"`
	DoneAt          *shownTime      `json:"doneAt"`
	FinalAt         *shownTime      `json:"finalAt"`
	Reopened        bool            `json:"reopened"`
	CancelRequested bool            `json:"cancelRequested"`
	Callback        *shownCallback  `json:"callback"`
	Claim           *shownClaim     `json:"claim"`
	Submitted       *bool           `json:"submitted"`
	ErrorCode       *string         `json:"submissionError"`
	ErrorMessage    *string         `json:"submissionErrorMessage"`
}

type shownCallback struct {
	Name   tx.Callback     `json:"name"`
	Told   bool            `json:"told"`
	Tries  int             `json:"tries"`
	Answer json.RawMessage `json:"answer"`
	Error  *string         `json:"error"`
	At     *shownTime      `json:"at"`
}

func showCallback(t *tx.Transaction) *shownCallback {
	said := t.Told
	last := &shownCallback{said.Callback, t.Callback == "", said.Tries, said.Answer, unlessZero(said.Error), showTime(said.At)}
	if said.Done && t.Callback == "" || t.CallbackTries > 0 && t.Callback == said.Callback {
		return last
	}
	if t.Callback == "" {
		return nil
	}
	return &shownCallback{Name: t.Callback}
}

type shownClaim struct {
	Process string     `json:"process"`
	Since   *shownTime `json:"since"`
	Expires *shownTime `json:"expires"`
}

type shownError struct {
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	Exception *string `json:"exception"`
}

type shownAttempt struct {
	Number        int            `json:"number"`
	Sender        *string        `json:"sender"`
	Nonce         *uint32        `json:"nonce"`
	Fee           *uint64        `json:"fee,string"`
	Weight        *int           `json:"weight"`
	Estimate      *shownEstimate `json:"estimate"`
	ValidUntil    *uint32        `json:"validUntil"`
	Hash          *string        `json:"hash"`
	Outcome       tx.Outcome     `json:"outcome"`
	BlockHeight   *uint32        `json:"blockHeight"`
	StateHash     *string        `json:"stateHash"`
	Confirmations int            `json:"confirmations"`
	Touched       []shownAccount `json:"touched"`
	Error         *shownError    `json:"error"`
	StartedAt     *shownTime     `json:"startedAt"`
	EndedAt       *shownTime     `json:"endedAt"`
}

type shownAccount struct {
	Key   string `json:"publicKey"`
	Token string `json:"tokenId"`
}

type shownEstimate struct {
	Fee          uint64      `json:"fee,string"`
	FeePerWeight *uint64     `json:"feePerWeight,string"`
	Weight       int         `json:"weight"`
	Why          fees.Reason `json:"why"`
}

func showEstimate(q fees.Quote) *shownEstimate {
	if q.Why == "" {
		return nil
	}
	return &shownEstimate{q.Fee, unlessZero(q.PerWeight), q.Weight, q.Why}
}

type shownTime time.Time

func (t shownTime) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z"))
}

func unlessZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func showError(e *tx.Error) *shownError {
	if e == nil {
		return nil
	}
	return &shownError{e.Code, e.Message, unlessZero(e.Exception)}
}

func showTime(t time.Time) *shownTime { return (*shownTime)(unlessZero(t)) }

func show(t *tx.Transaction) shown {
	s := shown{
		UID: t.UID, Queue: t.Queue, Sequence: t.Sequence, Type: t.Type, Data: t.ShownData(), State: t.State(), Hash: unlessZero(t.Hash()),
		Retries: t.Retries, Sender: unlessZero(t.Sender), Done: t.Done, Error: showError(t.Error), Attempts: []shownAttempt{},
		NotBefore: showTime(t.NotBefore), ExpiresAt: showTime(t.ExpiresAt), MaxFee: unlessZero(t.MaxFee),
		ReceivedAt: showTime(t.ReceivedAt), SubmittedAt: showTime(t.SubmittedAt), RetriedAt: showTime(t.RetriedAt), DoneAt: showTime(t.DoneAt),
		FinalAt: showTime(t.FinalAt), Reopened: t.Reopened, CancelRequested: t.CancelRequested,
		Callback: showCallback(t),
	}
	if !bytes.Equal(t.ShownData(), t.Data) {
		s.Posted = t.Data
	}
	if c := t.Held(); c.Process != "" {
		s.Claim = &shownClaim{c.Process, showTime(c.Since), showTime(c.Expires)}
	}
	if t.Ledger != "" {
		x := t.Submission("")
		s.Submitted = &x.Submitted
		if x.Error != nil {
			s.ErrorCode, s.ErrorMessage = unlessZero(x.Error.Code), unlessZero(x.Error.Message)
		}
	}
	for _, a := range t.Attempts {
		nonce, fee := &a.Nonce, &a.Fee
		if senders.LedgerOf(a.Sender) != "" {
			nonce, fee = nil, nil // a slot of a ledger
		}
		touched := []shownAccount{}
		for _, account := range a.Touched {
			touched = append(touched, shownAccount(account))
		}
		s.Attempts = append(s.Attempts, shownAttempt{
			a.Number, unlessZero(a.Sender), nonce, fee, unlessZero(a.Weight), showEstimate(a.Quote), unlessZero(a.ValidUntil), unlessZero(a.KnownHash()), a.State.Outcome(), unlessZero(a.Height),
			unlessZero(a.StateHash), a.Confirmations, touched, showError(a.Error), showTime(a.StartedAt), showTime(a.EndedAt),
		})
	}
	return s
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// random makes a transaction with every field set or not; text is in all that
// can hold any.
func random(r *rand.Rand, text string) *tx.Transaction {
	maybe := func(s string) string {
		if r.IntN(3) == 0 {
			return ""
		}
		return s
	}
	at := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return time.UnixMilli(r.Int64N(4e12)).In(time.FixedZone("", 7200))
	}
	fault := func() *tx.Error {
		if r.IntN(2) == 0 {
			return nil
		}
		return &tx.Error{Code: maybe(text), Message: text, Exception: maybe(text)}
	}
	t := &tx.Transaction{
		UID: text, Queue: text, Sequence: r.Int64(), Type: text, Data: json.RawMessage(`{"posted":1E400}`),
		Phase: tx.Phases[r.IntN(len(tx.Phases))], Sender: maybe(text), Retries: r.IntN(9), Error: fault(),
		ReceivedAt: at(), SubmittedAt: at(), RetriedAt: at(), DoneAt: at(), FinalAt: at(),
		Terms:    tx.Terms{NotBefore: at(), ExpiresAt: at(), MaxFee: r.Uint64N(3) * 1e18},
		Reopened: r.IntN(2) == 0, CancelRequested: r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		t.Done = json.RawMessage(`{"blockHeight":7,"stateHash":"<&>"}`)
	}
	if r.IntN(2) == 0 {
		t.Claim, t.Expires = fmt.Sprint(text, ":", 1+r.Int64N(2)*r.Int64N(4e15)), at()
	}
	callbacks := []tx.Callback{"", tx.OnSuccess, tx.OnFailure}
	if t.Callback = callbacks[r.IntN(3)]; t.Callback != "" {
		t.CallbackTries = r.IntN(3)
	}
	if r.IntN(2) == 0 {
		t.Told = tx.Told{Callback: callbacks[1+r.IntN(2)], Done: r.IntN(2) == 0, Tries: 1 + r.IntN(3), Error: maybe(text), At: at()}
		if r.IntN(2) == 0 {
			t.Told.Answer = json.RawMessage(`{"n":1E400}`)
		}
	}
	for i := range r.IntN(3) {
		a := tx.Attempt{
			Number: i + 1, Sender: maybe(text), Nonce: r.Uint32(), Fee: r.Uint64(), ValidUntil: r.Uint32N(2) * r.Uint32(),
			Hash: maybe(text), NodeHash: maybe("5J" + text), State: tx.AttemptStates[r.IntN(len(tx.AttemptStates))], Height: r.Uint32N(2) * r.Uint32(),
			StateHash: maybe(text), Confirmations: r.IntN(20), Error: fault(), StartedAt: at(), EndedAt: at(),
			Weight: r.IntN(2) * r.IntN(100),
		}
		if r.IntN(2) == 0 {
			a.Quote = fees.Quote{Fee: r.Uint64(), PerWeight: r.Uint64N(2) * r.Uint64(), Weight: 1 + r.IntN(20), Why: fees.Pool}
		}
		for range r.IntN(3) {
			a.Touched = append(a.Touched, tx.Account{Key: text, Token: tx.MinaToken})
		}
		if r.IntN(2) == 0 {
			a.Data = json.RawMessage(`{"answered":-0}`)
			t.Landed = i + 1
		}
		t.Attempts = append(t.Attempts, a)
	}
	return t
}

func FuzzTransaction(f *testing.F) {
	f.Add(uint64(1), "")
	f.Add(uint64(2), "a\"\\/\b\f\n\r\t\x00\x1f\x7f<>&\u2028\u2029é😀\xff\xed\xa0\x80�")
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		for n := range uint64(20) {
			txn := random(rand.New(rand.NewPCG(seed, n)), text)
			if diff := cmp.Diff(marshal(t, show(txn)), string(appendTransaction(nil, txn))); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestTransactionNeverShows(t *testing.T) {
	t.Parallel()
	got := string(appendTransaction(nil, &tx.Transaction{
		Phase: tx.PhaseWaiting, Data: json.RawMessage("{}"), Claim: "hidden", Attempts: []tx.Attempt{{Number: 1, Data: json.RawMessage(`"hidden"`)}},
	}))
	if strings.Contains(got, "hidden") {
		t.Error(got)
	}
}

func TestAppendRaw(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"":                        "null",
		"{}":                      "{}",
		"{\r\n\t\"a\\n\": 1\n}\n": "{\t\"a\\n\": 1}",
		"\n":                      "",
	} {
		if got := string(appendRaw(nil, json.RawMessage(doc))); got != want {
			t.Errorf("%q became %q", doc, got)
		}
	}
}

func FuzzWalk(f *testing.F) {
	for _, doc := range []string{odd, `{}`, `[]`, ` { "a\"" : [ { "]" : "}" } , -1.5e3 , null ] , "b":true}`, `[1 , [2,"\\"],{"a":[]}]`, `{"a":"\\","a":{}}`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc := []byte(text)
		if !json.Valid(doc) {
			return
		}
		switch doc[dispatcher.SkipSpace(doc, 0)] {
		case '[':
			var want []json.RawMessage
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			got := slices.Collect(dispatcher.Elements(doc))
			if !slices.EqualFunc(got, want, func(a []byte, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Errorf("%q was cut into %q", doc, got)
			}
		case '{':
			var want map[string]json.RawMessage
			if err := json.Unmarshal(doc, &want); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]json.RawMessage)
			for name, value := range dispatcher.Members(doc) {
				got[strings.ToValidUTF8(name, "\ufffd")] = value // the last one counts
			}
			if utf8Valid := json.Valid(doc) && strings.ToValidUTF8(text, "") == text; utf8Valid && !cmp.Equal(want, got) {
				t.Errorf("%q was cut into %q", doc, got)
			}
		}
	})
}
