package main

import (
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/ledger"
	"mina-sequencer/senders"
)

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

func (l ledgerList) names() []string {
	var names []string
	for _, t := range l {
		names = append(names, t.Name)
	}
	return names
}

func (c ledgersConfig) check(bad func(reason, name string, against ...string)) {
	if c.Auth != "" && c.AuthFile != "" {
		bad("is set beside SEQUENCER_LEDGER_AUTH; one of the two is enough", "SEQUENCER_LEDGER_AUTH_FILE")
	}
	if _, err := ledger.ParseAuth(c.Auth, c.Targets); err != nil {
		bad("is wrong: "+strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, "), "SEQUENCER_LEDGER_AUTH", "SEQUENCER_LEDGERS")
	}
	if c.AuthFile == "" {
		return
	}
	text, err := readSmall(c.AuthFile)
	if err != nil {
		bad("cannot be read", "SEQUENCER_LEDGER_AUTH_FILE")
	} else if _, err := ledger.ParseAuth(text, c.Targets); err != nil {
		bad("holds what is wrong: "+strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, "),
			"SEQUENCER_LEDGER_AUTH_FILE", "SEQUENCER_LEDGERS")
	}
}

func readSmall(name string) (string, error) {
	const most = 1 << 20
	if info, err := os.Stat(name); err != nil || info.Size() > most {
		return "", os.ErrInvalid
	}
	text, err := os.ReadFile(name)
	return string(text), err
}

// onlyBatches: no type of Mina is dispatched.
func (c typesConfig) onlyBatches() bool {
	return len(c.Types) > 0 && !c.forMina()
}

func (c typesConfig) forMina() bool {
	return len(c.Types) == 0 || slices.ContainsFunc(c.Types, func(typ string) bool { return typ != dispatcher.SubmitBatchType })
}

// ledgerAuth is what the ledgers are shown. A file is looked at once a second at most; what
// cannot be read leaves what was read before.
type ledgerAuth struct {
	file    string
	targets []ledger.Target

	mu      sync.Mutex
	secrets map[string]ledger.Secret
	looked  time.Time
	changed time.Time
}

func newLedgerAuth(c ledgersConfig) *ledgerAuth {
	a := &ledgerAuth{file: c.AuthFile, targets: c.Targets}
	a.secrets, _ = ledger.ParseAuth(c.Auth, c.Targets) // checked when it was read
	return a
}

func (a *ledgerAuth) of(name string) ledger.Secret {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != "" && time.Since(a.looked) > time.Second {
		a.looked = time.Now()
		a.read()
	}
	return a.secrets[name]
}

func (a *ledgerAuth) read() {
	info, err := os.Stat(a.file)
	if err != nil || info.ModTime().Equal(a.changed) {
		return
	}
	text, err := readSmall(a.file)
	if err != nil {
		return
	}
	if secrets, err := ledger.ParseAuth(text, a.targets); err == nil {
		a.secrets, a.changed = secrets, info.ModTime()
	}
}

// open returns clients of all ledgers, by name.
func (c ledgersConfig) open() (map[string]ledger.Ledger, error) {
	auth := newLedgerAuth(c)
	all := make(map[string]ledger.Ledger, len(c.Targets))
	for _, t := range c.Targets {
		l, err := ledger.New(t, ledger.Options{
			Timeout: c.Timeout, Authorization: func() ledger.Secret { return auth.of(t.Name) },
		})
		if err != nil {
			return nil, err
		}
		all[t.Name] = l
	}
	return all, nil
}

// slots are the senders of the ledgers, each with its ledger's address in the place of a
// worker's.
func (c ledgersConfig) slots() map[string]string {
	slots := map[string]string{}
	for _, t := range c.Targets {
		for n := range c.Slots {
			slots[senders.SlotName(t.Name, n+1)] = t.URL
		}
	}
	return slots
}
