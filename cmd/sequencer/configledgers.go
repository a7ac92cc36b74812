package main

import (
	"slices"
	"strings"
	"sync"

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
	if _, err := ledger.ParseAuth(c.Auth, c.Targets); err != nil {
		bad("is wrong: "+strings.TrimPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, "),
			"SEQUENCER_LEDGER_AUTH", "SEQUENCER_LEDGERS")
	}
}

// onlyBatches: no type of Mina is dispatched.
func (c typesConfig) onlyBatches() bool {
	return len(c.Types) > 0 && !c.forMina()
}

func (c typesConfig) forMina() bool {
	return len(c.Types) == 0 ||
		slices.ContainsFunc(c.Types, func(typ string) bool { return typ != dispatcher.SubmitBatchType })
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

// open returns clients of all ledgers, by name, and what they show of us.
func (c ledgersConfig) open() (map[string]ledger.Ledger, *ledgerAuth, error) {
	auth := &ledgerAuth{targets: c.Targets}
	if err := auth.take(c.Auth); err != nil {
		return nil, nil, err
	}
	all := make(map[string]ledger.Ledger, len(c.Targets))
	for _, t := range c.Targets {
		l, err := ledger.New(t, ledger.Options{
			Timeout: c.Timeout, Authorization: func() ledger.Secret { return auth.of(t.Name) },
		})
		if err != nil {
			return nil, nil, err
		}
		all[t.Name] = l
	}
	return all, auth, nil
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
