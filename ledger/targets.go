package ledger

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The settings that this package reads.
const (
	varLedgers = "SEQUENCER_LEDGERS"
	varAuth    = "SEQUENCER_LEDGER_AUTH"
)

// A Protocol is the kind of a ledger.
type Protocol string

// The protocols, as they are written before the + in SEQUENCER_LEDGERS.
const (
	Sawtooth Protocol = "sawtooth" // the REST API of a Sawtooth validator
	Splinter Protocol = "splinter" // a Scabbard service of a Splinter node
)

const (
	maxTargets = 64
	maxSecret  = 8 << 10
)

// A Target is one configured ledger.
type Target struct {
	Name     string // 1 to 64 of [A-Za-z0-9._-]
	Protocol Protocol
	URL      string // http or https, without a slash at its end
}

// A Secret is the value of an Authorization header. Neither fmt, slog nor JSON
// show it.
type Secret string

// String hides it.
func (s Secret) String() string { return masked }

// GoString hides it.
func (s Secret) GoString() string { return masked }

// MarshalText hides it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

const masked = "[secret]"

// ParseTargets reads SEQUENCER_LEDGERS: name=sawtooth+http://host:8008 and
// name=splinter+http://host:8080/scabbard/{circuit}/{service}, comma-separated,
// at most 64. Two names for one address are refused: a batch would pass as two.
// Errors name the variable, the entry and what it has to be; never the address,
// which may hold a password.
func ParseTargets(text string) ([]Target, error) {
	var targets []Target
	for item := range entries(text) {
		name, address, ok := strings.Cut(item, "=")
		if !ok || !isName(name) {
			return nil, fmt.Errorf("%s, entry %d: want name=sawtooth+http://host:8008 or "+
				"name=splinter+http://host:8080/scabbard/{circuit}/{service}, the name 1 to 64 of A-Z a-z 0-9 . _ -",
				varLedgers, len(targets)+1)
		}
		refused := func(problem string) ([]Target, error) {
			return nil, fmt.Errorf("%s, entry %d (%s): %s", varLedgers, len(targets)+1, name, problem)
		}
		t := Target{Name: name}
		var problem string
		if t.Protocol, t.URL, problem = parseAddress(address); problem != "" {
			return refused(problem)
		}
		if len(targets) == maxTargets {
			return refused(fmt.Sprintf("there are more than %d ledgers: take some out", maxTargets))
		}
		for _, other := range targets {
			if other.Name == name {
				return refused("the name stands there twice: rename one of them")
			}
			if other.URL == t.URL {
				return refused("it has the address of " + other.Name + ": give a ledger one name")
			}
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// parseAddress returns a ledger's protocol and URL, or what is wrong with it.
func parseAddress(text string) (kind Protocol, address, problem string) {
	scheme, rest, _ := strings.Cut(text, "+")
	kind = Protocol(scheme)
	if kind != Sawtooth && kind != Splinter {
		return "", "", "the address must begin with sawtooth+http://, sawtooth+https://, splinter+http:// " +
			"or splinter+https://"
	}
	u, err := url.Parse(rest)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", "", "after " + scheme + "+ must come an address with http:// or https:// and a host"
	case u.User != nil:
		return "", "", "an address must not hold a user or password: put the Authorization header into " + varAuth
	case strings.ContainsAny(rest, "?#%"):
		return "", "", "an address must not hold ?, # or %: take it out"
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path != "" && u.Path != path.Clean(u.Path) {
		return "", "", "the path must not hold //, /./ or /../: write it plainly"
	}
	if kind == Splinter && !isServicePath(u.Path) {
		return "", "", "the path must end in /scabbard/{circuit}/{service}; " +
			"a service id circuit::service is written /scabbard/circuit/service"
	}
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, port), ":")
	} else if !isPort(port) {
		return "", "", "the port must be a number from 1 to 65535, without zeros before it"
	}
	return kind, u.String(), ""
}

// isPort reports whether s is a port, in the one form that it has: no zero comes first.
func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil && s[0] != '0'
}

// isServicePath reports whether p ends in /scabbard/{circuit}/{service}.
func isServicePath(p string) bool {
	parts := strings.Split(p, "/")
	if len(parts) < 4 {
		return false
	}
	parts = parts[len(parts)-3:]
	return parts[0] == "scabbard" && isName(parts[1]) && isName(parts[2])
}

// ParseAuth reads SEQUENCER_LEDGER_AUTH: name=value of its Authorization header,
// one per line or comma-separated, for ledgers of targets. A ledger that is not
// named gets no such header. Errors name the variable, the entry and what it has
// to be; never a value.
func ParseAuth(text string, targets []Target) (map[string]Secret, error) {
	secrets := map[string]Secret{}
	n := 0
	for item := range entries(strings.ReplaceAll(text, "\n", ",")) {
		n++
		name, value, ok := strings.Cut(item, "=")
		value = strings.TrimSpace(value)
		refused := func(problem string) (map[string]Secret, error) {
			return nil, fmt.Errorf("%s, entry %d: %s", varAuth, n, problem)
		}
		switch {
		case !ok || !isName(name):
			return refused("want name=value of the ledger's Authorization header, such as name=Bearer Cylinder:…; " +
				"a value holds no comma")
		case !slices.ContainsFunc(targets, func(t Target) bool { return t.Name == name }):
			return refused("it is for no ledger of " + varLedgers + ": name one of them")
		case !isHeaderValue(value):
			return refused(fmt.Sprintf("the value must be 1 to %d visible ASCII characters and spaces", maxSecret))
		}
		if _, twice := secrets[name]; twice {
			return refused("this ledger has a value already: take one of them out")
		}
		secrets[name] = Secret(value)
	}
	return secrets, nil
}

// entries yields what stands between commas, without blanks.
func entries(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}

// isName reports whether s can name a ledger, or a part of a service id.
func isName(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	return s != "" && len(s) <= 64 && strings.Trim(s, letters) == "" && strings.Trim(s, ".") != ""
}

func isHeaderValue(s string) bool {
	return s != "" && len(s) <= maxSecret && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
