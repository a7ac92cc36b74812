package devnet_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

// inline writes a command as a GraphQL literal, as o1js does: keys unquoted.
func inline(t *testing.T, command json.RawMessage) string {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, command, "", "  "); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"(\S+)"\s*:`).ReplaceAllString(indented.String(), "$1:")
}

// o1jsSend is the mutation of o1js with everything inlined.
func o1jsSend(t *testing.T, command json.RawMessage) string {
	return `mutation {
  sendZkapp(input: {
    zkappCommand: ` + inline(t, command) + `
  }) {
    zkapp {
      hash
      id
      failureReason {
        failures
        index
      }
      zkappCommand {
        memo
        feePayer {
          body {
            publicKey
          }
        }
        accountUpdates {
          body {
            publicKey
            useFullCommitment
            incrementNonce
          }
        }
      }
    }
  }
}`
}

func TestSendBothStyles(t *testing.T) {
	t.Parallel()
	command := build(t, with(plan(0, 5), func(p *devnet.Plan) {
		p.ValidUntil = 77
		p.Updates = []devnet.Update{{Account: devnet.Key(1), Set: map[int]string{0: "340282366920938463463374607431768211456"}}}
	}))
	want, err := devnet.Hash(command)
	if err != nil {
		t.Fatal(err)
	}
	n := network(t, nil)
	inlined := ask(t, n.Node(0), o1jsSend(t, command), map[string]any{})
	if inlined.Error != "" || inlined.at("sendZkapp", "zkapp", "hash") != want {
		t.Fatalf("inlined: %s, want hash %s", inlined.raw, want)
	}
	if got := inlined.at("sendZkapp", "zkapp", "failureReason"); got != nil {
		t.Errorf("failureReason %v, want null", got)
	}
	body := inlined.at("sendZkapp", "zkapp", "zkappCommand", "accountUpdates", 0, "body")
	if diff := cmp.Diff(map[string]any{"publicKey": devnet.Key(1), "useFullCommitment": true, "incrementNonce": false}, body); diff != "" {
		t.Errorf("account update (-want +got):\n%s", diff)
	}
	hash, refusal := send(t, n.Node(0), command)
	if refusal != "" || hash != want {
		t.Errorf("as variable: hash %s, error %q; want %s", hash, refusal, want)
	}
	if len(n.Node(0).Pooled()) != 1 {
		t.Errorf("pool %v, want one command", n.Node(0).Pooled())
	}
	for name, query := range map[string]string{
		"command as variable":   `mutation($c: ZkappCommandInput!) { sendZkapp(input: {zkappCommand: $c}) { zkapp { hash } } }`,
		"unknown variable type": `mutation($c: Nonsense!) { sendZkapp(input: {zkappCommand: $c}) { zkapp { hash } } }`,
	} {
		r := ask(t, n.Node(0), query, map[string]any{"c": command})
		if ok := r.at("sendZkapp", "zkapp", "hash") == want; ok != (name == "command as variable") {
			t.Errorf("%s: %s", name, r.raw)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	command := build(t, plan(0, 5))
	want, err := devnet.Hash(command)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(want, "5J") || len(want) != 52 {
		t.Errorf("hash %q has not the form of a transaction hash", want)
	}
	edit := func(old, with string) json.RawMessage {
		if !bytes.Contains(command, []byte(old)) {
			t.Fatalf("%s does not contain %s", command, old)
		}
		return bytes.Replace(command, []byte(old), []byte(with), 1)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, command, "", "    "); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		command json.RawMessage
		same    bool
	}{
		{"spaced", spaced.Bytes(), true},
		{"absent for null", edit(`"validUntil":null`, `"validUntil":"4294967295"`), true},
		{"fee", edit(`"fee":"100000000"`, `"fee":"100000001"`), false},
		{"nonce", edit(`"nonce":"5"`, `"nonce":"6"`), false},
		{"validUntil", edit(`"validUntil":null`, `"validUntil":"9"`), false},
		{"authorization of an update", edit(`"signature":"7m`, `"signature":"7n`), true},
		{"authorization of the payer", edit(`"authorization":"7m`, `"authorization":"7n`), true},
		{"body of an update", edit(`"callDepth":0`, `"callDepth":1`), false},
		{"memo", build(t, with(plan(0, 5), func(p *devnet.Plan) { p.Memo = "hellO" })), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := devnet.Hash(tt.command)
			if err != nil || (got == want) != tt.same {
				t.Errorf("hash %s, %v; first %s", got, err, want)
			}
		})
	}
}

// The queries below are those that o1js sends, field by field.
func TestO1jsQueries(t *testing.T) {
	t.Parallel()
	genesis := time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
	n := network(t, func(c *devnet.Config) {
		c.Genesis = genesis
		c.SlotTime = 90 * time.Second
		c.Accounts[devnet.Key(1)] = devnet.Account{Balance: 7, State: []string{"11"}}
		c.Accounts[devnet.Key(2)] = devnet.Account{Balance: 7, Locked: 5}
	})
	n.FailNext("", 1, "Account_app_state_0_precondition_unsatisfied")
	sent := ask(t, n.Node(0), o1jsSend(t, build(t, plan(0, 5))), nil)
	n.MakeBlock()
	account := func(key string) string {
		return `{ account(publicKey: "` + key + `", token: "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf") {
    publicKey token nonce balance { total liquid locked } tokenSymbol receiptChainHash
    timing { initialMinimumBalance cliffTime cliffAmount vestingPeriod vestingIncrement }
    permissions { editState access send receive setDelegate setPermissions setVerificationKey { auth txnVersion } setZkappUri
      editActionState setTokenSymbol incrementNonce setVotingFor setTiming }
    delegateAccount { publicKey } votingFor zkappState verificationKey { verificationKey hash } actionState provedState zkappUri } }`
	}
	const epoch = `{ ledger { hash totalCurrency } seed startCheckpoint lockCheckpoint epochLength }`
	tests := []struct {
		name, query string
		path        []any
		want        any
	}{
		{"plain account", account(devnet.Key(0)), []any{"account", "nonce"}, "6"},
		{"plain account has no state", account(devnet.Key(0)), []any{"account", "zkappState"}, nil},
		{"permissions", account(devnet.Key(0)), []any{"account", "permissions", "setVerificationKey"}, map[string]any{"auth": "Signature", "txnVersion": "4"}},
		{"zkApp account", account(devnet.Key(1)), []any{"account", "zkappState"}, append([]any{"11"}, slices.Repeat([]any{"0"}, 31)...)},
		{"balance", account(devnet.Key(1)), []any{"account", "balance", "total"}, "7"},
		{"locked", account(devnet.Key(2)), []any{"account", "balance"}, map[string]any{"total": "7", "liquid": "2", "locked": "5"}},
		{"timing", account(devnet.Key(2)), []any{"account", "timing"}, map[string]any{"initialMinimumBalance": "5",
			"cliffTime": "4294967295", "cliffAmount": "5", "vestingPeriod": "1", "vestingIncrement": "0"}},
		{"no timing", account(devnet.Key(1)), []any{"account", "timing", "cliffTime"}, nil},
		{"no account", account(devnet.Key(60)), []any{"account"}, nil},
		{"last block", `{ bestChain(maxLength: 1) { protocolState {
			blockchainState { snarkedLedgerHash stagedLedgerHash date utcDate stagedLedgerProofEmitted } previousStateHash
			consensusState { blockHeight slotSinceGenesis slot nextEpochData ` + epoch + ` stakingEpochData ` + epoch + `
			epochCount minWindowDensity totalCurrency epoch } } } }`,
			[]any{"bestChain", 0, "protocolState", "consensusState", "blockHeight"}, "2"},
		{"wait", `{ bestChain(maxLength: 20) { transactions { zkappCommands { hash failureReason { failures index } } }
			stateHash protocolState { consensusState { blockHeight epoch slotSinceGenesis } previousStateHash } } }`,
			[]any{"bestChain", -1, "transactions", "zkappCommands", 0, "failureReason"},
			[]any{map[string]any{"index": "1", "failures": []any{"Account_app_state_0_precondition_unsatisfied"}}}},
		{"transaction status", `{ transactionStatus(zkappTransaction: "` + sent.at("sendZkapp", "zkapp", "id").(string) + `") }`,
			[]any{"transactionStatus"}, "INCLUDED"},
		{"slot", `{ bestChain(maxLength: 1) { protocolState { consensusState { slot slotSinceGenesis } } } }`,
			[]any{"bestChain", 0, "protocolState", "consensusState", "slot"}, strconv.Itoa(int(n.Effects()[0].Slot % 7140))},
		{"genesis constants", `{ genesisConstants { genesisTimestamp coinbase accountCreationFee } daemonStatus {
			consensusConfiguration { epochDuration k slotDuration slotsPerEpoch } } }`,
			[]any{"daemonStatus", "consensusConfiguration"},
			map[string]any{"epochDuration": 642600000.0, "k": 290.0, "slotDuration": 90000.0, "slotsPerEpoch": 7140.0}},
		{"genesis time", `{ genesisConstants { genesisTimestamp } }`, []any{"genesisConstants", "genesisTimestamp"}, "2026-09-03T04:00:00.000000-08:00"},
		{"network", `{ networkID signatureKind syncStatus version }`, []any{"networkID"}, "mina:testnet"},
		{"sync", `{ networkID signatureKind syncStatus version }`, []any{"syncStatus"}, "SYNCED"},
		{"status", `{ daemonStatus { syncStatus blockchainLength highestBlockLengthReceived stateHash chainId commitId uptimeSecs peers { peerId }
			globalSlotSinceGenesisBestTip consensusTimeNow { epoch slot globalSlot startTime endTime }
			consensusConfiguration { delta k slotsPerEpoch slotDuration epochDuration genesisStateTimestamp acceptableNetworkDelay }
			metrics { transactionPoolSize transactionsAddedToPool } } }`, []any{"daemonStatus", "blockchainLength"}, 2.0},
		{"block by height", `{ block(height: 1) { protocolState { consensusState { blockHeight } } } }`,
			[]any{"block", "protocolState", "consensusState", "blockHeight"}, "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, n.Node(0), tt.query, nil)
			if r.Error != "" {
				t.Fatalf("error %q", r.Error)
			}
			if diff := cmp.Diff(tt.want, r.at(tt.path...)); diff != "" {
				t.Errorf("%v (-want +got):\n%s\nof %s", tt.path, diff, r.raw)
			}
		})
	}
}

func TestBestChainOrder(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.K = 5 })
	for range 9 {
		n.MakeBlock()
	}
	const query = `query($n: Int) { bestChain(maxLength: $n) { stateHash protocolState { previousStateHash consensusState { blockHeight } } } }`
	for length, want := range map[any][2]any{nil: {"5", 6}, 3: {"8", 3}, 100: {"5", 6}, 0: {nil, 0}} {
		r := ask(t, n.Node(0), query, map[string]any{"n": length})
		chain := r.at("bestChain").([]any)
		if len(chain) != want[1] || r.at("bestChain", 0, "protocolState", "consensusState", "blockHeight") != want[0] {
			t.Errorf("maxLength %v: %s, want %v blocks from height %v", length, r.raw, want[1], want[0])
		}
		for i := 1; i < len(chain); i++ {
			if r.at("bestChain", i, "protocolState", "previousStateHash") != r.at("bestChain", i-1, "stateHash") {
				t.Errorf("block %d does not follow the one before", i)
			}
		}
	}
	if r := ask(t, n.Node(0), `{ block(height: 4) { stateHash } }`, nil); r.Error == "" || r.Data != nil {
		t.Errorf("a block below the frontier: %s", r.raw)
	}
}

func TestRequestErrors(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	tests := []struct {
		name, body string
		status     int
		message    string // part of the error
	}{
		{"no JSON", `{`, 400, ""},
		{"no query", `{"variables":{}}`, 400, ""},
		{"null query", `{"query":null}`, 400, ""},
		{"deep", `{"query":"` + strings.Repeat("{a", 100) + `"}`, 400, ""},
		{"syntax", `{"query":"{ syncStatus"}`, 200, "syntax error"},
		{"unknown field", `{"query":"{ nonsense }"}`, 200, "nonsense"},
		{"unknown input field", `{"query":"mutation { sendPayment(input: {from: \"a\", to: \"b\", amount: \"1\", fee: \"1\", x: 1}) { payment { id } } }"}`, 200, "x"},
		{"bad key", `{"query":"{ account(publicKey: \"B62x\") { nonce } }"}`, 200, "public key"},
		{"huge literal", `{"query":"{ account(publicKey: 99999999999999999999) { nonce } }"}`, 200, "Argument error"},
		{"neither hash nor height", `{"query":"{ block { stateHash } }"}`, 200, "exactly one"},
		{"bad id", `{"query":"{ transactionStatus(zkappTransaction: \"???\") }"}`, 200, "id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := post(t, n.Node(0), []byte(tt.body))
			if r.Status != tt.status || tt.status == 200 && (r.Error == "" || !strings.Contains(r.Error, tt.message) || !strings.Contains(r.raw, `"data":`)) {
				t.Errorf("status %d, %s; want status %d and an error with %q", r.Status, r.raw, tt.status, tt.message)
			}
		})
	}
	t.Run("refused send", func(t *testing.T) {
		t.Parallel()
		r := ask(t, n.Node(0), o1jsSend(t, build(t, plan(0, 9))), nil)
		if want := `{"errors":[{"message":"Couldn't send zkApp command: [\"Invalid_nonce\"]","path":["sendZkapp"]}],"data":null}`; strings.TrimSpace(r.raw) != want {
			t.Errorf("got  %s\nwant %s", r.raw, want)
		}
	})
	t.Run("command that misses a field", func(t *testing.T) {
		t.Parallel()
		command := bytes.Replace(build(t, plan(0, 5)), []byte(`"callDepth":0,`), nil, 1)
		if _, refusal := send(t, n.Node(0), command); !strings.Contains(refusal, "callDepth") {
			t.Errorf("error %q", refusal)
		}
	})
}

func TestPayments(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	pay := func(to string, amount string, nonce any) reply {
		return ask(t, n.Node(0), `mutation($i: SendPaymentInput!) { sendPayment(input: $i, signature: {rawSignature: "00"}) {
			payment { id hash kind nonce memo amount fee source { publicKey } receiver { publicKey } failureReason } } }`,
			map[string]any{"i": map[string]any{"from": devnet.Key(0), "to": to, "amount": amount, "fee": "10000000", "memo": "hello", "nonce": nonce}})
	}
	first := pay(devnet.Key(1), "5000000000", nil)
	if first.at("sendPayment", "payment", "nonce") != 5.0 || first.at("sendPayment", "payment", "memo") != "E4YXYczkh3RDn4ayEo5fLXQf3U1mZyAVtadozsT41ftMqkqsJxvdM" {
		t.Fatalf("payment %s", first.raw)
	}
	if second := pay(devnet.Key(44), "999999999", "6"); second.Error != "" {
		t.Fatalf("payment %s", second.raw)
	}
	if gap := pay(devnet.Key(1), "1", "9"); !strings.Contains(gap.Error, "Input nonce 9") {
		t.Errorf("gap: %s", gap.raw)
	}
	if poor := pay(devnet.Key(1), "95000000000", nil); poor.Error != `Couldn't send user command: ["Insufficient_funds"]` {
		t.Errorf("funds: %s", poor.raw)
	}
	n.MakeBlock()
	r := ask(t, n.Node(0), `{ bestChain(maxLength: 1) { transactions { zkappCommands { hash } userCommands { hash nonce failureReason } } } }`, nil)
	commands := []any{"bestChain", 0, "transactions", "userCommands"}
	if r.at(append(commands, 0, "failureReason")...) != nil || r.at(append(commands, 1, "failureReason")...) != "Amount_insufficient_to_create_account" {
		t.Errorf("block %s", r.raw)
	}
	payer, _ := n.Account(devnet.Key(0))
	receiver, _ := n.Account(devnet.Key(1))
	if payer.Balance != 100e9-5e9-2*1e7 || payer.Nonce != 7 || receiver.Balance != 105e9 {
		t.Errorf("payer %+v, receiver %+v", payer, receiver)
	}
	id := first.at("sendPayment", "payment", "id")
	if s := ask(t, n.Node(0), `query($i: ID) { transactionStatus(payment: $i) }`, map[string]any{"i": id}); s.at("transactionStatus") != "INCLUDED" {
		t.Errorf("status %s", s.raw)
	}
}

func TestTransactionStatus(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	sent := ask(t, n.Node(0), sendQuery, map[string]any{"input": map[string]any{"zkappCommand": build(t, plan(0, 5))}})
	status := func() any {
		return ask(t, n.Node(0), `query($i: ID) { transactionStatus(zkappTransaction: $i) }`,
			map[string]any{"i": sent.at("sendZkapp", "zkapp", "id")}).at("transactionStatus")
	}
	hash := sent.at("sendZkapp", "zkapp", "hash").(string)
	if got := status(); got != "PENDING" {
		t.Errorf("pooled: %v", got)
	}
	n.Drop(hash)
	if got := status(); got != "UNKNOWN" {
		t.Errorf("dropped: %v", got)
	}
	mustSend(t, n.Node(0), plan(0, 5))
	n.MakeBlock()
	if got := status(); got != "INCLUDED" {
		t.Errorf("included: %v", got)
	}
	if err := n.Reorg(devnet.Reorg{Depth: 1, Empty: true}); err != nil {
		t.Fatal(err)
	}
	n.Drop(hash)
	if got := status(); got != "PENDING" {
		t.Errorf("in a fork block only: %v", got)
	}
}

func TestInferredNonce(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	mustSend(t, n.Node(0), plan(0, 5))
	mustSend(t, n.Node(0), plan(0, 6))
	r := ask(t, n.Node(0), `{ a: account(publicKey: "`+devnet.Key(0)+`") { nonce inferredNonce } b: account(publicKey: "`+devnet.Key(1)+`") { inferredNonce } }`, nil)
	if r.at("a", "nonce") != "5" || r.at("a", "inferredNonce") != "7" || r.at("b", "inferredNonce") != "5" {
		t.Errorf("accounts %s", r.raw)
	}
}

func FuzzGraphQL(f *testing.F) {
	f.Add([]byte(`{"query":"{ syncStatus }"}`))
	f.Add([]byte(`{"query":"query($n: Int) { bestChain(maxLength: $n) { stateHash } }","variables":{"n":-1}}`))
	f.Add([]byte(`{"query":"{ account(publicKey: {a: [1, null]}) { nonce } }"}`))
	f.Add([]byte(`{"query":"mutation { sendZkapp(input: {zkappCommand: {memo: 1}}) { zkapp { id } } }"}`))
	if command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(0), Nonce: 5, Fee: fee}); err == nil {
		body, _ := json.Marshal(map[string]any{"query": sendQuery, "variables": map[string]any{"input": map[string]any{"zkappCommand": command}}})
		f.Add(body)
	}
	n, err := devnet.New(devnet.Config{FundAll: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		n.Node(0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body)))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d", w.Code)
		}
		if w.Code == http.StatusOK && !json.Valid(w.Body.Bytes()) {
			t.Errorf("answer %q", w.Body)
		}
		n.MakeBlock()
	})
}

func FuzzHash(f *testing.F) {
	if command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(0), Nonce: 5, Fee: fee}); err == nil {
		f.Add([]byte(command))
	}
	f.Add([]byte(`{"feePayer":{"body":{}},"accountUpdates":[{"body":{"update":[]}}]}`))
	f.Fuzz(func(t *testing.T, command []byte) {
		first, err := devnet.Hash(command)
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, command); err != nil {
			return // more than one value
		}
		if again, err := devnet.Hash(compact.Bytes()); err != nil || again != first {
			t.Errorf("hash %s, then %s, %v", first, again, err)
		}
	})
}
