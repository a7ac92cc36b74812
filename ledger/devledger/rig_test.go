package devledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "mina-sequencer/ledger/devledger"
)

// A rig is a ledger behind HTTP over pipes, in a bubble.
type rig struct {
	*testing.T
	Ledger
	at     string // where it is served
	path   string // in front of /batches
	client *http.Client
	header http.Header // of all posts
}

type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newRig serves a ledger until the test ends.
func newRig(t *testing.T, l Ledger, path string) *rig {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: l}
	go func() { _ = server.Serve(p) }()
	// A client that keeps connections asks again by itself when one is cut.
	transport := &http.Transport{DialContext: p.dial, DisableKeepAlives: true}
	t.Cleanup(func() {
		l.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
		<-time.After(time.Second) // the server lingers where it has not read all of a body
	})
	return &rig{
		T: t, Ledger: l, at: "http://ledger", path: path, client: &http.Client{Transport: transport},
		header: http.Header{"Content-Type": {"application/octet-stream"}},
	}
}

// onSawtooth runs a test on a ledger that makes a block every ten seconds.
func onSawtooth(t *testing.T, config SawtoothConfig, test func(r *rig, s *Sawtooth)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if config.BlockTime == 0 {
			config.BlockTime = 10 * time.Second
		}
		s, err := NewSawtooth(config)
		if err != nil {
			t.Fatal(err)
		}
		test(newRig(t, s, ""), s)
	})
}

// onScabbard runs a test on a node whose proposals take ten seconds.
func onScabbard(t *testing.T, config SplinterConfig, test func(r *rig, n *Splinter)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if config.ProposalTime == 0 {
			config.ProposalTime = 10 * time.Second
		}
		n, err := NewSplinter(config)
		if err != nil {
			t.Fatal(err)
		}
		test(newRig(t, n, "/scabbard/devnt-local/a000"), n)
	})
}

// A reply is an answer, or the error in its place.
type reply struct {
	status int
	body   string
	header http.Header
	err    error
}

// code is that of Sawtooth's REST API, 0 if there is none.
func (a reply) code() int {
	var e struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(a.body), &e) // a page of a proxy has none
	return e.Error.Code
}

func (a reply) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %.300s", a.status, a.body)
}

func (r *rig) do(ctx context.Context, method, target string, header http.Header, body []byte) reply {
	req, err := http.NewRequestWithContext(ctx, method, r.at+target, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := r.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, string(got), resp.Header, err}
}

// post posts lists as one, with patience.
func (r *rig) post(lists ...Made) reply { return r.postFor(time.Hour, lists...) }

// postFor posts and gives up after a time.
func (r *rig) postFor(patience time.Duration, lists ...Made) reply {
	r.Helper()
	var body []byte
	for _, l := range lists {
		body = append(body, l.List...)
	}
	return r.postBytes(patience, body)
}

func (r *rig) postBytes(patience time.Duration, body []byte) reply {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return r.do(ctx, http.MethodPost, r.path+"/batches", r.header, body)
}

func (r *rig) mustPost(lists ...Made) {
	r.Helper()
	if a := r.post(lists...); a.status != http.StatusAccepted {
		r.Fatalf("posted: %v", a)
	}
}

// get asks and reads JSON.
func (r *rig) get(target string, to any) reply {
	r.Helper()
	a := r.do(r.Context(), http.MethodGet, target, http.Header{}, nil)
	if to != nil {
		if err := json.Unmarshal([]byte(a.body), to); err != nil {
			r.Fatalf("%s: %v: %v", target, a, err)
		}
	}
	return a
}

// statuses are those of batches, by words, in the order asked.
func (r *rig) statuses(batches ...Made) string {
	r.Helper()
	var ids []string
	for _, b := range batches {
		ids = append(ids, b.ID)
	}
	list := strings.Join(ids, ",")
	byID := map[string]string{}
	if r.path == "" {
		var got struct{ Data []struct{ ID, Status string } }
		r.get("/batch_statuses?id="+list, &got)
		for _, s := range got.Data {
			byID[s.ID] = s.Status
		}
	} else {
		for _, s := range r.scabbardStatuses(list) {
			byID[s.ID] = s.Status.StatusType
		}
	}
	var words []string
	for _, id := range ids {
		words = append(words, byID[id])
	}
	return strings.Join(words, " ")
}

type scabbardStatus struct {
	ID     string
	Status struct {
		StatusType string
		Message    []map[string]any
	}
}

func (r *rig) scabbardStatuses(list string) (got []scabbardStatus) {
	r.Helper()
	r.get(r.path+"/batch_statuses?ids="+list, &got)
	return got
}

// expect fails unless batches have these statuses.
func (r *rig) expect(want string, batches ...Made) {
	r.Helper()
	if got := r.statuses(batches...); got != want {
		r.Errorf("statuses are %s, want %s", got, want)
	}
}

// effects fails unless these batches took effect, in this order.
func (r *rig) effects(want ...Made) {
	r.Helper()
	var got, ids []string
	for _, e := range r.Effects() {
		got = append(got, e.Batch[:8])
	}
	for _, b := range want {
		ids = append(ids, b.ID[:8])
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		r.Errorf("in effect are %v, want %v", got, ids)
	}
}

// batch makes one of one transaction.
func batch(payload string) Made { return NewSigner(1).Batch("n", payload) }

// made is what batches takes from: signing is slow under the race detector.
var made = sync.OnceValue(func() (out []Made) {
	for i := range 302 {
		out = append(out, batch("set a "+strconv.Itoa(i)))
	}
	return out
})

// batches returns so many different ones.
func batches(n int) []Made { return made()[:n:n] }

// cut says whether the connection ended without an answer.
func (a reply) cut() bool {
	return a.err != nil && !errors.Is(a.err, context.DeadlineExceeded) &&
		(errors.Is(a.err, io.EOF) || strings.Contains(a.err.Error(), "closed"))
}

func (a reply) gaveUp() bool { return errors.Is(a.err, context.DeadlineExceeded) }
