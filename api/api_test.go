package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// control answers what a test sets.
type control struct {
	err     error
	pending bool
	hangs   bool // until the context ends
	asked   string
	says    string // in an explanation, for "It waits."
	by      string // who asked, as the events would name it
	store   *queues.Store
}

func (c *control) answer(ctx context.Context, asked, uid string) (*tx.Transaction, error) {
	c.asked, c.by = asked+" "+uid, queues.Actor(ctx)
	if c.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("retry: %w: %w", queues.ErrUnavailable, ctx.Err())
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.store.Get(ctx, uid)
}

func (c *control) Retry(ctx context.Context, uid string) (*tx.Transaction, error) {
	return c.answer(ctx, "retry", uid)
}

func (c *control) Cancel(ctx context.Context, uid string) (*tx.Transaction, bool, error) {
	t, err := c.answer(ctx, "cancel", uid)
	return t, c.pending, err
}

func (c *control) Resolve(ctx context.Context, uid string, landed bool, hash string) (*tx.Transaction, error) {
	return c.answer(ctx, fmt.Sprintf("resolve %t %q", landed, hash), uid)
}

func (c *control) Explain(ctx context.Context, uid string, limited bool) (explain.Explanation, error) {
	t, err := c.answer(ctx, fmt.Sprintf("explain, limited %t:", limited), uid)
	if err != nil {
		return explain.Explanation{}, err
	}
	return explain.Explanation{
		State: t.State(), Summary: cmp.Or(c.says, "It waits."), Wait: explain.Wait{Code: explain.WaitBlock, Until: time.Unix(7, 0), Detail: c.says},
		Attempts: []explain.Seen{{
			Attempt: tx.Attempt{Number: 1, Fee: 1 << 60, State: tx.Sent, NodeHash: "5J"}, Open: true, Place: "pool", Agreed: true, Detail: cmp.Or(c.says, "in a pool"),
		}},
		Next: explain.Next{Action: "WATCH"},
	}, nil
}

type service struct {
	testing.TB
	http.Handler
	redis   *miniredis.Miniredis
	store   *queues.Store
	senders *senders.Pool
	control *control
	log     *record
}

// A record is a log that can be read while it is written.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// setup returns a service on a Redis of its own, with the types ANY, which
// takes any object, and STRICT, which wants the fields a and b.
func setup(t testing.TB, change ...func(*Options)) *service {
	t.Helper()
	m := miniredis.NewMiniRedis()
	client := redis.NewClient(&redis.Options{
		Addr:       "127.0.0.1:6379", // never dialled; a name would be looked up
		MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
	})
	t.Cleanup(func() {
		_ = client.Close()
		m.Close()
	})
	s := setupOn(t, client, "t", change...)
	s.redis = m
	return s
}

// setupOn is setup on a Redis that is there, which s.redis does not know.
func setupOn(t testing.TB, client *redis.Client, namespace string, change ...func(*Options)) *service {
	t.Helper()
	store, err := queues.Open(client, queues.Options{Namespace: namespace, Retention: time.Hour, MaxWaiting: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Heartbeat(t.Context(), "p", time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	types := new(dispatcher.Registry)
	if err := types.Register(dispatcher.Func{Name: "ANY"}, dispatcher.Func{Name: "STRICT", CheckData: func(data json.RawMessage) []dispatcher.FieldError {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(data, &fields)
		var bad []dispatcher.FieldError
		for _, name := range []string{"a", "b"} {
			if fields[name] == nil {
				bad = append(bad, dispatcher.FieldError{Field: "data." + name, Message: "must be present"})
			}
		}
		return bad
	}}); err != nil {
		t.Fatal(err)
	}
	s := &service{TB: t, store: store, senders: senders.New(store, client), control: &control{store: store}, log: new(record)}
	o := Options{
		Width: 3,
		Store: store, Senders: s.senders, Types: types, Control: s.control, BodyLimit: 2048, BatchLimit: 64 << 10, BatchItems: 1200,
		ValidKey: func(key string) error {
			if !strings.HasPrefix(key, "B62") || len(key) > 60 {
				return errors.New("no key")
			}
			return nil
		},
		Webhooks: webhooks.New(webhooks.Options{Store: store, Process: "p", Render: Webhook()}),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		}),
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	s.Handler = describedAs(t, New(o))
	return s
}

// in is the service for a test inside of the one that has set it up.
func (s *service) in(t testing.TB) *service {
	inner := *s
	inner.TB = t
	return &inner
}

type reply struct {
	*httptest.ResponseRecorder
	t testing.TB
}

// ask makes a request below the base; header holds names and values.
func (s *service) ask(method, path, body string, header ...string) reply {
	s.Helper()
	r := httptest.NewRequest(method, base+path, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	return s.serve(r)
}

func (s *service) serve(r *http.Request) reply {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{w, s.TB}
}

// read decodes the answer, with numbers as they are written.
func (r reply) read() map[string]any {
	r.t.Helper()
	return decodeNumbers(r.t, r.Body.Bytes())
}

func decodeNumbers(t testing.TB, doc []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("answer %q: %v", doc, err)
	}
	return v
}

func (r reply) want(status int) reply {
	r.t.Helper()
	if r.Code != status {
		r.t.Fatalf("status %d, want %d: %s", r.Code, status, r.Body)
	}
	return r
}

// wantProblem checks everything that each problem has.
func (r reply) wantProblem(status int, code string) map[string]any {
	r.t.Helper()
	r.want(status)
	if got := r.Header().Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("content type %q", got)
	}
	p := r.read()
	if p["code"] != code || p["status"] != json.Number(fmt.Sprint(status)) || p["title"] == "" || p["detail"] == "" {
		r.t.Errorf("problem %v, want code %s", p, code)
	}
	return p
}

// fields are the fields that a problem names.
func fields(p map[string]any) []string {
	var names []string
	list, _ := p["errors"].([]any)
	for _, e := range list {
		names = append(names, fmt.Sprint(e.(map[string]any)["field"]))
	}
	return names
}

// bind gives a free sender to a queue.
func (s *service) bind() *tx.Transaction {
	s.Helper()
	ctx := context.Background()
	bound, err := s.store.Bind(ctx, queues.BindRequest{Process: "p", Types: []string{"ANY"}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Minute})
	if err != nil || len(bound) != 1 {
		s.Fatalf("bound %v: %v", bound, err)
	}
	return bound[0].Transaction
}

// finish brings the oldest transaction that can be bound to an end.
func (s *service) finish(to tx.Phase, changes ...func(*queues.Change)) {
	s.Helper()
	s.step(s.bind(), to, changes...)
}

func TestRouter(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("GET", "/nothing", "").wantProblem(404, "NOT_FOUND")
	s.ask("GET", "/queues/", "").wantProblem(404, "NOT_FOUND")
	s.ask("GET", "/events/", "").wantProblem(404, "NOT_FOUND")
	r := s.ask("PUT", "/transactions", "{}")
	r.wantProblem(405, "BAD_REQUEST")
	if got := r.Header().Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow %q", got)
	}
	r = s.ask("DELETE", "/queues/q/pause", "")
	r.wantProblem(405, "BAD_REQUEST")
	if got := r.Header().Get("Allow"); got != "POST" {
		t.Errorf("Allow %q", got)
	}
	s.ask("HEAD", "/transactions", "").want(200)
	s.ask("POST", "/transactions", "{}", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site").wantProblem(403, "FORBIDDEN")
	if got := s.ask("GET", "/queues", "").Header().Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("nosniff %q", got)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Ready = func(context.Context, bool) Readiness { panic("secret") } })
	r := s.serve(httptest.NewRequest("GET", "/readyz", nil))
	r.wantProblem(500, "STORE_UNAVAILABLE")
	if strings.Contains(r.Body.String(), "secret") {
		t.Errorf("a panic is told: %s", r.Body)
	}
	if log := s.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, "status=500") {
		t.Errorf("log %q", log)
	}
}

// panicking panics in the middle of an answer.
type panicking struct{ *httptest.ResponseRecorder }

func (panicking) Write([]byte) (int, error) { panic("secret") }

// A client must not take the part of an answer for the whole.
func TestPanicWithinAnswer(t *testing.T) {
	t.Parallel()
	s := setup(t)
	w := panicking{httptest.NewRecorder()}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // net/http compares so too
			t.Errorf("recovered %v", got)
		}
	}()
	s.ServeHTTP(w, httptest.NewRequest("POST", base+"/transactions/batch", strings.NewReader("{}")))
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		s.control.hangs = true
		start := time.Now()
		s.ask("POST", "/transactions/u/retry", "").wantProblem(503, "STORE_UNAVAILABLE")
		if took := time.Since(start); took != callTimeout {
			t.Errorf("took %s", took)
		}
	})
}

// A hanging hook has no script be answered.
type hanging struct{ on atomic.Bool }

func (*hanging) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*hanging) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *hanging) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.on.Load() && cmd.Name() == "evalsha" {
			<-ctx.Done()
			return ctx.Err()
		}
		return next(ctx, cmd)
	}
}

// TestPostTimeout: posts do not pile up while Redis hangs, however many wait for their turn.
func TestPostTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		client := redis.NewClient(&redis.Options{
			Addr:       "127.0.0.1:6379", // never dialled
			MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		})
		t.Cleanup(func() { _ = client.Close(); m.Close() })
		hook := &hanging{}
		client.AddHook(hook)
		s := setupOn(t, client, "t", func(o *Options) { o.BodyLimit = 1 << 20 })
		hook.on.Store(true)
		body := `{"queue":"q","type":"ANY","data":{"x":"` + strings.Repeat("x", 600<<10) + `"}}` // a call each
		start := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() { s.ask("POST", "/transactions", body).wantProblem(503, "STORE_UNAVAILABLE") })
		}
		all.Wait()
		if took := time.Since(start); took > 2*callTimeout {
			t.Errorf("the last took %s", took)
		}
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = NewKeyring([]Key{{"ci", Submit, "hushhush", nil}}) })
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{"private":1}}`, "Authorization", "Bearer hushhush", "Idempotency-Key", "mykey").want(202)
	log := s.log.String()
	for _, hidden := range []string{"hushhush", "private", "mykey"} {
		if strings.Contains(log, hidden) {
			t.Errorf("%s is in the log: %s", hidden, log)
		}
	}
	for _, shown := range []string{"method=POST", "route=/api/v1/transactions", "key=ci", "status=202", "took="} {
		if !strings.Contains(log, shown) {
			t.Errorf("no %s in the log: %s", shown, log)
		}
	}
}
