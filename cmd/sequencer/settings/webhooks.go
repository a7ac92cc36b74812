package settings

import (
	"net/netip"
	"os"
	"strings"

	"mina-sequencer/sequencer/webhooks"
)

type webhookConfig struct {
	File    webhookFile `env:"SEQUENCER_WEBHOOKS_FILE" wants:"a JSON file of at most 1MiB: [{\"id\",\"url\",\"secret\",\"types\"?,\"queues\"?,\"states\"?},…]" means:"Endpoints that are told every change, see webhooks.md; the file is read again when it changes"`
	Private networkList `env:"SEQUENCER_WEBHOOKS_PRIVATE" wants:"networks like 10.1.0.0/16 or fd00::/8, comma-separated" means:"Networks that webhooks may be sent to although they are not public, also without TLS"`
}

func (c webhookConfig) check(r *report) {
	if err := webhooks.CheckAll(c.File.Entries, len(c.Private) > 0); err != nil {
		r.bad("has "+err.Error(), "SEQUENCER_WEBHOOKS_FILE", "SEQUENCER_WEBHOOKS_PRIVATE")
	}
	if c.File.Exposed {
		r.odd("SEQUENCER_WEBHOOKS_FILE holds secrets and can be read by other users: chmod 600")
	}
}

// Parse reads endpoints as the file holds them, and refuses what must not be told.
func (c webhookConfig) Parse(text string) ([]webhooks.Definition, error) {
	entries, err := parseWebhooks(text)
	if err != nil {
		return nil, err
	}
	return entries, webhooks.CheckAll(entries, len(c.Private) > 0)
}

// networkList are networks in CIDR notation.
type networkList []netip.Prefix

// EnvDecode reads 10.1.0.0/16,….
func (l *networkList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		n, err := netip.ParsePrefix(item)
		if err != nil || n.Masked() != n {
			return refusal("holds what is no network, or an address within one")
		}
		*l = append(*l, n)
	}
	return nil
}

func (l networkList) String() string {
	shown := make([]string, len(l))
	for i, n := range l {
		shown[i] = n.String()
	}
	return strings.Join(shown, ",")
}

// webhookFile is a file of webhook endpoints, read when the configuration is, and again
// when it has changed.
type webhookFile struct {
	Path    string
	Entries []webhooks.Definition
	Exposed bool // others can read it
}

// EnvDecode reads the file that text names.
func (f *webhookFile) EnvDecode(text string) error {
	content, err := ReadSecret(text)
	if err != nil {
		return refusal("cannot be used: " + err.Error())
	}
	entries, err := parseWebhooks(content)
	if err != nil {
		return err
	}
	info, err := os.Stat(text)
	*f = webhookFile{Path: text, Entries: entries, Exposed: err == nil && info.Mode().Perm()&0o044 != 0}
	return nil
}

// parseWebhooks reads a list of endpoints.
func parseWebhooks(text string) ([]webhooks.Definition, error) {
	return decodeList[webhooks.Definition]([]byte(text), "endpoints")
}

func (f webhookFile) String() string { return f.Path }
