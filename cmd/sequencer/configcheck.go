package main

import (
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mina-sequencer/api"
	"mina-sequencer/sequencer/webhooks"
)

// check reports what is wrong between several variables, or with one in a way
// that bounds cannot say: the reason, the variable to change, and those that it
// was held against.
// It returns what is odd but works.
func (c config) check(need needs, bad func(reason, name string, against ...string)) (warnings []string) {
	host, port, err := net.SplitHostPort(c.HTTP.Addr)
	if _, convErr := strconv.ParseUint(port, 10, 16); err != nil || convErr != nil {
		bad("is not host:port", "SEQUENCER_ADDR")
	} else if !api.Loopback(host) && len(c.HTTP.APIKeys) == 0 && !c.HTTP.Insecure {
		bad("is not loopback and anybody could use it: set SEQUENCER_API_KEYS, or SEQUENCER_INSECURE=true if something else guards it", "SEQUENCER_ADDR", "SEQUENCER_API_KEYS", "SEQUENCER_INSECURE")
	}
	switch {
	case c.HTTP.TLSCert != "" && c.HTTP.TLSKey == "":
		bad("needs SEQUENCER_TLS_KEY beside it", "SEQUENCER_TLS_CERT", "SEQUENCER_TLS_KEY")
	case c.HTTP.TLSCert == "" && c.HTTP.TLSKey != "":
		bad("needs SEQUENCER_TLS_CERT beside it", "SEQUENCER_TLS_KEY", "SEQUENCER_TLS_CERT")
	case c.HTTP.TLSCert != "":
		if _, err := newCertificate(c.HTTP.TLSCert, c.HTTP.TLSKey, nil); err != nil {
			bad("cannot be used with SEQUENCER_TLS_KEY: "+err.Error(), "SEQUENCER_TLS_CERT", "SEQUENCER_TLS_KEY")
		}
	}
	for _, key := range c.HTTP.APIKeys {
		if len(key.Key) < 16 {
			warnings = append(warnings, "the API key named "+key.Name+" is shorter than 16 characters")
		}
	}
	if c.HTTP.BodyLimit > c.HTTP.BatchLimit {
		warnings = append(warnings, "SEQUENCER_BODY_LIMIT is above SEQUENCER_BATCH_LIMIT: the largest transactions fit into no batch")
	}

	if !isName(c.Redis.Namespace, 64) || strings.Contains(c.Redis.Namespace, ":") {
		bad("holds a character that keys cannot have, or is too long", "SEQUENCER_NAMESPACE")
	}
	if c.Redis.URL.options == nil && c.Redis.Wait > 0 {
		bad("asks for replicas, but SEQUENCER_REDIS_URL is empty and the embedded Redis has none", "SEQUENCER_REDIS_WAIT", "SEQUENCER_REDIS_URL")
	}

	if need.Mina && len(c.Mina.URLs) == 0 && c.Types.forMina() {
		bad("is not set", "SEQUENCER_MINA_URL", "SEQUENCER_TYPES")
	}
	c.Ledgers.check(bad)
	if c.Types.onlyBatches() && len(c.Ledgers.Targets) == 0 {
		bad("names SUBMIT_BATCH alone, and SEQUENCER_LEDGERS is empty", "SEQUENCER_TYPES", "SEQUENCER_LEDGERS")
	}
	if n := len(c.Mina.URLs); n > 0 && c.Mina.Quorum > n {
		bad("is more than the "+strconv.Itoa(n)+" node(s) of SEQUENCER_MINA_URL", "SEQUENCER_MINA_QUORUM", "SEQUENCER_MINA_URL")
	}
	if len(c.Mina.ArchiveURL) > 1 {
		bad("names more than one address", "SEQUENCER_ARCHIVE_URL")
	}

	for _, s := range c.Senders.File.Entries {
		if slices.ContainsFunc(c.Senders.List, func(other senderEntry) bool { return other.AccountID == s.AccountID }) {
			bad("names "+s.AccountID+", which SEQUENCER_SENDERS has already", "SEQUENCER_SENDERS_FILE", "SEQUENCER_SENDERS")
		}
	}
	if c.Senders.File.Exposed {
		warnings = append(warnings, "SEQUENCER_SENDERS_FILE holds an env and can be read by other users: chmod 600")
	}
	if c.Senders.StateDir != "" && !filepath.IsAbs(c.Senders.StateDir) {
		bad("is no absolute path", "SEQUENCER_STATE_DIR")
	}
	if c.Senders.WorkerToken != "" && !isToken(c.Senders.WorkerToken) {
		bad("holds characters that no HTTP header can carry, or is too long", "SEQUENCER_WORKER_TOKEN")
	}
	for _, name := range c.Types.WorkerTypes {
		if slices.Contains(need.Types, name) {
			bad("names "+name+", which is built in", "SEQUENCER_WORKER_TYPES")
		}
	}
	known := slices.Concat(need.Types, c.Types.WorkerTypes)
	for variable, names := range map[string][]string{
		"SEQUENCER_TYPES": c.Types.Types, "SEQUENCER_OVERLAP": slices.Sorted(maps.Keys(c.Types.Overlap)),
	} {
		for _, name := range names {
			if !slices.Contains(known, name) {
				bad("names "+name+", which is neither built in nor in SEQUENCER_WORKER_TYPES", variable, "SEQUENCER_WORKER_TYPES")
			}
		}
	}

	if err := webhooks.CheckAll(c.Webhook.File.Entries, len(c.Webhook.Private) > 0); err != nil {
		bad("has "+err.Error(), "SEQUENCER_WEBHOOKS_FILE", "SEQUENCER_WEBHOOKS_PRIVATE")
	}
	if c.Webhook.File.Exposed {
		warnings = append(warnings, "SEQUENCER_WEBHOOKS_FILE holds secrets and can be read by other users: chmod 600")
	}

	if c.Retry.Delay > c.Retry.DelayMax {
		bad("is longer than SEQUENCER_RETRY_DELAY_MAX="+c.Retry.DelayMax.String(), "SEQUENCER_RETRY_DELAY", "SEQUENCER_RETRY_DELAY_MAX")
	}
	if c.Depth.Finality < c.Depth.Confirmations {
		bad("is less than SEQUENCER_CONFIRMATIONS: nothing can be final before it is DONE", "SEQUENCER_FINALITY", "SEQUENCER_CONFIRMATIONS")
	}
	if c.Depth.Settle < c.Depth.Confirmations {
		warnings = append(warnings, "SEQUENCER_SETTLE_DEPTH is less than SEQUENCER_CONFIRMATIONS: at most one effect is promised against shallower reorgs than order is")
	}

	if c.Fee.Max == 0 {
		bad("is 0, which no node accepts", "SEQUENCER_FEE_MAX")
	}
	if c.Fee.Min == 0 {
		bad("is 0, which no node accepts", "SEQUENCER_FEE_MIN")
	} else if c.Fee.First.auto && c.Fee.Min > c.Fee.Max {
		bad("is more than SEQUENCER_FEE_MAX="+c.Fee.Max.String(), "SEQUENCER_FEE_MIN", "SEQUENCER_FEE_MAX")
	}
	if c.Fee.First.minaFee == 0 {
		bad("is 0, which no node accepts", "SEQUENCER_FEE")
	} else if c.Fee.first() > c.Fee.Max {
		bad("is more than SEQUENCER_FEE_MAX="+c.Fee.Max.String(), "SEQUENCER_FEE", "SEQUENCER_FEE_MAX")
	}
	for name, limit := range map[string]minaFee{"SEQUENCER_FEE_LIMIT_SENDER": c.Fee.LimitSender, "SEQUENCER_FEE_LIMIT": c.Fee.Limit,
		"SEQUENCER_FEE_LIMIT_QUEUE": c.Fee.LimitQueue, "SEQUENCER_FEE_LIMIT_KEY": c.Fee.LimitKey} {
		if limit > 0 && limit < c.Fee.Max {
			bad("is less than SEQUENCER_FEE_MAX="+c.Fee.Max.String()+": a fee that was raised so far could never be paid", name, "SEQUENCER_FEE_MAX")
		}
	}
	if bump := c.Fee.Bump.rat; bump.Cmp(big.NewRat(1, 1)) <= 0 || bump.Cmp(big.NewRat(100, 1)) > 0 {
		bad("is out of range: a fee that does not rise is never taken instead of the one before", "SEQUENCER_FEE_BUMP")
	}
	return warnings
}

// quorum is how many nodes must agree: what is configured, else a majority.
func (c minaConfig) quorum() int {
	if c.Quorum > 0 {
		return c.Quorum
	}
	return len(c.URLs)/2 + 1
}

// records is the folder in which the local workers of a namespace are noted.
func (c sendersConfig) records(namespace string) string {
	name := "workers-" + namespace // which may be ".."
	if c.StateDir != "" {
		return filepath.Join(c.StateDir, name)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "sequencer", name)
	}
	return filepath.Join(os.TempDir(), "sequencer-"+strconv.Itoa(os.Getuid())+"-"+name)
}

// senders are all configured senders, of the list and of the file.
func (c sendersConfig) all() []senderEntry { return slices.Concat(c.List, c.File.Entries) }
