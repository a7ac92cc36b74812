package dispatcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"mina-sequencer/sequencer/tx"
)

// CheckSigned says whether a zkappCommand, as o1js writes it, is the attempt
// that payer was asked to sign. decodeMemo turns its base58 memo into text.
//
// Its error is an [ErrMismatch] that names the first wrong field. It is strict:
// a field that is doubled, missing or of another type is wrong as well, for the
// node must not read anything else in these bytes than what was checked.
func CheckSigned(signed json.RawMessage, payer string, want Attempt, decodeMemo func(base58 string) (string, error)) error {
	wrong := func(field, is string) error {
		return fmt.Errorf("%w: %s %s", ErrMismatch, field, is)
	}
	if !isObject(signed) {
		return wrong("the command", "is not an object")
	}
	command, err := object(signed[SkipSpace(signed, 0):])
	if err != nil {
		return wrong("the command", err.Error())
	}
	feePayer, err := object(command["feePayer"])
	if err != nil {
		return wrong("feePayer", err.Error())
	}
	body, err := object(feePayer["body"])
	if err != nil {
		return wrong("feePayer.body", err.Error())
	}
	validUntil := "null"
	if want.ValidUntil != 0 {
		validUntil = quote(strconv.FormatUint(uint64(want.ValidUntil), 10))
	}
	for _, f := range []struct{ name, want string }{
		{"publicKey", quote(payer)},
		{"nonce", quote(strconv.FormatUint(uint64(want.Nonce), 10))},
		{"fee", quote(strconv.FormatUint(want.Fee, 10))},
		{"validUntil", validUntil},
	} {
		if got := string(body[f.name]); got != f.want {
			return wrong("feePayer.body."+f.name, "is "+excerpt(got)+", want "+f.want)
		}
	}
	var encoded string
	if err := json.Unmarshal(command["memo"], &encoded); err != nil {
		return wrong("memo", "is not a string")
	}
	memo, err := decodeMemo(encoded)
	if err != nil {
		return wrong("memo", "cannot be decoded: "+err.Error())
	}
	if memo != want.Memo {
		return wrong("memo", "is "+quote(excerpt(memo))+", want "+quote(want.Memo))
	}
	updates := command["accountUpdates"]
	if len(updates) == 0 || updates[0] != '[' || updates[SkipSpace(updates, 1)] == ']' {
		return wrong("accountUpdates", "is not a list with something in it")
	}
	i := -1
	for raw := range Elements(updates) {
		i++
		name := "accountUpdates[" + strconv.Itoa(i) + "]"
		update, err := object(raw)
		if err != nil {
			return wrong(name, err.Error())
		}
		body, err := object(update["body"])
		if err != nil {
			return wrong(name+".body", err.Error())
		}
		var key *string
		if err := json.Unmarshal(body["publicKey"], &key); err != nil || key == nil {
			return wrong(name+".body.publicKey", "is not a string")
		}
		increments := string(body["incrementNonce"])
		if increments != "true" && increments != "false" {
			return wrong(name+".body.incrementNonce", "is neither true nor false")
		}
		token := tx.MinaToken
		_ = json.Unmarshal(body["tokenId"], &token) // where it is none, it is taken for this one
		if *key == payer && token == tx.MinaToken && increments == "true" {
			return wrong(name+".body.incrementNonce", "spends a second nonce of the fee payer")
		}
	}
	return nil
}

// Weight is what a command that CheckSigned has passed weighs in the pool of a node: one,
// and one more for each account update.
func Weight(signed json.RawMessage) int {
	weight := 1
	command, err := object(signed[SkipSpace(signed, 0):])
	if err != nil {
		return 0
	}
	for range Elements(command["accountUpdates"]) {
		weight++
	}
	return weight
}

// Signers are the public keys of a command that was checked: its payer's, and those of its
// account updates. payer is "" of what cannot be read.
func Signers(signed json.RawMessage) (payer string, updates []string) {
	var command struct {
		FeePayer       struct{ Body struct{ PublicKey string } }
		AccountUpdates []struct{ Body struct{ PublicKey string } }
	}
	if json.Unmarshal(signed, &command) != nil {
		return "", nil
	}
	for _, u := range command.AccountUpdates {
		updates = append(updates, u.Body.PublicKey)
	}
	return command.FeePayer.Body.PublicKey, updates
}

func quote(s string) string { return strconv.Quote(s) }

// object splits a JSON object, known to be valid, by its exact names. It refuses
// a name given twice, of which one reader takes the first and another the last.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errors.New("is not an object")
	}
	fields := make(map[string]json.RawMessage, 8)
	for name, value := range Members(raw) {
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("has %q twice", excerpt(name))
		}
		fields[name] = value
	}
	return fields, nil
}
