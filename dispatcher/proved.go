package dispatcher

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// What was signed is held against what was proved.

// unsigned is what was signed before as it would be proved for another attempt: with that one's fee, nonce
// and validUntil, and without the payer's authorizations. whole: somebody else has signed the whole of
// it, who has to do so again.
func unsigned(signed json.RawMessage, payer string, a Attempt) (proved json.RawMessage, whole bool, err error) {
	if !isObject(signed) {
		return nil, false, errNoCommand
	}
	validUntil := "null"
	if a.ValidUntil != 0 {
		validUntil = quote(strconv.FormatUint(uint64(a.ValidUntil), 10))
	}
	body := with(map[string]string{
		"fee": quote(strconv.FormatUint(a.Fee, 10)), "nonce": quote(strconv.FormatUint(uint64(a.Nonce), 10)), "validUntil": validUntil,
	})
	proved = rewritten(signed, func(name string, value []byte) []byte {
		switch name {
		case "feePayer":
			return rewritten(value, func(name string, value []byte) []byte {
				switch name {
				case "body":
					return rewritten(value, body)
				case "authorization":
					return []byte(`""`)
				}
				return value
			})
		case "accountUpdates":
			var all [][]byte
			for raw := range Elements(value) {
				u, its := authorizerOf(raw)
				switch {
				case u.isSigned && u.key == payer:
					raw = rewritten(raw, with(map[string]string{"authorization": `{"proof":null,"signature":null}`}))
				case u.isSigned && u.whole:
					whole = true
				}
				if its != nil {
					err = its
				}
				all = append(all, raw)
			}
			return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
		}
		return value
	})
	return proved, whole, err
}

func with(values map[string]string) func(string, []byte) []byte {
	return func(name string, value []byte) []byte {
		if other, is := values[name]; is {
			return []byte(other)
		}
		return value
	}
}

// rewritten is a valid object with other values.
func rewritten(doc []byte, other func(name string, value []byte) []byte) []byte {
	if !opens(doc) {
		return doc
	}
	out := []byte{'{'}
	for name, value := range Members(doc) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, err := encode(name)
		if err != nil {
			continue // a text is JSON
		}
		out = append(append(append(out, bytes.TrimSpace(key)...), ':'), other(name, value)...)
	}
	return append(out, '}')
}

// An authorizer is who has to authorize an account update.
type authorizer struct {
	key      string
	isSigned bool
	whole    bool // by a signature over the whole command
}

func authorizerOf(update json.RawMessage) (authorizer, error) {
	var in struct {
		Body struct {
			PublicKey         string
			UseFullCommitment bool
			AuthorizationKind struct{ IsSigned bool }
		}
	}
	err := json.Unmarshal(update, &in)
	return authorizer{in.Body.PublicKey, in.Body.AuthorizationKind.IsSigned, in.Body.UseFullCommitment}, err
}

// sameBut says how the account updates of a signed command differ from those that were proved, other
// than by the payer's signatures; nil if they do not. Fee payer and memo are for [CheckSigned].
func sameBut(proved, signed json.RawMessage, payer string) error {
	before, err := authorized(proved, payer)
	if err != nil {
		return err
	}
	after, err := authorized(signed, payer)
	if err != nil {
		return err
	}
	if len(before) != len(after) {
		return fmt.Errorf("it has %d account updates, and %d were proved", len(after), len(before))
	}
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			return fmt.Errorf("accountUpdates[%d] differs", i)
		}
	}
	return nil
}

// authorized are the account updates of a command, each in one way, without the payer's signatures.
func authorized(command json.RawMessage, payer string) (all [][]byte, err error) {
	if !isObject(command) {
		return nil, errNoCommand
	}
	fields, err := object(command[SkipSpace(command, 0):])
	if err != nil {
		return nil, err
	}
	for raw := range Elements(fields["accountUpdates"]) {
		u, err := authorizerOf(raw)
		if err != nil {
			return nil, err
		}
		update, err := object(raw)
		if err != nil {
			return nil, err
		}
		body, err := canonical(update["body"])
		if err != nil {
			return nil, err
		}
		var by map[string]any
		if !u.isSigned || u.key != payer {
			_ = json.Unmarshal(update["authorization"], &by) // what is none authorizes nothing
			for name, value := range by {
				if value == nil {
					delete(by, name)
				}
			}
		}
		authorization, err := encode(by)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.Concat(body, authorization))
	}
	return all, nil
}
