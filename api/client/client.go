// Package client is a client of the sequencer's HTTP API, for programs in Go.
// The command line is built on it, and uses nothing else of the service.
//
// Every method asks one route. Those of which a repetition is harmless are
// repeated where the service, or the way to it, fails for a moment, after what
// Retry-After says or else a growing delay; posting is one of them, for every
// transaction gets a uid here. What the service answers is kept beside the
// decoded fields as it was written (Raw), and data is never decoded, so that no
// number in it is rewritten.
//
// Errors: an [*Error] is what the service answered instead, with a [Code] that
// errors.Is finds; an [*UnreachableError] means that nothing, or not all, was
// answered. A [*Client] may be used concurrently.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options say where the service is, and how patient its client.
type Options struct {
	// URL is the http:// or https:// address of the service, without /api/v1.
	URL string
	// Key is the API key, "" where the service wants none.
	Key string
	// Timeout is the longest one try may take, besides what it is asked to wait;
	// 0 is 30 seconds.
	Timeout time.Duration
	// Retries is how often a failed call is made again where that is harmless; 0
	// is 4 times, a negative number never.
	Retries int
	// Backoff is the delay before the first of them, doubled with each one up to
	// ten seconds, where the service names no other; 0 is half a second.
	Backoff time.Duration
	// OnRetry, if set, is told why a call is about to be made again.
	OnRetry func(error)
	// HTTP makes the calls; nil is a client of its own, which follows no redirects,
	// for they could carry the key elsewhere.
	HTTP *http.Client
}

const (
	base       = "/api/v1"
	maxAnswer  = 256 << 20 // bytes read of one answer
	maxBackoff = 10 * time.Second
	// mostPatience is the longest Retry-After that is waited for; a longer one is
	// for the caller to know.
	mostPatience = 30 * time.Second
)

// A Client asks one service.
type Client struct {
	Options
}

// New returns a client; it asks nothing yet. Error: the URL is none, or the key
// cannot be sent.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL of a service must be an http:// or https:// address without query and fragment")
	}
	for _, r := range o.Key {
		if r <= ' ' || r > '~' {
			return nil, errors.New("the key holds characters that no HTTP header can carry")
		}
	}
	o.URL = strings.TrimRight(o.URL, "/")
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Retries == 0 {
		o.Retries = 4
	}
	if o.Backoff <= 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{o}, nil
}

// Close gives idle connections back. The client can still be used.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// A request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         []byte
	wait         time.Duration // how long the service may take on purpose
	once         bool          // a repetition would be answered differently
	stream       bool          // the answer has no end
}

// open makes one try. The answer has a 2xx status; its body must be closed, and
// ends with ctx.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	target := c.URL + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, &UnreachableError{c.URL, err}
	}
	if resp.StatusCode/100 == 2 {
		if !r.stream {
			resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
		}
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body ends with no context
		return nil, newError(resp, nil)
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, newError(resp, raw)
}

// try makes one try and reads the whole answer.
func (c *Client) try(ctx context.Context, r request) (status int, raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout+r.wait)
	defer cancel()
	resp, err := c.open(ctx, r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if raw, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, &UnreachableError{c.URL, fmt.Errorf("reading the answer: %w", err)}
	}
	return resp.StatusCode, raw, nil
}

// call makes the call, again where that is harmless, and decodes the answer into
// v, which may be nil. The status is 2xx.
func (c *Client) call(ctx context.Context, r request, v any) (status int, err error) {
	for tried := 0; ; tried++ {
		status, raw, err := c.try(ctx, r)
		if err == nil {
			return status, decode(raw, v)
		}
		if ctx.Err() != nil || tried >= c.Retries || !passing(err, r.once) || !c.rest(ctx, err, tried) {
			return 0, err
		}
	}
}

func decode(raw []byte, v any) error {
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the answer is not what a sequencer says: %w", err)
	}
	return nil
}

// passing reports whether a failure may be over in a moment, so that the same
// call can be made again. Of what was not done only 429 is sure.
func passing(err error, once bool) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter <= mostPatience && (e.Status == http.StatusTooManyRequests || e.Temporary() && !once)
	}
	_, unreachable := errors.AsType[*UnreachableError](err)
	return unreachable && !once
}

// rest waits before the next try. It returns false if ctx ends before.
func (c *Client) rest(ctx context.Context, err error, tried int) bool {
	if c.OnRetry != nil {
		c.OnRetry(err)
	}
	delay := min(c.Backoff<<min(tried, 20), maxBackoff)
	delay = delay/2 + rand.N(delay/2+1)
	if e, ok := errors.AsType[*Error](err); ok {
		delay = cmp.Or(e.RetryAfter, delay)
	}
	return sleep(ctx, delay)
}

// sleep waits for d; it returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// pathOf joins escaped segments to a path below the base. No segment may be
// empty, or one that URLs give a meaning.
func pathOf(segments ...string) (string, error) {
	var path strings.Builder
	path.WriteString(base)
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return "", fmt.Errorf("%q %w", s, ErrName)
		}
		path.WriteString("/" + url.PathEscape(s))
	}
	return path.String(), nil
}

// ask is call on a path of segments, with a document of type T as the answer.
func ask[T any](ctx context.Context, c *Client, r request, segments ...string) (*T, error) {
	var err error
	if r.path, err = pathOf(segments...); err != nil {
		return nil, err
	}
	v := new(T)
	if _, err := c.call(ctx, r, v); err != nil {
		return nil, err
	}
	return v, nil
}

// tell is ask without an answer to read.
func (c *Client) tell(ctx context.Context, r request, segments ...string) error {
	var err error
	if r.path, err = pathOf(segments...); err != nil {
		return err
	}
	_, err = c.call(ctx, r, nil)
	return err
}
