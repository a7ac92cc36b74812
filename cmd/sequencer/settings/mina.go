package settings

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type minaConfig struct {
	URLs       urlList       `env:"SEQUENCER_MINA_URL" secret:"refused" shown:"required by serve, unless SEQUENCER_TYPES is SUBMIT_BATCH" wants:"http:// or https:// GraphQL addresses, comma-separated" means:"The Mina nodes"`
	Quorum     int           `env:"SEQUENCER_MINA_QUORUM,default=0" shown:"a majority: one of one, two of two, two of three" min:"0" max:"64" wants:"a number from 1 to the number of nodes" means:"Synced nodes that must agree before a nonce is given up or a transaction ends"`
	Timeout    time.Duration `env:"SEQUENCER_MINA_TIMEOUT,default=30s" min:"10ms" max:"10m" wants:"a duration from 10ms to 10m" means:"The longest one call to a node may take"`
	ArchiveURL urlList       `env:"SEQUENCER_ARCHIVE_URL" secret:"refused" wants:"one http:// or https:// address" means:"An Archive-Node-API, asked for what the nodes no longer hold"`
}

func (c minaConfig) check(r *report, types typesConfig) {
	if r.need.Mina && len(c.URLs) == 0 && types.forMina() {
		r.bad("is not set", "SEQUENCER_MINA_URL", "SEQUENCER_TYPES")
	}
	if n := len(c.URLs); n > 0 && c.Quorum > n {
		r.bad("is more than the "+strconv.Itoa(n)+" node(s) of SEQUENCER_MINA_URL", "SEQUENCER_MINA_QUORUM", "SEQUENCER_MINA_URL")
	}
	if len(c.URLs) == 2 && c.Quorum == 0 {
		r.odd("SEQUENCER_MINA_URL names two nodes, and by default both must agree: while one is away or not synced, " +
			"nothing is bound and nothing ends; name three, of which one may be away, or one, or set SEQUENCER_MINA_QUORUM")
	}
	if len(c.ArchiveURL) > 1 {
		r.bad("names more than one address", "SEQUENCER_ARCHIVE_URL")
	}
}

// MustAgree is how many nodes must agree: what is configured, else a majority.
func (c minaConfig) MustAgree() int {
	if c.Quorum > 0 {
		return c.Quorum
	}
	return len(c.URLs)/2 + 1
}

// urlList holds http and https addresses without a trailing slash.
type urlList []string

// EnvDecode reads comma-separated addresses.
func (l *urlList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		if err := checkURL(item); err != nil {
			return err
		}
		*l = append(*l, strings.TrimRight(item, "/"))
	}
	if len(*l) > 64 {
		return refusal("names more than 64 addresses")
	}
	sorted := slices.Sorted(slices.Values(*l))
	if len(slices.Compact(sorted)) != len(*l) {
		return refusal("names an address twice")
	}
	return nil
}

// String shows hosts alone: the rest of an address may hold a key.
func (l urlList) String() string {
	shown := make([]string, len(l))
	for i, item := range l {
		if u, err := url.Parse(item); err == nil {
			shown[i] = u.Host
		}
	}
	return strings.Join(shown, ",")
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return refusal("holds what is no http:// or https:// address")
	}
	if u.Fragment != "" {
		return refusal("holds an address with a #fragment")
	}
	return nil
}
