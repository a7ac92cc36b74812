package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// A clinic is a set-up in which all is well, to be broken.
type clinic struct {
	*testing.T
	env     map[string]string
	network *devnet.Network
	date    string        // that the second node tells instead of its own
	lacks   string        // a field that the second node's schema does not have
	now     time.Duration // of this machine's clock, off the real one
	worker  devworker.Options
	config  devnet.Config
	signer  bool     // the worker only signs
	signs   []string // and so much: nil is any type
}

const workerToken = "the-token-of-the-workers"

func newClinic(t *testing.T, addr string) *clinic {
	return &clinic{
		T: t, config: devnet.Config{Nodes: 2, FundAll: true, SlotTime: time.Minute},
		worker: devworker.Options{Account: devnet.Key(1), Token: workerToken, Network: "testnet"},
		env: map[string]string{
			"SEQUENCER_REDIS_URL": "redis://" + addr, "SEQUENCER_NAMESPACE": "clinic-" + fmt.Sprint(time.Now().UnixNano()),
			"SEQUENCER_WORKER_TOKEN": workerToken, "SEQUENCER_API_KEYS": "ops:admin:0123456789abcdef",
			"SEQUENCER_MINA_QUORUM": "2",
		},
	}
}

// start starts nodes and worker, and names them in the environment where it does
// not name others.
func (c *clinic) start() {
	c.Helper()
	var err error
	if c.network, err = devnet.New(c.config); err != nil {
		c.Fatal(err)
	}
	var nodes []string
	for i := range 2 {
		nodes = append(nodes, c.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i == 1 && c.date != "" {
				w.Header().Set("Date", c.date)
			}
			if i == 1 && c.lacks != "" {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte(c.lacks)) {
					fmt.Fprintf(w, `{"errors":[{"message":"Cannot query field \"%s\" on type \"T\"."}]}`, c.lacks)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			c.network.Node(i).ServeHTTP(w, r)
		}))+"/graphql")
	}
	for name, value := range map[string]string{
		"SEQUENCER_MINA_URL": strings.Join(nodes, ","),
		"SEQUENCER_SENDERS":  devnet.Key(1) + "=" + c.serve(c.work()),
	} {
		if _, set := c.env[name]; !set {
			c.env[name] = value
		}
	}
}

// work is the sender's worker.
func (c *clinic) work() http.Handler {
	if !c.signer {
		return devworker.New(c.worker)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"accountId": c.worker.Account, "capabilities": []string{"signs"}, "network": c.worker.Network, "types": c.signs})
	})
}

// apart has the worker only sign, and starts provers.
func (c *clinic) apart(all ...devworker.Options) {
	c.Helper()
	c.signer = true
	urls := make([]string, len(all))
	for i, o := range all {
		urls[i] = c.prover(o)
	}
	c.env["SEQUENCER_PROVERS"] = strings.Join(urls, ",")
}

// prover starts one, of all types that these tests name unless o does.
func (c *clinic) prover(o devworker.Options) string {
	c.Helper()
	o.Prover = true
	if o.Types == nil {
		o.Types = []string{"SEND_CLAIM_VOTE", "RECEIVE_VOTES_BATCH"}
	}
	if o.Token == "" {
		o.Token = workerToken
	}
	if o.Network == "" {
		o.Network = c.worker.Network
	}
	return c.serve(devworker.New(o))
}

// oneNode names the first alone.
func (c *clinic) oneNode() {
	c.env["SEQUENCER_MINA_URL"], _, _ = strings.Cut(c.env["SEQUENCER_MINA_URL"], ",")
	c.env["SEQUENCER_MINA_QUORUM"] = ""
}

func (c *clinic) serve(h http.Handler) string {
	s := httptest.NewServer(h)
	c.Cleanup(s.Close)
	return s.URL
}

// ledger starts one, and returns its address.
func (c *clinic) ledger() string {
	c.Helper()
	ledger, err := devledger.NewSawtooth(devledger.SawtoothConfig{})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(ledger.Close)
	return c.serve(ledger)
}

// fill makes a block with so many zkApp commands.
func (c *clinic) fill(count int) {
	c.Helper()
	node := mina.NewNode(strings.Split(c.env["SEQUENCER_MINA_URL"], ",")[0], mina.NodeOptions{})
	for i := range count {
		command, err := devnet.Build(devnet.Plan{Payer: devnet.Key(uint64(100 + i)), Fee: 1e9})
		if err != nil {
			c.Fatal(err)
		}
		if _, err := node.Send(c.Context(), command); err != nil {
			c.Fatal(err)
		}
	}
	c.network.MakeBlock()
}

func (c *clinic) faults(f devnet.Faults) {
	c.Helper()
	if err := c.network.Node(1).SetFaults(f); err != nil {
		c.Fatal(err)
	}
}

// ill returns "level CHECK" of all that is not well.
func (c *clinic) ill() []string {
	c.Helper()
	d := &doctor{env: c.env, now: func() time.Time { return time.Now().Add(c.now) }}
	if err := d.examine(c.Context()); err != nil {
		c.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range d.found {
		if f.Level != levelOK {
			found[f.Level+" "+f.Check] = true
			if f.Found == "" || f.Do == "" || f.Subject == "" {
				c.Errorf("%s says too little: %+v", f.Check, f)
			}
		}
		if strings.Contains(fmt.Sprint(f), workerToken) {
			c.Errorf("a secret is shown: %+v", f)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestDoctor: nothing is found where nothing is wrong, and whatever is broken is
// found by its name, and nothing else.
func TestDoctor(t *testing.T) {
	t.Parallel()
	good := redistest.Start(t)
	for _, tc := range []struct {
		name   string
		before func(*clinic) // the nodes and the worker start
		after  func(*clinic)
		want   []string
	}{
		{name: "all is well"},
		{"settings", func(c *clinic) { c.env["SEQUENCER_ADDR"], c.env["SEQUENCER_API_KEYS"] = "0.0.0.0:8080", "" }, nil,
			[]string{"problem SETTING", "warning SETTING"}},
		{"traces to nowhere", func(c *clinic) { c.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = "zz" }, nil, []string{"problem SETTING"}},
		{"too many retries of a post", func(c *clinic) { c.env["SEQUENCER_LEDGER_RETRIES"] = "11" }, nil,
			[]string{"problem SETTING", "warning SETTING"}},
		{"a misspelt setting", func(c *clinic) { c.env["SEQUENCER_FEEE"] = "1" }, nil, []string{"warning SETTING"}},
		{"an open API", func(c *clinic) {
			c.env["SEQUENCER_ADDR"], c.env["SEQUENCER_API_KEYS"], c.env["SEQUENCER_INSECURE"] = "0.0.0.0:8080", "", "true"
		}, nil, []string{"warning OPEN_API"}},
		{"no Redis", func(c *clinic) { c.env["SEQUENCER_REDIS_URL"] = "" }, nil, []string{"problem REDIS_EMBEDDED"}},
		{"Redis is away", func(c *clinic) { c.env["SEQUENCER_REDIS_URL"] = "redis://127.0.0.1:1" }, nil, []string{"problem REDIS_AWAY"}},
		{"a Redis that evicts", redisWith("maxmemory 100mb", "maxmemory-policy allkeys-lru"), nil, []string{"problem REDIS_EVICTS"}},
		{"a Redis that forgets", redisWith("appendonly no"), nil, []string{"problem REDIS_NOT_DURABLE"}},
		{"a Redis that is full", redisWith("maxmemory 1000000"), nil, []string{"problem REDIS_FULL"}},
		{"a replica", redisWith("replicaof 127.0.0.1 1"), nil, []string{"problem REDIS_REPLICA", "problem REDIS_WRITES"}},
		{"a Redis with a password", func(c *clinic) {
			server := redistest.Start(c.T)
			if err := server.Client.ConfigSet(c.Context(), "requirepass", "secret").Err(); err != nil {
				c.Fatal(err)
			}
			c.env["SEQUENCER_REDIS_URL"] = "redis://" + server.Addr
		}, nil, []string{"problem REDIS_AWAY"}},
		{"too few replicas", func(c *clinic) { c.env["SEQUENCER_REDIS_WAIT"] = "1" }, nil, []string{"problem REDIS_REPLICAS"}},
		{"a stored sender that stands still", func(c *clinic) {
			c.onStore(good.Addr, func(store *queues.Store, client *redis.Client) error {
				pool := senders.New(store, client)
				return errors.Join(pool.Register(c.Context(), devnet.Key(2), "http://127.0.0.1:1"),
					pool.Stop(c.Context(), devnet.Key(2), 7, "somebody else signs"))
			})
		}, nil, []string{"problem WORKER_AWAY", "warning SENDER_OUT"}},
		{"a queue that a limit has paused", func(c *clinic) {
			c.onStore(good.Addr, func(store *queues.Store, client *redis.Client) error { return c.limit(store, client) })
		}, nil, []string{"problem WORKER_AWAY", "warning QUEUE_PAUSED"}},
		{"as many wait as may", func(c *clinic) {
			c.env["SEQUENCER_MAX_WAITING_TOTAL"] = "1"
			c.onStore(good.Addr, func(store *queues.Store, _ *redis.Client) error {
				return store.Enqueue(c.Context(), queues.Item{UID: "u", Queue: "q", Type: "CREATE_CLAIM_VOTING_ACCOUNT", Data: []byte(`{}`)}).Err
			})
		}, nil, []string{"problem TOO_MANY_WAITING"}},
		{"one node", nil, (*clinic).oneNode, []string{"warning ONE_NODE"}},
		{"two nodes, of which nobody has said how many must agree", func(c *clinic) { c.env["SEQUENCER_MINA_QUORUM"] = "" }, nil,
			[]string{"warning SETTING"}},
		{"a node is away", nil, func(c *clinic) { c.faults(devnet.Faults{Status: 503}) }, []string{"problem NODE_AWAY", "problem NO_QUORUM"}},
		{"a node is not synced", nil, func(c *clinic) { c.faults(devnet.Faults{Sync: "BOOTSTRAP"}) }, []string{"problem NODE_NOT_SYNCED", "problem NO_QUORUM"}},
		{"a node of another network", nil, func(c *clinic) { c.faults(devnet.Faults{NetworkID: "mainnet"}) }, []string{"problem NODE_NETWORK", "problem NO_QUORUM"}},
		{"a node that cannot say what failed", func(c *clinic) { c.lacks = "failureReason" }, nil,
			[]string{"problem NODE_SCHEMA", "problem NO_QUORUM"}},
		{"a node of another schema", func(c *clinic) { c.lacks = "genesisStateTimestamp" }, nil,
			[]string{"problem NODE_SCHEMA", "problem NO_QUORUM"}},
		{"no other node", func(c *clinic) { c.lacks = "failureReason" }, func(c *clinic) {
			c.env["SEQUENCER_MINA_QUORUM"] = ""
			_, c.env["SEQUENCER_MINA_URL"], _ = strings.Cut(c.env["SEQUENCER_MINA_URL"], ",")
		}, []string{"problem NODE_SCHEMA", "problem NO_QUORUM"}},
		{"a node that cannot say what failed, beside enough others", func(c *clinic) {
			c.lacks, c.env["SEQUENCER_MINA_QUORUM"] = "failureReason", "1"
		}, nil, []string{"problem NODE_SCHEMA"}},
		{"a node that lags", nil, func(c *clinic) {
			c.env["SEQUENCER_MINA_QUORUM"] = "1"
			c.faults(devnet.Faults{Lag: -1})
			for range 5 {
				c.network.MakeBlock()
			}
		}, []string{"problem NODE_BEHIND"}},
		{"a node on a fork", nil, func(c *clinic) {
			c.faults(devnet.Faults{Isolated: true})
			for range 8 {
				c.network.MakeBlock()
				c.network.Node(1).MakeBlock()
			}
		}, []string{"problem NODES_DISAGREE"}},
		{"a chain that stands still", func(c *clinic) { c.config.Genesis = time.Now().Add(-24 * time.Hour) }, nil,
			[]string{"problem NODE_OLD_TIP", "problem NO_QUORUM"}},
		{"a node's clock is wrong", func(c *clinic) { c.date = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat) }, nil, []string{"problem CLOCK_NODE"}},
		{"this machine's clock is wrong", func(c *clinic) { c.now = -time.Hour }, nil, []string{"problem CLOCK_NODE", "problem CLOCK_REDIS"}},
		{"ledgers alone", func(c *clinic) {
			c.env["SEQUENCER_TYPES"], c.env["SEQUENCER_MINA_URL"], c.env["SEQUENCER_SENDERS"] = "SUBMIT_BATCH", "", ""
			c.env["SEQUENCER_LEDGERS"] = "saw=sawtooth+" + c.ledger()
		}, nil, nil},
		{"ledgers alone, and nodes", func(c *clinic) {
			c.env["SEQUENCER_TYPES"], c.env["SEQUENCER_SENDERS"] = "SUBMIT_BATCH", ""
			c.env["SEQUENCER_LEDGERS"] = "saw=sawtooth+" + c.ledger()
		}, nil, nil},
		{"a ledger is away", func(c *clinic) {
			c.env["SEQUENCER_LEDGERS"] = "saw=sawtooth+http://127.0.0.1:1"
		}, nil, []string{"problem LEDGER"}},
		{"a ledger turns us away", func(c *clinic) {
			c.env["SEQUENCER_LEDGERS"] = "saw=sawtooth+" + c.serve(http.NotFoundHandler())
		}, nil, []string{"problem LEDGER"}},
		{"batches for a ledger that nobody names", func(c *clinic) {
			c.onStore(good.Addr, func(store *queues.Store, _ *redis.Client) error {
				return store.Enqueue(c.Context(), queues.Item{
					UID: "b", Queue: "q", Type: "SUBMIT_BATCH", Ledger: "old", BatchID: "1", Data: json.RawMessage(`{}`)}).Err
			})
		}, nil, []string{"warning LEDGER_UNSERVED"}},
		{"an endpoint that can be reached", func(c *clinic) { c.endpoint(c.serve(http.NotFoundHandler())) }, nil, nil},
		{"an endpoint that cannot", func(c *clinic) { c.endpoint("http://127.0.0.1:1") }, nil, []string{"problem WEBHOOK"}},
		{"an endpoint where none may be", func(c *clinic) {
			c.endpoint("https://" + strings.TrimPrefix(c.serve(http.NotFoundHandler()), "http://"))
			c.env["SEQUENCER_WEBHOOKS_PRIVATE"] = ""
		}, nil, []string{"problem WEBHOOK"}},
		{"an endpoint that was taken out of its file", func(c *clinic) { c.stored(good.Addr, webhooks.Unconfigured, false) }, nil,
			[]string{"problem WEBHOOK_DISABLED"}},
		{"an endpoint that a person has disabled", func(c *clinic) { c.stored(good.Addr, webhooks.ByPerson, false) }, nil, nil},
		{"an endpoint whose events wait", func(c *clinic) { c.stored(good.Addr, "", true) }, nil,
			[]string{"problem CLOCK_NODE", "problem CLOCK_REDIS", "warning WEBHOOK_BEHIND"}},
		{"no senders", func(c *clinic) { c.env["SEQUENCER_SENDERS"] = "" }, nil, []string{"problem NO_SENDERS"}},
		{"a worker is away", func(c *clinic) { c.env["SEQUENCER_SENDERS"] = devnet.Key(1) + "=http://127.0.0.1:1" }, nil, []string{"problem WORKER_AWAY"}},
		{"a worker of another account", func(c *clinic) { c.worker.Account = devnet.Key(9) }, nil, []string{"problem WRONG_ACCOUNT"}},
		{"a worker of another network", func(c *clinic) { c.worker.Network = "mainnet" }, nil, []string{"problem WRONG_NETWORK"}},
		{"blocks that hold more than fees reckon with", func(c *clinic) {
			c.env["SEQUENCER_FEE"], c.config.MaxZkapps = "auto", 24
		}, func(c *clinic) { c.fill(13) }, []string{"warning BLOCK_ZKAPPS"}},
		{"the same, as it is set", func(c *clinic) {
			c.env["SEQUENCER_FEE"], c.env["SEQUENCER_BLOCK_ZKAPPS"], c.config.MaxZkapps = "auto", "13", 24
		}, func(c *clinic) { c.fill(13) }, nil},
		{"a worker of an o1js that Mesa refuses", slotAndO1js(90*time.Second, "2.15.0"), nil, []string{"problem WRONG_NETWORK"}},
		{"a worker of an o1js that Berkeley refuses", slotAndO1js(180*time.Second, "3.1.0"), nil, []string{"problem WRONG_NETWORK"}},
		{"an old worker, and slots of its own", slotAndO1js(20*time.Second, "2.15.0"), nil, nil},
		{"an old worker, and a network of its own", func(c *clinic) {
			slotAndO1js(90*time.Second, "2.15.0")(c)
			c.config.K = 30
		}, nil, nil},
		{"a worker of an o1js before the audit", slotAndO1js(90*time.Second, "3.0.9"), nil, []string{"warning WORKER_O1JS"}},
		{"a worker of an o1js to come", slotAndO1js(90*time.Second, "3.1.0-rc.1"), nil, []string{"warning WORKER_O1JS"}},
		{"a worker of an o1js since the audit", slotAndO1js(90*time.Second, "3.1.0"), nil, nil},
		{"a worker of an o1js for Berkeley, there", slotAndO1js(180*time.Second, "2.15.0"), nil, nil},
		{"a worker that wants a token", func(c *clinic) { c.worker.Token = "another-token" }, nil, []string{"problem WORKER_TOKEN"}},
		{"a worker that sends by itself", func(c *clinic) {
			c.worker.Legacy = true
			c.worker.Send = func(context.Context, json.RawMessage) (string, error) {
				return "", errors.New("it is not asked to send")
			}
		}, nil, []string{"warning WORKER_LEGACY"}},
		{"a worker that does not simulate what is to be", func(c *clinic) {
			c.env["SEQUENCER_SIMULATE"] = "SEND_CLAIM_VOTE"
		}, nil, []string{"warning WORKER_SIMULATES"}},
		{"a worker that simulates", func(c *clinic) {
			c.env["SEQUENCER_SIMULATE"] = "SEND_CLAIM_VOTE"
			c.worker.Simulate = func(devworker.Call) string { return "" }
		}, nil, nil},
		{"a worker that makes other types", func(c *clinic) {
			c.worker.Types, c.env["SEQUENCER_SIMULATE"] = []string{"SEND_CLAIM_VOTE"}, "RECEIVE_VOTES_BATCH"
		}, nil, nil},
		{"a worker that says nothing", nil, func(c *clinic) { c.env["SEQUENCER_SENDERS"] = devnet.Key(1) + "=" + c.serve(http.NotFoundHandler()) }, []string{"warning WORKER_SILENT"}},
		{"a worker that is ill", nil, func(c *clinic) {
			c.env["SEQUENCER_SENDERS"] = devnet.Key(1) + "=" + c.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
		}, []string{"problem WORKER_SICK"}},
		{"a type that no worker makes", func(c *clinic) {
			c.worker.Types, c.env["SEQUENCER_TYPES"] = []string{"SEND_CLAIM_VOTE"}, "SEND_CLAIM_VOTE,RECEIVE_VOTES_BATCH"
		}, nil, []string{"problem TYPES"}},
		{"a signer and a prover", func(c *clinic) { c.apart(devworker.Options{}) }, nil, nil},
		{"a signer and no prover", func(c *clinic) { c.apart() }, nil, []string{"problem NO_PROVERS"}},
		{"a prover that is away", func(c *clinic) {
			c.apart(devworker.Options{})
			c.env["SEQUENCER_PROVERS"] += ",http://127.0.0.1:1"
		}, nil, []string{"warning WORKER_AWAY"}},
		{"the only prover is away", func(c *clinic) {
			c.apart()
			c.env["SEQUENCER_PROVERS"] = "http://127.0.0.1:1"
		}, nil, []string{"problem NO_PROVERS", "warning WORKER_AWAY"}},
		{"a prover with a key", func(c *clinic) {
			c.apart(devworker.Options{}, devworker.Options{Account: devnet.Key(7)})
		}, nil, []string{"problem PROVER_KEY"}},
		{"a prover of another network", func(c *clinic) {
			c.apart(devworker.Options{}, devworker.Options{Network: "mainnet"})
		}, nil, []string{"problem WRONG_NETWORK"}},
		{"a prover that says nothing", func(c *clinic) {
			c.apart(devworker.Options{})
			c.env["SEQUENCER_PROVERS"] += "," + c.serve(http.NotFoundHandler())
		}, nil, []string{"problem PROVER_SILENT"}},
		{"a prover that wants another token", func(c *clinic) {
			c.apart(devworker.Options{}, devworker.Options{Token: "another-token"})
		}, nil, []string{"problem WORKER_TOKEN"}},
		{"provers of several versions", func(c *clinic) {
			c.apart(devworker.Options{O1js: "3.1.0"}, devworker.Options{O1js: "3.2.0"})
		}, nil, []string{"warning PROVERS_DIFFER"}},
		{"a prover of an o1js before the audit", func(c *clinic) {
			c.config.SlotTime = 90 * time.Second
			c.apart(devworker.Options{O1js: "3.0.9"})
		}, nil, []string{"warning WORKER_O1JS"}},
		{"a type that no prover makes", func(c *clinic) {
			c.apart(devworker.Options{Types: []string{"SEND_CLAIM_VOTE"}})
			c.env["SEQUENCER_TYPES"] = "SEND_CLAIM_VOTE,RECEIVE_VOTES_BATCH"
		}, nil, []string{"problem PROVER_TYPES"}},
		{"a type that its signer does not sign, either", func(c *clinic) {
			c.apart(devworker.Options{Types: []string{"SEND_CLAIM_VOTE"}})
			c.signs, c.env["SEQUENCER_TYPES"] = []string{"SEND_CLAIM_VOTE"}, "SEND_CLAIM_VOTE,RECEIVE_VOTES_BATCH"
		}, nil, []string{"problem TYPES"}},
		{"a type that only a policy names", func(c *clinic) {
			c.apart(devworker.Options{Types: []string{"SEND_CLAIM_VOTE"}})
			c.signs = []string{"SEND_CLAIM_VOTE", "RECEIVE_VOTES_BATCH"}
		}, nil, []string{"problem PROVER_TYPES"}},
		{"provers and no signer", func(c *clinic) {
			c.apart(devworker.Options{})
			c.signer = false
		}, nil, []string{"warning PROVERS_IDLE"}},
		{"provers, and a worker that may be a signer", func(c *clinic) {
			c.apart(devworker.Options{})
			c.env["SEQUENCER_SENDERS"] = devnet.Key(1) + "=http://127.0.0.1:1"
		}, nil, []string{"problem WORKER_AWAY"}},
		{"a prover that was taken out of use", func(c *clinic) {
			c.apart(devworker.Options{})
			c.onStore(good.Addr, func(store *queues.Store, _ *redis.Client) error {
				pool := provers.New(provers.Options{Store: store})
				return errors.Join(pool.Register(c.Context(), "p", "http://127.0.0.1:1"), pool.Drain(c.Context(), "p"))
			})
		}, nil, []string{"warning PROVER_OUT"}},
		{"a prover that was registered by hand", func(c *clinic) {
			c.apart()
			c.onStore(good.Addr, func(store *queues.Store, _ *redis.Client) error {
				return provers.New(provers.Options{Store: store}).Register(c.Context(), "p", c.prover(devworker.Options{}))
			})
		}, nil, nil},
		{"trains, and provers that do not build", func(c *clinic) {
			c.apart(devworker.Options{Builds: true}, devworker.Options{})
			c.env["SEQUENCER_WIDTH"] = "2"
		}, nil, []string{"warning PROVER_BUILDS"}},
		{"trains, and a prover alone that does not build", func(c *clinic) {
			c.apart(devworker.Options{})
			c.env["SEQUENCER_WIDTH"] = "2"
		}, nil, nil},
		{"a train of one queue, and a prover that heeds nothing ahead", func(c *clinic) {
			c.apart(devworker.Options{Builds: true}, devworker.Options{NoAhead: true})
			c.onStore(good.Addr, func(store *queues.Store, _ *redis.Client) error {
				return errors.Join(store.Enqueue(c.Context(), queues.Item{UID: "u", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err,
					store.SetWidth(c.Context(), "q", 3))
			})
		}, nil, []string{"warning PROVER_AHEAD"}},
		{"a sender without an account", func(c *clinic) { c.config.FundAll = false }, nil, []string{"problem ACCOUNT_MISSING"}},
		{"a sender without funds", func(c *clinic) { c.config.Accounts = map[string]devnet.Account{devnet.Key(1): {Balance: 1}} }, nil, []string{"problem NO_FUNDS"}},
		{"a sender with little", func(c *clinic) { c.config.Accounts = map[string]devnet.Account{devnet.Key(1): {Balance: 1e9}} }, nil, []string{"warning LOW_FUNDS"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t, good.Addr)
			if tc.before != nil {
				tc.before(c)
			}
			c.start()
			if tc.after != nil {
				tc.after(c)
			}
			if diff := cmp.Diff(tc.want, c.ill()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDoctorHidesSecrets: what may hold a password is not told where it is refused.
func TestDoctorHidesSecrets(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"SEQUENCER_REDIS_URL": "redis://user:hush@h:port", "SEQUENCER_API_KEYS": "ci:root:hush", "SEQUENCER_WORKER_TOKEN": "hush hush",
		"SEQUENCER_MINA_URL": "ftp://u:hush@node", "SEQUENCER_LEDGERS": "a=sawtooth+http://u:hush@h",
	} {
		d := &doctor{env: map[string]string{name: value}}
		if d.settings(t.Context()) {
			t.Errorf("%s was accepted", name)
		}
		if text := fmt.Sprint(d.found); !strings.Contains(text, name) || strings.Contains(text, "hush") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func slotAndO1js(slot time.Duration, version string) func(*clinic) {
	return func(c *clinic) { c.config.SlotTime, c.worker.O1js = slot, version }
}

// onStore does something with the store of a clinic.
func (c *clinic) onStore(addr string, do func(*queues.Store, *redis.Client) error) {
	c.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	store, err := queues.Open(client, queues.Options{Namespace: c.env["SEQUENCER_NAMESPACE"]})
	if err == nil {
		err = do(store, client)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// limit has a transaction end UNRESOLVED, and its queue paused for that.
func (c *clinic) limit(store *queues.Store, client *redis.Client) error {
	store, err := queues.Open(client, queues.Options{Namespace: store.Namespace, UnresolvedLimit: 1})
	if err != nil {
		return err
	}
	item := queues.Item{UID: "u", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}
	_, err = store.Heartbeat(c.Context(), "p", time.Hour, "")
	if err = errors.Join(err, store.Enqueue(c.Context(), item).Err, senders.New(store, client).Register(c.Context(), devnet.Key(2), "http://127.0.0.1:1")); err != nil {
		return err
	}
	bound, err := store.Bind(c.Context(), queues.BindRequest{Process: "p", Types: []string{"T"}, Groups: []string{senders.Shared}, Most: 1})
	if err != nil {
		return err
	}
	t := bound[0].Transaction
	after := t.Clone()
	after.Phase = tx.PhaseUnresolved
	change := &queues.Change{Before: t, After: after, Now: time.Now()}
	change.Remove = queues.Never
	_, err = store.Advance(c.Context(), change)
	return err
}

const clinicSecret = "whsec_" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// endpoint names an endpoint in a file.
func (c *clinic) endpoint(url string) {
	c.Helper()
	path := filepath.Join(c.TempDir(), "webhooks.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `[{"id":"e","url":%q,"secret":%q}]`, url, clinicSecret), 0o600); err != nil {
		c.Fatal(err)
	}
	c.env["SEQUENCER_WEBHOOKS_FILE"], c.env["SEQUENCER_WEBHOOKS_PRIVATE"] = path, "127.0.0.0/8"
}

// stored has an endpoint in the store, disabled for a reason or with an event for it.
func (c *clinic) stored(addr, disabled string, event bool) {
	c.Helper()
	local := netip.MustParsePrefix("127.0.0.0/8")
	c.env["SEQUENCER_WEBHOOKS_PRIVATE"] = local.String()
	e := webhooks.Definition{ID: "e", URL: c.serve(http.NotFoundHandler()), Secret: clinicSecret}
	c.onStore(addr, func(store *queues.Store, _ *redis.Client) error {
		hooks := webhooks.New(webhooks.Options{Store: store, Private: []netip.Prefix{local}})
		switch disabled {
		case webhooks.Unconfigured:
			return errors.Join(hooks.Configure(c.Context(), []webhooks.Definition{e}), hooks.Configure(c.Context(), nil))
		case webhooks.ByPerson:
			_, err := hooks.Add(c.Context(), e)
			return errors.Join(err, hooks.Disable(c.Context(), e.ID))
		}
		_, err := hooks.Add(c.Context(), e)
		return errors.Join(err, store.Enqueue(c.Context(), queues.Item{UID: "t", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err)
	})
	if event {
		c.now = lateEvents + time.Minute
	}
}

// redisWith gives the clinic a Redis of its own.
func redisWith(directives ...string) func(*clinic) {
	return func(c *clinic) { c.env["SEQUENCER_REDIS_URL"] = "redis://" + redistest.Start(c.T, directives...).Addr }
}

// The daemon, the Rust node and other servers say in their own words that a field
// is not theirs; a node that is out of order says something else.
func TestMissingField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`query refused: Field 'failureReason' is not defined on type 'ZkappCommandResult'`:      true,
		`query refused: Cannot query field "failureReason" on type "ZkappCommandResult".`:       true,
		`query refused: Unknown field "genesisStateTimestamp" on type "ConsensusConfiguration"`: true,
		`query refused: Could not obtain best chain from transition frontier`:                   false,
		`query refused: upstream timeout`:                                                       false,
		`HTTP status 502 Bad Gateway`:                                                           false,
	} {
		if got := missingField.MatchString(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestDoctorCommand(t *testing.T) {
	t.Parallel()
	c := newClinic(t, redistest.Start(t).Addr)
	c.start()
	type outcome struct {
		Code           int
		Stdout, Stderr string
	}
	call := func(ctx context.Context, args ...string) outcome {
		var stdout, stderr bytes.Buffer
		a := &command.App{Env: c.env, Stdout: &stdout, Stderr: &stderr}
		code := a.Execute(ctx, command.Group("sequencer", "", Command(a)), append([]string{"doctor"}, args...))
		return outcome{code, stdout.String(), stderr.String()}
	}
	got := call(t.Context(), "--strict")
	if got.Code != command.ExitOK || !strings.Contains(got.Stdout, "✓ REDIS") || !strings.HasSuffix(got.Stdout, "\nnothing is wrong\n") || got.Stderr != "" {
		t.Errorf("%+v", got)
	}
	c.oneNode()
	if got = call(t.Context()); got.Code != command.ExitOK || !strings.Contains(got.Stdout, "! ONE_NODE") {
		t.Errorf("%+v", got)
	}
	if got = call(t.Context(), "--strict"); got.Code != command.ExitFailure || got.Stderr != "sequencer: 0 problem(s), 1 warning(s)\n" {
		t.Errorf("%+v", got)
	}
	c.env["SEQUENCER_SENDERS"] = ""
	got = call(t.Context(), "--json")
	var report struct {
		Healthy            bool
		Problems, Warnings int
		Findings           []diagnosis
	}
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
		t.Fatal(err)
	}
	last := report.Findings[len(report.Findings)-1]
	if got.Code != command.ExitFailure || report.Healthy || report.Problems != 1 || report.Warnings != 1 || last.Check != "NO_SENDERS" {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got = call(ctx); got.Code != command.ExitInterrupted {
		t.Errorf("%+v", got)
	}
}

// TestDoctorDocumented holds the list of checks in the documentation against the
// code.
func TestDoctorDocumented(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"doctor.go", "redis.go", "chain.go", "senders.go", "provers.go", "ledgers.go", "webhooks.go", "../../../queues/check.go"} {
		code, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []string{`d.problem("`, `d.warn("`, `d.clock("`, `Fault{"`} {
			for _, rest := range strings.Split(string(code), call)[1:] {
				check, _, _ := strings.Cut(rest, `"`)
				if !strings.Contains(string(docs), "`"+check+"`") {
					t.Errorf("docs/reference.md does not tell of %s", check)
				}
			}
		}
	}
}
