package mina

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClassifySend(t *testing.T) {
	t.Parallel()
	const zk = "Couldn't send zkApp command: "
	for _, tt := range []struct {
		message string
		class   Class
		code    string
	}{
		// The pool's words.
		{zk + `["Invalid_nonce"]`, Renonce, "Invalid_nonce"},
		{zk + `["Insufficient_replace_fee"]`, RaiseFee, "Insufficient_replace_fee"},
		{zk + `["Insufficient_funds"]`, Operator, "Insufficient_funds"},
		{zk + `["Duplicate"]`, Resend, "Duplicate"},
		{zk + `["Expired"]`, Renonce, "Expired"},
		{zk + `["Fee_payer_account_not_found"]`, Operator, "Fee_payer_account_not_found"},
		{zk + `["Fee_payer_not_permitted_to_send"]`, Operator, "Fee_payer_not_permitted_to_send"},
		{zk + `["Overloaded"]`, Resend, "Overloaded"},
		{zk + `["Overflow"]`, Permanent, "Overflow"},
		{zk + `["Bad_token"]`, Permanent, "Bad_token"},
		{zk + `["Unwanted_fee_token"]`, Permanent, "Unwanted_fee_token"},
		{zk + `["After_slot_tx_end"]`, Operator, "After_slot_tx_end"},
		{zk + `["Invalid_signature"]`, Operator, "Invalid_signature"},
		{zk + `["Insufficient_fee"]`, RaiseFee, "Insufficient_fee"},
		{zk + `["Sender_account_does_not_exist"]`, Operator, "Sender_account_does_not_exist"},
		{zk, RaiseFee, CodeEvicted},
		{strings.TrimSpace(zk), RaiseFee, CodeEvicted},
		{zk + `["Overloaded"]; ["Invalid_nonce"]`, Renonce, "Invalid_nonce"},
		{zk + `["Invalid_nonce"]; ["Overloaded"]`, Renonce, "Invalid_nonce"},
		// Well-formedness.
		{zk + "Insufficient fee", RaiseFee, "Insufficient_fee"},
		{zk + "Zkapp too big (zkapp transaction too expensive)", Permanent, "Zkapp_too_big"},
		{zk + "Zkapp has an invalid call forest (root account updates may not use tokens)", Permanent, "Invalid_call_forest"},
		{zk + "Zero vesting period", Permanent, "Zero_vesting_period"},
		{zk + "Set verification-key permission is updated to an incompatible version", Permanent, "Incompatible_version"},
		{zk + "Transaction type disabled", Operator, "Transaction_type_disabled"},
		{zk + "Insufficient fee, Zero vesting period", Permanent, "Zero_vesting_period"},
		{zk + `(invalid "Some commands have one or more well-formedness errors: Insufficient fee ")`, RaiseFee, "Insufficient_fee"},
		// Verification.
		{zk + "(invalid (Invalid_keys (" + keyA + ")))", Permanent, "Invalid_keys"},
		{zk + "Invalid_signature: [" + keyA + "]", Operator, "Invalid_signature"},
		{zk + `(invalid (Invalid_proof "In progress"))`, Reprove, "Invalid_proof"},
		{zk + "(invalid Missing_verification_key)", Reprove, "Missing_verification_key"},
		{zk + "(invalid Unexpected_verification_key)", Reprove, "Unexpected_verification_key"},
		{zk + `(invalid "No verification key found for proved account update")`, Reprove, "Missing_verification_key"},
		{zk + "(invalid Mismatched_authorization_kind)", Permanent, "Mismatched_authorization_kind"},
		{zk + `(failure "We don't have a transition frontier at the moment, so we're unable to verify")`, Resend, "No_frontier"},
		// The rest.
		{"Daemon is bootstrapping", Resend, "Bootstrapping"},
		{"Got transaction pool diff when transitin frontier is unavailable, ignoring.", Resend, "No_frontier"}, //nolint:misspell // the daemon's text
		{"Could not decode memo", Permanent, CodeMalformed},
		{"Argument `input` of type `SendZkappInput!` expected on field `sendZkapp`", Permanent, CodeMalformed},
		{`Variable "input" has invalid value`, Permanent, CodeMalformed},
		{"Couldn't send user command: " + `["Insufficient_funds"]`, Operator, "Insufficient_funds"},
		{"Invalid user command. Fee 1 is less than the minimum fee, 1000000.", RaiseFee, "Insufficient_fee"},
		{"Couldn't infer nonce for transaction from specified `sender`", Renonce, "Invalid_nonce"},
		{"Input nonce 3 either different from inferred nonce 4 or below minimum_nonce 2", Renonce, "Invalid_nonce"},
		// What nobody knows.
		{zk + `["Something_new"]`, Reprove, CodeUnknownRefusal},
		{zk + `["Something_new"]; ["Overloaded"]`, Resend, "Overloaded"},
		{zk + `[1,2]`, Reprove, CodeUnknownRefusal},
		{zk + "(failure argument `x`)", Reprove, CodeUnknownRefusal},
		// What a gateway says as well.
		{"", Transport, CodeGateway},
		{"upstream timeout", Transport, CodeGateway},
		{"upstream: Daemon is bootstrapping", Transport, CodeGateway},
		{"upstream said: " + zk + `["Invalid_nonce"]`, Transport, CodeGateway},
		{`["Insufficient_fee"]`, Transport, CodeGateway},
		{"Insufficient fee", Transport, CodeGateway},
		{"Invalid_signature", Transport, CodeGateway},
		{"unexpected Argument `x`", Transport, CodeGateway},
	} {
		t.Run(tt.message, func(t *testing.T) {
			t.Parallel()
			if e := ClassifySend(tt.message); e.Class != tt.class || e.Code != tt.code {
				t.Errorf("%s, %s; want %s, %s", e.Class, e.Code, tt.class, tt.code)
			}
		})
	}
}

// TestClassifySeveral: one word that is not Mina's, and nobody knows.
func TestClassifySeveral(t *testing.T) {
	t.Parallel()
	const cheap, funds = "Couldn't send zkApp command: Insufficient fee", `Couldn't send zkApp command: ["Insufficient_funds"]`
	for _, tt := range []struct {
		messages []string
		class    Class
	}{
		{nil, Transport},
		{[]string{cheap, funds}, Operator},
		{[]string{funds, cheap}, Operator},
		{[]string{cheap, "upstream timeout"}, Transport},
		{[]string{"upstream timeout", cheap}, Transport},
		{[]string{"upstream timeout", cheap, funds}, Transport},
	} {
		if e := ClassifySend(tt.messages...); e.Class != tt.class {
			t.Errorf("%q: %v, want %s", tt.messages, e, tt.class)
		}
	}
	// Of two that are as grave the first is named.
	const dear, spent = `Couldn't send zkApp command: ["Insufficient_replace_fee"]`, `Couldn't send zkApp command: ["Insufficient_fee","Insufficient_replace_fee"]`
	for want, messages := range map[string][]string{
		"Insufficient_fee": {spent}, "Insufficient_replace_fee": {dear, cheap},
	} {
		if e := ClassifySend(messages...); e.Code != want {
			t.Errorf("%q: %v, want %s", messages, e, want)
		}
	}
	classes := []Class{Permanent, Operator, Reprove, Renonce, RaiseFee, Resend, Transport}
	if !slices.IsSortedFunc(classes, func(a, b Class) int { return cmp.Or(b.gravity()-a.gravity(), -1) }) {
		t.Error("they are not in order, gravest first")
	}
}

// TestIsToken: what a node says is a code only if it is one short word.
func TestIsToken(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"": false, "Predicate": true, "two words": false, "Über": false, strings.Repeat("x", 80): true, strings.Repeat("x", 81): false,
	} {
		if got := isToken(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

func TestClassifyFailures(t *testing.T) {
	t.Parallel()
	vocabulary := map[Class][]string{
		Reprove: {
			"Account_app_state_0_precondition_unsatisfied", "Account_app_state_7_precondition_unsatisfied",
			"Account_app_state_31_precondition_unsatisfied", "Account_action_state_precondition_unsatisfied",
			"Account_nonce_precondition_unsatisfied", "Account_balance_precondition_unsatisfied",
			"Account_receipt_chain_hash_precondition_unsatisfied", "Account_delegate_precondition_unsatisfied",
			"Account_proved_state_precondition_unsatisfied", "Account_is_new_precondition_unsatisfied",
			"Protocol_state_precondition_unsatisfied", "Valid_while_precondition_unsatisfied", "Incorrect_nonce",
			"Predicate", "Unexpected_verification_key_hash", "Zkapp_account_not_present", "Receiver_not_present",
			"Source_not_present", "Something_new",
		},
		Operator: {
			"Overflow", "Source_insufficient_balance", "Source_minimum_balance_violation",
			"Amount_insufficient_to_create_account", "Cannot_pay_creation_fee_in_token", "Invalid_fee_excess",
		},
		Permanent: {
			"Update_not_permitted_balance", "Update_not_permitted_access", "Update_not_permitted_timing",
			"Update_not_permitted_app_state", "Update_not_permitted_verification_key",
			"Update_not_permitted_action_state", "Update_not_permitted_zkapp_uri",
			"Update_not_permitted_token_symbol", "Update_not_permitted_permissions", "Update_not_permitted_nonce",
			"Update_not_permitted_voting_for", "update_not_permitted_delegate", "Token_owner_not_caller",
			"Zkapp_command_replay_check_failed", "Fee_payer_nonce_must_increase", "Fee_payer_must_be_signed",
			"Receiver_already_exists", "Signed_command_on_zkapp_account", "Global_excess_overflow",
			"Local_excess_overflow", "Local_supply_increase_overflow", "Global_supply_increase_overflow",
		},
	}
	for class, reasons := range vocabulary {
		for _, reason := range reasons {
			t.Run(reason, func(t *testing.T) {
				t.Parallel()
				got, code := ClassifyFailures([]Failure{{2, []string{"Cancelled"}}, {1, []string{reason}}})
				if got != class || code != reason {
					t.Errorf("%s, %s; want %s", got, code, class)
				}
			})
		}
	}
	for name, tt := range map[string]struct {
		failures []Failure
		class    Class
		code     string
	}{
		"none":             {nil, Reprove, CodeUnknownFailure},
		"cancelled only":   {[]Failure{{1, []string{"Cancelled"}}}, Reprove, CodeUnknownFailure},
		"the gravest":      {[]Failure{{2, []string{"Predicate", "Overflow"}}, {1, []string{"Token_owner_not_caller"}}}, Permanent, "Token_owner_not_caller"},
		"the first of two": {[]Failure{{2, []string{"Predicate"}}, {1, []string{"Incorrect_nonce"}}}, Reprove, "Predicate"},
		"not a token":      {[]Failure{{1, []string{"<script>"}}}, Reprove, CodeUnknownFailure},
	} {
		if class, code := ClassifyFailures(tt.failures); class != tt.class || code != tt.code {
			t.Errorf("%s: %s, %s; want %s, %s", name, class, code, tt.class, tt.code)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	e := ClassifySend("Couldn't send zkApp command: " + strings.Repeat("é", 1000))
	if len(e.Message) > 510 || !utf8.ValidString(e.Message) {
		t.Errorf("message of %d bytes", len(e.Message))
	}
	for n, want := range map[int]int{1: 1, 500: 500, 501: 500 + len("…"), 2000: 500 + len("…")} {
		if got := shorten(strings.Repeat("x", n)); len(got) != want || !strings.HasPrefix(got, strings.Repeat("x", min(n, 500))) {
			t.Errorf("%d bytes of %d, want %d", len(got), n, want)
		}
	}
	if got := shorten("a\xffb"); !utf8.ValidString(got) {
		t.Errorf("%q", got)
	}
	if e := ClassifySend("one", "two"); e.Message != "one; two" {
		t.Errorf("told %q", e.Message)
	}
	e = &Error{Class: Renonce, Code: "Invalid_nonce", Message: "words", Node: "a:1"}
	if got, want := e.Error(), "a:1: Invalid_nonce (renonce): words"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzClassifySend(f *testing.F) {
	for _, s := range []string{"", `Couldn't send zkApp command: ["Invalid_nonce"]`, "Daemon is bootstrapping", "[[[;; [", "upstream timeout"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, message string) {
		e := ClassifySend(message)
		known := e.Class.gravity() > 0
		if known == (e.Code == CodeGateway) || strings.HasPrefix(message, "Couldn't send zkApp command:") && !known || !isToken(e.Code) || len(e.Message) > 510 {
			t.Errorf("%q: %+v", message, e)
		}
	})
}
