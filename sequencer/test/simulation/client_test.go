package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/mina"
	"mina-sequencer/sequencer/test/harness"
)

// What the HTTP API tells, as far as clients here read it.
type (
	txnDoc struct {
		UID, Queue      string
		Sequence        int64
		State           string
		Hash, Sender    string
		Retries         int
		Error           *struct{ Code, Message string }
		Attempts        []attemptDoc
		DoneAt, FinalAt string
		ExpiresAt       time.Time
		ReceivedAt      time.Time
		Reopened        bool
		CancelRequested bool
		Done            json.RawMessage
	}
	attemptDoc struct {
		Number       int
		Sender, Hash string
		Nonce        uint32
		Open         bool // only in an explanation
	}
	queueDoc struct {
		Name, State, Sender, Running, Reason string
		Paused                               bool
	}
	senderDoc struct {
		AccountID, State, Queue, Reason, Detail, Until string
	}
)

func (t *txnDoc) final() bool {
	return slices.Contains([]string{"DONE", "FAILED", "UNRESOLVED"}, t.State)
}

func (t *txnDoc) code() string {
	if t.Error == nil {
		return ""
	}
	return t.Error.Code
}

// An answer of the API; status 0 if there came none.
type answer struct {
	status int
	body   []byte
}

func (a answer) ok() bool { return a.status/100 == 2 }

// none is an answer that says nothing about what became of the request.
func (a answer) none() bool { return a.status == 0 || a.status == http.StatusServiceUnavailable }

// tooLate reports whether a post was refused, and its deadline is over.
func (a answer) tooLate(p post) bool {
	return a.status == http.StatusUnprocessableEntity && !p.expires.IsZero() && p.expires.Before(time.Now())
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, bytes.TrimSpace(a.body)) }

// handler is the HTTP API of a process.
func handler(p *harness.Process) http.Handler {
	return api.New(api.Options{
		Store: p.Store, Senders: p.Pool, Types: p.Types, Control: p.Sequencer,
		ValidKey: func(key string) error { _, err := mina.ParsePublicKey(key); return err },
	})
}

// A caller asks the API of one process after another, over a network that fails.
type caller struct {
	s      *sim
	client *http.Client
	name   string
	calls  uint64
}

func (s *sim) caller(name string) *caller {
	h := newHost(name, s.in, nil)
	return &caller{s: s, name: name, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return s.call(h, addr)(ctx)
		}}}}
}

func (c *caller) do(ctx context.Context, method, path string, body any) answer {
	c.calls++
	host := fmt.Sprintf("http://api%d/api/v1", c.s.pick(c.s.processes, c.name+" asks", c.calls))
	r, err := request(ctx, method, host+path, body)
	if err != nil {
		return answer{}
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return answer{}
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}
	}
	return answer{resp.StatusCode, doc}
}

func request(ctx context.Context, method, url string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, content)
	if err == nil && body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

// ask asks an API that is there for the checker alone: nothing befalls the call.
// It reports whether doc was filled in.
func (s *sim) ask(method, path string, body, doc any) (answer, bool) {
	r, err := request(s.Ctx, method, "http://desk/api/v1"+path, body)
	s.OK(err)
	w := httptest.NewRecorder()
	s.front.ServeHTTP(w, r)
	a := answer{w.Code, w.Body.Bytes()}
	if !a.ok() {
		return a, false
	}
	if doc != nil {
		s.OK(json.Unmarshal(a.body, doc))
	}
	return a, true
}

// A post is what a client has to post, and which answer it got.
type post struct {
	uid, queue string
	sequence   int64 // 0 until it is accepted
	at         time.Time
	// Zero for most.
	notBefore, expires time.Time
}

func (p post) body(n int) map[string]any {
	body := map[string]any{"uid": p.uid, "queue": p.queue, "type": "MINT", "data": map[string]int{"n": n}}
	if !p.notBefore.IsZero() {
		body["notBefore"] = p.notBefore
	}
	if !p.expires.IsZero() {
		body["expiresAt"] = p.expires
	}
	return body
}

// client posts its share, posts again where it got no answer, and sometimes
// where it got one.
func (s *sim) client(n int) {
	c := s.caller(fmt.Sprintf("client%d", n))
	for i := n; i < s.txns; i += clients {
		k := uint64(i)
		p := s.posts[i]
		harness.Until(s.Ctx, s.between(0, s.trouble/3, "pause", k))
		for tries := 0; ; tries++ {
			asked := time.Now()
			got := c.do(s.Ctx, "POST", "/transactions", p.body(i))
			if got.ok() {
				var t txnDoc
				s.OK(json.Unmarshal(got.body, &t))
				s.check.promised(i, asked, got.status, &t)
			}
			if got.tooLate(p) {
				s.check.tooLate(p.uid)
				break
			}
			if !got.ok() && !got.none() {
				s.check.fail("posting %s: %v", p.uid, got)
				break
			}
			if got.ok() && (tries > 2 || !s.chance(300, "post again", k+uint64(tries))) {
				break
			}
			harness.Until(s.Ctx, 10*time.Second)
			if s.Ctx.Err() != nil {
				return
			}
		}
		if s.chance(200, "other body", k) && !s.forgets {
			got := c.do(s.Ctx, "POST", "/transactions", p.body(-1))
			if !got.none() && !got.tooLate(p) && got.status != http.StatusConflict {
				s.check.fail("%s with another body: %v", p.uid, got)
			}
		}
	}
}

// clients is how many post at a time.
const clients = 3

// A front is a process as its clients see it: while it is stopped it does not
// answer, and once it is dead it never does.
func (h *host) front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.running(r.Context().Done()) != nil {
			panic(http.ErrAbortHandler)
		}
		out := httptest.NewRecorder()
		next.ServeHTTP(out, r)
		if h.running(r.Context().Done()) != nil {
			panic(http.ErrAbortHandler)
		}
		for name, values := range out.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
	})
}
