package queues

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mina-sequencer/sequencer/lifecycle"
	"sort"
	"strconv"
	"strings"
	"time"
)

// millis and fromMillis translate times as they are kept in Redis; 0 is none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// decode builds a transaction from what load in lib.lua answers.
func decode(uid string, record string, state map[string]string) (*lifecycle.Transaction, error) {
	head, data, found := strings.Cut(record, "\n")
	parts := strings.Split(head, " ")
	if !found || len(parts) != 4 {
		return nil, fmt.Errorf("record of %s is damaged", uid)
	}
	var e numbers
	t := &lifecycle.Transaction{
		UID: uid, Sequence: e.int(parts[0]), ReceivedAt: fromMillis(e.int(parts[1])),
		Type: parts[2], Queue: parts[3], Data: json.RawMessage(data), Phase: lifecycle.PhaseWaiting,
	}
	t.ChangedAt = t.ReceivedAt
	if len(state) > 0 {
		t.Phase = lifecycle.Phase(state["phase"])
		if !t.Phase.Valid() {
			return nil, fmt.Errorf("record of %s has unknown phase %q", uid, state["phase"])
		}
		t.Revision = e.int(state["rev"])
		t.Claim = state["claim"]
		t.Sender = state["sender"]
		t.Retries = int(e.int(state["retries"]))
		t.Losses = int(e.int(state["losses"]))
		t.Ending = lifecycle.Phase(state["ending"])
		t.Deferred = int(e.int(state["deferred"]))
		t.CancelRequested = state["cancel"] != ""
		t.Reopened = state["reopened"] != ""
		t.Callback = lifecycle.Callback(state["callback"])
		t.CallbackTries = int(e.int(state["tries"]))
		counted, _, _ := strings.Cut(state["fees"], " ")
		t.Counted = e.uint64(counted)
		t.Landed = int(e.int(state["landed"]))
		t.ChangedAt = fromMillis(e.int(state["at"]))
		t.SubmittedAt = fromMillis(e.int(state["submitted"]))
		t.RetriedAt = fromMillis(e.int(state["retried"]))
		t.DoneAt = fromMillis(e.int(state["ended"]))
		t.FinalAt = fromMillis(e.int(state["final"]))
		t.DueAt = fromMillis(e.int(state["due"]))
		t.Error = e.problem(state["err"])
	}
	for i := 1; state[field(i, "plan")] != ""; i++ {
		t.Attempts = append(t.Attempts, e.attempt(i, state))
	}
	switch v := state["done"]; v {
	case "":
	case inItsBlock:
		t.Done = blockOf(t)
	default:
		t.Done = json.RawMessage(v)
	}
	if e.err != nil {
		return nil, fmt.Errorf("record of %s is damaged: %w", uid, e.err)
	}
	return t, nil
}

// inItsBlock is stored for the result of a transaction that says no more than the
// block that its landed attempt is in. Redis keeps a hash in one piece as long as
// none of its values is longer than 64 bytes.
const inItsBlock = "block"

func doneOf(t *lifecycle.Transaction) string {
	if b := blockOf(t); b != nil && bytes.Equal(t.Done, b) {
		return inItsBlock
	}
	return string(t.Done)
}

// blockOf is the result that the landed attempt's block makes, nil if none landed.
func blockOf(t *lifecycle.Transaction) json.RawMessage {
	a := t.Attempt(t.Landed)
	if a == nil || a.StateHash == "" {
		return nil
	}
	return fmt.Appendf(nil, `{"blockHeight":%d,"stateHash":%q}`, a.Height, a.StateHash)
}

func field(number int, name string) string { return strconv.Itoa(number) + "." + name }

// numbers parses stored values and keeps the first error.
type numbers struct{ err error }

func (e *numbers) int(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && e.err == nil {
		e.err = err
	}
	return n
}

// uint32 and uint64 refuse what would wrap around.

func (e *numbers) uint32(s string) uint32 { return uint32(e.uint(s, 32)) }
func (e *numbers) uint64(s string) uint64 { return e.uint(s, 64) }

func (e *numbers) uint(s string, bits int) uint64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil && e.err == nil {
		e.err = err
	}
	return n
}

// words splits s into exactly n words.
func (e *numbers) words(s string, n int) []string {
	w := strings.Fields(s)
	if len(w) != n {
		if e.err == nil {
			e.err = fmt.Errorf("%q has not %d words", s, n)
		}
		return make([]string, n)
	}
	return w
}

func (e *numbers) problem(s string) *lifecycle.Error {
	if s == "" {
		return nil
	}
	p := new(lifecycle.Error)
	if err := json.Unmarshal([]byte(s), p); err != nil && e.err == nil {
		e.err = err
	}
	return p
}

func (e *numbers) attempt(i int, m map[string]string) lifecycle.Attempt {
	a := lifecycle.Attempt{
		Number: i, Sender: m[field(i, "by")], Hash: m[field(i, "hash")], NodeHash: m[field(i, "nhash")],
		Error: e.problem(m[field(i, "err")]), Outcome: lifecycle.Prepared,
	}
	if d := m[field(i, "data")]; d != "" {
		a.Data = json.RawMessage(d)
	}
	plan := e.words(m[field(i, "plan")], 5)
	a.Nonce, a.ValidUntil, a.Slot = e.uint32(plan[0]), e.uint32(plan[2]), e.uint32(plan[3])
	a.Fee, a.StartedAt = e.uint64(plan[1]), fromMillis(e.int(plan[4]))
	if v := m[field(i, "fate")]; v != "" {
		fate := e.words(v, 5)
		a.Outcome, a.Confirmations, a.SentSlot = lifecycle.Outcome(fate[0]), int(e.int(fate[1])), e.uint32(fate[2])
		a.EndedAt, a.Legacy = fromMillis(e.int(fate[3])), fate[4] == "1"
	}
	if v := m[field(i, "block")]; v != "" {
		block := e.words(v, 2)
		a.Height, a.StateHash = e.uint32(block[0]), block[1]
	}
	return a
}

func planOf(a *lifecycle.Attempt) string {
	return fmt.Sprintf("%d %d %d %d %d", a.Nonce, a.Fee, a.ValidUntil, a.Slot, millis(a.StartedAt))
}

// plannedAs reports whether a and b are the same attempt.
func plannedAs(a, b *lifecycle.Attempt) bool {
	x, y := *a, *b
	if a.Legacy || b.Legacy {
		// Such a worker may ignore the last slot, and who has called it does too.
		x.ValidUntil, y.ValidUntil = 0, 0
	}
	return x.Sender == y.Sender && planOf(&x) == planOf(&y)
}

func fateOf(a *lifecycle.Attempt) string {
	legacy := 0
	if a.Legacy {
		legacy = 1
	}
	return fmt.Sprintf("%s %d %d %d %d", a.Outcome, a.Confirmations, a.SentSlot, millis(a.EndedAt), legacy)
}

// SameJSON reports whether two documents are the same JSON: white space and the
// order of fields do not count, numbers are compared by their text. Documents
// that cannot be read are the same only to the letter.
func SameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(doc []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	var out bytes.Buffer
	if err := writeCanonical(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeCanonical(w *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		w.WriteByte('{')
		for _, name := range names {
			if err := writeCanonical(w, name); err != nil {
				return err
			}
			if err := writeCanonical(w, v[name]); err != nil {
				return err
			}
		}
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for _, e := range v {
			if err := writeCanonical(w, e); err != nil {
				return err
			}
			w.WriteByte(',')
		}
		w.WriteByte(']')
	case json.Number:
		w.WriteString("#" + v.String() + "#")
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		w.Write(b)
	}
	return nil
}
