package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

func TestPayloadIsAVote(t *testing.T) {
	t.Parallel()
	rules := dispatcher.NewRules(func(key string) error { _, err := mina.ParsePublicKey(key); return err })
	vote := dispatcher.SendClaimVote(nil, rules)
	for _, i := range []int{0, 1, 99_999, 1_000_000} {
		doc := payload(i)
		if len(doc) != payloadSize {
			t.Errorf("payload %d has %d bytes", i, len(doc))
		}
		if bad := vote.Check(doc); len(bad) > 0 {
			t.Errorf("payload %d is refused: %v", i, bad)
		}
	}
}

func TestMonitored(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]any{
		`1795660000.123456 [0 lua] "GET" "{s}:x:a"`:                              {"GET", "{s}:x:a"},
		`1795660000.123456 [0 lua] "INFO" "replication"`:                         {"INFO", "replication"},
		`1795660000.123456 [0 127.0.0.1:4] "set" "k" "a \"b\" \\ \x00\xe2\n"`:    {"set", "k", "a \"b\" \\ \x00\xe2\n"},
		`1795660000.123456 [0 127.0.0.1:4] "evalsha" "1f" "2" "{s}:" "{s}:none"`: nil,
		`1795660000.123456 [0 127.0.0.1:4] "info" "cpu"`:                         nil,
	} {
		if diff := cmp.Diff(want, monitored(line)); diff != "" {
			t.Errorf("%s: -want +got\n%s", line, diff)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

func TestAlternateTakesTurns(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	ours, limit := []float64{0, 10, 20, 30}, []float64{0, 10, 10, 10} // the first does not count
	next := func(name string, values *[]float64) func() (float64, error) {
		return func() (float64, error) {
			order.WriteString(name)
			v := (*values)[0]
			*values = (*values)[1:]
			return v, nil
		}
	}
	got, err := alternate(t.Context(), 3, next("o", &ours), next("l", &limit))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pair{20, 10, 2}, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Errorf("alternate (-want +got):\n%s", diff)
	}
	if order.String() != "olloollo" {
		t.Errorf("order is %s", order.String())
	}
	broken := errors.New("broken")
	if _, err := alternate(t.Context(), 1, func() (float64, error) { return 0, broken }, next("l", &limit)); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

// The bare handler takes what the loader sends and answers what it reads.
func TestLoaderPostsToBare(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(bare())
	t.Cleanup(server.Close)
	load, err := newLoader(t.Context(), server.Listener.Addr().String(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(load.close)
	if err := load.send(2 * connections); err != nil {
		t.Error(err)
	}
	if err := load.conns[0].post([]byte("POST " + path + " HTTP/1.1\r\nHost: bench\r\nContent-Length: 1\r\n\r\n{")); err == nil {
		t.Error("a refused post is no error")
	}
}

// The prover's commands are what the sequencer asks for and the chain takes.
func TestProverSignsTheAttempt(t *testing.T) {
	t.Parallel()
	w, err := newWorld(devnet.Config{FundAll: true, BlockOnSend: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.mux)
	t.Cleanup(server.Close)
	client := dispatcher.NewClient(dispatcher.ClientOptions{})
	vote := dispatcher.SendClaimVote(client, dispatcher.NewRules(func(string) error { return nil }))
	worker := dispatcher.Worker{AccountID: sender(0), URL: server.URL + "/workers/" + sender(0)}
	attempt := dispatcher.Attempt{Number: 1, Nonce: 0, Fee: 100_000_000, ValidUntil: 77, Memo: "twenty-two-characters"}
	result, err := vote.Prove(t.Context(), worker, dispatcher.Call{
		Txn: dispatcher.Txn{UID: "u", Type: kind, Data: payload(1), Queue: queueName(1)}, Attempt: attempt,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := dispatcher.CheckSigned(result.Signed, sender(0), attempt, mina.DecodeMemo); err != nil {
		t.Error(err)
	}
	node := mina.NewNode(server.URL+"/graphql", mina.NodeOptions{})
	if hash, err := node.Send(t.Context(), json.RawMessage(result.Signed)); err != nil {
		t.Errorf("the chain refuses it: %v", err)
	} else if hash != result.Hash {
		t.Errorf("the node calls it %s, the worker %s", hash, result.Hash)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, worker.URL+"/on-success/"+kind, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := awaitDone(ctx, server.Listener.Addr().String(), 1); err != nil {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := table(&out, []row{{"1 a", "10", "20 b", "0.50", "≥ 0.5", true}, {"2 c", "1", "9", "0.11", "≥ 0.5", false}}); err != nil {
		t.Fatal(err)
	}
	want := "figure  ours  limit  ratio  to reach  reached\n1 a     10    20 b   0.50   ≥ 0.5     yes\n2 c     1     9      0.11   ≥ 0.5     no\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestRunRefusesABadExpression(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-run", "("}, &out, &out); err == nil {
		t.Error("no error")
	}
}
