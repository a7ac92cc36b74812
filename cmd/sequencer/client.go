package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// A client asks a running sequencer over HTTP. It asks once: whether asking
// again is harmless is for its caller to know.
type client struct {
	app     *app
	base    string // without a trailing slash
	key     string
	asJSON  bool
	timeout time.Duration // of one call, beside what the call is asked to wait
	http    *http.Client
}

// maxAnswer bounds what is read of one answer.
const maxAnswer = 256 << 20

// clientCommand gives cmd the flags of every client command and a client made
// of them.
func clientCommand(a *app, cmd *cobra.Command, do func(cmd *cobra.Command, c *client, args []string) error) *cobra.Command {
	c := &client{app: a}
	flags := cmd.Flags()
	flags.StringVar(&c.base, "url", cmp.Or(a.env["SEQUENCER_URL"], "http://127.0.0.1:8080"), "address of the service (SEQUENCER_URL)")
	// The key from the environment is no flag default: help shows defaults.
	flags.StringVar(&c.key, "key", "", "API key (SEQUENCER_KEY)")
	flags.BoolVar(&c.asJSON, "json", false, "print the service's JSON unchanged")
	flags.DurationVar(&c.timeout, "timeout", 30*time.Second, "the longest one call may take")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.open(); err != nil {
			return err
		}
		defer c.http.CloseIdleConnections()
		return do(cmd, c, args)
	}
	return cmd
}

func (c *client) open() error {
	c.base = strings.TrimRight(c.base, "/")
	c.key = cmp.Or(c.key, c.app.env["SEQUENCER_KEY"])
	if err := checkURL(c.base); err != nil {
		return usagef("--url %s", err)
	}
	if c.key != "" && !isToken(c.key) {
		return usagef("--key holds characters that no HTTP header can carry")
	}
	if c.timeout <= 0 {
		return usagef("--timeout wants a duration above 0")
	}
	c.http = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute},
		// A redirect could carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// A request is one call of the API, with a path below /api/v1.
type request struct {
	method, path string
	query        url.Values
	key          string // the Idempotency-Key
	body         io.Reader
	bodyType     string
	wait         time.Duration // how long the service may take on purpose
}

// send makes the call. The answer has a 2xx status; its body must be closed.
// Errors: *problemError for what the service answered, *unreachableError for
// no answer.
func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+r.wait)
	target := c.base + "/api/v1" + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, r.body)
	if err != nil {
		cancel()
		return nil, usagef("making the request: %w", err)
	}
	req.Header.Set("Accept", "application/json, application/x-ndjson, application/problem+json")
	if r.body != nil {
		req.Header.Set("Content-Type", cmp.Or(r.bodyType, "application/json"))
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		cancel()
		return nil, &unreachableError{c.base, err}
	}
	resp.Body = &cancelBody{http.MaxBytesReader(nil, resp.Body, maxAnswer), cancel}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, newProblem(resp.StatusCode, raw, c.asJSON)
}

// cancelBody ends the call's timeout when the body is closed.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// call makes the call and reads the whole answer.
func (c *client) call(ctx context.Context, r request) ([]byte, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, &unreachableError{c.base, fmt.Errorf("reading the answer: %w", err)}
	}
	return raw, nil
}

// get reads what path names into v and returns its JSON as it came.
func (c *client) get(ctx context.Context, path string, query url.Values, v any) ([]byte, error) {
	raw, err := c.call(ctx, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, err
	}
	return raw, decode(raw, v)
}

func decode(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the answer is not what a sequencer says (is --url right?): %w", err)
	}
	return nil
}

// act posts to path and says what was done.
func (c *client) act(ctx context.Context, method, path string, body []byte, done string) error {
	r := request{method: method, path: path}
	if body != nil {
		r.body = bytes.NewReader(body)
	}
	raw, err := c.call(ctx, r)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.raw(raw)
	}
	_, err = fmt.Fprintln(c.app.stdout, done)
	return err
}

// raw prints the service's JSON unchanged, ending the line.
func (c *client) raw(answer []byte) error {
	if len(answer) == 0 {
		return nil
	}
	_, err := c.app.stdout.Write(endLine(answer))
	return err
}

func endLine(b []byte) []byte {
	if bytes.HasSuffix(b, []byte("\n")) {
		return b
	}
	return append(bytes.Clone(b), '\n')
}

// print writes lines for people.
func (c *client) print(lines ...line) error {
	return newScreen(c.app.stdout, c.app.env).Print(lines...)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// pathOf joins escaped segments to a path; no segment may be empty or one that
// URLs give a meaning.
func pathOf(segments ...string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return "", usagef("%q cannot be a name", s)
		}
		path.WriteString("/" + url.PathEscape(s))
	}
	return path.String(), nil
}

// An unreachableError means that nothing, or not all, was answered.
type unreachableError struct {
	base string
	err  error
}

func (e *unreachableError) Error() string {
	reason := e.err
	if u, ok := errors.AsType[*url.Error](e.err); ok {
		reason = u.Err
	}
	if errors.Is(reason, context.DeadlineExceeded) {
		reason = errors.New("no answer in time")
	}
	return fmt.Sprintf("no answer from %s: %v\n  is the service running there? see --url and SEQUENCER_URL", e.base, reason)
}

func (e *unreachableError) Unwrap() error { return e.err }

// A problemError is an answer that says why not.
type problemError struct {
	Status int
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Errors []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
	raw    []byte
	asJSON bool
}

func newProblem(status int, raw []byte, asJSON bool) *problemError {
	p := &problemError{}
	if json.Unmarshal(raw, p) != nil || (p.Code == "" && p.Title == "") {
		// Something in between answered, not the sequencer.
		p, asJSON = &problemError{Title: http.StatusText(status)}, false
	}
	p.Status, p.raw, p.asJSON = status, raw, asJSON
	return p
}

func (e *problemError) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.Detail, e.Title, "refused"))
	fmt.Fprintf(&b, " (%s)", strings.TrimSpace(e.Code+fmt.Sprintf(" HTTP %d", e.Status)))
	for _, f := range e.Errors {
		fmt.Fprintf(&b, "\n  %s: %s", f.Field, f.Message)
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("\n  → " + advice)
	}
	return b.String()
}

// advice says which command or flag helps; what else to do is in the detail.
func (e *problemError) advice() string {
	switch e.Code {
	case "UNKNOWN_TYPE":
		return "check --type; types that only a worker knows are named in the service's SEQUENCER_WORKER_TYPES"
	case "KEY_REUSED":
		return "this uid belongs to another transaction: take a new one, or see 'sequencer txn show'"
	case "NOT_CANCELLABLE", "NOT_RETRYABLE":
		return "see 'sequencer txn show' for its state"
	case "MIGHT_STILL_LAND":
		return "an attempt may still come into a block: wait until it is dead, see 'sequencer txn show --explain'"
	case "TOO_LARGE":
		return "send less at once, or raise the service's SEQUENCER_BODY_LIMIT or SEQUENCER_BATCH_LIMIT"
	case "BAD_CURSOR":
		return "start again without --cursor"
	case "UNAUTHORIZED":
		return "give a key with --key or SEQUENCER_KEY"
	case "FORBIDDEN":
		return "this key's scope does not allow it"
	}
	return ""
}

func (e *problemError) exitCode() int {
	switch s := e.Status; {
	case s == http.StatusTooManyRequests || s == http.StatusInsufficientStorage ||
		s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout:
		return exitUnavailable
	case s == http.StatusNotFound:
		return exitNotFound
	case s == http.StatusConflict:
		return exitConflict
	case s >= 400 && s < 500:
		return exitRefused
	default:
		return exitFailure
	}
}
