package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	submitLimit = 64 << 10 // bytes of an answer to a post
	statusLimit = 8 << 20  // bytes of an answer that holds statuses
	lineLimit   = 1 << 10  // bytes of a text from outside that is passed on
)

// A dialect is what one kind of ledger has of its own. It does no I/O.
type dialect interface {
	idempotent() bool
	// headers adds what every request carries.
	headers(http.Header)
	// explain returns the code and the text of an error's body, as far as it has
	// them.
	explain(body []byte) (code, text string)
	// judge says what an answer means where that is not the same for all ledgers
	// (see verdict). id is that of the batch that was posted.
	judge(r reply, code, id string) (Outcome, Why)
	// most is how many ids one question may have, and question asks for them.
	most() int
	question(ids []string) request
	// statuses reads the answer to a question: one entry per id, in any order. It
	// may stop when there are more than most.
	statuses(body []byte, most int) ([]entry, error)
	// receipts asks for those of transactions, if the ledger gives any.
	receipts(ids []string) (request, bool)
}

// An entry is what an answer says of one id; err is set if it makes no sense.
type entry struct {
	id     string
	status Status
	err    error
}

// A client is a Ledger of some dialect.
type client struct {
	dialect       dialect
	url           string
	timeout       time.Duration
	authorization func() Secret
	transport     *http.Transport
}

func newTransport(o Options) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            o.Dial,
		Protocols:              protocols,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: submitLimit,
	}
}

// A request is one HTTP request; the path is relative to the ledger's URL.
type request struct {
	method, path, contentType string
	body                      []byte
	limit                     int64 // bytes of the answer
}

// A reply is an HTTP answer. body is nil if it could not be read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

var (
	errNotWritten = errors.New("the ledger was not reached, nothing was sent")
	errTooLong    = errors.New("the ledger's answer is too long")
)

// do makes one request. Without a reply the error is errNotWritten if no byte of
// it has left. Where only the body could not be read there are a reply and an
// error, errTooLong among them.
func (c *client) do(ctx context.Context, q request) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	secret := string(c.authorization())
	req, err := c.newRequest(ctx, q, secret)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotWritten, err)
	}
	connecting, stop := context.WithTimeout(ctx, c.timeout/2)
	defer stop()
	address := net.JoinHostPort(req.URL.Hostname(), req.URL.Port())
	conn, err := c.transport.NewClientConn(connecting, req.URL.Scheme, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotWritten, err)
	}
	defer func() { _ = conn.Close() }()
	resp, err := conn.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("the ledger's answer was lost: %w", hideIn(err, secret))
	}
	defer resp.Body.Close()
	r := &reply{status: resp.StatusCode, header: resp.Header}
	if r.status == http.StatusSwitchingProtocols {
		return r, errors.New("the ledger switched to another protocol") // its body ends with no context
	}
	var body []byte
	if resp.ContentLength <= q.limit {
		body, err = io.ReadAll(io.LimitReader(resp.Body, q.limit+1))
	}
	if err != nil {
		return r, fmt.Errorf("reading the ledger's answer: %w", err)
	}
	if max(resp.ContentLength, int64(len(body))) > q.limit {
		return r, fmt.Errorf("%w: more than %d bytes", errTooLong, q.limit)
	}
	r.body = hide(body, secret)
	return r, nil
}

// newRequest checks what would otherwise fail when the connection is there.
func (c *client) newRequest(ctx context.Context, q request, secret string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, c.url+"/"+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, errors.New("its address cannot be requested")
	}
	req.Header.Set("Accept", "application/json")
	c.dialect.headers(req.Header)
	if q.contentType != "" {
		req.Header.Set("Content-Type", q.contentType)
	}
	if secret != "" {
		if !isHeaderValue(secret) {
			return nil, errors.New("the value of " + varAuth + " for it cannot be a header")
		}
		req.Header.Set("Authorization", secret)
	}
	return req, nil
}

// hide takes a secret out of what a ledger says, for that may be logged.
func hide(said []byte, secret string) []byte {
	if _, token, ok := strings.Cut(secret, " "); ok {
		secret = token
	}
	if len(secret) < 8 {
		return said
	}
	return bytes.ReplaceAll(said, []byte(secret), []byte(masked))
}

// hideIn does so with an error, which may quote a malformed answer.
func hideIn(err error, secret string) error {
	if text := string(hide([]byte(err.Error()), secret)); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Idempotent implements Ledger.
func (c *client) Idempotent() bool { return c.dialect.idempotent() }

// Submit implements Ledger.
func (c *client) Submit(ctx context.Context, batchList []byte, id string) Answer {
	r, err := c.do(ctx, request{
		method: http.MethodPost, path: "batches", contentType: "application/octet-stream",
		body: batchList, limit: submitLimit,
	})
	switch {
	case r == nil && errors.Is(err, errNotWritten):
		return Answer{Outcome: NotWritten, Message: clip(err.Error())}
	case r == nil:
		return Answer{Outcome: MayBeProcessed, Message: clip(err.Error())}
	}
	return c.verdict(*r, id)
}

// verdict says what an answer means. The rows are those of the table in the
// contract, "Ledgers that take batches"; what is not in it is MayBeProcessed.
func (c *client) verdict(r reply, id string) Answer {
	a := Answer{}
	a.Code, a.Message = c.explain(r)
	switch r.status {
	case http.StatusTooManyRequests:
		a.Outcome = NotProcessed
	case http.StatusRequestEntityTooLarge:
		a.Outcome = Rejected
	case http.StatusUnauthorized, http.StatusForbidden:
		a.Outcome, a.Why = Held, WrongAuth
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMovedPermanently, http.StatusFound,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		a.Outcome, a.Why = Held, WrongAddress
	default:
		a.Outcome, a.Why = c.dialect.judge(r, a.Code, id)
	}
	if a.Outcome == Accepted {
		return Answer{Outcome: Accepted}
	}
	if a.Outcome == NotProcessed {
		a.Wait = r.retryAfter()
	}
	return a
}

// explain returns the code of an answer and a line that describes it.
func (c *client) explain(r reply) (code, message string) {
	status := strconv.Itoa(r.status)
	code, text := c.dialect.explain(r.body)
	message = strings.TrimSpace("the ledger answered HTTP " + status + " " + http.StatusText(r.status))
	if code == "" {
		code = status
	} else if code != status {
		message += ", code " + code
	}
	if text != "" {
		message += ": " + text
	}
	return clip(code), clip(message)
}

func (r reply) retryAfter() time.Duration {
	after := r.header.Get("Retry-After")
	var wait time.Duration
	if at, err := http.ParseTime(after); err == nil {
		wait = time.Until(at)
	} else if n, err := strconv.ParseUint(after, 10, 64); err == nil {
		wait = time.Duration(min(n, uint64(MaxWait/time.Second))) * time.Second
	}
	return min(max(wait, 0), MaxWait)
}

// names says whether a link has the id, and nothing else, as its parameter.
func names(link, parameter, id string) bool {
	u, err := url.Parse(link)
	return err == nil && id != "" && u.Query().Get(parameter) == id
}

// elements yields the elements of a JSON array, one at a time, and an error if it
// is none.
func elements(array []byte) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		d := json.NewDecoder(bytes.NewReader(array))
		if first, err := d.Token(); err != nil || first != json.Delim('[') {
			yield(nil, errors.New("it holds no JSON array"))
			return
		}
		for d.More() {
			var element json.RawMessage
			err := d.Decode(&element)
			if !yield(element, err) || err != nil {
				return
			}
		}
	}
}

// clip makes a text from outside one short line.
func clip(text string) string {
	if len(text) > lineLimit {
		text = text[:lineLimit-len("…")] + "…"
	}
	text = strings.ToValidUTF8(text, "")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
