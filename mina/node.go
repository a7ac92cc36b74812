package mina

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of one call.
const (
	defaultTimeout   = 30 * time.Second
	defaultMaxAnswer = 64 << 20
	maxCommand       = 4 << 20 // bytes of a signed command; real ones have tens of kilobytes
)

// NodeOptions configure a Node.
type NodeOptions struct {
	Client    *http.Client  // nil means a client of its own; redirects are never followed
	Timeout   time.Duration // of one call; 0 means 30s
	MaxAnswer int64         // bytes of one answer; 0 means 64 MiB
}

// A Node is a GraphQL client of one Mina daemon. Each method asks exactly once
// and repeats nothing. Whatever is not a usable answer is an *Error of class
// Transport; ErrNotSynced is named where it occurs. Methods may be called
// concurrently.
type Node struct {
	url, name string
	client    http.Client
	timeout   time.Duration
	maxAnswer int64
}

// NewNode returns a client of the GraphQL endpoint at address. It asks nothing;
// an address that cannot work shows at the first call.
func NewNode(address string, o NodeOptions) *Node {
	n := &Node{url: address, name: "node", timeout: o.Timeout, maxAnswer: o.MaxAnswer}
	// Only the host is ever shown: the rest of an address may hold a key.
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		n.name = u.Host
	}
	if o.Client != nil {
		n.client = *o.Client
	} else {
		// Many sends go to one host at a time; the default keeps two connections.
		n.client.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 128, IdleConnTimeout: 30 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
			// A request that ends in vain ends no connection of HTTP/2: one that is dead would be used on.
			HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second},
		}
	}
	n.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if n.timeout <= 0 {
		n.timeout = defaultTimeout
	}
	if n.maxAnswer <= 0 {
		n.maxAnswer = defaultMaxAnswer
	}
	return n
}

// Name is the host and port of the node, fit for logs.
func (n *Node) Name() string { return n.name }

// Send gives a signed zkApp command, {"feePayer", "accountUpdates", "memo"}, to
// the node, token by token as it is, and returns the hash under which the node
// holds it. A refusal is the *Error of ClassifySend, in Mina's own words. All else
// that comes back is an *Error of class Transport and leaves the outcome unknown:
// the node may have the command, or get it yet, whatever a gateway says.
// Mina: the same bytes again are harmless.
func (n *Node) Send(ctx context.Context, command json.RawMessage) (hash string, err error) {
	malformed := &Error{Class: Permanent, Code: CodeMalformed, Message: "not a JSON object of at most 4 MiB", Node: n.name}
	if len(command) > maxCommand || !bytes.HasPrefix(bytes.TrimSpace(command), []byte("{")) {
		return "", malformed
	}
	type input struct {
		Command json.RawMessage `json:"zkappCommand"`
	}
	var data struct {
		SendZkapp *struct {
			Zkapp struct {
				Hash string `json:"hash"`
			} `json:"zkapp"`
		} `json:"sendZkapp"`
	}
	refused, err := n.ask(ctx, `mutation($input: SendZkappInput!) { sendZkapp(input: $input) { zkapp { hash } } }`,
		map[string]any{"input": input{command}}, &data)
	_, damaged := errors.AsType[*json.MarshalerError](err)
	switch {
	case damaged:
		return "", malformed
	case err != nil:
		return "", err
	case data.SendZkapp != nil && data.SendZkapp.Zkapp.Hash != "":
		return data.SendZkapp.Zkapp.Hash, nil
	case data.SendZkapp == nil && len(refused) > 0:
		e := ClassifySend(refused...)
		e.Node = n.name
		return "", e
	default: // Mina: what was refused has no data
		return "", n.silent("an answer without a hash")
	}
}

// query asks and takes any GraphQL error for no answer.
func (n *Node) query(ctx context.Context, text string, variables map[string]any, data any) error {
	refused, err := n.ask(ctx, text, variables, data)
	if err == nil && len(refused) > 0 {
		return n.silent("query refused: " + strings.Join(refused, "; "))
	}
	return err
}

// ask makes one call. What it was refused with are the texts of the GraphQL errors.
// Mina: they come with HTTP 200. A gateway has such words too.
func (n *Node) ask(ctx context.Context, text string, variables map[string]any, data any) (refused []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any{"query": text, "variables": variables}); err != nil {
		return nil, fmt.Errorf("encoding the query: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, &body)
	if err != nil {
		return nil, n.silent("the address is not usable")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := n.client.Do(req)
	if err != nil {
		// A url.Error spells the whole address.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, n.silent(err.Error())
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body ends with no context
		return nil, n.silent("HTTP status " + resp.Status)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, n.maxAnswer+1))
	switch {
	case err != nil:
		return nil, n.silent("reading the answer: " + err.Error())
	case resp.StatusCode != http.StatusOK:
		e := n.silent("HTTP status " + resp.Status)
		if turnsAway(resp.StatusCode) {
			e.Code = CodeGateway
		}
		return nil, e
	case int64(len(answer)) > n.maxAnswer:
		return nil, n.silent("the answer is too long")
	}
	envelope := struct {
		Data   any `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}{Data: data}
	if err := json.Unmarshal(answer, &envelope); err != nil {
		return nil, n.silent("reading the answer: " + err.Error())
	}
	for _, e := range envelope.Errors {
		refused = append(refused, e.Message)
	}
	return refused, nil
}

// turnsAway reports whether a status says that this request is not wanted, as that it is too large:
// Mina answers each with 200, and what is late, busy or away says so otherwise. A daemon that cannot
// read a command of another era may break off with 500, as a gateway may, and says no more.
func turnsAway(status int) bool {
	return status == http.StatusInternalServerError || status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

// silent is the error for whatever is not an answer to the question.
func (n *Node) silent(why string) *Error {
	return &Error{Class: Transport, Code: CodeNoAnswer, Message: shorten(why), Node: n.name}
}

// Mina writes most numbers as strings, some as numbers; null stays zero.
type (
	text32 uint32
	text64 uint64
)

func (v *text32) UnmarshalJSON(b []byte) error {
	n, err := parseScalar(b, 32)
	*v = text32(n)
	return err
}

func (v *text64) UnmarshalJSON(b []byte) error {
	n, err := parseScalar(b, 64)
	*v = text64(n)
	return err
}

func parseScalar(b []byte, bits int) (uint64, error) {
	s := string(b)
	if s == "null" {
		return 0, nil
	}
	if len(s) >= 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("not a number of %d bits: %.40q", bits, s)
	}
	return n, nil
}

// parseTime reads a daemon's time: its own format with a space between date and
// time, RFC 3339, or milliseconds. Anything else is the zero time.
func parseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05.999999999Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}
