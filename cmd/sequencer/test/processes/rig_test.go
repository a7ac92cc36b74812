//go:build unix

package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "mina-sequencer/cmd/sequencer/cli"
	_ "mina-sequencer/cmd/sequencer/dev"
	_ "mina-sequencer/cmd/sequencer/doctor"
	_ "mina-sequencer/cmd/sequencer/serve"
	_ "mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// binaries are the programs under test. The go tool builds them, which no cached result knows
// of: what they are made of is imported above for that alone.
type binaries struct{ sequencer, worker string }

func build(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	b := binaries{filepath.Join(dir, "sequencer"), filepath.Join(dir, "devworker")}
	for out, pkg := range map[string]string{b.sequencer: "../..", b.worker: "../../../../scripts/devworker"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, pkg)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", pkg, err, text)
		}
	}
	return b
}

// A program is a running process of ours, with the end of what it printed.
type program struct {
	name  string
	cmd   *exec.Cmd
	out   tail
	ended chan struct{}
}

type tail struct {
	mu sync.Mutex
	b  []byte
}

func (o *tail) Write(p []byte) (int, error) {
	const most = 256 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, p...)
	if len(o.b) > 2*most {
		o.b = append([]byte(nil), o.b[len(o.b)-most:]...)
	}
	return len(p), nil
}

func (o *tail) find(pattern *regexp.Regexp) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return pattern.FindStringSubmatch(string(o.b))
}

func (o *tail) lines(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := bytes.Split(bytes.TrimSpace(o.b), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-n):], []byte("\n")))
}

func (o *tail) after(text string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := bytes.Index(o.b, []byte(text))
	return string(o.b[i:min(len(o.b), i+4000)])
}

func (p *program) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill is kill -9, and waits until the process is gone.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// A rig is a Redis, a Mina node and workers, each a process of its own, and
// what it takes to run sequencers beside them.
type rig struct {
	*testing.T
	bin       binaries
	namespace string
	redis     *redistest.Server
	gate      *gate
	node      string // address of the devnet
	env       map[string]string
	workers   map[uint64]*program
	urls      map[uint64]string // of the workers
	store     *queues.Store
	pool      *senders.Pool
	starting  sync.Mutex // guards programs
	programs  []*program
	posted    []posting
	legacy    map[string]bool // accounts whose worker sends by itself
	strayed   map[string]bool // uids that a person had made again, out of their turn
}

type posting struct{ queue, uid string }

func newRig(t *testing.T, bin binaries, namespace string, env map[string]string, directives ...string) *rig {
	t.Helper()
	r := &rig{T: t, bin: bin, namespace: namespace, redis: redistest.Start(t, directives...), workers: map[uint64]*program{},
		urls: map[uint64]string{}, legacy: map[string]bool{}, strayed: map[string]bool{}}
	r.gate = newGate(t, r.redis.Addr)
	t.Cleanup(r.tellFailure)
	announced := regexp.MustCompile(`GraphQL   http://(\S+)/graphql`)
	chain := r.run("devnet", bin.sequencer, nil, "devnet", "--addr", "127.0.0.1:0", "--slot", "200ms", "--fill", "0.8", "--k", "20000")
	r.node = r.await(chain, announced)
	// In slot 0 a plan made without a look at the chain would look like any other.
	r.eventually(patience, "the first slots are over", func() bool {
		var state struct{ Slot, Height uint32 }
		return r.call(http.MethodGet, "http://"+r.node+"/control/state", "", &state) == http.StatusOK && state.Slot > 0 && state.Height > 1
	})
	r.env = map[string]string{
		"SEQUENCER_REDIS_URL": "redis://" + r.redis.Addr, "SEQUENCER_NAMESPACE": namespace,
		"SEQUENCER_MINA_URL": "http://" + r.node + "/graphql", "SEQUENCER_WORKER_TYPES": "MINT", "SEQUENCER_LOG_FORMAT": "text",
		// Nothing waits for the end of a cycle: what is posted, freed or over wakes it.
		"SEQUENCER_CYCLE_INTERVAL": "10m", "SEQUENCER_INCLUSION_INTERVAL": "100ms", "SEQUENCER_DISPATCH_TIMEOUT": "3s",
		"SEQUENCER_CALLBACK_WAIT": "1s", "SEQUENCER_MAX_RETRIES": "30", "SEQUENCER_RETRY_DELAY": "300ms",
		"SEQUENCER_RETRY_DELAY_MAX": "500ms", "SEQUENCER_SETTLE_DEPTH": "4", "SEQUENCER_FINALITY": "6",
		"SEQUENCER_CLAIM_TTL": "1s", "SEQUENCER_MINA_TIMEOUT": "5s", "SEQUENCER_SHUTDOWN_TIMEOUT": "10s",
	}
	maps.Copy(r.env, env)
	var err error
	r.store, err = queues.Open(r.redis.Client, queues.Options{Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
	r.ok(err)
	r.pool = senders.New(r.store, r.redis.Client)
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// run starts a program that ends with the test at the latest.
func (r *rig) run(name, binary string, env map[string]string, args ...string) *program {
	r.Helper()
	return r.runAs(name, binary, env, endWithParent(), args...)
}

func (r *rig) runAs(name, binary string, env map[string]string, as *syscall.SysProcAttr, args ...string) *program {
	r.Helper()
	cmd := exec.Command(binary, args...) //nolint:noctx // its cleanup kills it
	p := &program{name: name, cmd: cmd, ended: make(chan struct{})}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = as
	r.ok(p.cmd.Start())
	go func() { defer close(p.ended); _ = p.cmd.Wait() }()
	r.Cleanup(p.kill)
	r.starting.Lock()
	defer r.starting.Unlock()
	r.programs = append(r.programs, p)
	return p
}

// eventually waits for a condition. The limit is generous: it is there for a
// program that hangs, not for a slow machine.
func (r *rig) eventually(limit time.Duration, what string, ok func() bool) {
	r.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(limit); !ok(); <-again.C {
		if time.Now().After(end) {
			r.Fatalf("not within %v: %s", limit, what)
		}
	}
}

const patience = 2 * time.Minute

// await waits until a program has printed something, and returns what the
// pattern's group holds.
func (r *rig) await(p *program, pattern *regexp.Regexp) string {
	r.Helper()
	var found []string
	r.eventually(patience, p.name+" prints "+pattern.String(), func() bool {
		if found = p.out.find(pattern); found != nil {
			return true
		}
		select {
		case <-p.ended:
			r.Fatalf("%s has ended: %s", p.name, p.out.lines(20))
		default:
		}
		return false
	})
	return found[1]
}

// worker starts the worker of the nth account, again at its old address if it
// had one, and adds the account to the senders of later sequencers.
func (r *rig) worker(n uint64, args ...string) *program {
	r.Helper()
	addr := strings.TrimPrefix(r.urls[n], "http://")
	if addr == "" {
		addr = redistest.FreeAddr(r, 1) // nobody else's while it is dead and is called
	}
	p := r.run(fmt.Sprintf("worker %d", n), r.bin.worker, nil,
		append([]string{"--addr", addr, "--account", devnet.Key(n), "--node", "http://" + r.node + "/graphql"}, args...)...)
	r.urls[n] = r.await(p, regexp.MustCompile(`(http://\S+)\n`))
	r.workers[n] = p
	if slices.Contains(args, "--legacy") {
		r.legacy[devnet.Key(n)] = true
	}
	var list []string
	for i, url := range r.urls {
		list = append(list, devnet.Key(i)+"="+url)
	}
	slices.Sort(list)
	r.env["SEQUENCER_SENDERS"] = strings.Join(list, ",")
	return p
}

// A serving is a running `sequencer serve`.
type serving struct {
	*program
	api string
}

func (r *rig) serve(name string, env map[string]string) *serving {
	r.Helper()
	return r.serveAs(name, env, endWithParent())
}

func (r *rig) serveAs(name string, env map[string]string, as *syscall.SysProcAttr) *serving {
	r.Helper()
	s := &serving{program: r.runAs(name, r.bin.sequencer, r.settings(env), as, "serve")}
	s.api = "http://" + r.await(s.program, regexp.MustCompile(`msg=serving addr=(\S+)`)) + "/api/v1"
	return s
}

// settings are those of a service, at an address that is nobody else's once it is dead.
func (r *rig) settings(env map[string]string) map[string]string {
	r.Helper()
	all := maps.Clone(r.env)
	all["SEQUENCER_ADDR"] = redistest.FreeAddr(r, 1)
	maps.Copy(all, env)
	return all
}

// call does one HTTP request and decodes the answer into v, if that is not nil.
func (r *rig) call(method, url, body string, v any) (status int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	r.ok(err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Logf("%s %s: %v", method, url, err)
		return 0
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	r.ok(err)
	if v != nil {
		if err := json.Unmarshal(text, v); err != nil {
			r.Fatalf("%s %s: %d %s: %v", method, url, resp.StatusCode, text, err)
		}
	}
	if resp.StatusCode >= 300 {
		r.Logf("%s %s: %d %s", method, url, resp.StatusCode, text)
	}
	return resp.StatusCode
}

// post posts a transaction that counts from then on.
func (r *rig) post(s *serving, queue, uid string) {
	r.Helper()
	body := fmt.Sprintf(`{"queue":%q,"type":"MINT","data":{},"uid":%q}`, queue, uid)
	if status := r.call(http.MethodPost, s.api+"/transactions", body, nil); status != http.StatusAccepted {
		r.Fatalf("posting %s: status %d", uid, status)
	}
	r.posted = append(r.posted, posting{queue, uid})
}

// fault makes something go wrong at the nth account's worker.
func (r *rig) fault(n uint64, fault string) {
	r.Helper()
	if status := r.call(http.MethodPost, r.urls[n]+"/control/fault", fault, nil); status != http.StatusNoContent {
		r.Fatalf("fault %s: status %d", fault, status)
	}
}

// control has the Mina node do something.
func (r *rig) control(what, body string) {
	r.Helper()
	if status := r.call(http.MethodPost, "http://"+r.node+"/control/"+what, body, nil); status != http.StatusOK {
		r.Fatalf("control %s: status %d", what, status)
	}
}

func (r *rig) get(uid string) *tx.Transaction {
	r.Helper()
	t, err := r.store.Get(r.Context(), uid)
	r.ok(err)
	return t
}

// phase is that of a transaction now, "" if it cannot be told; for any goroutine.
func (r *rig) phase(uid string) tx.Phase {
	t, err := r.store.Get(context.Background(), uid)
	if err != nil {
		return ""
	}
	return t.Phase
}

// claimed lists the transactions that a process holds.
func (r *rig) claimed(process string) []string {
	r.Helper()
	uids, err := r.redis.Client.ZRange(r.Context(), "{"+r.namespace+"}:own:"+process, 0, -1).Result()
	r.ok(err)
	return uids
}

// processes lists those that Redis knows.
func (r *rig) processes() []string {
	r.Helper()
	all, err := r.redis.Client.ZRange(r.Context(), "{"+r.namespace+"}:procs", 0, -1).Result()
	r.ok(err)
	return all
}

// now is the time by the clock of Redis.
func (r *rig) now() time.Time {
	r.Helper()
	now, err := r.redis.Client.Time(r.Context()).Result()
	r.ok(err)
	return now
}

// exitCodeOf waits for the end of a program.
func (r *rig) exitCodeOf(p *program) int {
	r.Helper()
	r.eventually(patience, p.name+" ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.cmd.ProcessState.ExitCode()
}
