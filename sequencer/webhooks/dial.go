package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// errAddress: the address is not one that webhooks may go to.
var errAddress = errors.New("the address is not public")

// special are networks that are not part of the public Internet, or that carry the
// address of another network within their own (IANA's registries of special-purpose addresses).
var special = parse(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/63", "2001::/23", "2001:db8::/32",
	"2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/9", "ff00::/8",
)

func parse(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// A guard lets connections through to public addresses, and to networks that are named.
type guard struct{ private []netip.Prefix }

func within(a netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// allows says why nothing may be sent to an address, nil if it may. Without TLS only what
// is named may be reached.
func (g *guard) allows(a netip.Addr, tls bool) error {
	a = a.Unmap() // ::ffff:a.b.c.d is a.b.c.d to the system
	switch {
	case a.Zone() != "":
		return fmt.Errorf("%w: it is of one link", errAddress)
	case within(a, g.private):
		return nil
	case !tls:
		return fmt.Errorf("%w: without TLS only named networks are reached", errAddress)
	case !a.IsGlobalUnicast(), within(a, special):
		return errAddress
	}
	return nil
}

// refuses reports whether an address is one that is refused, as far as that is seen without asking what
// its name stands for.
func (g *guard) refuses(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	host := u.Hostname()
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddr(host)
	return err == nil && g.allows(a, u.Scheme == "https") != nil
}

type plainKey struct{}

// control is asked by the dialer with the address that it has resolved and is about to
// connect to: a name may have another one by now than when it was looked at.
func (g *guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	plain, _ := ctx.Value(plainKey{}).(bool)
	return g.allows(to.Addr(), !plain)
}

func (g *guard) dialer() *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, ControlContext: g.control}
}

// Reach says why no connection can be made to an address, nil if one can. Nothing is sent.
func Reach(ctx context.Context, address string, private []netip.Prefix) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("its address cannot be read")
	}
	ctx = context.WithValue(ctx, plainKey{}, u.Scheme == "http")
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	at := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	conn, err := newTransport(private).NewClientConn(ctx, u.Scheme, at)
	if err != nil {
		return err
	}
	return conn.Close()
}
