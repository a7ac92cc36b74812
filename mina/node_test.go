package mina

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mina-sequencer/sequencer/tx"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func class(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}

func TestNodeStatus(t *testing.T) {
	t.Parallel()
	d := newDaemon(chainOf(3)...)
	d.genesis = "2024-06-05 00:00:00.000000Z"
	got, err := d.node(t, 0).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Status{
		Sync: "SYNCED", NetworkID: "mina:testnet", StateHash: "3N-103", Height: 103, Highest: 1, TipSlot: 1003,
		K: 290, SlotTime: 90 * time.Second, SlotsPerEpoch: 7140, Genesis: time.Date(2024, 6, 5, 0, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	d.sync = "BOOTSTRAP"
	if got, err = d.node(t, 0).Status(t.Context()); err != nil || got.Synced() || got.Height != 0 {
		t.Errorf("while bootstrapping: %+v, %v", got, err)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 9, 3, 18, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-09-03T18:00:00Z", "2026-09-03 18:00:00.000000Z", "2026-09-03T10:00:00.000000-08:00", "1788458400000"} {
		if got := parseTime(text); !got.Equal(want) {
			t.Errorf("%q is %v", text, got)
		}
	}
	for _, text := range []string{"", "soon", "-1"} {
		if got := parseTime(text); !got.IsZero() {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestNodeBestChain(t *testing.T) {
	t.Parallel()
	d := newDaemon(chainOf(30)...)
	chain, err := d.node(t, 0).BestChain(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	var hashes []string
	for _, h := range chain {
		hashes = append(hashes, h.StateHash)
	}
	if diff := cmp.Diff([]string{"3N-127", "3N-128", "3N-129", "3N-130"}, hashes); diff != "" {
		t.Error(diff)
	}
	if tip := chain[3]; tip.Slot != 1030 || tip.Height != 130 || tip.PreviousStateHash != "3N-129" || tip.EpochSlot != 29 {
		t.Errorf("tip %+v", tip)
	}
	gap := chainOf(5)
	for name, blocks := range map[string][]Block{
		"none": {}, "gap": append(gap[:2:2], gap[3:]...), "backwards": {gap[1], gap[0]},
		"earlier slot": {gap[0], {Header: Header{StateHash: "x", PreviousStateHash: gap[0].StateHash, Height: 102, Slot: 1000}}},
		"no hash":      {{Header: Header{Height: 5}}},
	} {
		d.blocks = blocks
		if _, err := d.node(t, 0).BestChain(t.Context(), 10); class(err) != Transport {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.sync = "BOOTSTRAP"
	if _, err := d.node(t, 0).BestChain(t.Context(), 10); class(err) != Transport {
		t.Errorf("bootstrapping: %v", err)
	}
}

func TestNodeBlock(t *testing.T) {
	t.Parallel()
	commands := []Command{
		{Hash: hashOf("a"), Payer: keyA, Nonce: 7, Fee: 100_000_000, ValidUntil: 1040, Memo: memoOf(t, "a")},
		{
			Hash: hashOf("b"), Payer: keyB, Nonce: 1, Fee: 1 << 60, Memo: memoOf(t, "b"), Failed: true,
			Failures: []Failure{{2, []string{"Cancelled"}}, {1, []string{"Predicate"}}},
		},
		{Hash: hashOf("c"), Payer: keyA, Nonce: 8, Fee: 1, Payment: true},
	}
	blocks := grow(chainOf(3), "", commands...)
	d := newDaemon(blocks...)
	got, err := d.node(t, 0).Block(t.Context(), "3N-104")
	if err != nil {
		t.Fatal(err)
	}
	want := blocks[3]
	want.EpochSlot = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := d.node(t, 0).Block(t.Context(), "3N-999"); class(err) != Transport {
		t.Errorf("unknown block: %v", err)
	}
	d.raw = `{"data":{"k0":{"stateHash":"3N-104","transactions":null}}}`
	if _, err := d.node(t, 0).Block(t.Context(), "3N-104"); class(err) != Transport {
		t.Errorf("a block without its commands: %v", err)
	}
	d.raw = `{"data":{"block":{"stateHash":"another"}}}`
	if _, err := d.node(t, 0).Block(t.Context(), "3N-104"); class(err) != Transport {
		t.Errorf("another block: %v", err)
	}
}

func TestNodePoolAndAccounts(t *testing.T) {
	t.Parallel()
	d := newDaemon(chainOf(3)...)
	d.pool = []Command{{Hash: hashOf("a"), Payer: keyA, Nonce: 7}, {Hash: hashOf("b"), Payer: keyB, Nonce: 2}}
	d.accounts[keyA] = 7
	n, ctx := d.node(t, 0), t.Context()

	pooled, err := n.Pooled(ctx, []string{hashOf("a"), hashOf("z")})
	if diff := cmp.Diff(map[string]Command{hashOf("a"): d.pool[0]}, pooled); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if pooled, err := n.Pooled(ctx, nil); err != nil || len(pooled) != 0 || d.calls["pooledZkappCommands"] != 1 {
		t.Errorf("no hashes: %v, %v", pooled, err)
	}
	by, err := n.PooledBy(ctx, keyB, keyA)
	if diff := cmp.Diff(map[string][]Command{keyA: d.pool[:1], keyB: d.pool[1:]}, by); diff != "" || err != nil {
		t.Error(err, diff)
	}
	d.raw = `{"data":{"k0":[{"hash":"x","zkappCommand":{"feePayer":{"body":{"publicKey":"` + keyB + `"}}}}]}}`
	if by, err := n.PooledBy(ctx, keyA); err != nil || len(by) != 0 {
		t.Errorf("another's command is taken for the payer's: %v, %v", by, err)
	}
	d.raw = ""
	accounts, err := n.Accounts(ctx, []string{keyA, keyB})
	want := map[string]Account{
		keyA: {PublicKey: keyA, Exists: true, Nonce: 7, InferredNonce: 7, Balance: 5_000_000_000}, keyB: {PublicKey: keyB},
	}
	if diff := cmp.Diff(want, accounts); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for says, want := range map[string]Account{
		"50000000": {Balance: 50_000_000, Locked: 4_950_000_000}, "0": {Locked: 5_000_000_000}, "5000000000": {Balance: 5_000_000_000},
		"5000000001": {Balance: 5_000_000_000}, // it cannot spend more than it has
	} {
		d.liquid = says
		if got, err := n.Account(ctx, keyA); got.Balance != want.Balance || got.Locked != want.Locked || err != nil {
			t.Errorf("of 5 MINA it may spend %s: %+v, %v", says, got, err)
		}
	}
	d.liquid = nil
	if _, err := n.Account(ctx, `x"){nonce} evil: account(publicKey:"`); !errors.Is(err, ErrBase58Check) {
		t.Errorf("injection: %v", err)
	}
	if _, err := n.PooledBy(ctx, keyA+`"`); !errors.Is(err, ErrBase58Check) {
		t.Errorf("injection: %v", err)
	}
	ofToken := tx.Account{Key: keyA, Token: "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"}
	if got, err := n.Lacks(ctx, []tx.Account{ofToken, {Key: keyB, Token: ofToken.Token}}); len(got) != 1 || got[0].Key != keyB || err != nil {
		t.Errorf("of two accounts, of which one is there, it lacks %v, %v", got, err)
	}
	if _, err := n.Lacks(ctx, []tx.Account{{Key: keyA, Token: `"){nonce}`}}); !errors.Is(err, ErrBase58Check) {
		t.Errorf("injection: %v", err)
	}
	d.sync = "BOOTSTRAP"
	if _, err := n.Lacks(ctx, []tx.Account{ofToken}); !errors.Is(err, ErrNotSynced) {
		t.Errorf("bootstrapping: %v", err)
	}
	if _, err := n.Account(ctx, keyA); !errors.Is(err, ErrNotSynced) {
		t.Errorf("bootstrapping: %v", err)
	}
	d.sync = "SYNCED"
	for _, nothing := range []string{`{"data":null}`, `{"data":{}}`, `{}`, `{"data":{"k0":null,"pooledZkappCommands":null}}`} {
		d.raw = nothing
		if got, err := n.Pooled(ctx, []string{hashOf("a")}); class(err) != Transport {
			t.Errorf("%s is taken for an empty pool: %v, %v", nothing, got, err)
		}
		if got, err := n.PooledBy(ctx, keyA); class(err) != Transport {
			t.Errorf("%s is taken for an empty pool: %v, %v", nothing, got, err)
		}
	}
	d.raw = `{"data":{"syncStatus":"SYNCED"}}`
	if _, err := n.Account(ctx, keyA); class(err) != Transport {
		t.Errorf("no account in the answer: %v", err)
	}
	if _, err := n.Lacks(ctx, []tx.Account{ofToken}); class(err) != Transport {
		t.Errorf("no account in the answer: %v", err)
	}
}

func TestNodeSend(t *testing.T) {
	t.Parallel()
	const command = `{"feePayer":{"fee":1E400,"big":123456789012345678901234567890,"s":"<&>\u2028é\/"},"memo":-0.0}`
	d := newDaemon(chainOf(3)...)
	n := d.node(t, 0)
	hash, err := n.Send(t.Context(), json.RawMessage(command))
	if err != nil || hash != hashOf(command) {
		t.Errorf("%s, %v", hash, err)
	}
	if !strings.Contains(d.bodies[0], `{"input":{"zkappCommand":`+command+`}}`) {
		t.Errorf("sent %s", d.bodies[0])
	}
	for _, tt := range []struct {
		name  string
		set   func()
		class Class
		code  string
	}{
		{"refused", func() { d.refusal = `Couldn't send zkApp command: ["Invalid_nonce"]` }, Renonce, "Invalid_nonce"},
		{"evicted", func() { d.refusal = `Couldn't send zkApp command: ` }, RaiseFee, CodeEvicted},
		{"lost reply", func() { d.refusal = "lost" }, Transport, CodeNoAnswer},
		{"gateway", func() { d.status = 502 }, Transport, CodeNoAnswer},
		{"a command that it cannot read", func() { d.status = 500 }, Transport, CodeGateway},
		{"not JSON", func() { d.status, d.raw = 0, "<html>" }, Transport, CodeNoAnswer},
		{"no data", func() { d.raw = `{"data":{"sendZkapp":null}}` }, Transport, CodeNoAnswer},
		{"data of another shape", func() { d.raw = `{"data":[]}` }, Transport, CodeNoAnswer},
		{"empty", func() { d.raw = `{}` }, Transport, CodeNoAnswer},
		{"a gateway's words", func() { d.raw = `{"errors":[{"message":"upstream timeout"}]}` }, Transport, CodeGateway},
		{"and no data", func() { d.raw = `{"data":null,"errors":[{"message":"upstream timeout"}]}` }, Transport, CodeGateway},
		{"an error of its own form", func() { d.raw = `{"errors":"upstream timeout"}` }, Transport, CodeNoAnswer},
		{"among Mina's", func() {
			d.raw = `{"errors":[{"message":"Couldn't send zkApp command: Insufficient fee"},{"message":"upstream timeout"}]}`
		}, Transport, CodeGateway},
		{"partial data", func() {
			d.raw = `{"data":{"sendZkapp":{"zkapp":null}},"errors":[{"message":"Couldn't send zkApp command: Insufficient fee"}]}`
		}, Transport, CodeNoAnswer},
		{"cut short", func() { d.raw = `{"data":{"sendZkapp":{"zkapp":{"ha` }, Transport, CodeNoAnswer},
		{"Mina's words from a gateway", func() {
			d.raw, d.status = "", 502
			d.refusal = "Couldn't send zkApp command: Insufficient fee"
		}, Transport, CodeNoAnswer},
	} {
		tt.set()
		_, err := n.Send(t.Context(), json.RawMessage(command))
		if e, ok := errors.AsType[*Error](err); !ok || e.Class != tt.class || e.Code != tt.code || e.Node != "node-0:3085" {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells a secret: %v", tt.name, err)
		}
	}
	d.status = 0
	// A hash is an acceptance, even if the node failed to answer in full.
	d.raw = `{"data":{"sendZkapp":{"zkapp":{"hash":"5J"}}},"errors":[{"message":"x"}]}`
	if hash, err := n.Send(t.Context(), json.RawMessage(command)); hash != "5J" || err != nil {
		t.Errorf("%s, %v", hash, err)
	}
	calls := d.calls["sendZkapp"]
	for _, bad := range []string{"", "[]", `"x"`, "{", `{} {}`, `{"x":"` + strings.Repeat("a", maxCommand) + `"}`} {
		if _, err := n.Send(t.Context(), json.RawMessage(bad)); class(err) != Permanent {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if d.calls["sendZkapp"] != calls {
		t.Error("a malformed command was sent")
	}
}

func TestNodeTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(chainOf(3)...)
		d.hang = true
		start := time.Now()
		_, err := d.node(t, 0).Send(context.Background(), json.RawMessage(`{}`))
		if class(err) != Transport || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestNodeHTTP(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	var seen *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/switch":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		case "/long":
			_, _ = io.WriteString(w, `{"data":"`+strings.Repeat("x", 2000)+`"}`)
		}
	}))
	defer srv.Close()
	for path, want := range map[string]string{"/redirect": "307", "/switch": "101", "/long": "too long", "/empty": "reading the answer"} {
		_, err := NewNode(srv.URL+path, NodeOptions{MaxAnswer: 1000}).Status(t.Context())
		if class(err) != Transport || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if elsewhere != 0 {
		t.Error("a redirect was followed")
	}
	if seen.Method != http.MethodPost || seen.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %v", seen.Method, seen.Header)
	}
	for _, address := range []string{"http://127.0.0.1:1/?key=secret", "", "::", "ftp://x"} {
		_, err := NewNode(address, NodeOptions{}).Status(t.Context())
		if class(err) != Transport || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// FuzzNode gives any answer to every question.
func FuzzNode(f *testing.F) {
	for _, s := range []string{
		``, `null`, `[]`, `{"data":null,"errors":[{"message":"x"}]}`, `{"data":{"syncStatus":"SYNCED","daemonStatus":{}}}`,
		`{"data":{"syncStatus":"SYNCED","daemonStatus":{"blockchainLength":"7"},"k0":{"nonce":"1"}}}`,
		`{"data":{"bestChain":[{"stateHash":"a","protocolState":{"consensusState":{"blockHeight":"4294967295"}}},{"stateHash":"b"}]}}`,
		`{"data":{"block":{"stateHash":"h","transactions":{"zkappCommands":[{"hash":"x","failureReason":[{"index":"-1"}]}]}}}}`,
		`{"data":{"pooledZkappCommands":[{"zkappCommand":null}],"k0":[{}]}}`,
		`{"data":{"sendZkapp":{"zkapp":null}}}`,
		// One answer for all questions of a poll.
		`{"data":{"syncStatus":"SYNCED","networkID":"n","daemonStatus":{"blockchainLength":2,"stateHash":"h","consensusConfiguration":{"k":4294967295,"slotDuration":1,"slotsPerEpoch":4294967295,"genesisStateTimestamp":"1"}},
		"bestChain":[{"stateHash":"h","protocolState":{"previousStateHash":"g","consensusState":{"blockHeight":"2","slotSinceGenesis":"4294967295"}}}],
		"block":{"stateHash":"h","protocolState":{"previousStateHash":"g","consensusState":{"blockHeight":"2","slotSinceGenesis":"4294967295"}},"transactions":{"zkappCommands":[{"hash":"x","zkappCommand":{"feePayer":{"body":{"publicKey":"` + keyA + `","nonce":"4294967295"}}}}]}},
		"pooledZkappCommands":[],"k0":null}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		d := newDaemon()
		d.raw = answer + " "
		n, ctx := d.node(t, 0), t.Context()
		_, _ = n.Status(ctx)
		if chain, err := n.BestChain(ctx, 10); err == nil && (len(chain) == 0 || len(chain) > 10) {
			t.Errorf("a chain of %d", len(chain))
		}
		if b, err := n.Block(ctx, "h"); err == nil && b.StateHash != "h" {
			t.Errorf("block %q", b.StateHash)
		}
		_, _ = n.Pooled(ctx, []string{"h"})
		_, _ = n.PooledBy(ctx, keyA)
		_, _ = n.Account(ctx, keyA)
		if hash, err := n.Send(ctx, json.RawMessage(`{}`)); (hash == "") == (err == nil) {
			t.Errorf("%q, %v", hash, err)
		}
		tr := NewTracker(TrackerOptions{Nodes: []*Node{n}})
		tr.Watch("a", tx.Watch{Payer: keyA, Hashes: []string{hashOf("a")}})
		tr.Watch("b", tx.Watch{Payer: keyA, Legacy: true})
		tr.Poll(ctx)
		tr.Poll(ctx)
		if s := tr.Sighting("a"); s.Agreed && s.Fate == tx.FateUnknown {
			t.Error(fmt.Sprint(s))
		}
	})
}
