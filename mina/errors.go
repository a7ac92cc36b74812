package mina

import (
	"encoding/json"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
	"strings"
	"unicode/utf8"
)

// A Class says what mends an error. It is decided here, once, from Mina's own
// words; nobody else looks at texts.
type Class string

// The classes, gravest first.
const (
	Permanent Class = "permanent" // nothing mends this payload
	Operator  Class = "operator"  // a person must act: fund the account, correct a key, wait for an upgrade
	Reprove   Class = "reprove"   // build and prove again on fresh state
	Renonce   Class = "renonce"   // look on the chain first; sign again with the right nonce and validity
	RaiseFee  Class = "raise_fee" // sign again with a higher fee, same nonce
	Resend    Class = "resend"    // the same bytes again, later
	Transport Class = "transport" // no answer: the outcome is unknown
)

// gravity orders the classes: the gravest has the largest.
func (c Class) gravity() int {
	switch c {
	case Permanent:
		return 6
	case Operator:
		return 5
	case Reprove:
		return 4
	case Renonce:
		return 3
	case RaiseFee:
		return 2
	case Resend:
		return 1
	default:
		return 0
	}
}

var (
	// ErrNoQuorum: fewer nodes answered well than must agree.
	ErrNoQuorum = errors.New("too few synced nodes")
	// ErrDisagree: the nodes that answered contradict each other.
	ErrDisagree = errors.New("the nodes disagree")
	// ErrNoArchive: what the nodes no longer hold cannot be looked up.
	ErrNoArchive = errors.New("there is no archive to ask")
	// ErrNotSynced: the node answers, but not from a tip that it trusts.
	ErrNotSynced = errors.New("node is not synced")
	// ErrOtherNetwork, ErrOldTip, ErrBehind: why a node that answers has no vote.
	ErrOtherNetwork = errors.New("node is of another network")
	ErrOldTip       = errors.New("the node's tip is old")
	ErrBehind       = errors.New("node is behind the others")
)

// A lostError says in words for the operator why a node has no vote.
type lostError struct {
	text string
	why  error
}

func (e *lostError) Error() string { return e.text }
func (e *lostError) Unwrap() error { return e.why }

// An Error is a node's refusal or its silence.
type Error struct {
	Class   Class
	Code    string // stable token: Mina's own where it has one, such as "Invalid_nonce"
	Message string // the node's words, cut to a sane length
	Node    string // host and port; empty where no node is meant
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s (%s)", e.Code, e.Class)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Node != "" {
		text = e.Node + ": " + text
	}
	return text
}

// Codes of our own, where Mina gives a text only or nothing at all.
const (
	CodeNoAnswer       = tx.CodeNoAnswer   // Transport: nothing usable came back
	CodeGateway        = tx.CodeGateway    // Transport: words that are not Mina's, and may be a gateway's
	CodeEvicted        = fees.CodeEvicted  // RaiseFee: the pool is full and the fee too low
	CodeMalformed      = "Malformed"       // Permanent: the node cannot read the command
	CodeUnknownRefusal = "Unknown_refusal" // Reprove: a refusal in words that we do not know
	CodeUnknownFailure = "Unknown_failure" // Reprove: a failure without a reason that we can name
)

// ClassifySend reads the messages with which sendZkapp or sendPayment was answered.
// They are a refusal only if each of them is Mina's own: with the words that a daemon
// begins every refusal with, or one of the few sentences without. All else a gateway
// may say as well, of a command that the daemon has taken or will take: class
// Transport. A reason that is not in the vocabulary is CodeUnknownRefusal, of class
// Reprove: a retry may mend it, and the retries end. Of several the gravest counts.
func ClassifySend(messages ...string) *Error {
	e := &Error{Class: Transport, Code: CodeGateway}
	for i, message := range messages {
		class, code := classifySend(message)
		if i == 0 || class == Transport || e.Class != Transport && class.gravity() > e.Class.gravity() {
			e.Class, e.Code = class, code
		}
	}
	e.Message = shorten(strings.Join(messages, "; "))
	return e
}

func classifySend(message string) (class Class, code string) {
	reason, zkapp := strings.CutPrefix(message, "Couldn't send zkApp command:")
	reason, payment := strings.CutPrefix(reason, "Couldn't send user command:")
	reason = strings.TrimSpace(reason)
	switch {
	case !zkapp && !payment:
		return bareRefusal(message)
	case reason == "":
		// Mina: a command evicted in the moment of its admission gets no reason.
		return RaiseFee, CodeEvicted
	}
	found := false
	note := func(c Class, word string) {
		if !found || c.gravity() > class.gravity() {
			class, code, found = c, word, true
		}
	}
	for part := range strings.SplitSeq(reason, "; ") {
		var codes []string
		if strings.HasPrefix(part, "[") && json.Unmarshal([]byte(part), &codes) == nil {
			for _, code := range codes {
				if class, known := poolReason(code); known {
					note(class, code)
				}
			}
		}
	}
	for _, p := range sendPhrases() {
		if strings.Contains(reason, p.text) {
			note(p.class, p.code)
		}
	}
	if !found {
		return Reprove, CodeUnknownRefusal
	}
	return class, code
}

// bareRefusal reads what a daemon says before it looks at the command, or at its
// nonce: these messages begin so.
func bareRefusal(message string) (Class, string) {
	for _, p := range []phrase{
		{"Daemon is bootstrapping", "Bootstrapping", Resend},
		{"Got transaction pool diff when", "No_frontier", Resend},
		{"Couldn't infer nonce", "Invalid_nonce", Renonce},
		{"Input nonce", "Invalid_nonce", Renonce},
		{"Invalid user command. Fee", "Insufficient_fee", RaiseFee},
		{"Could not decode", CodeMalformed, Permanent},
		// The GraphQL layer's.
		{"Argument `", CodeMalformed, Permanent},
		{"Argument \"", CodeMalformed, Permanent},
		{"Variable `", CodeMalformed, Permanent},
		{"Variable \"", CodeMalformed, Permanent},
		{"Field `", CodeMalformed, Permanent},
		{"Cannot query field", CodeMalformed, Permanent},
		{"Missing required argument", CodeMalformed, Permanent},
	} {
		if strings.HasPrefix(message, p.text) {
			return p.class, p.code
		}
	}
	return Transport, CodeGateway
}

// poolReason is the transaction pool's vocabulary, a JSON array of one word
// each, with the words of the networks before Berkeley.
func poolReason(code string) (Class, bool) {
	if fees.TooCheap(code) {
		return RaiseFee, true
	}
	switch code {
	case "Invalid_nonce", "Expired":
		return Renonce, true
	case "Insufficient_funds", "Fee_payer_account_not_found", "Fee_payer_not_permitted_to_send",
		"After_slot_tx_end", "Sender_account_does_not_exist", "Invalid_signature":
		return Operator, true
	case "Duplicate", "Overloaded":
		return Resend, true
	case "Overflow", "Bad_token", "Unwanted_fee_token":
		return Permanent, true
	default:
		return "", false
	}
}

type phrase struct {
	text, code string
	class      Class
}

// sendPhrases are the refusals that Mina gives as running text: well-formedness,
// verification, and a node that is not ready.
func sendPhrases() []phrase {
	return []phrase{
		{"Insufficient fee", "Insufficient_fee", RaiseFee},
		{"Zkapp too big", "Zkapp_too_big", Permanent},
		{"invalid call forest", "Invalid_call_forest", Permanent},
		{"Zero vesting period", "Zero_vesting_period", Permanent},
		{"permission is updated to an incompatible version", "Incompatible_version", Permanent},
		{"Transaction type disabled", "Transaction_type_disabled", Operator},

		{"Invalid_keys", "Invalid_keys", Permanent},
		{"Mismatched_authorization_kind", "Mismatched_authorization_kind", Permanent},
		// A signature is made again from the same bytes with the same result, so
		// the key, the network or the era of the signer is wrong.
		{"Invalid_signature", "Invalid_signature", Operator},
		{"Invalid_proof", "Invalid_proof", Reprove},
		{"Missing_verification_key", "Missing_verification_key", Reprove},
		{"Unexpected_verification_key", "Unexpected_verification_key", Reprove},
		{"No verification key found", "Missing_verification_key", Reprove},

		{"have a transition frontier", "No_frontier", Resend},
		{"frontier is unavailable", "No_frontier", Resend},
		{"Daemon is bootstrapping", "Bootstrapping", Resend},
	}
}

// A Failure is why one part of an included command failed. Index 0 is the fee
// payer, i the i-th account update.
type Failure struct {
	Index   int      `json:"index"`
	Reasons []string `json:"reasons"`
}

// ClassifyFailures finds what mends a command that failed in a block, and the
// reason to name. "Cancelled" only says that another part failed. Of several
// reasons the gravest counts. A reason that is not in the vocabulary is of class
// Reprove; none at all is CodeUnknownFailure.
func ClassifyFailures(failures []Failure) (Class, string) {
	class, code, found := Reprove, CodeUnknownFailure, false
	for _, f := range failures {
		for _, reason := range f.Reasons {
			if reason == "Cancelled" {
				continue
			}
			if c := failureReason(reason); !found || c.gravity() > class.gravity() {
				class, code, found = c, reason, true
			}
		}
	}
	if !isToken(code) {
		code = CodeUnknownFailure
	}
	return class, code
}

func failureReason(reason string) Class {
	switch reason {
	case "Overflow", // Mina: also when a balance would fall below zero
		"Source_insufficient_balance", "Source_minimum_balance_violation", "Amount_insufficient_to_create_account",
		"Cannot_pay_creation_fee_in_token", "Invalid_fee_excess":
		return Operator
	case "update_not_permitted_delegate", // Mina: the one in lower case
		"Token_owner_not_caller", "Zkapp_command_replay_check_failed", "Fee_payer_nonce_must_increase",
		"Fee_payer_must_be_signed", "Receiver_already_exists", "Signed_command_on_zkapp_account",
		"Global_excess_overflow", "Local_excess_overflow", "Local_supply_increase_overflow",
		"Global_supply_increase_overflow":
		return Permanent
	}
	if strings.HasPrefix(reason, "Update_not_permitted_") {
		return Permanent
	}
	// Preconditions, Incorrect_nonce, Predicate and accounts that are not there
	// yet: the state has moved on since the proof.
	return Reprove
}

// isToken reports whether a foreign word is fit to be an error code.
func isToken(word string) bool {
	return word != "" && len(word) <= 80 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// shorten cuts a foreign text to what fits a log line or a stored error.
func shorten(text string) string {
	const most = 500
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// failure classes why c failed in its block; zero if it did not.
func (c *Command) failure() tx.Failure {
	if !c.Failed {
		return tx.Failure{}
	}
	class, code := ClassifyFailures(c.Failures)
	return tx.Failure{Code: code, Reasons: fmt.Sprint(c.Failures), Permanent: class == Permanent}
}
