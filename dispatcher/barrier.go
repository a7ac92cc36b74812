package dispatcher

import (
	"encoding/json"
	"fmt"
)

// Barrier says why a signed command may not be in flight beside others of its payer,
// although its type does not say [Alone]: in words, "" if it may. before is the command
// right before it, nil if nothing of its queue is in flight; of a chained type it has to
// leave a value that the signed one requires.
//
// What creates accounts or sets keys or permissions could make peers drop what is behind
// it, and a block takes the fees and nonces of all its commands before it applies the first.
func Barrier(mode Mode, payer string, before, signed json.RawMessage) (reason string, err error) {
	updates, err := updatesOf(signed)
	if err != nil {
		return "", err
	}
	for _, u := range updates {
		b := &u.Body
		account := &b.Preconditions.Account
		switch {
		case account.IsNew != nil && *account.IsNew || b.ImplicitAccountCreationFee:
			return "creates the account " + b.PublicKey, nil
		case given(b.Update.VerificationKey):
			return "sets the verification key of " + b.PublicKey, nil
		case given(b.Update.Permissions):
			return "sets the permissions of " + b.PublicKey, nil
		case b.PublicKey == payer && (given(account.Nonce) || given(account.Balance) || given(account.ReceiptChainHash)):
			return "requires something of the payer's account", nil
		}
	}
	if mode != Chained || before == nil {
		return "", nil
	}
	left, err := updatesOf(before)
	if err != nil {
		return "", fmt.Errorf("the command before it: %w", err)
	}
	if !follows(left, updates) {
		return "requires nothing that the one before it makes", nil
	}
	return "", nil
}

// signedUpdate is what counts here of an account update.
type signedUpdate struct {
	Body struct {
		PublicKey string `json:"publicKey"`
		TokenID   string `json:"tokenId"`
		Update    struct {
			AppState        []*string       `json:"appState"`
			VerificationKey json.RawMessage `json:"verificationKey"`
			Permissions     json.RawMessage `json:"permissions"`
		} `json:"update"`
		ImplicitAccountCreationFee bool `json:"implicitAccountCreationFee"`
		Preconditions              struct {
			Account struct {
				Balance          json.RawMessage `json:"balance"`
				Nonce            json.RawMessage `json:"nonce"`
				ReceiptChainHash json.RawMessage `json:"receiptChainHash"`
				State            []*string       `json:"state"`
				IsNew            *bool           `json:"isNew"`
			} `json:"account"`
		} `json:"preconditions"`
	} `json:"body"`
}

func updatesOf(command json.RawMessage) ([]signedUpdate, error) {
	var c struct {
		AccountUpdates []signedUpdate `json:"accountUpdates"`
	}
	if err := json.Unmarshal(command, &c); err != nil || len(c.AccountUpdates) == 0 {
		return nil, errNoCommand
	}
	return c.AccountUpdates, nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// follows says whether one of the updates requires a field of state to be what those before
// make of it and have not found: where they fail, it fails.
func follows(before, updates []signedUpdate) bool {
	type field struct {
		key, token string
		index      int
	}
	made, found := map[field]string{}, map[field]string{}
	for _, u := range before {
		at := func(i int) field { return field{u.Body.PublicKey, u.Body.TokenID, i} }
		for i, value := range u.Body.Preconditions.Account.State {
			if _, own := made[at(i)]; value != nil && !own {
				found[at(i)] = *value
			}
		}
		for i, value := range u.Body.Update.AppState {
			if value != nil {
				made[at(i)] = *value
			}
		}
	}
	for _, u := range updates {
		for i, value := range u.Body.Preconditions.Account.State {
			at := field{u.Body.PublicKey, u.Body.TokenID, i}
			if new, is := made[at]; value != nil && is && *value == new && found[at] != new {
				return true
			}
		}
	}
	return false
}
