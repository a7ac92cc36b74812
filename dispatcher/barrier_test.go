package dispatcher_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/tx"
)

const minaToken = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf" // as o1js writes it

// on is an account update of an account, with these fields in its body, and these of its preconditions.
func on(account, body, preconditions string) string {
	return `{"body":{"publicKey":"` + account + `","tokenId":"` + minaToken + `"` + body + `,"preconditions":{"account":{"state":[]` + preconditions + `}}}}`
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
	return `{"body":{"publicKey":"` + account + `","tokenId":"` + minaToken + `","update":{"appState":[null,` + set + `],"verificationKey":null,"permissions":null},
		"preconditions":{"account":{"state":[null,` + expect + `],"isNew":false,"nonce":null,"balance":null,"receiptChainHash":null}}}}`
}

// ofToken is the same of a token that is not MINA.
func ofToken(update string) string { return strings.Replace(update, minaToken, "x", 1) }

func gives(account string, n int) string {
	return on(account, `,"balanceChange":{"magnitude":"`+strconv.Itoa(n)+`","sgn":"Negative"}`, "")
}

func takes(account string, n int) string {
	return on(account, `,"balanceChange":{"magnitude":"`+strconv.Itoa(n)+`","sgn":"Positive"}`, "")
}

func nonceIs(n string) string { return `,"nonce":{"lower":"` + n + `","upper":"` + n + `"}` }

// signs has an account sign with a nonce, as one does that is not the payer.
func signs(account string, nonce int) json.RawMessage {
	return commandWith(on(account, `,"incrementNonce":true`, nonceIs(strconv.Itoa(nonce))))
}

func TestBarrier(t *testing.T) {
	t.Parallel()
	const free = ""
	const loose = "requires nothing that the one before it makes"
	const paid = "pays for a new account, which is there behind those in flight before it"
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
		{"of another token", dispatcher.Chained, before, commandWith(ofToken(step("A", "2", "3"))), loose},
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
		{"another's nonce, behind one that spends it", dispatcher.Commuting, signs("B", 1), signs("B", 1), "requires the nonce of B, which one in flight before it changes"},
		{"another's nonce, as one makes it", dispatcher.Commuting, signs("B", 1), signs("B", 2), "requires the nonce of B, which one in flight before it changes"},
		{"another's nonce, behind one that spends it unseen", dispatcher.Commuting, commandWith(on("B", `,"incrementNonce":true`, "")), signs("B", 1), "requires the nonce of B, which one in flight before it changes"},
		{"another's nonce, behind one of a third", dispatcher.Commuting, signs("C", 1), signs("B", 1), free},
		{"a nonce that it adds to itself before", dispatcher.Commuting, signs("B", 1), commandWith(on("B", `,"incrementNonce":true`, ""), on("B", "", nonceIs("2"))), "requires the nonce of B, which one in flight before it changes"},
		{"a field that it sets itself before", dispatcher.Commuting, before, commandWith(step("A", "", "5"), step("A", "5", "7")), free},
		{"a nonce between two", dispatcher.Commuting, signs("B", 1), commandWith(on("B", "", `,"nonce":{"lower":"1","upper":"9"}`)), free},
		{"a field that one sets", dispatcher.Commuting, before, commandWith(step("A", "1", "3")), "requires the state 1 of A, which one in flight before it changes"},
		{"a field that one sets, as it makes it", dispatcher.Commuting, before, commandWith(step("A", "2", "3")), "requires the state 1 of A, which one in flight before it changes"},
		{"a field that one sets to what it was", dispatcher.Commuting, commandWith(step("A", "2", "2")), commandWith(step("A", "2", "3")), free},
		{"a field that one sets without a look, to the same", dispatcher.Commuting, commandWith(step("A", "", "2")), commandWith(step("A", "2", "3")), free},
		{"a field that it sets without a look", dispatcher.Commuting, before, commandWith(step("A", "", "3")), free},
		{"just one balance, behind a payment", dispatcher.Commuting, commandWith(on("B", `,"balanceChange":{"magnitude":"5"}`, "")), commandWith(on("B", "", `,"balance":{"lower":"7","upper":"7"}`)), "requires the balance of B, which one in flight before it changes"},
		{"just one balance, behind a payment of nothing", dispatcher.Commuting, commandWith(on("B", `,"balanceChange":{"magnitude":"0"}`, "")), commandWith(on("B", "", `,"balance":{"lower":"7","upper":"7"}`)), free},
		{"an action state, behind an action", dispatcher.Commuting, commandWith(on("B", `,"actions":[["1"]]`, "")), commandWith(on("B", "", `,"actionState":"4"`)), free},
		{"chained by an action", dispatcher.Chained, commandWith(on("B", `,"actions":[["1"]]`, "")), commandWith(on("B", "", `,"actionState":"4"`)), free},
		{"chained by another's nonce", dispatcher.Chained, signs("B", 1), signs("B", 2), free},
		{"on another's nonce before", dispatcher.Chained, signs("B", 1), signs("B", 1), loose},
		{"the nonce of the payer's token", dispatcher.Commuting, nil, commandWith(ofToken(on(key, `,"incrementNonce":true`, nonceIs("0")))), free},
		{"the nonce of the payer's token, behind one that spends it", dispatcher.Commuting, commandWith(ofToken(on(key, `,"incrementNonce":true`, nonceIs("0")))), commandWith(ofToken(on(key, `,"incrementNonce":true`, nonceIs("1")))), "requires the nonce of " + key + ", which one in flight before it changes"},
		{"chained by the nonce of the payer's token", dispatcher.Chained, commandWith(ofToken(on(key, `,"incrementNonce":true`, nonceIs("0")))), commandWith(ofToken(on(key, `,"incrementNonce":true`, nonceIs("1")))), free},
		{"an account paid for", dispatcher.Commuting, commandWith(gives(key, 1), on("B", "", "")), commandWith(gives(key, 1), on("C", "", "")), free},
		{"an account paid for that is there by then", dispatcher.Commuting, commandWith(gives(key, 1), on("B", "", "")), commandWith(gives(key, 1), on("B", "", "")), paid},
		{"the same of chained ones", dispatcher.Chained, before, commandWith(gives(key, 1), step("A", "2", "3")), paid},
		{"the same, and one more", dispatcher.Commuting, commandWith(gives(key, 1), on("B", "", "")), commandWith(gives(key, 1), on("B", "", ""), on("C", "", `,"isNew":null`)), free},
		{"paid for, and there as it is required to be", dispatcher.Commuting, before, commandWith(gives(key, 1), on("B", "", `,"isNew":false`)), paid},
		{"paid for, and there as it is proved for", dispatcher.Commuting, before, commandWith(gives(key, 1), on("B", `,"authorizationKind":{"isProved":true}`, "")), paid},
		{"paid for, and there as it gives", dispatcher.Commuting, before, commandWith(gives(key, 1), ofToken(gives("B", 1))), paid},
		{"what is given is another's", dispatcher.Commuting, commandWith(on("B", "", "")), commandWith(gives(key, 2), takes("B", 2)), free},
		{"more is given than taken", dispatcher.Commuting, commandWith(on("B", "", "")), commandWith(gives(key, 3), takes("B", 2)), paid},
		{"a token is given", dispatcher.Commuting, commandWith(on("B", "", "")), commandWith(ofToken(gives(key, 3)), on("B", "", "")), free},
		{"two are paid for, and one is there by then", dispatcher.Commuting, commandWith(on("B", "", "")), commandWith(gives(key, 2_000_000_000), on("B", "", ""), on("C", "", "")), paid},
		{"two are paid for, and one of three is there by then", dispatcher.Commuting, commandWith(on("B", "", "")), commandWith(gives(key, 2_000_000_000), on("B", "", ""), on("C", "", ""), on("D", "", "")), free},
		{"that all is proved, behind a proof of some of it", dispatcher.Commuting, commandWith(strings.Replace(step("A", "", "2"), `"tokenId"`, `"authorizationKind":{"isProved":true},"tokenId"`, 1)), commandWith(on("A", "", `,"provedState":true`)), free},
		{"the payer, of whom it requires nothing", dispatcher.Commuting, nil, commandWith(on(key, "", "")), free},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var ahead []json.RawMessage
			if tt.before != nil {
				ahead = append(ahead, tt.before)
			}
			got, err := dispatcher.Barrier(tt.mode, key, ahead, tt.signed, nil)
			if err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
	spends := []json.RawMessage{signs("B", 1), signs("C", 1)}
	if got, err := dispatcher.Barrier(dispatcher.Commuting, key, spends, signs("B", 1), nil); err != nil || got == free {
		t.Errorf("behind two, of which the first spends its nonce: %q, %v", got, err)
	}
	if got, err := dispatcher.Barrier(dispatcher.Chained, key, spends, signs("C", 2), nil); err != nil || got != free {
		t.Errorf("chained to the last, and to none before: %q, %v", got, err)
	}
	if got, err := dispatcher.Barrier(dispatcher.Chained, key, spends, signs("B", 2), nil); err != nil || got != loose {
		t.Errorf("chained to the one before the last: %q, %v", got, err)
	}
	for name, pair := range map[string][2]json.RawMessage{
		"no JSON": {before, json.RawMessage(`{`)}, "no updates": {before, commandWith()}, "nothing before": {json.RawMessage(`{}`), before},
	} {
		if got, err := dispatcher.Barrier(dispatcher.Chained, key, pair[:1], pair[1], nil); err == nil || got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestBarrierToken has what the standard token (mina-fungible-token 1.1.0, o1js 2.15) makes of its methods
// be in flight together: account updates without their events, authorizations and what they require of
// the network. Its admin pays, but for what another pays.
func TestBarrierToken(t *testing.T) {
	t.Parallel()
	made := madeBy(t, "token.json")
	const twice = "pays for a new account, which is there behind those in flight before it"
	for _, tt := range []struct {
		signed string
		ahead  []string
		want   string
	}{
		{"mints to Y, who is new", []string{"mints to X, who is new"}, ""},
		{"mints to X, who is new", []string{"mints to X, who is new"}, twice},
		{"sends to X, who is new", []string{"mints to X, who is new"}, twice},
		{"sends to X, who is new", []string{"mints to X, who is new", "mints to Y, who is new"}, twice},
		{"sends to X, who is new", []string{"sends to X, who is new"}, twice},
		{"sends to X, who is new", []string{"mints to Y, who is new"}, ""},
		{"sends to X", []string{"mints to X, who is new"}, ""},
		{"mints to X", []string{"mints to X, who is new", "sends to X"}, ""},
		{"sends to X", []string{"sends to X"}, ""},
		{"burns", []string{"sends to X", "mints to X"}, ""},
		{"sends to X", []string{"burns"}, ""},
		{"mints to X, paid by another", []string{"mints to X, paid by another"}, "requires the nonce of ADMIN, which one in flight before it changes"},
	} {
		t.Run(tt.signed+" behind "+strings.Join(tt.ahead, " and "), func(t *testing.T) {
			t.Parallel()
			var payer, admin string
			who := "payer"
			if strings.Contains(tt.signed, "another") {
				who = "another"
			}
			if json.Unmarshal(made[who], &payer) != nil || json.Unmarshal(made["payer"], &admin) != nil {
				t.Fatal("nobody pays")
			}
			var ahead []json.RawMessage
			for _, name := range tt.ahead {
				ahead = append(ahead, made[name])
			}
			got, err := dispatcher.Barrier(dispatcher.Commuting, payer, ahead, made[tt.signed], nil)
			if want := strings.Replace(tt.want, "ADMIN", admin, 1); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
}

// madeBy are commands that o1js 2.15 has made, by what they do, and accounts.
func madeBy(t *testing.T, file string) (made map[string]json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		t.Fatal(err)
	}
	return made
}

// TestBarrierAccounts has payments that make accounts, and what requires and changes of an account what is no field
// of its state, be in flight together.
func TestBarrierAccounts(t *testing.T) {
	t.Parallel()
	made := madeBy(t, "accounts.json")
	const twice = "pays for a new account, which is there behind those in flight before it"
	changes := func(what string) string {
		return "requires the " + what + " of OTHER, which one in flight before it changes"
	}
	for _, tt := range []struct{ signed, ahead, want string }{
		{"pays X and Y, who are new", "pays X, who is new", twice},
		{"pays X, who is new", "pays X and Y, who are new", twice},
		{"pays X and Y, who are new", "pays another", ""},
		{"requires that the state of another is proved", "sets a field of another by its signature", changes("proved state")},
		{"requires that the state of another is proved", "sets the delegate of another", ""},
		{"requires the delegate of another", "sets the delegate of another", changes("delegate")},
		{"requires the delegate of another", "pays another", ""},
		{"requires the receipt chain of another", "sets the delegate of another", changes("receipt chain")},
		{"requires the receipt chain of another", "pays another", ""},
	} {
		var payer, other string
		if json.Unmarshal(made["payer"], &payer) != nil || json.Unmarshal(made["other"], &other) != nil {
			t.Fatal("nobody pays")
		}
		got, err := dispatcher.Barrier(dispatcher.Commuting, payer, []json.RawMessage{made[tt.ahead]}, made[tt.signed], nil)
		if want := strings.Replace(tt.want, "OTHER", other, 1); err != nil || got != want {
			t.Errorf("%s behind what %s: %q, %v, want %q", tt.signed, tt.ahead, got, err, want)
		}
	}
}

// TestBarrierAbsent has commands that o1js made be in flight together where the nodes have said which of their
// accounts there are.
func TestBarrierAbsent(t *testing.T) {
	t.Parallel()
	const twice = "pays for a new account, which is there behind those in flight before it"
	const unpaid = "does not pay for all accounts that are on no node and not made before it, as NEW"
	const another = "requires the existence of NEW, which one in flight before it changes"
	const loose = "requires nothing that the one before it makes"
	const mintsX, mintsY, sendsX = "mints to X, who is new", "mints to Y, who is new", "sends to X, who is new"
	const commuting, chained = dispatcher.Commuting, dispatcher.Chained
	token, payments := madeBy(t, "token.json"), madeBy(t, "accounts.json")
	// account is that of an account update of a command.
	account := func(made map[string]json.RawMessage, command string, i int) (a tx.Account) {
		var c struct {
			AccountUpdates []struct {
				Body struct{ PublicKey, TokenID string }
			}
		}
		if err := json.Unmarshal(made[command], &c); err != nil {
			t.Fatal(err)
		}
		return tx.Account{Key: c.AccountUpdates[i].Body.PublicKey, Token: c.AccountUpdates[i].Body.TokenID}
	}
	holderX, holderY := account(token, mintsX, 4), account(token, mintsY, 4)
	paidX, paidY := account(payments, "pays X and Y, who are new", 1), account(payments, "pays X and Y, who are new", 2)
	other := account(payments, "pays another", 1)
	type accounts []tx.Account
	for _, tt := range []struct {
		made   map[string]json.RawMessage
		mode   dispatcher.Mode
		signed string
		ahead  []string
		absent accounts
		want   string
	}{
		{token, commuting, "sends to X", []string{mintsX}, accounts{holderX}, another},
		{token, commuting, "sends to X", []string{mintsX, "burns"}, accounts{holderX}, another},
		{token, commuting, "sends to X", []string{mintsX}, nil, ""},
		{token, commuting, "sends to X", []string{"burns"}, accounts{holderX}, unpaid},
		{token, chained, "sends to X", []string{mintsX}, accounts{holderX}, ""},
		{token, chained, "sends to X", []string{mintsX}, nil, loose},
		{token, chained, "sends to X", []string{mintsX, "sends to X"}, accounts{holderX}, loose},
		{token, chained, sendsX, []string{mintsX}, accounts{holderX}, twice},
		{token, commuting, sendsX, []string{mintsX}, accounts{holderX}, twice},
		{token, commuting, sendsX, []string{"burns"}, nil, twice},
		{token, commuting, sendsX, []string{"burns"}, accounts{holderX}, ""},
		{token, commuting, mintsY, []string{mintsX}, accounts{holderX, holderY}, ""},
		{token, commuting, mintsY, []string{mintsX}, accounts{holderX}, twice},
		{payments, commuting, "pays X and Y, who are new", []string{"pays another"}, accounts{paidX, paidY}, ""},
		{payments, commuting, "pays X and Y, who are new", []string{"pays another"}, accounts{paidX}, twice},
		{payments, commuting, "pays another", []string{"pays X, who is new"}, accounts{paidX}, ""},
		{payments, commuting, "pays another", []string{"pays X, who is new"}, accounts{paidX, other}, unpaid},
		{payments, chained, "pays another", []string{"pays another"}, accounts{other}, ""},
	} {
		var payer string
		if json.Unmarshal(tt.made["payer"], &payer) != nil {
			t.Fatal("nobody pays")
		}
		var ahead []json.RawMessage
		for _, name := range tt.ahead {
			ahead = append(ahead, tt.made[name])
		}
		absent, want := map[tx.Account]bool{}, tt.want
		for _, a := range tt.absent {
			absent[a] = true
			if a == holderX || a == other {
				want = strings.Replace(want, "NEW", a.Key, 1)
			}
		}
		got, err := dispatcher.Barrier(tt.mode, payer, ahead, tt.made[tt.signed], absent)
		if err != nil || got != want {
			t.Errorf("%v, %s behind %q, where %v are on no node: %q, %v, want %q",
				tt.mode, tt.signed, tt.ahead, tt.absent, got, err, want)
		}
	}
	// Of two that may be absent one is paid for: only the nodes know which of them that was.
	one := commandWith(gives(key, 1_000_000_000), on("B", "", ""), on("C", "", ""))
	behind := []json.RawMessage{commandWith(gives(key, 1_000_000_000), on("B", "", ""))}
	for who, want := range map[string]string{"B": twice, "C": ""} {
		absent := map[tx.Account]bool{{Key: who, Token: minaToken}: true}
		if got, err := dispatcher.Barrier(commuting, key, behind, one, absent); err != nil || got != want {
			t.Errorf("%s is absent: %q, %v, want %q", who, got, err, want)
		}
	}
}
