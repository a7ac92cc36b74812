package dispatcher

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
)

const (
	// dialTimeout is for a connection, TLS included.
	dialTimeout = 10 * time.Second
	// idleTimeout is shorter than the 5 s after which Node.js closes an idle
	// connection, so that few requests meet one that is being closed.
	idleTimeout = 4 * time.Second
	// quickTimeout and quickLimit are for calls that make no transaction.
	quickTimeout = 30 * time.Second
	quickLimit   = 64 << 10
)

// ClientOptions configure a [Client].
type ClientOptions struct {
	// Token goes to every worker as a Bearer token, if set.
	Token string
	// Timeout limits one Prove, Dispatch or Resign; 0 means 10 minutes.
	Timeout time.Duration
	// AnswerLimit is the longest answer to those, in bytes; 0 means 8 MiB.
	AnswerLimit int64
	// Local are the workers that this process runs; the zero value is none.
	Local LocalWorkers
	// Provers prove for senders whose worker only signs; nil: nobody does.
	Provers *provers.Pool
	// DecodeMemo turns the base58 memo of a command into text, for [CheckSigned]; it comes with Provers.
	DecodeMemo func(base58 string) (string, error)
	// Trace is the traceparent that a worker gets with a call, "" for none; nil means none.
	Trace func(ctx context.Context) string
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// LocalWorkers are workers that run with this process and have no URL of their
// own. Their methods may be called concurrently.
type LocalWorkers struct {
	// Find tells where the account's worker takes calls now, "" and how long to
	// wait if it does not, and false if it runs with another process.
	Find func(account string) (url string, wait time.Duration, ok bool)
	// Hung is told that the worker at url has not answered a call in time.
	Hung func(account, url string)
	// Token is the Bearer token that they were started with, whatever others are shown.
	Token string
}

// A Client speaks the worker protocol, version 1, over HTTP. All methods may
// be called concurrently.
//
// A Dispatch, which may send, has a connection of its own: what fails before
// there is one has certainly not reached the worker, and no request is lost
// with an old connection that the worker was about to close. All other calls
// may safely be asked for again, and share connections for a few seconds.
// Nothing sends a request twice. Redirects and proxies are not followed: the
// token goes where it was meant to.
type Client struct {
	transport *http.Transport
	token     atomic.Pointer[string]
	timeout   time.Duration
	limit     int64
	local     LocalWorkers
	trace     func(ctx context.Context) string

	provers *provers.Pool
	memo    func(base58 string) (string, error)
	signers sync.Map // URLs of workers that only sign, as they have said
	kept    kept
}

// NewClient returns a client. It holds nothing that has to be closed.
func NewClient(o ClientOptions) *Client {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.AnswerLimit <= 0 {
		o.AnswerLimit = 8 << 20
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return o.Dial(ctx, network, addr)
	}
	c := &Client{
		transport: &http.Transport{
			DialContext:            dial,
			Protocols:              protocols,
			MaxIdleConns:           1024,
			MaxIdleConnsPerHost:    256, // workers may share a host
			IdleConnTimeout:        idleTimeout,
			DisableCompression:     true,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: quickLimit,
		},
		timeout: o.Timeout,
		limit:   o.AnswerLimit,
		local:   o.Local,
		trace:   o.Trace,
		provers: o.Provers,
		memo:    o.DecodeMemo,
	}
	c.SetToken(o.Token)
	return c
}

// SetToken has workers be shown another token from now on, but for those of this process.
func (c *Client) SetToken(token string) {
	token = strings.TrimSpace(token)
	c.token.Store(&token)
}

// A place is where a worker takes calls now, and what it is shown there.
type place struct {
	url, token string
	local      bool // of this process
}

// find says where a worker is. Its error is an UnreachedError or a BusyError.
func (c *Client) find(worker Worker) (place, error) {
	if worker.URL != senders.Local {
		return place{url: worker.URL, token: *c.token.Load()}, nil
	}
	elsewhere := &UnreachedError{ErrElsewhere}
	if c.local.Find == nil {
		return place{}, elsewhere
	}
	at, wait, ok := c.local.Find(worker.AccountID)
	switch {
	case !ok:
		return place{}, elsewhere
	case at == "":
		return place{}, &BusyError{RetryAfter: min(max(wait, time.Second), MaxRetryAfter)}
	}
	return place{url: at, token: c.local.Token, local: true}, nil
}

// Reaches reports whether a worker has a URL, or runs with this process, whether it takes
// calls now or not.
func (c *Client) Reaches(worker Worker) bool {
	_, err := c.find(worker)
	return !errors.Is(err, ErrElsewhere)
}

// A reply is a complete HTTP answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do makes one quick request of a worker. Its error is an UnreachedError, a LostError or,
// from find, a BusyError.
func (c *Client) do(ctx context.Context, worker Worker, body []byte, path ...string) (*reply, error) {
	at, err := c.find(worker)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	return c.ask(ctx, at, body, quickLimit, path...)
}

// ask makes one HTTP request of {at.url}/{path…}; body nil means GET. Its error is an
// UnreachedError or a LostError.
func (c *Client) ask(ctx context.Context, at place, body []byte, limit int64, path ...string) (*reply, error) {
	u, err := url.Parse(at.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &UnreachedError{errors.New("the worker's URL is not an http or https URL")}
	}
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, u.JoinPath(path...).String(), bytes.NewReader(body))
	if err != nil {
		return nil, &UnreachedError{errors.New("the worker's URL cannot be requested")}
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if at.token != "" {
		req.Header.Set("Authorization", "Bearer "+at.token)
	}
	if c.trace != nil {
		if parent := c.trace(ctx); parent != "" {
			req.Header.Set("traceparent", parent)
		}
	}
	resp, err := c.roundTrip(req, path[0] == "dispatch")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body ends with no context
		return nil, &LostError{errors.New("the worker switched to another protocol")}
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, &LostError{fmt.Errorf("reading the answer: %w", err)}
	}
	if int64(len(answer)) > limit {
		return nil, &LostError{fmt.Errorf("the answer is longer than %d bytes", limit)}
	}
	return &reply{status: resp.StatusCode, header: resp.Header, body: answer}, nil
}

// roundTrip sends a request, over a connection of its own if alone.
func (c *Client) roundTrip(req *http.Request, alone bool) (*http.Response, error) {
	if alone {
		dialing, cancel := context.WithTimeout(req.Context(), dialTimeout)
		defer cancel()
		conn, err := c.transport.NewClientConn(dialing, req.URL.Scheme, net.JoinHostPort(req.URL.Hostname(), req.URL.Port()))
		if err != nil {
			return nil, &UnreachedError{err}
		}
		resp, err := conn.RoundTrip(req)
		if err != nil {
			_ = conn.Close()
			return nil, &LostError{err}
		}
		resp.Body = closeBoth{resp.Body, conn}
		return resp, nil
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := c.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	switch {
	case err == nil:
		return resp, nil
	case connected.Load():
		return nil, &LostError{err}
	}
	return nil, &UnreachedError{err}
}

// closeBoth closes a body's connection with it.
type closeBoth struct {
	io.ReadCloser
	conn io.Closer
}

func (c closeBoth) Close() error { return errors.Join(c.ReadCloser.Close(), c.conn.Close()) }

// busy returns a BusyError if the worker took nothing on.
func (r *reply) busy() *BusyError {
	if r.status != http.StatusServiceUnavailable && r.status != http.StatusTooManyRequests {
		return nil
	}
	after := r.header.Get("Retry-After")
	if after == "" {
		return &BusyError{}
	}
	wait := time.Second // what it names may be over, or be no time
	if at, err := http.ParseTime(after); err == nil {
		wait = time.Until(at)
	} else if n, err := strconv.ParseUint(after, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		wait = time.Duration(min(n, uint64(MaxRetryAfter/time.Second))) * time.Second
	}
	return &BusyError{RetryAfter: min(max(wait, time.Second), MaxRetryAfter)}
}

// refused describes an answer by its HTTP status alone. Where the worker turns
// this caller away (a redirect, 401, 403), no other transaction would fare
// better with it.
func (r *reply) refused() *WorkerError {
	kind := Retryable
	if r.status < 400 || r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
		kind = Unavailable
	}
	return &WorkerError{Code: strconv.Itoa(r.status), Message: r.said(), Kind: kind}
}

// said describes an answer that is no TxnResult by its status and its own words.
func (r *reply) said() string {
	text := strings.TrimSpace("the worker answered HTTP " + strconv.Itoa(r.status) + " " + http.StatusText(r.status))
	if own := words(r.body); own != "" {
		text += ": " + own
	}
	return text
}

// Health is what a worker says of itself; a field it does not give is empty.
type Health struct {
	AccountID    string   // public key of the sender whose key it holds
	Types        []string // that it can make
	Capabilities []string // such as "prove" and "resign"
	Network      string   // network id
	O1js         string   // version of o1js
	Provers      int      // how many it proves at a time
	Memory       uint64   // bytes that it takes up
	Hour         *int     // proofs that it made in the last hour, nil if it does not say
}

// Health asks a worker about itself. A worker without such a call, or whose
// answer is no JSON object, is healthy and says nothing: Health{} and nil.
//
// Of a worker that only signs it is told what it can together with the provers of the pool.
//
// Errors: ErrWrongAccount if it names another account than worker.AccountID
// (the Health is returned beside it), UnreachedError, BusyError, LostError, or
// WorkerError for any other HTTP status.
func (c *Client) Health(ctx context.Context, worker Worker) (Health, error) {
	h, err := c.health(ctx, worker)
	if err == nil {
		h = c.paired(worker, h)
	}
	return h, err
}

// health is Health of the worker alone.
func (c *Client) health(ctx context.Context, worker Worker) (Health, error) {
	r, err := c.do(ctx, worker, nil, "health")
	if err != nil {
		return Health{}, fmt.Errorf("asking for health: %w", err)
	}
	if busy := r.busy(); busy != nil {
		return Health{}, fmt.Errorf("asking for health: %w", busy)
	}
	if r.status == http.StatusNotFound || r.status == http.StatusNotImplemented {
		return Health{}, nil
	}
	if r.status != http.StatusOK {
		return Health{}, fmt.Errorf("asking for health: %w", r.refused())
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(r.body, &fields) // what is no object has none
	whole := func(raw json.RawMessage) (n int) {
		if json.Unmarshal(raw, &n) != nil {
			return 0
		}
		return n
	}
	list := func(name string) (l []string) {
		if json.Unmarshal(fields[name], &l) != nil {
			return nil
		}
		return l
	}
	h := Health{
		AccountID:    text(fields["accountId"]),
		Types:        list("types"),
		Capabilities: list("capabilities"),
		Network:      text(fields["network"]),
		O1js:         text(fields["o1js"]),
		Provers:      whole(fields["provers"]),
	}
	var memory struct{ RSS uint64 }
	if json.Unmarshal(fields["memory"], &memory) == nil {
		h.Memory = memory.RSS
	}
	if len(fields["proofsLastHour"]) > 0 {
		h.Hour = new(whole(fields["proofsLastHour"]))
	}
	if h.AccountID != "" && worker.AccountID != "" && h.AccountID != worker.AccountID {
		return h, fmt.Errorf("asking for health: %w: %q", ErrWrongAccount, excerpt(h.AccountID))
	}
	return h, nil
}
