package dispatcher_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mina-sequencer/dispatcher"
)

// on is an account update of an account, with these fields in its body, and these of its preconditions.
func on(account, body, preconditions string) string {
	return `{"body":{"publicKey":"` + account + `","tokenId":"w"` + body + `,"preconditions":{"account":{"state":[]` + preconditions + `}}}}`
}

func commandWith(updates ...string) json.RawMessage {
	return json.RawMessage(`{"accountUpdates":[` + strings.Join(updates, ",") + `]}`)
}

// step requires field 1 of an account to be from, "" for nothing, and sets it to to.
func step(account, from, to string) string {
	expect, set := "null", "null"
	if from != "" {
		expect = `"` + from + `"`
	}
	if to != "" {
		set = `"` + to + `"`
	}
	return `{"body":{"publicKey":"` + account + `","tokenId":"w","update":{"appState":[null,` + set + `],"verificationKey":null,"permissions":null},
		"preconditions":{"account":{"state":[null,` + expect + `],"isNew":false,"nonce":null,"balance":null,"receiptChainHash":null}}}}`
}

func TestBarrier(t *testing.T) {
	t.Parallel()
	const free = ""
	const loose = "requires nothing that the one before it makes"
	before := commandWith(step("A", "1", "2"))
	tests := []struct {
		name   string
		mode   dispatcher.Mode
		before json.RawMessage
		signed json.RawMessage
		want   string
	}{
		{"the first", dispatcher.Chained, nil, commandWith(step("A", "1", "2")), free},
		{"the next", dispatcher.Chained, before, commandWith(step("A", "2", "3")), free},
		{"with more than that", dispatcher.Chained, before, commandWith(step("B", "", "7"), step("A", "2", "3")), free},
		{"on the state before", dispatcher.Chained, before, commandWith(step("A", "1", "3")), loose},
		{"of another account", dispatcher.Chained, before, commandWith(step("B", "2", "3")), loose},
		{"of another token", dispatcher.Chained, before, commandWith(strings.Replace(step("A", "2", "3"), `"w"`, `"x"`, 1)), loose},
		{"of another field", dispatcher.Chained, commandWith(strings.Replace(step("A", "1", "2"), `[null,`, `[null,null,`, 2)), commandWith(step("A", "2", "3")), loose},
		{"without a requirement", dispatcher.Chained, before, commandWith(step("A", "", "3")), loose},
		{"behind one that sets nothing", dispatcher.Chained, commandWith(step("A", "2", "")), commandWith(step("A", "2", "3")), loose},
		{"behind one that sets what was there", dispatcher.Chained, commandWith(step("A", "2", "2")), commandWith(step("A", "2", "3")), loose},
		{"behind one that sets it back", dispatcher.Chained, commandWith(step("A", "2", "5"), step("A", "5", "2")), commandWith(step("A", "2", "3")), loose},
		{"behind one in two steps", dispatcher.Chained, commandWith(step("A", "1", "5"), step("A", "5", "2")), commandWith(step("A", "2", "3")), free},
		{"on the first of two steps", dispatcher.Chained, commandWith(step("A", "1", "5"), step("A", "5", "2")), commandWith(step("A", "5", "3")), loose},
		{"commuting", dispatcher.Commuting, before, commandWith(step("B", "", "3")), free},
		{"a new account", dispatcher.Commuting, nil, commandWith(on("B", "", `,"isNew":true`)), "creates the account B"},
		{"a new account that pays for itself", dispatcher.Commuting, nil, commandWith(on("B", `,"implicitAccountCreationFee":true`, "")), "creates the account B"},
		{"a key", dispatcher.Chained, before, commandWith(step("A", "2", "3"), on("B", `,"update":{"verificationKey":{"data":"x"}}`, "")), "sets the verification key of B"},
		{"permissions", dispatcher.Commuting, nil, commandWith(on("B", `,"update":{"permissions":{}}`, "")), "sets the permissions of B"},
		{"the payer's nonce", dispatcher.Commuting, nil, commandWith(on(key, "", `,"nonce":{"lower":"1","upper":"1"}`)), "requires something of the payer's account"},
		{"the payer's balance", dispatcher.Commuting, nil, commandWith(on(key, "", `,"balance":{"lower":"1","upper":"2"}`)), "requires something of the payer's account"},
		{"the payer's receipts", dispatcher.Commuting, nil, commandWith(on(key, "", `,"receiptChainHash":"1"`)), "requires something of the payer's account"},
		{"another's nonce", dispatcher.Commuting, nil, commandWith(on("B", "", `,"nonce":{"lower":"1","upper":"1"}`)), free},
		{"the payer, of whom it requires nothing", dispatcher.Commuting, nil, commandWith(on(key, "", "")), free},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := dispatcher.Barrier(tt.mode, key, tt.before, tt.signed)
			if err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for name, pair := range map[string][2]json.RawMessage{
		"no JSON": {before, json.RawMessage(`{`)}, "no updates": {before, commandWith()}, "nothing before": {json.RawMessage(`{}`), before},
	} {
		if got, err := dispatcher.Barrier(dispatcher.Chained, key, pair[0], pair[1]); err == nil || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
