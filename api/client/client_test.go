package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"mina-sequencer/api/client"
	"mina-sequencer/queues"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// scripted is a client whose service is a function; nil is no answer.
func scripted(t *testing.T, serve func(*http.Request) *http.Response, change ...func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{URL: "http://sequencer.example/", Key: "secret", HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if resp := serve(r); resp != nil {
			return resp, nil
		}
		return nil, errors.New("connection reset")
	})}}
	for _, c := range change {
		c(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func respond(status int, body string, header ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for pair := range slices.Chunk(header, 2) {
		resp.Header.Set(pair[0], pair[1])
	}
	return resp
}

// TestEveryRoute: there is a method for each route of the service, and each route
// understands it.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		router, ok := s.handler.(chi.Routes)
		if !ok {
			t.Fatal("the API does not tell its routes")
		}
		left := map[string]bool{}
		if err := chi.Walk(router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if route == "/api/v1/session" {
				return nil // for browsers: a program has its key
			}
			if strings.HasPrefix(route, "/api/v1/") || route == "/healthz" || route == "/readyz" {
				left[method+" "+route] = true
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(left) < 20 {
			t.Fatalf("only the routes %v", left)
		}
		inner := s.handler
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := chi.NewRouteContext()
			if router.Match(rc, r.Method, r.URL.EscapedPath()) {
				delete(left, r.Method+" "+rc.RoutePattern())
			}
			inner.ServeHTTP(w, r)
		})
		s.start()
		defer s.stop()
		callAll(t, s)
		if len(left) > 0 {
			t.Errorf("no method asks %v", left)
		}
	})
}

// must ends the test with an error that was not to come.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func callAll(t *testing.T, s *service) {
	t.Helper()
	c, ctx := s.client(), t.Context()
	data := `{"big":123456789012345678901234567890,"e":1e400,"s":"\u003c<é"}`
	p := must(c.Post(ctx, client.Item{Queue: "q", Type: "ANY", Data: json.RawMessage(data), UID: "u"}))(t)
	if p.Existed || string(p.Data) != data || p.State != client.Waiting || p.ReceivedAt.IsZero() || p.Done != nil {
		t.Errorf("posted %+v", p)
	}
	if p = must(c.Post(ctx, client.Item{Queue: "q", Type: "ANY", Data: json.RawMessage(data), UID: "u"}))(t); !p.Existed {
		t.Error("posted again: it is new")
	}
	dry := must(c.DryRun(ctx, client.Item{Queue: "q", Type: "ANY", Data: json.RawMessage(data)}))(t)
	if dry.Existed || string(dry.Data) != data || dry.Simulation != nil || dry.NotSimulated == "" || dry.UID == "" {
		t.Errorf("a dry run: %+v", dry)
	}
	if _, err := c.Transaction(ctx, dry.UID); !errors.Is(err, client.NotFound) {
		t.Errorf("what was dry: %v", err)
	}
	n := 0
	for r, err := range c.PostBatch(ctx, []client.Item{{Queue: "q", Type: "ANY", Data: json.RawMessage("{\n}")}, {Queue: "/", Type: "ANY", Data: json.RawMessage("{}")}}) {
		if err != nil || r.Index != n || (r.Err != nil) != (n == 1) || r.UID == "" {
			t.Errorf("batch: %+v, %v", r, err)
		}
		n++
	}
	if got := must(c.Transaction(ctx, "u"))(t); string(got.Data) != data || !strings.Contains(string(got.Raw), data) {
		t.Errorf("got %s", got.Raw)
	}
	if got := must(c.Wait(ctx, "u", time.Minute))(t); got.State != client.Waiting {
		t.Errorf("waited for %s", got.State)
	}
	if e := must(c.Explain(ctx, "u"))(t); e.WaitingFor.Code != "FREE_SENDER" || e.Summary == "" {
		t.Errorf("explained %+v", e)
	}
	if page := must(c.Transactions(ctx, client.Filter{Queue: "q"}, client.Cut{Limit: 1}))(t); len(page.Items) != 1 || page.NextCursor == "" {
		t.Errorf("page %+v", page)
	}
	seen := 0
	for _, err := range c.EachTransaction(ctx, client.Filter{State: client.Waiting}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	must(c.Retry(ctx, "u"))(t)
	must(c.Cancel(ctx, "u"))(t)
	must(c.Resolve(ctx, "u", true, "5J"))(t)
	if err := c.Delete(ctx, "u"); !errors.Is(err, client.MightStillLand) {
		t.Errorf("deleted: %v", err)
	}
	for b, err := range c.CancelAll(ctx, client.Filter{Queue: "q"}, true) {
		if err != nil || b.Matched != seen || b.Matched != 2 {
			t.Errorf("%+v of %d, %v", b, seen, err)
		}
	}
	for _, err := range c.RetryAll(ctx, client.Filter{Queue: "q"}, false) {
		if err != nil {
			t.Error(err)
		}
	}
	for b, err := range c.DeleteAll(ctx, client.Filter{Queue: "q", Error: "X"}, false) {
		if err != nil || b.Matched != 0 {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if p := must(c.Transactions(ctx, client.Filter{Hash: "5Jnone"}, client.Cut{}))(t); len(p.Items) != 0 {
		t.Errorf("by a hash that is none: %+v", p.Items)
	}
	if p := must(c.Transactions(ctx, client.Filter{ZkApp: "B62none:xToken"}, client.Cut{}))(t); len(p.Items) != 0 {
		t.Errorf("of an account that nothing touches: %+v", p.Items)
	}
	mine := client.QueueFilter{Prefix: "q"}
	for b, err := range c.PauseAll(ctx, mine, "all", time.Now().Add(time.Hour), false) {
		if err != nil || b.Done != 1 {
			t.Errorf("%+v, %v", b, err)
		}
	}
	for b, err := range c.ResumeAll(ctx, mine, false) {
		if err != nil || b.Done != 1 {
			t.Errorf("%+v, %v", b, err)
		}
	}
	var codes []string
	for e, err := range c.Past(ctx, client.EventFilter{Queue: "q"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Of == "queue" {
			codes = append(codes, e.Code)
		}
	}
	if !slices.Equal(codes, []string{"PAUSED", "RESUMED"}) {
		t.Errorf("what has happened is %v", codes)
	}
	if q := must(c.PauseQueue(ctx, "q", "why not"))(t); !q.Paused || q.Reason != "why not" || q.Counts[client.Waiting] != 2 {
		t.Errorf("paused %+v", q)
	}
	must(c.ResumeQueue(ctx, "q"))(t)
	if q := must(c.WidenQueue(ctx, "q", 6))(t); q.Width != 6 || q.InFlight == nil {
		t.Errorf("wider %+v", q)
	}
	if q := must(c.WidenQueue(ctx, "q", 0))(t); q.Width != 1 {
		t.Errorf("as wide as any %+v", q)
	}
	must(c.Queue(ctx, "q"))(t)
	if f := must(c.Fees(ctx))(t); f.Pool != nil || f.Spent == nil || !json.Valid(f.Raw) {
		t.Errorf("fees %+v", f)
	}
	if o := must(c.Overview(ctx))(t); !json.Valid(o) || !strings.Contains(string(o), `"oldestAt"`) {
		t.Errorf("the overview is %s", o)
	}
	if o := must(c.History(ctx, "day"))(t); !json.Valid(o) || !strings.Contains(string(o), `"seconds":900`) {
		t.Errorf("the history is %s", o)
	}
	for q, err := range c.EachQueue(ctx) {
		if err != nil || q.Name != "q" {
			t.Errorf("%+v, %v", q, err)
		}
	}
	for choice, want := range map[client.QueueChoice]int{{Active: true, State: "FREE"}: 1, {Prefix: "q"}: 1, {Oldest: true, Prefix: "r"}: 0, {Paused: true}: 0} {
		if page := must(c.ChosenQueues(ctx, choice, client.Cut{Limit: 5}))(t); len(page.Items) != want {
			t.Errorf("%+v chooses %+v", choice, page.Items)
		}
	}
	if _, err := c.ChosenQueues(ctx, client.QueueChoice{Paused: true, Oldest: true}, client.Cut{}); !errors.Is(err, client.BadRequest) {
		t.Errorf("paused ones by age: %v", err)
	}
	if x := must(c.AddSender(ctx, "B62x", "http://w"))(t); !x.Available || x.Nonce != nil || x.Balance != nil {
		t.Errorf("added %+v", x)
	}
	must(c.DrainSender(ctx, "B62x"))(t)
	if x := must(c.Sender(ctx, "B62x"))(t); x.Reason != "DRAINING" {
		t.Errorf("drained %+v", x)
	}
	must(c.ResumeSender(ctx, "B62x"))(t)
	for state, want := range map[string]int{"": 1, "FREE": 1, "DELAY": 0} {
		if page := must(c.SendersIn(ctx, state, client.Cut{}))(t); len(page.Items) != want {
			t.Errorf("in state %q: %+v", state, page.Items)
		}
	}
	for x, err := range c.EachSender(ctx) {
		if err != nil || x.AccountID != "B62x" {
			t.Errorf("%+v, %v", x, err)
		}
	}
	if err := c.RemoveSender(ctx, "B62x"); err != nil {
		t.Error(err)
	}
	if x := must(c.AddProver(ctx, "http://p:3000/a", ""))(t); x.ID != "p:3000-a" || x.Available || x.Detail == "" {
		t.Errorf("added %+v", x)
	}
	if _, err := c.AddProver(ctx, "http://q", "p:3000-a"); !errors.Is(err, client.ProverExists) {
		t.Errorf("the id of another: %v", err)
	}
	must(c.DrainProver(ctx, "p:3000-a"))(t)
	if x := must(c.Prover(ctx, "p:3000-a"))(t); x.Reason != "DRAINING" || x.State != "FREE" {
		t.Errorf("drained %+v", x)
	}
	must(c.ResumeProver(ctx, "p:3000-a"))(t)
	for typ, want := range map[string]int{"": 1, "MINT": 0} {
		if page := must(c.Provers(ctx, typ, client.Cut{}))(t); len(page.Items) != want {
			t.Errorf("of type %q: %+v", typ, page.Items)
		}
	}
	if err := c.RemoveProver(ctx, "p:3000-a"); err != nil {
		t.Error(err)
	}
	callWebhooks(t, c)
	for _, err := range c.Events(ctx, "1-1", client.EventFilter{}) { // of another store's log
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != client.EventsGone {
			t.Fatal(err)
		}
	}
	if err := c.Health(ctx); err != nil {
		t.Error(err)
	}
	if r := must(c.Ready(ctx, true))(t); !r.Store.OK || r.Ready {
		t.Errorf("ready %+v", r)
	}
	if posted := s.store.Enqueue(ctx, queues.Item{
		UID: "b", Queue: "batches", Type: "SUBMIT_BATCH", Ledger: "saw", BatchID: "b1", Data: json.RawMessage("{}")}); posted.Err != nil {
		t.Fatal(posted.Err)
	}
	b := must(c.LedgerBatch(ctx, "b"))(t)
	if b.BatchID != "b1" || b.Ledger != "saw" || b.Submitted || b.Settled || b.Status != "" || len(b.Transactions) != 1 ||
		!*b.Transactions[0].Valid || string(b.Transactions[0].ErrorData) != "\a" || string(b.Transactions[0].Receipt) != `{"n":1e400}` {
		t.Errorf("a batch is %s", b.Raw)
	}
	if got := must(c.Transaction(ctx, "b"))(t); got.Submitted == nil || *got.Submitted {
		t.Errorf("a batch is %s", got.Raw)
	}
	if _, err := c.LedgerBatch(ctx, "u"); !errors.Is(err, client.NotFound) {
		t.Errorf("what is none: %v", err)
	}
}

func callWebhooks(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	n := client.NewWebhook{ID: "e", URL: "https://127.0.0.1/hook?key=hush", Queues: []string{"q*"}, States: []client.State{client.Done}}
	if w := must(c.AddWebhook(ctx, n))(t); w.Secret == "" || !w.Enabled || w.URL != "https://127.0.0.1/…" || len(w.Queues) != 1 || w.States[0] != client.Done {
		t.Errorf("added %+v", w)
	}
	if _, err := c.AddWebhook(ctx, n); !errors.Is(err, client.WebhookExists) {
		t.Errorf("added again: %v", err)
	}
	if w := must(c.RotateWebhook(ctx, "e", ""))(t); w.Secret == "" {
		t.Errorf("rotated %+v", w)
	}
	if w := must(c.EditWebhook(ctx, "e", client.WebhookEdit{Types: &[]string{"T"}, States: &[]client.State{}}))(t); len(w.Types) != 1 || len(w.Queues) != 1 || w.States != nil || w.Health != "REFUSED_ADDRESS" {
		t.Errorf("edited %+v", w)
	}
	if d := must(c.PingWebhook(ctx, "e"))(t); d.Delivered || d.Failure != "REFUSED_ADDRESS" {
		t.Errorf("pinged %+v", d)
	}
	if w := must(c.DisableWebhook(ctx, "e"))(t); w.Reason != "DISABLED" || w.DisabledAt.IsZero() {
		t.Errorf("disabled %+v", w)
	}
	must(c.EnableWebhook(ctx, "e"))(t)
	must(c.ReplayWebhook(ctx, "e", ""))(t)
	if _, err := c.ReplayWebhook(ctx, "e", "1-0"); !errors.Is(err, client.EventsGone) {
		t.Errorf("replayed what is gone: %v", err)
	}
	if p := must(c.Deliveries(ctx, "e", 10))(t); len(p.Items) != 0 {
		t.Errorf("deliveries %+v", p)
	}
	if p := must(c.Parked(ctx, "e", client.Cut{Limit: 10}))(t); len(p.Items) != 0 {
		t.Errorf("parked %+v", p)
	}
	if err := c.DiscardParked(ctx, "e", "t:u"); !errors.Is(err, client.NotFound) {
		t.Errorf("discarded: %v", err)
	}
	if w := must(c.Webhook(ctx, "e"))(t); w.Secret != "" || w.ID != must(c.Webhooks(ctx))(t).Items[0].ID {
		t.Errorf("got %+v", w)
	}
	if err := c.RemoveWebhook(ctx, "e"); err != nil {
		t.Error(err)
	}
}

// TestRepeats: what is harmless to repeat is repeated, after what the service says
// or a growing delay; the rest is not.
func TestRepeats(t *testing.T) {
	t.Parallel()
	read := func(ctx context.Context, c *client.Client) error { _, err := c.Queue(ctx, "q"); return err }
	post := func(ctx context.Context, c *client.Client) error {
		_, err := c.Post(ctx, client.Item{Queue: "q", Type: "T", Data: json.RawMessage("{}")})
		return err
	}
	retry := func(ctx context.Context, c *client.Client) error { _, err := c.Retry(ctx, "u"); return err }
	bulk := func(ctx context.Context, c *client.Client) error {
		for _, err := range c.CancelAll(ctx, client.Filter{Queue: "q"}, false) {
			return err
		}
		return nil
	}
	away := func() *http.Response {
		return respond(503, `{"code":"STORE_UNAVAILABLE","title":"x"}`, "Retry-After", "7")
	}
	for _, test := range []struct {
		name     string
		call     func(context.Context, *client.Client) error
		answer   func() *http.Response
		tries    int // with three retries
		min, max time.Duration
	}{
		{"read, store away", read, away, 4, 21 * time.Second, 21 * time.Second},
		{"read, no answer", read, func() *http.Response { return nil }, 4, time.Second, 4 * time.Second},
		{"read, proxy", read, func() *http.Response { return respond(502, "<html>") }, 4, time.Second, 4 * time.Second},
		{"read, refused", read, func() *http.Response { return respond(403, `{"code":"FORBIDDEN","title":"x"}`) }, 1, 0, 0},
		{"read, fault", read, func() *http.Response { return respond(500, `{"code":"STORE_UNAVAILABLE","title":"x"}`) }, 1, 0, 0},
		{"read, later than one waits", read, func() *http.Response { return respond(503, `{}`, "Retry-After", "60") }, 1, 0, 0},
		{"post, store away", post, away, 4, 21 * time.Second, 21 * time.Second},
		{"post, no answer", post, func() *http.Response { return nil }, 4, time.Second, 4 * time.Second},
		{"post, conflict", post, func() *http.Response { return respond(409, `{"code":"KEY_REUSED","title":"x"}`) }, 1, 0, 0},
		{"bulk, store away", bulk, away, 4, 21 * time.Second, 21 * time.Second},
		{"retry, store away", retry, away, 1, 0, 0},
		{"retry, no answer", retry, func() *http.Response { return nil }, 1, 0, 0},
		{"retry, too many calls", retry, func() *http.Response { return respond(429, `{"code":"RATE_LIMITED","title":"x"}`, "Retry-After", "2") }, 4, 6 * time.Second, 6 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				uids := map[string]bool{}
				tries, told := 0, 0
				c := scripted(t, func(r *http.Request) *http.Response {
					tries++
					if r.Header.Get("Authorization") != "Bearer secret" {
						t.Errorf("Authorization %q", r.Header.Get("Authorization"))
					}
					if r.Body != nil {
						body, _ := io.ReadAll(r.Body)
						uids[string(body)] = true
					}
					return test.answer()
				}, func(o *client.Options) { o.Retries, o.OnRetry = 3, func(error) { told++ } })
				start := time.Now()
				err := test.call(t.Context(), c)
				if took := time.Since(start); err == nil || tries != test.tries || told != tries-1 || took < test.min || took > test.max {
					t.Errorf("%d tries, told of %d, in %v: %v", tries, told, took, err)
				}
				if len(uids) > 1 {
					t.Errorf("repeated with other bodies: %v", uids)
				}
				if strings.Contains(fmt.Sprint(err), "secret") {
					t.Errorf("the key is shown: %v", err)
				}
			})
		})
	}
}

// TestBatchRepeats: what has no answer, or none that stands, is posted again from
// there on, and each item is answered once.
func TestBatchRepeats(t *testing.T) {
	t.Parallel()
	items := make([]client.Item, 6)
	for i := range items {
		items[i] = client.Item{Queue: "q", Type: "T", Data: json.RawMessage("{}"), UID: fmt.Sprint("u", i)}
	}
	good := func(i int) string { return fmt.Sprintf(`{"index":%d,"status":202,"transaction":{}}`+"\n", i) }
	const full = `{"index":%d,"status":429,"problem":{"code":"TOO_MANY_WAITING","title":"x"}}` + "\n"
	const away = `{"index":%d,"status":503,"problem":{"code":"STORE_UNAVAILABLE","title":"x"}}` + "\n"
	for _, test := range []struct {
		name    string
		answers []string // to each request; "" breaks off
		asked   string   // the first uid of each
		results string
		fails   bool
	}{
		{"all at once", []string{good(0) + good(1) + good(2) + good(3) + good(4) + good(5)}, "u0", "012345", false},
		{"broken off within", []string{good(0) + good(1) + good(2)[:9], "", good(0) + good(1) + good(2) + good(3)}, "u0 u2 u2", "012345", false},
		{"the store goes away", []string{good(0) + fmt.Sprintf(away, 1) + fmt.Sprintf(away, 2), good(0) + good(1) + good(2) + good(3) + good(4)}, "u0 u1", "012345", false},
		{"a refusal stands", []string{good(0) + `{"index":1,"status":422,"problem":{"code":"INVALID_DATA"}}` + "\n" + good(2) + good(3) + good(4) + good(5)}, "u0", "0-2345", false},
		{"it stays away", []string{good(0), "", "", ""}, "u0 u1 u1", "0", true},
		{"the store stays away", []string{"", "", fmt.Sprintf(away, 0) + fmt.Sprintf(away, 1) + fmt.Sprintf(away, 2) + fmt.Sprintf(away, 3) + fmt.Sprintf(away, 4) + fmt.Sprintf(away, 5)}, "u0 u0 u0", "", true},
		{"a queue stays full", []string{good(0) + fmt.Sprintf(full, 1), fmt.Sprintf(full, 0) + good(1), fmt.Sprintf(strings.Repeat(full, 5), 0, 1, 2, 3, 4)}, "u0 u1 u1", "0-----", false},
		{"a moment's outage behind progress at the last try", []string{"", "", good(0) + good(1), "", good(0) + good(1) + good(2) + good(3)}, "u0 u0 u0 u2 u2", "012345", false},
		{"it fails at one", []string{good(0) + `{"index":1,"status":500,"problem":{"code":"STORE_UNAVAILABLE"}}` + "\n" + good(2) + good(3) + good(4) + good(5)}, "u0", "0-2345", false},
		{"it fails at one, and then breaks off", []string{good(0) + `{"index":1,"status":500,"problem":{"code":"STORE_UNAVAILABLE"}}` + "\n"}, "u0", "0-----", false},
		{"another one's answer", []string{good(3)}, "u0", "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				c := scripted(t, func(r *http.Request) *http.Response {
					body, _ := io.ReadAll(r.Body)
					var first struct{ UID string }
					_ = json.NewDecoder(strings.NewReader(string(body))).Decode(&first)
					asked = append(asked, first.UID)
					if want := 6 - int(first.UID[1]-'0'); strings.Count(string(body), "\n") != want {
						t.Errorf("%d lines from %s on", strings.Count(string(body), "\n"), first.UID)
					}
					if len(asked) > len(test.answers) {
						return nil
					}
					return respond(200, test.answers[len(asked)-1])
				}, func(o *client.Options) { o.Retries = 2 })
				results, failed := "", false
				for r, err := range c.PostBatch(t.Context(), items) {
					switch {
					case err != nil:
						failed = true
					case r.Err != nil:
						results += "-"
					default:
						results += fmt.Sprint(r.Index)
					}
				}
				if diff := cmp.Diff([]any{test.asked, test.results, test.fails}, []any{strings.Join(asked, " "), results, failed}); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestBatchOfAFullQueue: what its queue has no room for is refused, with all of that queue behind
// it, in this part of the batch and in later ones; other queues go on.
func TestBatchOfAFullQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		c := scripted(t, func(r *http.Request) *http.Response {
			var out string
			body, _ := io.ReadAll(r.Body)
			for i, line := range strings.Split(strings.TrimSpace(string(body)), "\n") {
				var item struct{ UID, Queue string }
				_ = json.Unmarshal([]byte(line), &item)
				asked = append(asked, item.UID)
				if item.Queue == "full" {
					out += fmt.Sprintf(`{"index":%d,"status":429,"problem":{"code":"TOO_MANY_WAITING","title":"x"}}`+"\n", i)
					continue
				}
				out += fmt.Sprintf(`{"index":%d,"status":202,"transaction":{"uid":%q}}`+"\n", i, item.UID)
			}
			return respond(200, out)
		}, func(o *client.Options) { o.Retries = 1 })
		batch := c.NewBatch()
		post := func(uids string) (got string) {
			var items []client.Item
			for _, uid := range strings.Fields(uids) {
				queue := map[bool]string{true: "full", false: "free"}[uid[0] == 'f']
				items = append(items, client.Item{Queue: queue, Type: "T", Data: json.RawMessage("{}"), UID: uid})
			}
			for r, err := range batch.Post(t.Context(), items) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Err != nil != (items[r.Index].Queue == "full") || r.Err != nil && r.Err.Code != client.TooManyWaiting {
					t.Errorf("%s: %v", r.UID, r.Err)
				}
				got += fmt.Sprint(r.Index, r.UID, " ")
			}
			return got
		}
		if got := post("a f1 b f2"); got != "0a 1f1 2b 3f2 " {
			t.Error(got)
		}
		if got := post("f3 c f4"); got != "0f3 1c 2f4 " {
			t.Error(got)
		}
		if got := strings.Join(asked, " "); got != "a f1 b f2 f1 b f2 c" {
			t.Errorf("asked %s", got)
		}
	})
}

// TestBatchRate: a batch waits for its rate, as long as that takes.
func TestBatchRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := scripted(t, func(*http.Request) *http.Response {
			if asked++; asked == 1 {
				return respond(429, `{"code":"RATE_LIMITED","title":"x"}`, "Retry-After", "200")
			}
			return respond(200, `{"index":0,"status":202,"transaction":{}}`)
		})
		start := time.Now()
		for r, err := range c.PostBatch(t.Context(), []client.Item{{Queue: "q", Type: "T", Data: json.RawMessage("{}")}}) {
			if err != nil || r.Err != nil {
				t.Error(err, r.Err)
			}
		}
		if took := time.Since(start); asked != 2 || took != 200*time.Second {
			t.Errorf("%d requests in %v", asked, took)
		}
	})
}

// TestWaitOver: a service that goes away while it is waited on is waited for.
func TestWaitOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		c := s.client()
		if _, err := c.Wait(t.Context(), "u", time.Hour); err == nil {
			t.Error("waited for what was never there")
		}
		s.start()
		must(c.Post(t.Context(), client.Item{Queue: "q", Type: "ANY", Data: json.RawMessage("{}"), UID: "u"}))(t)
		time.AfterFunc(10*time.Second, func() { _ = s.server.Close() })
		time.AfterFunc(5*time.Minute, s.start)
		start := time.Now()
		got := must(c.Wait(t.Context(), "u", 10*time.Minute))(t)
		if took := time.Since(start); got.State != client.Waiting || took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("%s after %v", got.State, took)
		}
		if _, err := c.Wait(t.Context(), "nobody", time.Hour); !errors.Is(err, client.NotFound) {
			t.Error(err)
		}
		s.stop()
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{}, {URL: "localhost:8080"}, {URL: "ftp://x"}, {URL: "http://x?y"}, {URL: "http://x#y"}, {URL: "http://"}, {URL: "http://x", Key: "a\nb"},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	c := must(client.New(client.Options{URL: "http://127.0.0.1:1/"}))(t)
	for _, name := range []string{"", ".", ".."} {
		if _, err := c.Transaction(t.Context(), name); !errors.Is(err, client.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, err := range c.CancelAll(t.Context(), client.Filter{}, true) {
		if !errors.Is(err, client.ErrNoFilter) {
			t.Error(err)
		}
	}
	if _, err := c.Post(t.Context(), client.Item{Queue: "q", Type: "T", Data: json.RawMessage(`{"a":1}, "uid":2`)}); err == nil || strings.Contains(err.Error(), "no answer") {
		t.Errorf("broken data was sent: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Health(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
