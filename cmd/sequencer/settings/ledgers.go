package settings

import (
	"strings"
	"sync"
	"time"

	"mina-sequencer/ledger"
	"mina-sequencer/senders"
)

type ledgersConfig struct {
	Targets  ledgerList    `env:"SEQUENCER_LEDGERS" secret:"refused" wants:"name=sawtooth+http://host:8008,name=splinter+http://host:8080/scabbard/{circuit}/{service},…" means:"Ledgers that take batches (SUBMIT_BATCH), each by a name"`
	Slots    int           `env:"SEQUENCER_LEDGER_SLOTS,default=8" min:"1" max:"1024" wants:"a number from 1 to 1024" means:"Submissions in flight per ledger; as senders they are named {ledger}/{n}"`
	Timeout  time.Duration `env:"SEQUENCER_LEDGER_TIMEOUT,default=15s" min:"10ms" max:"10m" wants:"a duration from 10ms to 10m" means:"The longest one call to a ledger may take"`
	Patience time.Duration `env:"SEQUENCER_LEDGER_PATIENCE,default=1h" min:"1s" max:"8760h" wants:"a duration from 1s to 8760h" means:"How long a batch may be PENDING, Valid or UNKNOWN before a person is asked"`
	Retries  int           `env:"SEQUENCER_LEDGER_RETRIES,default=3" min:"0" max:"10" wants:"a number from 0 to 10" means:"How often a post that a ledger is too busy for (429, and 503 or 408 that say so) is repeated in one submission, after 1s, 2s, 4s …, before the batch is put off"`
	Delay    time.Duration `env:"SEQUENCER_LEDGER_DELAY,default=15s" min:"10ms" max:"24h" wants:"a duration from 10ms to 24h" means:"How long a batch that its ledger did not take is put off at least"`
	Auth     string        `env:"SEQUENCER_LEDGER_AUTH" secret:"true" wants:"name=value of its Authorization header, one per line or comma-separated, for ledgers of SEQUENCER_LEDGERS" means:"What ledgers are shown of us"`
	AuthFile string        `env:"SEQUENCER_LEDGER_AUTH_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_LEDGER_AUTH, which is not set itself" means:"The same from a file; it is read again when it changes"`
}

// ledgerList are the configured ledgers.
type ledgerList []ledger.Target

// EnvDecode reads name=protocol+url,….
func (l *ledgerList) EnvDecode(text string) error {
	targets, err := ledger.ParseTargets(text)
	if err != nil {
		return refusal("is wrong: " + strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGERS, "))
	}
	*l = targets
	return nil
}

// String names them without their addresses' secrets, of which they hold none.
func (l ledgerList) String() string {
	var out []string
	for _, t := range l {
		out = append(out, t.Name+"="+string(t.Protocol)+"+"+t.URL)
	}
	return strings.Join(out, ",")
}

// Names are those that batches name them by.
func (l ledgerList) Names() []string {
	var names []string
	for _, t := range l {
		names = append(names, t.Name)
	}
	return names
}

func (c ledgersConfig) check(r *report) {
	if _, err := ledger.ParseAuth(c.Auth, c.Targets); err != nil {
		r.bad("is wrong: "+strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, "),
			"SEQUENCER_LEDGER_AUTH", "SEQUENCER_LEDGERS")
	}
}

// ledgerAuth is what the ledgers are shown of us. It may be called concurrently.
type ledgerAuth struct {
	targets []ledger.Target
	mu      sync.Mutex
	secrets map[string]ledger.Secret
}

// take has text shown from now on, if that can be used.
func (a *ledgerAuth) take(text string) error {
	secrets, err := ledger.ParseAuth(text, a.targets)
	if err != nil {
		return refusal("is wrong: " + strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, "))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets = secrets
	return nil
}

func (a *ledgerAuth) of(name string) ledger.Secret {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.secrets[name]
}

// Open returns clients of all ledgers, by name. What they show of us can be replaced by
// another value of SEQUENCER_LEDGER_AUTH while they are in use.
func (c ledgersConfig) Open() (all map[string]ledger.Ledger, replace func(auth string) error, err error) {
	auth := &ledgerAuth{targets: c.Targets}
	if err := auth.take(c.Auth); err != nil {
		return nil, nil, err
	}
	all = make(map[string]ledger.Ledger, len(c.Targets))
	for _, t := range c.Targets {
		l, err := ledger.New(t, ledger.Options{
			Timeout: c.Timeout, Authorization: func() ledger.Secret { return auth.of(t.Name) },
		})
		if err != nil {
			return nil, nil, err
		}
		all[t.Name] = l
	}
	return all, auth.take, nil
}

// Senders are those of the ledgers, each with its ledger's address in the place of a
// worker's.
func (c ledgersConfig) Senders() map[string]string {
	slots := map[string]string{}
	for _, t := range c.Targets {
		for n := range c.Slots {
			slots[senders.SlotName(t.Name, n+1)] = t.URL
		}
	}
	return slots
}
