package settings

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/queues"
)

type httpConfig struct {
	Addr            string        `env:"SEQUENCER_ADDR,default=127.0.0.1:8080" wants:"host:port" means:"Listen address. One that is not loopback needs SEQUENCER_API_KEYS or SEQUENCER_INSECURE"`
	Insecure        bool          `env:"SEQUENCER_INSECURE,default=false" wants:"true or false" means:"Where nobody needs a key: serve a non-loopback address too, and answer whatever name the service is asked by"`
	APIKeys         apiKeys       `env:"SEQUENCER_API_KEYS" secret:"true" wants:"name:scope:key,… with scope submit, read or admin, and @prefix|prefix behind submit or read for some queues" means:"Who may do what: read sees everything, submit also posts and cancels, admin does all"`
	APIKeysFile     string        `env:"SEQUENCER_API_KEYS_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_API_KEYS, which is not set itself" means:"The same from a file, one key a line or as above; it is read again when it changes"`
	RateLimit       int           `env:"SEQUENCER_RATE_LIMIT,default=0" min:"0" max:"1000000" wants:"a number from 0 (no limit) to 1000000" means:"Transactions per second that the keys of one name may post, and as many other requests beside them, at all processes together, after a pause up to ten seconds' worth at once; each transaction of a batch is one"`
	CORSOrigins     originList    `env:"SEQUENCER_CORS_ORIGINS" secret:"refused" wants:"http:// or https:// origins without a path, comma-separated" means:"Sites whose pages may use the API with a key; pages of others may not"`
	TLSCert         string        `env:"SEQUENCER_TLS_CERT" wants:"a PEM file with the certificate of SEQUENCER_TLS_KEY and those that vouch for it" means:"Serve HTTPS; the file is read again when it changes"`
	TLSKey          string        `env:"SEQUENCER_TLS_KEY" wants:"a PEM file with the private key of SEQUENCER_TLS_CERT" means:"See SEQUENCER_TLS_CERT"`
	Explorer        explorerURL   `env:"SEQUENCER_EXPLORER_URL" secret:"refused" wants:"an http:// or https:// address with {hash} in it" means:"A block explorer's address of a transaction, linked by the dashboard"`
	BodyLimit       byteSize      `env:"SEQUENCER_BODY_LIMIT,default=1MiB" min:"1KiB" max:"64MiB" wants:"a size from 1KiB to 64MiB" means:"The largest single transaction"`
	BatchLimit      byteSize      `env:"SEQUENCER_BATCH_LIMIT,default=32MiB" min:"1KiB" max:"1GiB" wants:"a size from 1KiB to 1GiB" means:"The largest batch"`
	ShutdownDelay   time.Duration `env:"SEQUENCER_SHUTDOWN_DELAY,default=0s" min:"0s" max:"1h" wants:"a duration from 0s to 1h" means:"How long connections are still served after the first signal, while /readyz answers 503 and proxies learn of it"`
	ShutdownTimeout time.Duration `env:"SEQUENCER_SHUTDOWN_TIMEOUT,default=30s" min:"0s" max:"1h" wants:"a duration from 0s to 1h" means:"How long running dispatches may take to finish after the first signal, and running requests after SEQUENCER_SHUTDOWN_DELAY"`
}

func (c httpConfig) check(r *report) {
	host, port, err := net.SplitHostPort(c.Addr)
	if _, convErr := strconv.ParseUint(port, 10, 16); err != nil || convErr != nil {
		r.bad("is not host:port", "SEQUENCER_ADDR")
	} else if !api.Loopback(host) && len(c.APIKeys) == 0 && !c.Insecure {
		r.bad("is not loopback and anybody could use it: set SEQUENCER_API_KEYS, or SEQUENCER_INSECURE=true if something else guards it", "SEQUENCER_ADDR", "SEQUENCER_API_KEYS", "SEQUENCER_INSECURE")
	}
	c.checkTLS(r)
	for _, key := range c.APIKeys {
		if len(key.Key) < 16 {
			r.odd("the API key named " + key.Name + " is shorter than 16 characters, so it can be guessed: make one by 'openssl rand -base64 32'")
		}
	}
	if c.BodyLimit > c.BatchLimit {
		r.odd("SEQUENCER_BODY_LIMIT is above SEQUENCER_BATCH_LIMIT: the largest transactions fit into no batch")
	}
}

func (c httpConfig) checkTLS(r *report) {
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		r.bad("needs SEQUENCER_TLS_KEY beside it", "SEQUENCER_TLS_CERT", "SEQUENCER_TLS_KEY")
	case c.TLSCert == "" && c.TLSKey != "":
		r.bad("needs SEQUENCER_TLS_CERT beside it", "SEQUENCER_TLS_KEY", "SEQUENCER_TLS_CERT")
	case c.TLSCert != "":
		if _, err := ReadPair(c.TLSCert, c.TLSKey); err != nil {
			r.bad("cannot be used with SEQUENCER_TLS_KEY: "+err.Error(), "SEQUENCER_TLS_CERT", "SEQUENCER_TLS_KEY")
		}
	}
}

// ReadPair reads a certificate and its key. Its error tells no more of the files than
// their names.
func ReadPair(cert, key string) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		err = file
	}
	return pair, err
}

// An apiKey lets its holder do what scope says, in queues whose names begin with one of
// Within, if there are any; Name is for logs.
type apiKey struct {
	Name, Scope, Key string
	Within           queues.Prefixes
}

type apiKeys []apiKey

// EnvDecode reads name:scope:key,… or one a line, with name:scope@prefix|prefix:key for a
// key of some queues; a key may contain colons.
func (k *apiKeys) EnvDecode(text string) error {
	for _, item := range splitList(strings.ReplaceAll(text, "\n", ",")) {
		parts := strings.SplitN(item, ":", 3)
		if len(parts) != 3 || !isName(parts[0], 64) || !isToken(parts[2]) {
			return refusal("holds an entry that is not name:scope:key")
		}
		scope, prefixes, limited := strings.Cut(parts[1], "@")
		if !slices.Contains([]string{"submit", "read", "admin"}, scope) {
			return refusal("holds a scope that is not submit, read or admin")
		}
		var within queues.Prefixes
		if limited {
			within = strings.Split(prefixes, "|")
		}
		if slices.ContainsFunc(within, func(begin string) bool { return !isName(begin, 128) }) {
			return refusal("holds a prefix that no queue's name begins with")
		}
		if limited && scope == "admin" {
			return refusal("limits a key to queues whose scope is admin")
		}
		if slices.ContainsFunc(*k, func(other apiKey) bool { return other.Key == parts[2] }) {
			return refusal("gives one key twice")
		}
		*k = append(*k, apiKey{Name: parts[0], Scope: scope, Key: parts[2], Within: within})
	}
	return nil
}

// Keys are the same as the API takes them.
func (k apiKeys) Keys() []api.Key {
	scopes := map[string]api.Scope{"read": api.Read, "submit": api.Submit, "admin": api.Admin}
	var keys []api.Key
	for _, key := range k {
		keys = append(keys, api.Key{Name: key.Name, Scope: scopes[key.Scope], Secret: key.Key, Within: key.Within})
	}
	return keys
}

// String shows names, scopes and limits, never a key.
func (k apiKeys) String() string {
	shown := make([]string, len(k))
	for i, key := range k {
		limit := ""
		if len(key.Within) > 0 {
			limit = "@" + strings.Join(key.Within, "|")
		}
		shown[i] = key.Name + ":" + key.Scope + limit + ":" + masked
	}
	return strings.Join(shown, ",")
}

// ParseKeys reads API keys as SEQUENCER_API_KEYS and its file hold them, at least one.
func ParseKeys(text string) ([]api.Key, error) {
	var keys apiKeys
	if err := keys.EnvDecode(text); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, refusal("holds no key")
	}
	return keys.Keys(), nil
}

// originList holds origins as browsers send them: scheme, host and port.
type originList []string

// EnvDecode reads comma-separated origins.
func (l *originList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		u, err := url.Parse(item)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || item != u.Scheme+"://"+u.Host || strings.Contains(item, "*") {
			return refusal("holds what is no origin, such as https://app.example")
		}
		if *l = append(*l, item); len(*l) > 64 {
			return refusal("names more than 64 origins")
		}
	}
	return nil
}

func (l originList) String() string { return strings.Join(l, ",") }

// explorerURL is the address of a transaction in a block explorer, with {hash}
// in the place of its hash.
type explorerURL string

// EnvDecode reads an address that a page may link to.
func (e *explorerURL) EnvDecode(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(text, "{hash}", "hash"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.Contains(text, "{hash}") {
		return refusal("is not such an address")
	}
	*e = explorerURL(text)
	return nil
}
