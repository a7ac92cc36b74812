package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
)

// internal are addresses as they come in what Go and others say, and what is left of it.
var internal = map[string]string{
	"dial tcp 10.1.2.3:6379: connect: connection refused":         "dial tcp ?: connect: connection refused",
	"dial tcp [fd00::7]:3085: i/o timeout":                        "dial tcp ?: i/o timeout",
	"dial tcp: lookup worker-7 on 10.0.0.2:53: no such host":      "dial tcp: ? on ?: no such host",
	`Post "http://worker-7:39101/prove/MINT?x=1": EOF`:            `Post "?": EOF`,
	"fetch failed: https://mina-1.example.org/graphql (503)":      "fetch failed: ? (503)",
	"no answer: mina-1:3085; mina-2.internal: not SYNCED":         "no answer: ?; ?: not SYNCED",
	"dial unix /run/redis/redis.sock: connect: permission denied": "dial ?: connect: permission denied",
	"it takes queue claim-1:7, uid 12:30 and block 10 of mina-1":  "it takes queue claim-1:7, uid 12:30 and block 10 of mina-1",
}

func TestVeil(t *testing.T) {
	t.Parallel()
	v := newVeil([]string{"mina-1:3085", "mina-2.internal", "", "redis:6379"})
	for said, want := range internal {
		want = strings.ReplaceAll(want, "?", veiled)
		if got := v.text(said); got != want {
			t.Errorf("%q is shown as %q, not %q", said, got, want)
		}
		if got := (*veil)(nil).text(said); got != said {
			t.Errorf("without a veil: %q", got)
		}
	}
}

// leaks fails where an answer holds an address of the service's own network.
func leaks(t *testing.T, what, body string) {
	t.Helper()
	for _, address := range []string{"10.1.2.3", "6379", "worker-7", "39101", "mina-1", "fd00::7"} {
		if strings.Contains(body, address) {
			t.Errorf("%s tells %s: %s", what, address, body)
		}
	}
}

// A telling control explains by words that hold addresses.
type telling struct{ *control }

func (c telling) Explain(ctx context.Context, uid string, limited bool) (explain.Explanation, error) {
	e, err := c.control.Explain(ctx, uid, limited)
	e.Summary, e.Wait.Detail = "The worker http://worker-7:39101 is away.", "dial tcp 10.1.2.3:39101"
	for i := range e.Attempts {
		e.Attempts[i].Detail = "by mina-1:3085"
	}
	return e, err
}

// TestAddressesAreVeiled: who has no key for all queues learns what went wrong with his transactions
// and with the service, and no address. Others do.
func TestAddressesAreVeiled(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) {
		o.Keys, o.Control, o.Hosts = tenants(), telling{o.Control.(*control)}, []string{"mina-1:3085"}
		o.Ready = func(context.Context, bool) Readiness {
			p := Part{OK: true, Detail: "mina-1:3085, http://worker-7:39101, 10.1.2.3:6379 and [fd00::7]:3085"}
			return Readiness{p, p, p, p, p, p}
		}
	})
	ask := func(key, method, path, body string) string {
		t.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if key != "" {
			r.Header.Set(bearerOf(key))
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		return s.serve(r).Body.String()
	}
	const item = `{"queue":"a-1","type":"ANY","data":{"message":"http://10.9.9.9:1"},"uid":"u"}`
	ask("ops", "POST", base+"/transactions", item)
	if err := s.senders.Register(t.Context(), "B62x", "http://worker-7:39101"); err != nil {
		t.Fatal(err)
	}
	s.finish(tx.PhaseFailed, func(c *queues.Change) {
		e := &tx.Error{Code: "WORKER_UNAVAILABLE", Message: `Post "http://worker-7:39101/prove": dial tcp 10.1.2.3:39101`, Exception: `"http://mina-1:3085"`}
		c.After.Error, c.After.DoneAt = e, c.Now
		c.After.Attempts = []tx.Attempt{{Number: 1, Sender: c.After.Sender, State: tx.Refused, Error: e, StartedAt: c.Now, EndedAt: c.Now}}
	})
	stored, err := s.store.Get(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "a webhook", string(Webhook("mina-1:3085").Transaction([]byte(`{"a":1`), stored)))
	for _, test := range []struct{ method, path, body string }{
		{"GET", base + "/transactions/u", ""}, {"GET", base + "/transactions", ""}, {"GET", base + "/transactions/u/explain", ""},
		{"POST", base + "/transactions", item}, {"POST", base + "/transactions/batch", "[" + item + "]"},
		{"GET", "/readyz", ""}, {"GET", "/readyz?full", ""},
	} {
		what := test.method + " " + test.path
		hidden := ask("one", test.method, test.path, test.body)
		if leaks(t, what, hidden); !strings.Contains(hidden, veiled) {
			t.Errorf("%s by a key of some queues: %s", what, hidden)
		}
		if strings.HasSuffix(test.path, "/u") && !strings.Contains(hidden, "http://10.9.9.9:1") {
			t.Errorf("the client's own data was changed: %s", hidden)
		}
		if shown := ask("ops", test.method, test.path, test.body); !strings.Contains(shown, "worker-7:39101") || strings.Contains(shown, veiled) {
			t.Errorf("%s by a key of all queues: %s", what, shown)
		}
		if strings.HasPrefix(test.path, "/readyz") {
			leaks(t, what, ask("", test.method, test.path, ""))
		}
	}
}

// TestNoRouteTellsAddresses: whatever is asked for while Redis does not answer, what is answered is
// the public sentence, to everybody; where Redis is stands in the log.
func TestNoRouteTellsAddresses(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"away":   &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 6379}, Err: syscall.ECONNREFUSED},
		"broken": errors.New(`Get "http://worker-7:39101": 10.1.2.3:6379 hangs`),
	} {
		m := miniredis.NewMiniRedis()
		defer m.Close()
		var away atomic.Bool
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", MaxRetries: -1, PoolSize: 1, DialerRetries: 1,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				if away.Load() {
					return nil, failure
				}
				return m.Dial()
			}})
		defer func() { _ = client.Close() }()
		s := setupOn(t, client, "t", func(o *Options) { o.Keys = tenants() })
		away.Store(true)
		m.Close()
		unavailable := 0
		for _, op := range openDocument(t).operations {
			for _, key := range []string{"one", "wall", "ops", ""} {
				r := httptest.NewRequest(op.method, strings.NewReplacer("{uid}", "u", "{name}", "a-1", "{accountId}", "B62x", "{id}", "e").Replace(op.path), nil)
				if op.method == "POST" {
					r = httptest.NewRequest(op.method, r.URL.String(), strings.NewReader(bodies[op.path]))
					r.Header.Set("Content-Type", "application/json")
				}
				if key != "" {
					r.Header.Set(bearerOf(key))
				}
				ctx, cancel := context.WithCancel(t.Context())
				if op.path == base+"/events" {
					cancel() // it has no end otherwise
				}
				answer := s.serve(r.WithContext(ctx))
				cancel()
				leaks(t, fmt.Sprintf("%s: %s %s by %q", name, op.method, op.path, key), answer.Body.String())
				if answer.Code == 503 || strings.Contains(answer.Body.String(), `"status":503`) {
					unavailable++
				}
			}
		}
		if unavailable < 30 {
			t.Errorf("%s: %d answers told that the store is away", name, unavailable)
		}
		if !strings.Contains(s.log.String(), "10.1.2.3:6379") {
			t.Errorf("%s: the log does not say where", name)
		}
	}
}

// bodies are good ones.
var bodies = map[string]string{
	base + "/transactions":               `{"queue":"a-1","type":"ANY","data":{}}`,
	base + "/transactions/batch":         `[{"queue":"a-1","type":"ANY","data":{}}]`,
	base + "/transactions/cancel":        `{"queue":"a-1"}`,
	base + "/transactions/retry":         `{"queue":"a-1"}`,
	base + "/transactions/{uid}/resolve": `{"outcome":"dead"}`,
	base + "/queues/{name}/width":        `{"width":2}`,
	base + "/senders":                    `{"accountId":"B62x","workerUrl":"http://w"}`,
	base + "/webhooks":                   `{"id":"e","url":"https://x.example"}`,
}
