package devnet_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/mina/devnet"
)

// control posts to a node's control endpoint and returns status and answer.
func control(t *testing.T, d *devnet.Node, name, body string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/control/"+name, strings.NewReader(body)))
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: answer %q: %v", name, w.Body, err)
	}
	return w.Code, answer
}

func TestControl(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	d := n.Node(0)
	must := func(name, body string) map[string]any {
		t.Helper()
		status, answer := control(t, d, name, body)
		if status != http.StatusOK {
			t.Fatalf("%s %s: %v", name, body, answer)
		}
		return answer
	}
	hash := mustSend(t, d, plan(0, 5))
	if s := must("drop", `{"hash":"`+hash+`"}`); s["pool"] != 0.0 {
		t.Errorf("drop: %v", s)
	}
	mustSend(t, d, plan(0, 5))
	if s := must("clear-pool", ""); s["pool"] != 0.0 {
		t.Errorf("clear-pool: %v", s)
	}
	mustSend(t, d, plan(0, 5))
	must("fail-next", `{"payer":"`+devnet.Key(0)+`","reasons":["Overflow"]}`)
	if s := must("block", ""); s["height"] != 2.0 {
		t.Errorf("block: %v", s)
	}
	if s := must("step", ""); s["height"] != 3.0 {
		t.Errorf("step: %v", s)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/control/effects?from=2", nil))
	var got struct{ Effects []devnet.Effect }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(n.Effects(), got.Effects); diff != "" || len(got.Effects) != 1 || got.Effects[0].OK {
		t.Errorf("effects %+v (-want +got):\n%s", got, diff)
	}
	if s := must("reorg", `{"depth":2,"exclude":["`+hash+`"]}`); s["height"] != 4.0 || s["pool"] != 1.0 {
		t.Errorf("reorg: %v", s)
	}
	must("lag", "3")
	must("faults", `{"sync":"CATCHUP"}`)
	if diff := cmp.Diff(devnet.Faults{Lag: 3, Sync: "CATCHUP"}, d.Faults()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	must("heal", "")
	if diff := cmp.Diff(devnet.Faults{}, d.Faults()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for _, bad := range [][2]string{
		{"nonsense", "1"}, {"lag", "x"}, {"lag", `"1"`}, {"sync", `"DOWN"`}, {"status", "99"}, {"reorg", `{"depth":50}`},
		{"reorg", `{"dept":1}`}, {"drop", `{"hash":"5J"}`}, {"fail-next", "{}"}, {"loseReplies", "-1"}, {"delayMs", "-1"}, {"loseRequests", "-1"},
	} {
		status, answer := control(t, d, bad[0], bad[1])
		if text, _ := answer["error"].(string); status != http.StatusBadRequest || text == "" {
			t.Errorf("%v: status %d, %v", bad, status, answer)
		}
	}
}

func TestNetworkServesEveryNode(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.Nodes = 3 })
	isolate(t, n.Node(2), true)
	n.Node(2).MakeBlock()
	for path, want := range map[string]string{
		"/control/state": `"node":0`, "/nodes/0/control/state": `"node":0`, "/nodes/1/control/state": `"node":1`, "/nodes/2/control/state": `"height":2`,
	} {
		w := httptest.NewRecorder()
		n.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s, want %s", path, w.Body, want)
		}
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/nodes/3/graphql", strings.NewReader(`{"query":"{ syncStatus }"}`)))
	if w.Code != http.StatusNotFound {
		t.Errorf("a node that is none: status %d", w.Code)
	}
	// A block of an isolated node is unknown to the others.
	query := `{ block(stateHash: "` + n.Node(2).State().StateHash + `") { stateHash } }`
	if own, other := ask(t, n.Node(2), query, nil), ask(t, n.Node(0), query, nil); own.Error != "" || other.Error == "" {
		t.Errorf("own %s, other %s", own.raw, other.raw)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	command := func(t *testing.T) json.RawMessage { return build(t, plan(0, 5)) }
	tests := []struct {
		name   string
		faults devnet.Faults
		check  func(t *testing.T, n *devnet.Network)
	}{
		{"bootstrap", devnet.Faults{Sync: "BOOTSTRAP"}, func(t *testing.T, n *devnet.Network) {
			d := n.Node(0)
			if r := ask(t, d, `{ syncStatus account(publicKey: "`+devnet.Key(0)+`") { nonce } daemonStatus { blockchainLength stateHash } }`, nil); r.at("syncStatus") != "BOOTSTRAP" ||
				r.at("account") != nil || r.at("daemonStatus", "blockchainLength") != nil || r.Error != "" {
				t.Errorf("status %s", r.raw)
			}
			r := ask(t, d, `{ bestChain(maxLength: 3) { stateHash } }`, nil)
			if r.Error != "Could not obtain best chain from transition frontier" || !strings.Contains(r.raw, `"data":{"bestChain":null}`) {
				t.Errorf("chain %s", r.raw)
			}
			if _, refusal := send(t, d, command(t)); refusal != "Daemon is bootstrapping" {
				t.Errorf("send: %q", refusal)
			}
		}},
		{"catching up still answers", devnet.Faults{Sync: "CATCHUP"}, func(t *testing.T, n *devnet.Network) {
			if r := ask(t, n.Node(0), `{ syncStatus bestChain { stateHash } }`, nil); r.Error != "" || r.at("syncStatus") != "CATCHUP" {
				t.Errorf("chain %s", r.raw)
			}
		}},
		{"status", devnet.Faults{Status: 503}, func(t *testing.T, n *devnet.Network) {
			if r := ask(t, n.Node(0), `{ syncStatus }`, nil); r.Status != 503 {
				t.Errorf("status %d", r.Status)
			}
		}},
		{"another network", devnet.Faults{NetworkID: "mainnet"}, func(t *testing.T, n *devnet.Network) {
			if r := ask(t, n.Node(0), `{ networkID signatureKind }`, nil); r.at("networkID") != "mina:mainnet" || r.at("signatureKind") != "mainnet" {
				t.Errorf("network %s", r.raw)
			}
		}},
		{"overloaded for a while", devnet.Faults{Refuse: `["Overloaded"]`, RefuseNext: 2}, func(t *testing.T, n *devnet.Network) {
			for i, want := range []string{`Couldn't send zkApp command: ["Overloaded"]`, `Couldn't send zkApp command: ["Overloaded"]`, ""} {
				if _, refusal := send(t, n.Node(0), command(t)); refusal != want {
					t.Errorf("send %d: %q, want %q", i, refusal, want)
				}
			}
		}},
		{"lost reply as a status", devnet.Faults{LoseReplies: 1, LoseStatus: 502}, func(t *testing.T, n *devnet.Network) {
			body := map[string]any{"input": map[string]any{"zkappCommand": command(t)}}
			if r := ask(t, n.Node(0), `{ syncStatus }`, nil); r.Status != 200 {
				t.Errorf("a query: status %d", r.Status)
			}
			if r := ask(t, n.Node(0), sendQuery, body); r.Status != 502 {
				t.Errorf("send: status %d", r.Status)
			}
			if len(n.Node(0).Pooled()) != 1 {
				t.Error("the command has to be in the pool")
			}
			if r := ask(t, n.Node(0), sendQuery, body); r.Status != 200 || r.Error != "" {
				t.Errorf("again: status %d, %s", r.Status, r.raw)
			}
		}},
		{"a gateway's words", devnet.Faults{}, func(t *testing.T, n *devnet.Network) {
			for i, words := range devnet.GatewayWords() {
				d, status := n.Node(0), []int{200, 499}[i%2]
				body := map[string]any{"input": map[string]any{"zkappCommand": build(t, plan(0, uint32(5+i)))}}
				if err := d.SetFaults(devnet.Faults{LoseRequests: 1, LoseReplies: 1, LoseStatus: status, LoseBody: words}); err != nil {
					t.Fatal(err)
				}
				for _, pooled := range []int{i, i + 1} { // first before the daemon has it, then after
					if r := tell(t, d, sendQuery, body); r.Code != status || words != "" && r.Body.String() != words || len(d.Pooled()) != pooled {
						t.Errorf("%d %q with %d commands in the pool; want %d %q with %d", r.Code, r.Body, len(d.Pooled()), status, words, pooled)
					}
				}
				if r := ask(t, d, sendQuery, body); r.Status != 200 || r.Error != "" {
					t.Errorf("afterwards: status %d, %s", r.Status, r.raw)
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := network(t, nil)
			if err := n.Node(0).SetFaults(tt.faults); err != nil {
				t.Fatal(err)
			}
			tt.check(t, n)
		})
	}
}

// pipe is a listener without sockets, so that a server runs inside a bubble.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipe) Close() error   { close(p.done); return nil }
func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// serve starts an HTTP server for a node and returns a client of it.
func serve(t *testing.T, d *devnet.Node) *http.Client {
	t.Helper()
	p := &pipe{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(p) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		p.conns <- conn
		return client, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Errorf("closing server: %v", err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving: %v", err)
		}
	})
	return &http.Client{Transport: transport}
}

func TestHangAndLostReplyOverHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := network(t, nil)
		d := n.Node(0)
		client := serve(t, d)
		request := func(timeout time.Duration, query string) error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			body, err := json.Marshal(map[string]string{"query": query})
			if err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/graphql", strings.NewReader(string(body)))
			if err != nil {
				return err
			}
			answer, err := client.Do(r)
			if err != nil {
				return err
			}
			return answer.Body.Close()
		}
		if err := d.SetFaults(devnet.Faults{Hang: true}); err != nil {
			t.Fatal(err)
		}
		if err := request(30*time.Second, `{ syncStatus }`); err == nil {
			t.Error("a hanging node answered")
		}
		begun := time.Now()
		released := make(chan error, 1)
		go func() { released <- request(time.Hour, `{ syncStatus }`) }()
		<-time.After(10 * time.Minute)
		if err := d.SetFaults(devnet.Faults{}); err != nil {
			t.Fatal(err)
		}
		if err := <-released; err != nil || time.Since(begun) != 10*time.Minute {
			t.Errorf("released after %v: %v", time.Since(begun), err)
		}
		if err := d.SetFaults(devnet.Faults{LoseReplies: 1}); err != nil {
			t.Fatal(err)
		}
		if err := request(time.Minute, o1jsSend(t, build(t, plan(0, 5)))); err == nil {
			t.Error("the reply came")
		}
		if len(d.Pooled()) != 1 {
			t.Error("the command has to be in the pool")
		}
	})
}

func BenchmarkSend(b *testing.B) {
	n, err := devnet.New(devnet.Config{FundAll: true, BlockOnSend: true})
	if err != nil {
		b.Fatal(err)
	}
	bodies := make([]string, b.N)
	for i := range bodies {
		command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(0), Nonce: uint32(i), Fee: fee})
		if err != nil {
			b.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{"query": sendQuery, "variables": map[string]any{"input": map[string]any{"zkappCommand": command}}})
		if err != nil {
			b.Fatal(err)
		}
		bodies[i] = string(body)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, body := range bodies {
		w := httptest.NewRecorder()
		n.Node(0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body)))
		if strings.Contains(w.Body.String(), "errors") {
			b.Fatal(w.Body)
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	n, err := devnet.New(devnet.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for range 300 {
		n.MakeBlock()
	}
	body := `{"query":"query($n: Int!) { bestChain(maxLength: $n) { stateHash protocolState { previousStateHash consensusState { blockHeight slotSinceGenesis } } } }","variables":{"n":20}}`
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		n.Node(0).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body)))
	}
}
