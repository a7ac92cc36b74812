package devnet

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
)

// A Failure is one entry of a command's failureReason.
type Failure struct {
	// Index is "0" for the fee payer, i for the ith account update. Entries are
	// listed highest index first.
	Index string `json:"index"`
	// Failures are Mina's own names; "Cancelled" where only another update failed.
	Failures []string `json:"failures"`
}

// account is the state of one account; it is never changed once it is in a
// ledger.
type account struct {
	nonce   uint32
	balance uint64
	locked  uint64 // of the balance, however little there is left of it
	// zkapp is nil for an account that no command has given any state.
	zkapp       *zkappState
	tokenSymbol string
	permissions map[string]any // those that differ from a new account's
}

// liquid is what of a may be spent.
func (a *account) liquid() uint64 { return a.balance - min(a.balance, a.locked) }

type zkappState struct {
	fields  []string
	proved  bool
	uri     string
	keyData string
	keyHash string
}

// view is a ledger with changes on top that can be given up.
type view struct {
	below   func(key string) *account
	changed map[string]*account
}

func (v *view) get(key string) *account {
	if a, ok := v.changed[key]; ok {
		return a
	}
	return v.below(key)
}

// change is what a block did to one account; nil means that there was none.
type change struct {
	key           string
	before, after *account
}

func (v *view) changes() []change {
	out := make([]change, 0, len(v.changed))
	for _, key := range slices.Sorted(maps.Keys(v.changed)) {
		out = append(out, change{key, v.below(key), v.changed[key]})
	}
	return out
}

// update is an account update as far as the devnet executes it.
type update struct {
	key              string // of the account: its public key, and its token unless that is MINA
	token            bool   // it is not MINA
	set, expect      []string
	fields           int // of the states that it names; 0 if it names none
	nonce, balance   span
	slot, validWhile span
	length           span
	isNew, proved    *bool
	actionState      string
	change           uint64
	negative         bool
	increment        bool
	implicitFee      bool
	isProved         bool
	in               *updateInput
}

// span is a precondition on a number.
type span struct {
	given        bool
	lower, upper uint64
}

func (s span) misses(n uint64) bool { return s.given && (n < s.lower || n > s.upper) }

// maxFields is the most state fields that any release of Mina has.
const maxFields = 32

func (u *update) read(in *updateInput) error {
	b := &in.Body
	u.in, u.key = in, string(b.PublicKey)
	if !wellFormedKey(u.key) {
		return badKey(b.PublicKey)
	}
	if b.TokenID == nil || *b.TokenID == defaultToken {
		b.TokenID = nil
	} else {
		u.token, u.key = true, u.key+":"+string(*b.TokenID)
	}
	u.increment, u.implicitFee, u.isProved = b.IncrementNonce, b.ImplicitAccountCreationFee, in.Authorization.Proof != nil
	u.negative = b.BalanceChange.field("sgn") == "Negative"
	var err error
	magnitude, _ := b.BalanceChange.field("magnitude").(string)
	if u.change, err = strconv.ParseUint(magnitude, 10, 64); err != nil {
		return fmt.Errorf("reading balanceChange: %w", err)
	}
	p := &b.Preconditions
	for _, s := range []struct {
		to   *span
		from any
	}{
		{&u.nonce, p.field("account", "nonce")},
		{&u.balance, p.field("account", "balance")},
		{&u.slot, p.field("network", "globalSlotSinceGenesis")},
		{&u.length, p.field("network", "blockchainLength")},
		{&u.validWhile, p.field("validWhile")},
	} {
		if err := s.to.read(s.from); err != nil {
			return err
		}
	}
	if v, ok := p.field("account", "isNew").(bool); ok {
		u.isNew = &v
	}
	if v, ok := p.field("account", "provedState").(bool); ok {
		u.proved = &v
	}
	u.actionState, _ = p.field("account", "actionState").(string)
	expect, set := p.field("account", "state"), b.Update.field("appState")
	if u.expect, err = readFields(expect); err != nil {
		return err
	}
	if u.set, err = readFields(set); err != nil {
		return err
	}
	for _, v := range []any{expect, set} {
		list, _ := v.([]any)
		if u.fields != 0 && len(list) != 0 && len(list) != u.fields {
			return errors.New("states of different lengths")
		}
		u.fields = max(u.fields, len(list))
	}
	return nil
}

// givesKey says whether the update sets a verification key.
func (u *update) givesKey() bool {
	_, is := u.in.Body.Update.field("verificationKey", "data").(string)
	return is
}

func (s *span) read(v any) (err error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	lower, _ := m["lower"].(string)
	upper, _ := m["upper"].(string)
	s.given = true
	if s.lower, err = strconv.ParseUint(lower, 10, 64); err != nil {
		return fmt.Errorf("reading precondition: %w", err)
	}
	if s.upper, err = strconv.ParseUint(upper, 10, 64); err != nil {
		return fmt.Errorf("reading precondition: %w", err)
	}
	return nil
}

// readFields reads a list of field elements, "" where one is null; nil if all are.
func readFields(v any) ([]string, error) {
	list, _ := v.([]any)
	if len(list) > maxFields {
		return nil, errors.New("too many state fields")
	}
	var out []string
	for i, e := range list {
		if s, ok := e.(string); ok {
			if out == nil {
				out = make([]string, len(list))
			}
			out[i] = s
		}
	}
	return out, nil
}

// moment is where in the chain a command is executed.
type moment struct {
	slot, height uint32
	creationFee  uint64
}

// payFee is the first pass: it takes the fee and raises the nonce. A command
// that cannot do that is not included at all.
func (v *view) payFee(c *command, at moment) bool {
	payer := v.get(c.Payer)
	if payer == nil || payer.nonce != c.Nonce || payer.liquid() < c.cost() || c.ValidUntil < at.slot {
		return false
	}
	after := *payer
	after.nonce++
	after.balance -= c.Fee
	v.changed[c.Payer] = &after
	return true
}

// pay executes a payment whose fee is paid; a reason means that nothing moved.
func (v *view) pay(c *command, at moment) string {
	receiver, amount := v.get(c.Accounts[0]), c.amount
	if receiver == nil {
		if amount < at.creationFee {
			return "Amount_insufficient_to_create_account"
		}
		receiver, amount = &account{}, amount-at.creationFee
	}
	if c.Accounts[0] == c.Payer {
		return ""
	}
	total, overflow := bits.Add64(receiver.balance, amount, 0)
	if overflow != 0 {
		return "Overflow"
	}
	from, to := *v.get(c.Payer), *receiver
	from.balance -= c.amount
	to.balance = total
	v.changed[c.Payer], v.changed[c.Accounts[0]] = &from, &to
	return ""
}

// apply is the second pass: all account updates, or none and the reasons.
func (v *view) apply(c *command, at moment) []Failure {
	trial := &view{below: v.get, changed: make(map[string]*account, len(c.updates))}
	reasons := make([][]string, len(c.updates))
	failed := false
	var in, out uint64 // what all updates together give to and take from accounts
	for i := range c.updates {
		u := &c.updates[i]
		a := trial.get(u.key)
		fresh := a == nil
		if fresh {
			a = &account{}
		}
		reasons[i] = u.unmet(a, fresh, at)
		after, more := u.applied(a)
		reasons[i] = append(reasons[i], more...)
		if !u.token {
			if u.negative {
				out += u.change
			} else {
				in += u.change
			}
		}
		if fresh {
			switch {
			case !u.implicitFee:
				in += at.creationFee
			case u.token:
				reasons[i] = append(reasons[i], "Cannot_pay_creation_fee_in_token")
			case after.balance < at.creationFee:
				reasons[i] = append(reasons[i], "Amount_insufficient_to_create_account")
			default:
				after.balance -= at.creationFee
			}
		}
		trial.changed[u.key] = after
		failed = failed || len(reasons[i]) > 0
	}
	if last := len(c.updates) - 1; !failed && in != out {
		reasons[last], failed = append(reasons[last], "Invalid_fee_excess"), true
	}
	if failed {
		return display(reasons)
	}
	maps.Copy(v.changed, trial.changed)
	return nil
}

// display gives per-update reasons the daemon's shape: highest index first,
// "Cancelled" for the updates that did nothing wrong.
func display(reasons [][]string) []Failure {
	out := make([]Failure, 0, len(reasons))
	for i := len(reasons); i >= 1; i-- {
		f := Failure{Index: strconv.Itoa(i), Failures: reasons[i-1]}
		if len(f.Failures) == 0 {
			f.Failures = []string{"Cancelled"}
		}
		out = append(out, f)
	}
	return out
}

// emptyActions is the action state of an account that has dispatched none.
const emptyActions = "25079927036070901246064867767436987657692091363973573142121686150614948079097"

// unmet lists the preconditions that do not hold.
func (u *update) unmet(a *account, fresh bool, at moment) (reasons []string) {
	check := func(bad bool, reason string) {
		if bad {
			reasons = append(reasons, reason)
		}
	}
	for i, want := range u.expect {
		if want != "" {
			check(want != a.field(i), "Account_app_state_"+strconv.Itoa(i)+"_precondition_unsatisfied")
		}
	}
	check(u.balance.misses(a.balance), "Account_balance_precondition_unsatisfied")
	check(u.nonce.misses(uint64(a.nonce)), "Account_nonce_precondition_unsatisfied")
	check(u.isNew != nil && *u.isNew != fresh, "Account_is_new_precondition_unsatisfied")
	check(u.proved != nil && *u.proved != (a.zkapp != nil && a.zkapp.proved), "Account_proved_state_precondition_unsatisfied")
	check(u.actionState != "" && u.actionState != emptyActions, "Account_action_state_precondition_unsatisfied")
	check(u.slot.misses(uint64(at.slot)) || u.length.misses(uint64(at.height-1)), "Protocol_state_precondition_unsatisfied")
	check(u.validWhile.misses(uint64(at.slot)), "Valid_while_precondition_unsatisfied")
	return reasons
}

func (a *account) field(i int) string {
	if a.zkapp == nil || i >= len(a.zkapp.fields) || a.zkapp.fields[i] == "" {
		return "0"
	}
	return a.zkapp.fields[i]
}

// applied returns the account as the update leaves it.
func (u *update) applied(a *account) (after *account, reasons []string) {
	next := *a
	if u.negative {
		if u.change > next.balance {
			return &next, []string{"Overflow"}
		}
		if u.change > next.liquid() {
			return &next, []string{"Source_minimum_balance_violation"}
		}
		next.balance -= u.change
	} else {
		total, overflow := bits.Add64(next.balance, u.change, 0)
		if overflow != 0 {
			return &next, []string{"Overflow"}
		}
		next.balance = total
	}
	if u.increment {
		next.nonce++
	}
	given := &u.in.Body.Update
	uri, hasURI := given.field("zkappUri").(string)
	data, hasKey := given.field("verificationKey", "data").(string)
	if u.set != nil || hasURI || hasKey {
		z := zkappState{}
		if a.zkapp != nil {
			z = *a.zkapp
		}
		if hasURI {
			z.uri = uri
		}
		if hasKey {
			z.keyData = data
			z.keyHash, _ = given.field("verificationKey", "hash").(string)
		}
		z.fields = slices.Clone(z.fields)
		all := true
		for i, value := range u.set {
			for len(z.fields) <= i {
				z.fields = append(z.fields, "0")
			}
			if value != "" {
				z.fields[i] = value
			}
			all = all && value != ""
		}
		if u.set != nil {
			z.proved = u.isProved && (all || z.proved)
		}
		next.zkapp = &z
	}
	if symbol, ok := given.field("tokenSymbol").(string); ok {
		next.tokenSymbol = symbol
	}
	if permissions, ok := given.field("permissions").(map[string]any); ok {
		next.permissions = permissions
	}
	return &next, nil
}
