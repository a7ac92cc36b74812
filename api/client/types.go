package client

import (
	"bytes"
	"encoding/json"
	"time"
)

// A State is that of a transaction.
type State string

// The states of a transaction; the last three are final.
const (
	Waiting     State = "WAITING"
	Dispatching State = "DISPATCHING"
	Revision    State = "REVISION"
	Retry       State = "RETRY"
	Done        State = "DONE"
	Failed      State = "FAILED"
	Unresolved  State = "UNRESOLVED"
)

// Final reports whether nothing more happens by itself.
func (s State) Final() bool { return s == Done || s == Failed || s == Unresolved }

// A Transaction is as the service has it. Absent values are zero.
type Transaction struct {
	UID             string          `json:"uid"`
	Queue           string          `json:"queue"`
	Sequence        int64           `json:"sequence"`
	Type            string          `json:"type"`
	Data            json.RawMessage `json:"data"`   // every token as it was posted, or as its worker has given it back
	Posted          json.RawMessage `json:"posted"` // as it was posted, where Data is its worker's; null where it is not
	State           State           `json:"state"`
	Hash            string          `json:"hash"`
	Retries         int             `json:"retries"`
	Sender          string          `json:"sender"`
	Done            json.RawMessage `json:"done"` // nil if it is not
	Error           *Fault          `json:"error"`
	Attempts        []Attempt       `json:"attempts"`
	NotBefore       time.Time       `json:"notBefore"`
	ExpiresAt       time.Time       `json:"expiresAt"`     // its deadline
	MaxFee          uint64          `json:"maxFee,string"` // of an attempt, in nanomina
	ReceivedAt      time.Time       `json:"receivedAt"`
	SubmittedAt     time.Time       `json:"submittedAt"`
	RetriedAt       time.Time       `json:"retriedAt"`
	DoneAt          time.Time       `json:"doneAt"`
	FinalAt         time.Time       `json:"finalAt"`
	Reopened        bool            `json:"reopened"`
	CancelRequested bool            `json:"cancelRequested"`
	Callback        *Callback       `json:"callback"` // nil while nobody is to be told how it ended
	Claim           *Claim          `json:"claim"`    // nil while no process has claimed it
	// Of a batch for a ledger, in Grid's words; nil and "" of all else. See LedgerBatch.
	Submitted              *bool  `json:"submitted"`
	SubmissionError        string `json:"submissionError"` // a code, of what ended without a verdict of its ledger
	SubmissionErrorMessage string `json:"submissionErrorMessage"`

	Raw json.RawMessage `json:"-"` // as it was answered
}

// UnmarshalJSON also keeps what it reads in Raw.
func (t *Transaction) UnmarshalJSON(doc []byte) error {
	type plain Transaction
	t.Raw = bytes.Clone(doc)
	err := json.Unmarshal(doc, (*plain)(t))
	if string(t.Done) == "null" {
		t.Done = nil
	}
	return err
}

// A Claim is which process drives a transaction, or what a sender carries.
type Claim struct {
	Process string    `json:"process"` // its incarnation: another one after each start
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"` // when others take over unless it renews it, which it does while it lives
}

func (c *Claim) String() string {
	if c == nil {
		return ""
	}
	return c.Process + " since " + c.Since.Format(time.RFC3339) + " until " + c.Expires.Format(time.RFC3339) + " or renewed"
}

// A Callback is what became of telling a worker how a transaction ended.
type Callback struct {
	Name   string          `json:"name"` // on-success or on-failure
	Told   bool            `json:"told"` // it was answered; else it is told again
	Tries  int             `json:"tries"`
	Answer json.RawMessage `json:"answer"` // an object, nil if it was answered with nothing
	Error  string          `json:"error"`  // why it is told again, or its answer was not kept
	At     time.Time       `json:"at"`     // of the last try
}

// UnmarshalJSON reads a null answer as none.
func (c *Callback) UnmarshalJSON(doc []byte) error {
	type plain Callback
	err := json.Unmarshal(doc, (*plain)(c))
	if string(c.Answer) == "null" {
		c.Answer = nil
	}
	return err
}

// A Trial is what posting a transaction would come to.
type Trial struct {
	// Transaction is what would be answered: with a sequence of its own only when it is posted.
	*Transaction
	Existed bool // it was accepted before, by the same uid
	// Simulation is nil where it was not simulated; NotSimulated says why.
	Simulation   *Simulation
	NotSimulated string
}

// UnmarshalJSON also keeps what it reads in Raw.
func (t *Trial) UnmarshalJSON(doc []byte) error {
	var tried struct {
		Existed      bool        `json:"existed"`
		Simulation   *Simulation `json:"simulation"`
		NotSimulated string      `json:"notSimulated"`
	}
	if err := json.Unmarshal(doc, &tried); err != nil {
		return err
	}
	t.Existed, t.Simulation, t.NotSimulated = tried.Existed, tried.Simulation, tried.NotSimulated
	t.Transaction = new(Transaction)
	return json.Unmarshal(doc, t.Transaction)
}

// A Simulation is what a transaction would do, by the accounts as they are, or as what is in flight of its
// queue leaves them.
type Simulation struct {
	Ahead   int                `json:"ahead"` // how many in flight it was simulated behind
	OK      bool               `json:"ok"`
	Failure *SimulationFailure `json:"failure"` // nil where it is OK
	Weight  int                `json:"weight"`  // 1 + account updates; 0 where it came to none
	Touched []struct {
		PublicKey string `json:"publicKey"`
		TokenID   string `json:"tokenId"`
		Creates   bool   `json:"creates"` // it is not there before
	} `json:"touched"`
	Seconds float64 `json:"seconds"`    // that a proof of its type usually takes there; 0 for not known
	Fee     uint64  `json:"fee,string"` // that its first attempt would pay, in nanomina
}

// A SimulationFailure is why a transaction would fail.
type SimulationFailure struct {
	Index   *int   `json:"index"` // of the account update from 1 on, 0 of the fee payer; nil before there were any
	Code    string `json:"code"`  // Mina's name of it, or its worker's code
	Message string `json:"message"`
}

// String is code and message, "" for none.
func (f *SimulationFailure) String() string {
	if f == nil {
		return ""
	}
	return f.Code + ": " + f.Message
}

// An Attempt is one signed command of a transaction.
type Attempt struct {
	Number        int       `json:"number"`
	Sender        string    `json:"sender"`
	Nonce         uint32    `json:"nonce"`
	Fee           uint64    `json:"fee,string"` // in nanomina
	Weight        int       `json:"weight"`     // 1 + account updates, as it was signed; 0 if it was not
	Estimate      *Estimate `json:"estimate"`   // that Fee came of; nil where SEQUENCER_FEE is a number
	ValidUntil    uint32    `json:"validUntil"` // in slots since genesis; 0 for none
	Hash          string    `json:"hash"`
	Outcome       string    `json:"outcome"`
	BlockHeight   uint32    `json:"blockHeight"`
	StateHash     string    `json:"stateHash"`
	Confirmations int       `json:"confirmations"`
	Touched       []Account `json:"touched"` // that its command reads or changes, its sender's left out
	Error         *Fault    `json:"error"`
	StartedAt     time.Time `json:"startedAt"`
	EndedAt       time.Time `json:"endedAt"`
}

// An Account is one of Mina.
type Account struct {
	PublicKey string `json:"publicKey"`
	TokenID   string `json:"tokenId"`
}

// MinaToken is the id of the token MINA.
const MinaToken = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf" //nolint:gosec // an id that all know

// String is the public key, and of another token than MINA a colon and its id.
func (a Account) String() string {
	if a.TokenID == MinaToken {
		return a.PublicKey
	}
	return a.PublicKey + ":" + a.TokenID
}

// An Estimate is what a fee was estimated from, by what others pay.
type Estimate struct {
	Fee          uint64 `json:"fee,string"`          // in nanomina
	FeePerWeight uint64 `json:"feePerWeight,string"` // that others made it pay, 0 for nothing
	Weight       int    `json:"weight"`              // that it was supposed to have
	Why          string `json:"why"`                 // POOL, FLOOR, CAP or UNKNOWN
}

// Fees are what others pay, what ours would pay now, and what was spent.
type Fees struct {
	Pool *struct {
		At       time.Time `json:"at"`
		Size     int       `json:"size"`     // commands of any kind
		Capacity int       `json:"capacity"` // zkApp commands that a block takes
		Ranks    []struct {
			Blocks       int    `json:"blocks"`
			FeePerWeight uint64 `json:"feePerWeight,string"` // in nanomina, at their end
		} `json:"ranks"`
	} `json:"pool"` // nil where nobody has looked in a day
	Types []struct {
		Type         string `json:"type"`
		Weight       int    `json:"weight"` // 0 if no worker has signed any
		Fee          uint64 `json:"fee,string"`
		Why          string `json:"why"`
		FeePerWeight uint64 `json:"feePerWeight,string"`
	} `json:"types"`
	Spent []struct {
		Day    string `json:"day"`    // 2026-03-01, UTC
		Sender string `json:"sender"` // or
		Queue  string `json:"queue"`
		Fee    uint64 `json:"fee,string"`
	} `json:"spent"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (f *Fees) UnmarshalJSON(doc []byte) error {
	type plain Fees
	f.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(f))
}

// A Fault is why an attempt or a transaction failed.
type Fault struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Exception string `json:"exception"`
}

// String is code and message, "" for none.
func (f *Fault) String() string {
	if f == nil {
		return ""
	}
	return f.Code + ": " + f.Message
}

// A LedgerBatch is what a batch for a ledger is to Hyperledger Grid, in its words.
type LedgerBatch struct {
	UID                    string    `json:"uid"`
	Ledger                 string    `json:"ledger"`
	BatchID                string    `json:"batchId"`
	State                  State     `json:"state"`
	Submitted              bool      `json:"submitted"`
	SubmissionError        string    `json:"submissionError"` // a code
	SubmissionErrorMessage string    `json:"submissionErrorMessage"`
	Status                 string    `json:"status"`  // Unknown, Delayed, Pending, Valid, Invalid, Committed; "" before
	TriedAt                time.Time `json:"triedAt"` // when it was last begun to be posted
	Settled                bool      `json:"settled"` // nothing becomes of it any more by itself
	// Transactions are those of a batch that is Invalid or Committed.
	Transactions []struct {
		ID              string          `json:"id"`
		FamilyName      string          `json:"familyName"`
		FamilyVersion   string          `json:"familyVersion"`
		SignerPublicKey string          `json:"signerPublicKey"`
		Valid           *bool           `json:"valid"` // nil where it is not known
		ErrorMessage    string          `json:"errorMessage"`
		ErrorData       []byte          `json:"errorData"`
		Receipt         json.RawMessage `json:"receipt"` // as the ledger writes it; null for none
	} `json:"transactions"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (b *LedgerBatch) UnmarshalJSON(doc []byte) error {
	type plain LedgerBatch
	b.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(b))
}

// An Explanation says where a transaction stands and what happens next.
type Explanation struct {
	State      State     `json:"state"`
	Since      time.Time `json:"since"`
	Summary    string    `json:"summary"`
	WaitingFor struct {
		Code   string    `json:"code"`
		Until  time.Time `json:"until"`
		Detail string    `json:"detail"`
	} `json:"waitingFor"`
	Attempts []struct {
		Attempt
		Open   bool   `json:"open"`
		Place  string `json:"place"`
		Agreed bool   `json:"agreed"`
		Depth  int    `json:"depth"`
		Detail string `json:"detail"`
	} `json:"attempts"`
	Next struct {
		Action string    `json:"action"`
		At     time.Time `json:"at"`
	} `json:"next"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (e *Explanation) UnmarshalJSON(doc []byte) error {
	type plain Explanation
	e.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(e))
}

// A Queue is a line of transactions. Absent values are zero.
type Queue struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Sender  string `json:"sender"`
	Running string `json:"running"` // the uid
	// InFlight are the uids of all that are under way, in order; Running is the first of them.
	InFlight []string `json:"inFlight"`
	// Width is how many of them may be in no block yet.
	Width   int           `json:"width"`
	Retries int           `json:"retries"`
	Counts  map[State]int `json:"counts"`
	Paused  bool          `json:"paused"`
	Reason  string        `json:"reason"` // why it is paused
	// PausedUntil is when it resumes by itself.
	PausedUntil time.Time `json:"pausedUntil"`
	NextAt      time.Time `json:"nextAt"`
	// OldestWaitingAt is when the next of its waiting transactions was received.
	OldestWaitingAt time.Time `json:"oldestWaitingAt"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (q *Queue) UnmarshalJSON(doc []byte) error {
	type plain Queue
	q.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(q))
}

// A Sender is a fee payer with its worker. Absent values are zero.
type Sender struct {
	AccountID string    `json:"accountId"`
	WorkerURL string    `json:"workerUrl"`
	State     string    `json:"state"`
	Queue     string    `json:"queue"`
	Retries   int       `json:"retries"`
	Nonce     *uint32   `json:"nonce"`          // nil if it is not known
	Balance   *uint64   `json:"balance,string"` // that it may spend, in nanomina; nil if it is not known
	Available bool      `json:"available"`
	Reason    string    `json:"reason"` // why it is not
	Detail    string    `json:"detail"`
	Since     time.Time `json:"since"` // when it went out of use
	Until     time.Time `json:"until"`
	Remedy    string    `json:"remedy"`  // what ends that it is out of use
	Command   string    `json:"command"` // of a shell that does so
	Claim     *Claim    `json:"claim"`   // of what it carries; nil while it is free

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (s *Sender) UnmarshalJSON(doc []byte) error {
	type plain Sender
	s.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(s))
}

// A Page is a part of a list.
type Page[T any] struct {
	Items      []T
	NextCursor string // of the part behind it, "" at the end
	Raw        json.RawMessage
}

// UnmarshalJSON also keeps what it reads in Raw.
func (p *Page[T]) UnmarshalJSON(doc []byte) error {
	var page struct {
		Items      []T    `json:"items"`
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(doc, &page); err != nil {
		return err
	}
	*p = Page[T]{page.Items, page.NextCursor, bytes.Clone(doc)}
	return nil
}

// Readiness says what of a service works.
type Readiness struct {
	Ready   bool `json:"ready"`
	Store   Part `json:"store"`
	Chain   Part `json:"chain"`
	Senders Part `json:"senders"`
	Ledgers Part `json:"ledgers"`
	Clock   Part `json:"clock"`
}

// A Part is one thing that has to work.
type Part struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// A Prover is a worker without a payer's key, as the process that answers sees it.
type Prover struct {
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Source         string    `json:"source"` // api or config
	State          string    `json:"state"`  // FREE or PROVING
	Types          []string  `json:"types"`
	AtOnce         int       `json:"atOnce"`
	Load           int       `json:"load"`
	Memory         uint64    `json:"memory"` // in bytes, 0 if it does not say
	ProofsLastHour int       `json:"proofsLastHour"`
	Available      bool      `json:"available"`
	Reason         string    `json:"reason"` // why it is not
	Detail         string    `json:"detail"`
	Since          time.Time `json:"since"` // when it went out of use
	Until          time.Time `json:"until"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON also keeps what it reads in Raw.
func (p *Prover) UnmarshalJSON(doc []byte) error {
	type plain Prover
	p.Raw = bytes.Clone(doc)
	return json.Unmarshal(doc, (*plain)(p))
}
