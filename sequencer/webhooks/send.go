package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// sendTimeout is how long an endpoint may take; the standard wants 15 to 30 seconds.
	sendTimeout = 15 * time.Second
	dialTimeout = 5 * time.Second
	// mostDrained is how much of an answer is read, so that the connection can be used again.
	mostDrained = 4 << 10
)

const secretPrefix = "whsec_"

// newSecret makes a secret as the standard writes them.
func newSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// secretKey is the key in a secret; nil if it is not whsec_ and 24 to 64 bytes in base64.
func secretKey(secret string) []byte {
	text, prefixed := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !prefixed || err != nil || len(key) < 24 || len(key) > 64 {
		return nil
	}
	return key
}

// signature signs a message with each secret that is valid at a time.
func signature(secrets []Secret, id string, at time.Time, body []byte) string {
	var all []string
	for _, s := range secrets {
		if !s.Until.IsZero() && !at.Before(s.Until) {
			continue
		}
		mac := hmac.New(sha256.New, secretKey(s.Key))
		_, _ = io.WriteString(mac, id+"."+strconv.FormatInt(at.Unix(), 10)+".") // a hash never fails
		_, _ = mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

// A client sends to endpoints.
type client struct {
	http http.Client
	now  func() time.Time // that requests are signed with
}

func newClient(private []netip.Prefix, now func() time.Time) *client {
	return &client{http.Client{
		Transport:     newTransport(private),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, now}
}

// newTransport has no proxy, which would connect where the guard does not see it.
func newTransport(private []netip.Prefix) *http.Transport {
	g := &guard{private}
	return &http.Transport{
		DialContext: g.dialer().DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: sendsAtOnce, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 16 << 10,
		// A request that ends in vain ends no connection of HTTP/2: one that is dead would be used on.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second},
	}
}

// send makes one request. What is answered is read no further than to its headers.
func (c *client) send(ctx context.Context, e *Endpoint, id string, body []byte) Answer {
	began := time.Now()
	ctx = context.WithValue(ctx, plainKey{}, strings.HasPrefix(e.URL, "http://"))
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return Answer{Failure: Unreachable}
	}
	r.GetBody = nil // a request that is lost is a try in vain: nothing sends it again by itself
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "mina-sequencer")
	r.Header.Set("Webhook-Id", id)
	signed := c.now()
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(signed.Unix(), 10))
	r.Header.Set("Webhook-Signature", signature(e.Secrets, id, signed, body))
	answer, err := c.http.Do(r)
	if err != nil {
		return Answer{Failure: failure(err), Took: time.Since(began)}
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusSwitchingProtocols { // its body ends with no context
		_, _ = io.CopyN(io.Discard, answer.Body, mostDrained)
	}
	return Answer{
		Status: answer.StatusCode, RetryAfter: retryAfter(answer.Header.Get("Retry-After"), began),
		Took: time.Since(began),
	}
}

// failure is a word for an error, which may tell of networks that are nobody's business.
func failure(err error) string {
	var net net.Error
	switch {
	case errors.Is(err, errAddress):
		return RefusedAddress
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &net) && net.Timeout():
		return Timeout
	}
	return Unreachable
}

// retryAfter reads seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// checkURL says why an address cannot be that of an endpoint, "" if it can.
func checkURL(text string, private bool) string {
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > 2048, u.Hostname() == "", u.Fragment != "", u.User != nil, strings.Contains(text, "#"):
		return "must be an address of at most 2048 bytes without user and fragment"
	case u.Scheme == "http" && !private:
		return "must begin with https://; http:// is for SEQUENCER_WEBHOOKS_PRIVATE"
	case u.Scheme != "https" && u.Scheme != "http":
		return "must begin with https://"
	}
	return ""
}

// ShownURL is an address without its path and its query, in which secrets are often kept: an ellipsis
// stands for them.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "…"
	}
	shown := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/")+u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}
