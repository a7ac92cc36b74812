package dispatcher

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// An Ahead is a command in flight before the one that a [Call] asks for, of the same queue
// and payer.
type Ahead struct {
	UID    string
	Nonce  uint32
	Hash   string
	Signed json.RawMessage // the zkappCommand in JSON, as it was stored
	// Built is what one that has nothing signed yet will do, in the place of all but UID: a
	// zkappCommand of which only the account updates count, and no authorization of them.
	Built json.RawMessage
}

// Command is what a does: of what is built, account updates without authorizations alone.
func (a *Ahead) Command() json.RawMessage {
	if a.Built != nil {
		return a.Built
	}
	return a.Signed
}

// MaxAhead is the most that [Call.Ahead] may be on the wire, in bytes.
const MaxAhead = 4 << 20

// capabilityAhead in a worker's health says that it builds on [Call.Ahead].
const capabilityAhead = "ahead"

// BuildsAhead says whether the worker builds on the state that commands in flight leave.
func (h Health) BuildsAhead() bool {
	return slices.Contains(h.Capabilities, capabilityAhead)
}

// capabilitySeveral in a worker's health says that it makes several at a time.
const capabilitySeveral = "several"

// AtOnce is how many the worker makes at a time: what it says, or as many as it is asked for
// where it says that they are several, and not how many. What is too much it answers with 503.
func (h Health) AtOnce() int {
	switch {
	case !slices.Contains(h.Capabilities, capabilitySeveral):
		return 1
	case h.Provers < 1:
		return math.MaxInt
	}
	return h.Provers
}

// capabilityBuilds in a worker's health says that it has the call of [Builder].
const capabilityBuilds = "builds"

// Builds says whether the worker tells what it would prove before it does, so that it may prove
// several at a time of what is chained.
func (h Health) Builds() bool {
	return h.BuildsAhead() && slices.Contains(h.Capabilities, capabilityBuilds)
}

type ahead struct {
	UID    string  `json:"uid"`
	Nonce  *uint32 `json:"nonce,omitempty"`
	Hash   string  `json:"hash,omitempty"`
	Signed string  `json:"signed,omitempty"`
	Built  string  `json:"built,omitempty"`
}

func aheadOf(list []Ahead) []ahead {
	var out []ahead
	for _, a := range list {
		w := ahead{UID: a.UID, Built: string(a.Built)}
		if a.Built == nil {
			w.Nonce, w.Hash, w.Signed = &a.Nonce, a.Hash, string(a.Signed)
		}
		out = append(out, w)
	}
	return out
}

// FitsAhead says whether a worker may be given all of list. What does not fit has to wait
// until some of it has landed, or has a hash: a signer tells none, and a node does.
func FitsAhead(list []Ahead) bool {
	if slices.ContainsFunc(list, func(a Ahead) bool { return a.Hash == "" && a.Built == nil }) {
		return false
	}
	body, err := encode(aheadOf(list))
	return err == nil && len(body)-1 <= MaxAhead // without the line's end
}

// on is what an answer to the call has to name: the digest of the last of what is ahead, see
// [EffectsOf], or "" if nothing is.
func (c Call) on() string {
	if n := len(c.Ahead); n > 0 {
		digest, _ := EffectsOf(c.Ahead[n-1].Command()) // of what cannot be read no worker has one either
		return digest
	}
	return c.Built
}

// builtOn checks what an answer was built upon. An error needs not say it: with something
// ahead it is provisional in any case. The hash of the last of what is ahead says it as well as the
// digest: workers that build nothing before they prove name that.
func builtOn(call Call, result Result) error {
	want := call.on()
	if n := len(call.Ahead); n > 0 && call.Ahead[n-1].Hash != "" && result.On == call.Ahead[n-1].Hash {
		return nil
	}
	if result.On != want {
		return mismatch(fmt.Sprintf("on is %q, want %q", excerpt(result.On), want))
	}
	return nil
}

// errNoCommand says that a text is no signed zkappCommand.
var errNoCommand = errors.New("there is no zkappCommand")

// EffectsOf is the digest of what a command does: SHA-256, in hex, of its account updates in their
// order, without authorizations and without callData, into which o1js hashes a random value each
// time a method runs. A line says how many there are, and a line follows for the body of each. It
// is the same for what was signed or proved again, and for JSON that is written otherwise.
func EffectsOf(command json.RawMessage) (string, error) {
	if !isObject(command) {
		return "", errNoCommand
	}
	fields, err := object(command[SkipSpace(command, 0):])
	if err != nil {
		return "", err
	}
	updates := fields["accountUpdates"]
	if len(updates) == 0 || updates[0] != '[' {
		return "", errNoCommand
	}
	var bodies [][]byte
	for raw := range Elements(updates) {
		update, err := object(raw)
		if err != nil {
			return "", fmt.Errorf("account update %d: %w", len(bodies), err)
		}
		body, err := canonical(update["body"])
		if err != nil {
			return "", fmt.Errorf("account update %d: %w", len(bodies), err)
		}
		bodies = append(bodies, body)
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, len(bodies)) // a hash takes all
	for _, body := range bodies {
		_, _ = sum.Write(body)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// canonical writes the body of an account update in one way, as a line: names in order, no white
// space, numbers by their text.
func canonical(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errors.New("body is not an object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value map[string]any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	delete(value, "callData")
	return encode(value)
}
