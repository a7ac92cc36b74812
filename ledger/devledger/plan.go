package devledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// The calls that a Fault can be for.
const (
	Post   = "post"   // POST /batches
	Status = "status" // the statuses of batches, by GET or POST

	Receipts = "receipts" // Sawtooth: of transactions, whose ids stand for those of batches
)

// What Fault.Answer may say. Empty is the true answer.
const (
	Cut     = "cut"     // the connection is closed without an answer
	Hang    = "hang"    // nothing, until the client is gone, or Release or Close is called
	Long    = "long"    // an answer of 64 MiB
	Unknown = "unknown" // status calls: no batch is known, as another validator behind a balancer says
)

// What Fault.Fate may say of the batches of a post that is taken.
const (
	Invalid = "invalid" // refused by a transaction processor or contract with Message and Data
	// Stuck: dropped without a verdict when its turn comes. It stays PENDING on
	// Sawtooth. On Scabbard its proposal gets too few votes: rolled back after
	// 30 s, and Valid for ever.
	Stuck = "stuck"
	Lost  = "lost" // forgotten after the 202: UNKNOWN
)

// A Fault is what goes wrong with a call, as a whole: what becomes of the
// request, of the answer, and of the batches in it. Request and answer go
// their own ways. So a lost answer is {Answer: Cut}, a lost request {Drop: true,
// Answer: Cut}, and what is delivered long after the client was told that a
// proxy gave up is {Delay: time.Minute, Status: 504}.
//
// In JSON the names are those of the fields in lower camel case, and durations
// are written like "1m30s".
type Fault struct {
	On    string `json:"on,omitempty"`    // Post, Status or Receipts; empty: Post
	Batch string `json:"batch,omitempty"` // id of a batch that the call has to name; empty: any call
	Times int    `json:"times,omitempty"` // how many calls; 0 means one, negative all

	Drop  bool          `json:"drop,omitempty"` // Post: it is never processed
	Delay time.Duration `json:"-"`              // Post: it is processed so much later, whether or not its client waits

	Answer string        `json:"answer,omitempty"`
	Status int           `json:"status,omitempty"` // in place of the true answer: this HTTP status,
	Code   int           `json:"code,omitempty"`   // with this code of Sawtooth's REST API,
	Body   string        `json:"body,omitempty"`   // or with this body, HTML if it begins with <
	Wait   time.Duration `json:"-"`                // the answer comes so long after the request at the earliest

	Fate    string `json:"fate,omitempty"`
	Message string `json:"message,omitempty"` // Invalid
	Data    []byte `json:"data,omitempty"`    // Invalid: extended_data, error_data
}

// plainFault has the fields of a Fault and not its methods.
type plainFault Fault

type faultJSON struct {
	*plainFault
	Delay string `json:"delay,omitempty"`
	Wait  string `json:"wait,omitempty"`
}

// MarshalJSON writes durations as texts.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := faultJSON{plainFault: (*plainFault)(&f)}
	if f.Delay != 0 {
		out.Delay = f.Delay.String()
	}
	if f.Wait != 0 {
		out.Wait = f.Wait.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON refuses what MarshalJSON does not write.
func (f *Fault) UnmarshalJSON(raw []byte) error {
	in := faultJSON{plainFault: (*plainFault)(f)}
	if err := strict(raw, &in); err != nil {
		return err
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"delay", in.Delay, &f.Delay}, {"wait", in.Wait, &f.Wait}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return fmt.Errorf("%s: want a duration like 1m30s", d.name)
		}
	}
	return f.check()
}

func (f *Fault) check() error {
	post := f.On == "" || f.On == Post
	switch {
	case !slices.Contains([]string{"", Post, Status, Receipts}, f.On):
		return fmt.Errorf("on: no calls are called %q", f.On)
	case !slices.Contains([]string{"", Cut, Hang, Long, Unknown}, f.Answer):
		return fmt.Errorf("answer: none is called %q", f.Answer)
	case !slices.Contains([]string{"", Invalid, Stuck, Lost}, f.Fate):
		return fmt.Errorf("fate: none is called %q", f.Fate)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("status: no answer has %d", f.Status)
	case f.Status != 0 && f.Answer != "":
		return fmt.Errorf("answer: either that or a status")
	case f.Delay < 0 || f.Wait < 0:
		return fmt.Errorf("delay and wait: want at least 0")
	case !post && (f.Drop || f.Delay != 0 || f.Fate != ""):
		return fmt.Errorf("drop, delay and fate: of posts only")
	case f.On != Status && f.Answer == Unknown:
		return fmt.Errorf("answer: unknown is of status calls only")
	case f.Drop && f.Answer == "" && f.Status == 0:
		return fmt.Errorf("drop: there is no true answer to what is not processed; want answer or status")
	}
	return nil
}

// A Call is a request that a Plan is asked about.
type Call struct {
	Ledger  string   // KindSawtooth or KindScabbard
	On      string   // Post or Status
	Batches []string // ids named in it
	N       int      // the nth call of this kind for the first of these batches, from 1
}

// A Plan says what goes wrong with a call; nil: nothing. It may be called
// concurrently. Of its Fault neither On nor Batch nor Times counts.
type Plan func(Call) *Fault

// Script is a plan that uses faults up: of several that fit a call, the first
// happens. It panics at a fault that Fault does not describe.
func Script(faults ...Fault) Plan {
	s := &script{}
	s.add(faults)
	return s.next
}

type script struct {
	mu     sync.Mutex
	faults []*Fault
}

func (s *script) add(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		if err := f.check(); err != nil {
			panic("devledger: " + err.Error())
		}
		if f.Times == 0 {
			f.Times = 1
		}
		s.faults = append(s.faults, &f)
	}
}

func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// left lists what is not used up.
func (s *script) left() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Fault{}
	for _, f := range s.faults {
		out = append(out, *f)
	}
	return out
}

func (s *script) next(c Call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		on := f.On
		if on == "" {
			on = Post
		}
		if on != c.On || f.Batch != "" && !slices.Contains(c.Batches, f.Batch) {
			continue
		}
		happens := *f
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		return &happens
	}
	return nil
}

// strict reads JSON that has no unknown names and nothing behind it.
func strict(raw []byte, to any) error {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one value")
	}
	return nil
}
