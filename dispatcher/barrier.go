package dispatcher

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
)

// Barrier says why a signed command may not be in flight beside others of its payer,
// although its type does not say [Alone]: in words, "" if it may. ahead are the commands in flight
// before it, in order. A chained one has to require something that the last of them makes: it fails
// where that one fails. A commuting one may require nothing that any of them changes, but for an
// action state: reducers take any of the last five.
//
// What creates accounts or sets keys or permissions could make peers drop what is behind
// it, and a block takes the fees and nonces of all its commands before it applies the first.
func Barrier(mode Mode, payer string, ahead []json.RawMessage, signed json.RawMessage) (reason string, err error) {
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
	required := requiredBy(updates)
	if mode == Commuting {
		required = slices.DeleteFunc(required, func(r requirement) bool { return r.what == actionState })
	}
	for i, command := range ahead {
		last := i == len(ahead)-1
		if mode == Chained && !last {
			continue
		}
		before, err := updatesOf(command)
		if err != nil {
			return "", fmt.Errorf("the command before it: %w", err)
		}
		changed := changedBy(before)
		on := func(meets func(change, string) bool) int {
			return slices.IndexFunc(required, func(r requirement) bool {
				by, is := changed[r.part]
				return is && meets(by, r.value)
			})
		}
		if mode == Chained && on(change.leadsTo) < 0 {
			return "requires nothing that the one before it makes", nil
		}
		if at := on(change.unsettles); mode == Commuting && at >= 0 {
			r := required[at]
			return "requires the " + r.what + " of " + r.key + ", which one in flight before it changes", nil
		}
	}
	return "", nil
}

// A part is one thing of an account that a command may require or change.
type part struct{ key, token, what string }

const actionState = "action state"

// A change is what a command makes of a part, "" where that cannot be read from it, and what it
// required of it before, "" for nothing.
type change struct{ made, found string }

// leadsTo reports whether a value is there because of c: where c does not take effect it is not.
func (c change) leadsTo(value string) bool {
	return c.made == "" || c.made == value && c.made != c.found
}

// unsettles reports whether a value may be there before c and not behind it, or the other way round.
func (c change) unsettles(value string) bool {
	return c.made == "" || c.made != value || c.found != "" && c.found != c.made
}

// A requirement is the one value that a part has to have.
type requirement struct {
	part
	value string
}

// requiredBy are the requirements of updates, without those of a value that they set themselves. What
// they only add to depends on what was there.
func requiredBy(updates []signedUpdate) (all []requirement) {
	own := map[part]bool{}
	for _, u := range updates {
		for what, value := range u.requires() {
			if !own[u.part(what)] {
				all = append(all, requirement{u.part(what), value})
			}
		}
		for what, value := range u.makes(maps.Collect(u.requires())) {
			own[u.part(what)] = value != ""
		}
	}
	return all
}

// changedBy are the parts that updates change, each with what is there in the end.
func changedBy(updates []signedUpdate) map[part]change {
	all, found := map[part]change{}, map[part]string{}
	for _, u := range updates {
		for what, value := range u.requires() {
			if _, own := all[u.part(what)]; !own {
				found[u.part(what)] = value
			}
		}
		for what, value := range u.makes(maps.Collect(u.requires())) {
			all[u.part(what)] = change{made: value, found: found[u.part(what)]}
		}
	}
	return all
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
		BalanceChange struct {
			Magnitude string `json:"magnitude"`
		} `json:"balanceChange"`
		IncrementNonce             bool              `json:"incrementNonce"`
		Actions                    []json.RawMessage `json:"actions"`
		ImplicitAccountCreationFee bool              `json:"implicitAccountCreationFee"`
		Preconditions              struct {
			Account struct {
				Balance          json.RawMessage `json:"balance"`
				Nonce            json.RawMessage `json:"nonce"`
				ReceiptChainHash json.RawMessage `json:"receiptChainHash"`
				State            []*string       `json:"state"`
				ActionState      *string         `json:"actionState"`
				IsNew            *bool           `json:"isNew"`
			} `json:"account"`
		} `json:"preconditions"`
	} `json:"body"`
}

func (u *signedUpdate) part(what string) part { return part{u.Body.PublicKey, u.Body.TokenID, what} }

// requires yields what has to have just one value, and that.
func (u *signedUpdate) requires() iter.Seq2[string, string] {
	return func(yield func(what, value string) bool) {
		a := &u.Body.Preconditions.Account
		for i, value := range a.State {
			if value != nil && !yield(field(i), *value) {
				return
			}
		}
		if n, is := exactly(a.Nonce); is && !yield("nonce", n) {
			return
		}
		if n, is := exactly(a.Balance); is && !yield("balance", n) {
			return
		}
		if a.ActionState != nil {
			yield(actionState, *a.ActionState)
		}
	}
}

// makes yields what is changed, and the value then, "" where that cannot be told; needs is what is
// required.
func (u *signedUpdate) makes(needs map[string]string) iter.Seq2[string, string] {
	return func(yield func(what, value string) bool) {
		b := &u.Body
		for i, value := range b.Update.AppState {
			if value != nil && !yield(field(i), *value) {
				return
			}
		}
		if b.IncrementNonce {
			next := ""
			if n, err := strconv.ParseUint(needs["nonce"], 10, 32); err == nil {
				next = strconv.FormatUint(n+1, 10)
			}
			if !yield("nonce", next) {
				return
			}
		}
		if m := b.BalanceChange.Magnitude; m != "" && m != "0" && !yield("balance", "") {
			return
		}
		if len(b.Actions) > 0 {
			yield(actionState, "")
		}
	}
}

func field(i int) string { return "state " + strconv.Itoa(i) }

// exactly is the one number that a precondition allows.
func exactly(raw json.RawMessage) (n string, is bool) {
	var between *struct{ Lower, Upper string }
	if json.Unmarshal(raw, &between) != nil || between == nil || between.Lower != between.Upper {
		return "", false
	}
	return between.Lower, true
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
