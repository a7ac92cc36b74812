package dispatcher

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"mina-sequencer/sequencer/tx"
)

// Barrier says why a signed command may not be in flight beside others of its payer,
// although its type does not say [Alone]: in words, "" if it may. ahead are the commands in flight
// before it, in order. A chained one has to require something that the last of them makes: it fails
// where that one fails. A commuting one may require nothing that any of them changes, but for an
// action state: reducers take any of the last five.
//
// What creates accounts by a precondition, or sets keys or permissions, could make peers drop what is
// behind it, and a block takes the fees and nonces of all its commands before it applies the first.
// What pays for an account that those in flight have made by then fails, and so does what touches one that is
// nowhere and does not pay for it. absent are those of its accounts that no node has; nil: nobody has asked, and
// which there may be is read from the commands.
func Barrier(mode Mode, payer string, ahead []json.RawMessage, signed json.RawMessage,
	absent map[tx.Account]bool) (reason string, err error) {
	updates, err := updatesOf(signed)
	if err != nil {
		return "", err
	}
	for _, u := range updates {
		b := &u.Body
		needs := &b.Preconditions.Account
		switch {
		case needs.IsNew != nil && *needs.IsNew || b.ImplicitAccountCreationFee:
			return "creates the account " + b.PublicKey, nil
		case given(b.Update.VerificationKey):
			return "sets the verification key of " + b.PublicKey, nil
		case given(b.Update.Permissions):
			return "sets the permissions of " + b.PublicKey, nil
		case u.isOf(payer) && (given(needs.Nonce) || given(needs.Balance) || needs.ReceiptChainHash != nil):
			return "requires something of the payer's account", nil
		}
	}
	pays, created := payable(payer, updates)
	if absent != nil {
		pays = missing(payer, updates, absent)
	}
	required := requiredBy(updates)
	if mode == Commuting {
		required = slices.DeleteFunc(required, func(r requirement) bool { return r.what == actionState })
	}
	for i, command := range ahead {
		before, err := updatesOf(command)
		if err != nil {
			return "", fmt.Errorf("the command before it: %w", err)
		}
		changed := changedBy(before)
		for _, u := range before {
			if a := u.account(); pays[a] && absent != nil { // it is what makes that
				there := part{a, existence}
				required = append(required, requirement{there, "true"})
				changed[there] = change{made: "true", found: "false"}
			}
			delete(pays, u.account())
		}
		if len(pays) < created {
			return "pays for a new account, which is there behind those in flight before it", nil
		}
		last := i == len(ahead)-1
		if mode == Chained && !last {
			continue
		}
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
	if absent != nil && len(pays) > created {
		least := slices.SortedFunc(maps.Keys(pays), func(a, b account) int { return strings.Compare(a.key, b.key) })[0]
		return "does not pay for all accounts that are on no node and not made before it, as " + least.key, nil
	}
	return "", nil
}

// An account is one key's, of one token.
type account struct{ key, token string }

// A part is one thing of an account that a command may require or change.
type part struct {
	account
	what string
}

const (
	actionState = "action state"
	existence   = "existence"
)

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

// accountPrice is what Mina wants for a new account, in nanomina.
const accountPrice = 1_000_000_000

// payable are the accounts that updates may make, and how many they pay for: none unless they take more MINA
// than they give, which is what Mina wants for new accounts. There already are the payer's, and what gives
// something, is proved for, or has to be there.
func payable(payer string, updates []signedUpdate) (all map[account]bool, created int) {
	var sum big.Int
	for _, u := range updates {
		if u.Body.TokenID == tx.MinaToken {
			sum.Add(&sum, u.gets())
		}
	}
	if sum.Sign() >= 0 {
		return nil, 0
	}
	created = 1
	if n := sum.Div(sum.Neg(&sum), big.NewInt(accountPrice)); n.IsInt64() {
		created = int(max(1, min(n.Int64(), int64(len(updates)))))
	}
	all = map[account]bool{}
	for _, u := range updates {
		if _, seen := all[u.account()]; !seen {
			isNew := u.Body.Preconditions.Account.IsNew
			there := u.isOf(payer) || u.gets().Sign() < 0 || u.Body.AuthorizationKind.IsProved || isNew != nil && !*isNew
			all[u.account()] = !there
		}
	}
	maps.DeleteFunc(all, func(_ account, may bool) bool { return !may })
	return all, created
}

// missing are the accounts that updates touch and that are on no node.
func missing(payer string, updates []signedUpdate, absent map[tx.Account]bool) map[account]bool {
	all := map[account]bool{}
	for _, u := range updates {
		if a := u.account(); !u.isOf(payer) && absent[tx.Account{Key: a.key, Token: a.token}] {
			all[a] = true
		}
	}
	return all
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
			Delegate        *string         `json:"delegate"`
			VerificationKey json.RawMessage `json:"verificationKey"`
			Permissions     json.RawMessage `json:"permissions"`
		} `json:"update"`
		BalanceChange struct {
			Magnitude string `json:"magnitude"`
			Sgn       string `json:"sgn"`
		} `json:"balanceChange"`
		AuthorizationKind struct {
			IsSigned bool `json:"isSigned"`
			IsProved bool `json:"isProved"`
		} `json:"authorizationKind"`
		IncrementNonce             bool              `json:"incrementNonce"`
		Actions                    []json.RawMessage `json:"actions"`
		ImplicitAccountCreationFee bool              `json:"implicitAccountCreationFee"`
		Preconditions              struct {
			Account struct {
				Balance          json.RawMessage `json:"balance"`
				Nonce            json.RawMessage `json:"nonce"`
				ReceiptChainHash *string         `json:"receiptChainHash"`
				Delegate         *string         `json:"delegate"`
				ProvedState      *bool           `json:"provedState"`
				State            []*string       `json:"state"`
				ActionState      *string         `json:"actionState"`
				IsNew            *bool           `json:"isNew"`
			} `json:"account"`
		} `json:"preconditions"`
	} `json:"body"`
}

func (u *signedUpdate) account() account { return account{u.Body.PublicKey, u.Body.TokenID} }

func (u *signedUpdate) part(what string) part { return part{u.account(), what} }

// isOf reports whether its account is the one that payer pays from: its other tokens have nonces of their own.
func (u *signedUpdate) isOf(payer string) bool {
	return u.Body.PublicKey == payer && u.Body.TokenID == tx.MinaToken
}

// gets is what its account has more of then.
func (u *signedUpdate) gets() *big.Int {
	n, _ := new(big.Int).SetString(u.Body.BalanceChange.Magnitude, 10)
	switch {
	case n == nil:
		return new(big.Int)
	case u.Body.BalanceChange.Sgn == "Negative":
		return n.Neg(n)
	}
	return n
}

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
		if a.ProvedState != nil && !yield("proved state", strconv.FormatBool(*a.ProvedState)) {
			return
		}
		for what, value := range map[string]*string{
			"delegate": a.Delegate, "receipt chain": a.ReceiptChainHash, actionState: a.ActionState,
		} {
			if value != nil && !yield(what, *value) {
				return
			}
		}
	}
}

// makes yields what is changed, and the value then, "" where that cannot be told; needs is what is
// required.
func (u *signedUpdate) makes(needs map[string]string) iter.Seq2[string, string] {
	return func(yield func(what, value string) bool) {
		b := &u.Body
		set := 0
		for i, value := range b.Update.AppState {
			if value == nil {
				continue
			}
			if set++; !yield(field(i), *value) {
				return
			}
		}
		// A proof that sets some fields leaves it as it is.
		proved, all := b.AuthorizationKind.IsProved, set == len(b.Update.AppState)
		if set > 0 && (!proved || all) && !yield("proved state", strconv.FormatBool(proved)) {
			return
		}
		if b.Update.Delegate != nil && !yield("delegate", *b.Update.Delegate) {
			return
		}
		if (proved || b.AuthorizationKind.IsSigned) && !yield("receipt chain", "") {
			return
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
