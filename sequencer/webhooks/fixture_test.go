package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// render writes bodies as short as they can be.
var render = Render{
	Event: func(epoch string, e *queues.Entry) []byte {
		return fmt.Appendf(nil, `{"id":"%s-%d","uid":%q,"to":%q`, epoch, e.Number, e.ID, e.To.State())
	},
	Transaction: func(event []byte, t *tx.Transaction) []byte {
		state := "null"
		if t != nil {
			state = fmt.Sprintf("%q", t.State())
		}
		return append(event, `,"transaction":`+state+`}`...)
	},
}

type fixture struct {
	*testing.T
	ctx    context.Context
	client *redis.Client
	server *redistest.Embedded // nil on a real Redis
	queues *queues.Store
	store  store
}

const process = "process-a"

func newFixture(t *testing.T, client *redis.Client, namespace string) *fixture {
	t.Helper()
	f := &fixture{T: t, ctx: t.Context(), client: client}
	var err error
	f.queues, err = queues.Open(client, queues.Options{Namespace: namespace, Retention: time.Hour})
	f.ok(err)
	f.store = store{f.queues}
	_, err = f.queues.Heartbeat(f.ctx, process, 1000*time.Hour, "")
	f.ok(err)
	return f
}

// bubble runs a case on an embedded Redis, in simulated time.
func bubble(t *testing.T, run func(*fixture)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.Mini(t)
		f := newFixture(t, server.Client, "seq")
		f.server = server
		run(f)
	})
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) post(queue string, uids ...string) {
	f.Helper()
	for _, uid := range uids {
		f.ok(f.queues.Enqueue(f.ctx, queues.Item{UID: uid, Queue: queue, Type: "MINT", Data: json.RawMessage(`{}`)}).Err)
	}
}

// to takes a transaction to a phase, as a person may.
func (f *fixture) to(uid string, phase tx.Phase) {
	f.Helper()
	t, err := f.queues.Get(f.ctx, uid)
	f.ok(err)
	c := &queues.Change{Before: t, After: t.Clone(), Now: time.Now()}
	c.After.Phase, c.After.DueAt, c.Remove, c.Person = phase, time.Time{}, queues.Never, true
	_, err = f.queues.Advance(f.ctx, c)
	f.ok(err)
}

// A receiver is an endpoint that checks what it gets with the standard's library, and
// answers as a test says.
type receiver struct {
	f      *fixture
	secret string

	mu     sync.Mutex
	got    []string // "<id> <uid> <to> <transaction>", each time
	answer func(r *http.Request, uid string) (*reply, error)
}

func (f *fixture) receiver() *receiver { return &receiver{f: f, secret: newSecret()} }

type message struct {
	ID, UID, To string
	Transaction *string
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(q.Body)
	wh, err := standardwebhooks.NewWebhook(r.secret)
	if err == nil {
		err = wh.Verify(body, q.Header)
	}
	var m message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil || m.ID != q.Header.Get("webhook-id") {
		r.f.Errorf("a message that cannot be checked: %v: %s %v", err, body, q.Header)
	}
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		if a, err := answer(q, m.UID); err != nil {
			return nil, err
		} else if a != nil {
			return a.response(), nil
		}
	}
	state := "null"
	if m.Transaction != nil {
		state = *m.Transaction
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprintf("%s %s %s %s", m.ID[strings.LastIndex(m.ID, "-")+1:], m.UID, m.To, state))
	return status(200).response(), nil
}

// A reply is what an endpoint answers.
type reply struct {
	code    int
	headers []string
}

func status(code int, headers ...string) *reply { return &reply{code, headers} }

func (r *reply) response() *http.Response {
	h := http.Header{}
	for pair := range slices.Chunk(r.headers, 2) {
		h.Set(pair[0], pair[1])
	}
	return &http.Response{StatusCode: r.code, Header: h, Body: io.NopCloser(strings.NewReader("what nobody is to see"))}
}

func (r *receiver) answers(answer func(r *http.Request, uid string) (*reply, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

// wants compares what was delivered since it was asked last, in any order of transactions.
// "*" stands for whatever state a transaction had by then.
func (r *receiver) wants(want ...string) {
	r.f.Helper()
	got := r.taken()
	slices.Sort(got)
	slices.Sort(want)
	for i, w := range want {
		if head, any := strings.CutSuffix(w, "*"); any && i < len(got) && strings.HasPrefix(got[i], head) {
			got[i] = w
		}
	}
	if !slices.Equal(got, want) {
		r.f.Fatalf("delivered %q, want %q", got, want)
	}
}

// service runs webhooks that send to r, until stop is called or the test ends.
func (f *fixture) service(r *receiver, change func(*Options)) (s *Service, stop func()) {
	f.Helper()
	o := Options{Store: f.queues, Process: process, Render: render}
	if change != nil {
		change(&o)
	}
	s = New(o)
	s.client.http.Transport = r
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	f.Cleanup(stop)
	return s, stop
}

func (f *fixture) add(s *Service, r *receiver, d Definition) {
	f.Helper()
	d.ID, d.URL, d.Secret = "e", "https://example.org/hook", r.secret
	_, err := s.Add(f.ctx, d)
	f.ok(err)
}

// endpoint runs webhooks with one endpoint, which gets what happens from now on.
func (f *fixture) endpoint(change func(*Options), d Definition) (s *Service, r *receiver, stop func()) {
	f.Helper()
	r = f.receiver()
	s, stop = f.service(r, change)
	f.add(s, r, d)
	return s, r, stop
}

func (f *fixture) status(s *Service) *Status {
	f.Helper()
	x, err := s.Get(f.ctx, "e")
	f.ok(err)
	return x
}

// named are definitions by these ids.
func (f *fixture) named(r *receiver, ids ...string) (all []Definition) {
	for _, id := range ids {
		all = append(all, Definition{ID: id, URL: "https://example.org/" + id, Secret: r.secret})
	}
	return all
}

// reasons are, of each endpoint, its source and why it is disabled.
func (f *fixture) reasons(s *Service) map[string]string {
	f.Helper()
	stored, err := s.List(f.ctx)
	f.ok(err)
	is := map[string]string{}
	for _, x := range stored {
		is[x.ID] = string(x.Source) + " " + x.Disabled
	}
	return is
}

// passes lets time pass.
func passes(d time.Duration) { <-time.After(d); synctest.Wait() }
