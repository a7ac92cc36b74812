package dispatcher

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
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

type ahead struct {
	UID    string `json:"uid"`
	Nonce  uint32 `json:"nonce"`
	Hash   string `json:"hash"`
	Signed string `json:"signed"`
}

func aheadOf(list []Ahead) []ahead {
	var out []ahead
	for _, a := range list {
		out = append(out, ahead{UID: a.UID, Nonce: a.Nonce, Hash: a.Hash, Signed: string(a.Signed)})
	}
	return out
}

// FitsAhead says whether a worker may be given all of list. What does not fit has to wait
// until some of it has landed, or has a hash: a signer tells none, and a node does.
func FitsAhead(list []Ahead) bool {
	if slices.ContainsFunc(list, func(a Ahead) bool { return a.Hash == "" }) {
		return false
	}
	body, err := encode(aheadOf(list))
	return err == nil && len(body)-1 <= MaxAhead // without the line's end
}

// on is the hash that an answer to the call has to name.
func (c Call) on() string {
	if n := len(c.Ahead); n > 0 {
		return c.Ahead[n-1].Hash
	}
	return ""
}

// builtOn checks what an answer was built upon. An error needs not say it: with something
// ahead it is provisional in any case.
func builtOn(call Call, result Result) error {
	if want := call.on(); result.On != want {
		return mismatch(fmt.Sprintf("on is %q, want %q", excerpt(result.On), want))
	}
	return nil
}

// errNoCommand says that a text is no signed zkappCommand.
var errNoCommand = errors.New("there is no zkappCommand")

// Base is the digest of the state changes that an attempt is built upon: of the account
// updates of signed commands in their order, without authorizations. It is the same for
// what was signed again with another fee, nonce, validUntil or memo, and for JSON that is
// written otherwise. Of no commands it is "".
func Base(signed []json.RawMessage) (string, error) {
	if len(signed) == 0 {
		return "", nil
	}
	sum := sha256.New()
	for i, command := range signed {
		if err := digest(sum, command); err != nil {
			return "", fmt.Errorf("command %d: %w", i, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// digest adds one command: a line that says how many updates it has, and a line for each, so
// that no two lists of commands run together to the same bytes.
func digest(sum hash.Hash, command json.RawMessage) error {
	if !isObject(command) {
		return errNoCommand
	}
	fields, err := object(command[SkipSpace(command, 0):])
	if err != nil {
		return err
	}
	updates := fields["accountUpdates"]
	if len(updates) == 0 || updates[0] != '[' {
		return errNoCommand
	}
	var bodies [][]byte
	for raw := range Elements(updates) {
		update, err := object(raw)
		if err != nil {
			return fmt.Errorf("account update %d: %w", len(bodies), err)
		}
		body, err := canonical(update["body"])
		if err != nil {
			return fmt.Errorf("account update %d: %w", len(bodies), err)
		}
		bodies = append(bodies, body)
	}
	_, _ = fmt.Fprintln(sum, len(bodies)) // a hash takes all
	for _, body := range bodies {
		_, _ = sum.Write(body)
	}
	return nil
}

// canonical writes a JSON object in one way, as a line: names in order, no white space,
// numbers by their text.
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
	return encode(value)
}
