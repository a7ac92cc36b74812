package webhooks

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	g := &guard{parse("10.1.0.0/16", "fd00:1::/32")}
	for address, want := range map[string]bool{
		"93.184.215.14": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "100.63.255.255": true, "100.128.0.0": true,
		"172.15.0.1": true, "172.32.0.1": true, "192.0.1.1": true, "198.20.0.1": true, "223.255.255.1": true,
		"::ffff:1.1.1.1": true,
		"10.1.2.3":       true, "::ffff:10.1.2.3": true, "fd00:1::5": true, // named
		"10.2.0.1": false, "fd00:2::1": false, "0.0.0.0": false, "0.1.2.3": false, "127.0.0.1": false, "127.9.9.9": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "100.64.0.1": false,
		"100.127.255.255": false, "192.0.0.8": false, "198.18.0.1": false, "198.19.255.255": false, "224.0.0.1": false,
		"240.0.0.1": false, "255.255.255.255": false, "192.0.2.1": false, "203.0.113.9": false,
		"::": false, "::1": false, "::7f00:1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false,
		"::ffff:10.2.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:a9fe:a9fe::1": false,
		"2001:0:1::1": false, "2001:db8::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"fc00::1": false, "ff02::1": false, "100::1": false, "::ffff:0:127.0.0.1": false,
	} {
		if err := g.allows(netip.MustParseAddr(address), true); (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", address, err, want)
		}
	}
	for address, want := range map[string]bool{"1.1.1.1": false, "10.1.2.3": true, "127.0.0.1": false} {
		if err := g.allows(netip.MustParseAddr(address), false); (err == nil) != want {
			t.Errorf("%s without TLS: %v, want allowed %v", address, err, want)
		}
	}
}

// TestRefused: what is refused gets no connection, however its address is written.
func TestRefused(t *testing.T) {
	t.Parallel()
	met := listen(t)
	c := newClient(parse("10.0.0.0/8"), time.Now)
	for _, url := range []string{
		"https://[::ffff:169.254.169.254]/latest/meta-data", "http://169.254.169.254/", "https://[::ffff:a9fe:a9fe]/",
		"http://127.0.0.1:" + met.port, "https://127.0.0.1:" + met.port, "https://[::ffff:127.0.0.1]:" + met.port,
		"https://localhost:" + met.port,
		"https://0.0.0.0:" + met.port, "https://2130706433:" + met.port, "https://127.1:" + met.port,
	} {
		a := c.send(t.Context(), &Endpoint{URL: url, Secrets: []Secret{{Key: newSecret()}}}, "1-1", nil)
		if a.Failure == "" || strings.Contains(url, ":a9fe") && a.Failure != RefusedAddress {
			t.Errorf("%s: %+v", url, a)
		}
	}
	if n := met.n.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestReach: what may not be sent to is not reached either, and where there is something
// nothing is sent.
func TestReach(t *testing.T) {
	t.Parallel()
	met := listen(t)
	private := parse("127.0.0.0/8")
	for _, tc := range []struct {
		url           string
		private       []netip.Prefix
		want, refused bool
	}{
		{"http://127.0.0.1:" + met.port + "/hook", private, true, false},
		{"http://127.0.0.1:" + met.port + "/hook", nil, false, true},
		{"https://127.0.0.1:" + met.port + "/hook", private, false, false}, // it speaks no TLS
		{"http://1.1.1.1/", private, false, true},                          // public, without TLS
		{"http://127.0.0.1:1/", private, false, false},
		{"http://%", private, false, false},
	} {
		err := Reach(t.Context(), tc.url, tc.private)
		if (err == nil) != tc.want || errors.Is(err, errAddress) != tc.refused {
			t.Errorf("%s with %v: %v", tc.url, tc.private, err)
		}
	}
}

// TestRebinding: a name that was public when it was looked at and is not when it is dialled.
func TestRebinding(t *testing.T) {
	t.Parallel()
	met := listen(t)
	var asked atomic.Int64
	dns := nameServer(t, func() [4]byte {
		if asked.Add(1) == 1 {
			return [4]byte{93, 184, 215, 14}
		}
		return [4]byte{127, 0, 0, 1}
	})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", dns)
	}}
	if first, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.example."); err != nil || len(first) != 1 ||
		first[0].IsLoopback() {
		t.Fatalf("the first look: %v, %v", first, err)
	}
	c := newClient(nil, time.Now)
	dialer := (&guard{}).dialer()
	dialer.Resolver = resolver
	c.http.Transport.(*http.Transport).DialContext = dialer.DialContext
	e := &Endpoint{URL: "https://rebind.example.:" + met.port, Secrets: []Secret{{Key: newSecret()}}}
	if a := c.send(t.Context(), e, "1-1", nil); a.Failure != RefusedAddress || met.n.Load() != 0 || asked.Load() < 2 {
		t.Errorf("%+v, %d connections, asked %d times", a, met.n.Load(), asked.Load())
	}
}

type met struct {
	port string
	n    atomic.Int64
}

// listen counts the connections to a port of this machine.
func listen(t *testing.T) *met {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m := new(met)
	_, m.port, _ = net.SplitHostPort(l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.n.Add(1)
			_ = c.Close()
		}
	}()
	return m
}

// nameServer answers every question for an IPv4 address, and has no others.
func nameServer(t *testing.T, address func() [4]byte) string {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			q := b[12:n]
			end := 0
			for q[end] != 0 {
				end += int(q[end]) + 1
			}
			question := q[:end+5]
			answer := append([]byte{b[0], b[1], 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
			if binary.BigEndian.Uint16(question[end+1:]) == 1 {
				answer[7] = 1
				ip := address()
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ip[0], ip[1], ip[2], ip[3])
			}
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return conn.LocalAddr().String()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSwitchingProtocols: a body that no time-out ends is not read.
func TestSwitchingProtocols(t *testing.T) {
	t.Parallel()
	body, never := io.Pipe()
	t.Cleanup(func() { _ = never.Close() })
	c := newClient(nil, time.Now)
	c.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: struct {
			io.Reader
			io.Closer
		}{body, io.NopCloser(nil)}}, nil
	})
	a := c.send(t.Context(), &Endpoint{URL: "https://example.org", Secrets: []Secret{{Key: newSecret()}}}, "1-1", nil)
	if a.Status != http.StatusSwitchingProtocols || a.Failure != "" {
		t.Errorf("%+v", a)
	}
}

// TestSignedWithTheClockOfRedis: a machine whose clock is off signs with the time of all, for strict
// receivers refuse what is minutes away.
func TestSignedWithTheClockOfRedis(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c, key := newClient(nil, func() time.Time { return now }), newSecret()
	var got http.Header
	c.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
	})
	secrets := []Secret{{Key: key}}
	c.send(t.Context(), &Endpoint{URL: "https://example.org", Secrets: secrets}, "1-1", []byte("body"))
	want := signature(secrets, "1-1", now, []byte("body"))
	if got.Get("Webhook-Timestamp") != "1767323045" || got.Get("Webhook-Signature") != want {
		t.Errorf("signed for %s: %s", got.Get("Webhook-Timestamp"), got.Get("Webhook-Signature"))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "1.5": 0, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Fri, 02 Jan 2026 03:00:00 GMT": 0, "99999999999999": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
