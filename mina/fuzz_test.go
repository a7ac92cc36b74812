package mina

import (
	"slices"
	"strings"
	"testing"
)

// knownRefusals are refusals as nodes word them.
var knownRefusals = []string{
	`["Invalid_nonce"]`, `["Insufficient_replace_fee"]`, `["Insufficient_funds"]`, `["Duplicate"]`, `["Expired"]`,
	`["Fee_payer_account_not_found"]`, `["Fee_payer_not_permitted_to_send"]`, `["Overloaded"]`, `["Overflow"]`, `["Bad_token"]`,
	`["Unwanted_fee_token"]`, `["After_slot_tx_end"]`, `Insufficient fee`, `Zkapp too big (too many event elements (200, max allowed is 100))`,
	`Zero vesting period`, `Transaction type disabled`, `(invalid (Invalid_keys (B62qx)))`, `(invalid (Invalid_signature (B62qx)))`,
	`(invalid (Invalid_proof "In progress"))`, `(failure "We don't have a transition frontier at the moment, so we're unable to verify any transactions.")`,
	`Daemon is bootstrapping`,
}

// FuzzKnownRefusal: a refusal that is known stays so, whatever stands behind it,
// and no further reason makes it less grave.
func FuzzKnownRefusal(f *testing.F) {
	for i := range knownRefusals {
		f.Add(uint8(i), "nothing known")
	}
	f.Add(uint8(0), `["Overflow"]`)
	f.Add(uint8(3), `["Duplicate", 1]; [[`)
	f.Add(uint8(16), "\xff; \x00")
	f.Fuzz(func(t *testing.T, which uint8, more string) {
		if strings.TrimSpace(more) == "" {
			return // no further reason
		}
		known := "Couldn't send zkApp command: " + knownRefusals[int(which)%len(knownRefusals)]
		alone, both := ClassifySend(known), ClassifySend(known+"; "+more)
		if alone.Code == CodeUnknownRefusal || alone.Class == Transport {
			t.Fatalf("%q: %+v", known, alone)
		}
		if both.Code == CodeUnknownRefusal || both.Class.gravity() < alone.Class.gravity() || !isToken(both.Code) {
			t.Errorf("%q; %q: %s %s, and alone %s %s", known, more, both.Class, both.Code, alone.Class, alone.Code)
		}
	})
}

// FuzzClassifyFailures: the order of the reasons of a failure does not decide,
// "Cancelled" says nothing, and the gravest reason counts.
func FuzzClassifyFailures(f *testing.F) {
	f.Add("Cancelled,Account_app_state_0_precondition_unsatisfied")
	f.Add("Overflow,Token_owner_not_caller,Predicate")
	f.Add("update_not_permitted_delegate,Update_not_permitted_balance,Account_app_state_31_precondition_unsatisfied")
	f.Add("<script>,,Überlauf")
	f.Fuzz(func(t *testing.T, list string) {
		reasons := strings.Split(list, ",")
		class, code := ClassifyFailures([]Failure{{1, reasons}})
		if class != Permanent && class != Operator && class != Reprove || !isToken(code) || code == "Cancelled" {
			t.Fatalf("%q: %s %s", reasons, class, code)
		}
		gravest := Reprove
		var apart []Failure
		for i, reason := range reasons {
			apart = append(apart, Failure{i, []string{"Cancelled", reason}})
			if c, _ := ClassifyFailures(apart[i:]); c.gravity() > gravest.gravity() {
				gravest = c
			}
		}
		slices.Reverse(apart)
		if again, _ := ClassifyFailures(apart); again != class || gravest != class {
			t.Errorf("%q: %s together, %s apart, the gravest %s", reasons, class, again, gravest)
		}
	})
}
