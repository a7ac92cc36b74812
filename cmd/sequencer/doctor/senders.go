package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"

	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// lookAtOnce is how many senders are looked at side by side.
const lookAtOnce = 16

// senders looks at every sender that is configured or stored, its worker and its
// account on the chain, and at the provers of those whose worker only signs.
func (d *doctor) senders(ctx context.Context, known stored, chain *chainLook) {
	all := slices.Clone(d.cfg.Senders.All())
	for _, s := range known.senders {
		// Configuration has the last word on where a worker is.
		if !slices.ContainsFunc(all, func(o settings.Sender) bool { return o.AccountID == s.AccountID }) {
			all = append(all, s)
		}
	}
	if len(all) == 0 && d.cfg.Types.OnlyBatches() {
		return // nobody has to pay
	}
	if len(all) == 0 {
		d.problem("NO_SENDERS", "SEQUENCER_SENDERS", "there is no sender: what is posted waits for ever",
			"set SEQUENCER_SENDERS or SEQUENCER_SENDERS_FILE, or call 'sequencer sender add'")
		return
	}
	workers := dispatcher.NewClient(dispatcher.ClientOptions{Token: d.cfg.Senders.WorkerToken, Timeout: doctorTime})
	types := &typeTally{wanted: slices.DeleteFunc(slices.Clone([]string(d.cfg.Types.Types)), func(name string) bool {
		return name == dispatcher.SubmitBatchType // no worker makes it
	})}
	signers := &signerTally{signs: map[string][]string{}}
	turns := make(chan struct{}, lookAtOnce)
	var wg sync.WaitGroup
	for _, s := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			d.worker(ctx, workers, s, chain.seen, types, signers)
			d.account(ctx, chain, s.AccountID)
		})
	}
	wg.Wait()
	d.provers(ctx, workers, known, chain.seen, signers, types)
	if missing := types.missing(); len(missing) > 0 {
		d.problem("TYPES", "SEQUENCER_TYPES", "no worker and no prover makes "+strings.Join(missing, ", ")+": these transactions fail",
			"add a sender whose worker makes them, or take them out of SEQUENCER_TYPES")
	}
}

// A typeTally is which types some worker makes.
type typeTally struct {
	mu     sync.Mutex
	wanted []string // empty: what the workers say counts
	made   []string
	silent bool // a worker does not say what it makes
}

func (t *typeTally) add(types []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, types...)
	t.silent = t.silent || len(types) == 0
}

func (t *typeTally) missing() []string {
	if t.silent {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.wanted), func(name string) bool { return slices.Contains(t.made, name) })
}

// worker asks a worker who it is, as serve does before a sender's first
// transaction.
func (d *doctor) worker(ctx context.Context, workers *dispatcher.Client, s settings.Sender, chain mina.Chain, types *typeTally, signers *signerTally) {
	if s.WorkerURL == senders.Local {
		types.add(nil)
		signers.doubt()
		d.ok("WORKER", s.AccountID, "its worker is a command, which serve starts: it was not asked")
		return
	}
	health, err := workers.Health(ctx, dispatcher.Worker{AccountID: s.AccountID, URL: s.WorkerURL})
	if why, message := sequencer.Strange(health, err, chain.NetworkID, chain.Era); why != "" {
		types.add(nil)
		signers.doubt()
		do := "give the sender the worker that holds its key, or the worker the right key"
		if why == tx.WrongNetwork {
			do = rightNetwork
		}
		d.problem(string(why), s.AccountID, message, do)
		return
	}
	if err != nil {
		types.add(nil)
		signers.doubt()
		d.sick(levelProblem, s.AccountID, s.WorkerURL, err)
		return
	}
	if health.OnlySigns() {
		signers.add(s.AccountID, health.Types)
		d.ok("WORKER", s.AccountID, s.WorkerURL+" holds its key, and signs what provers have proved")
		return
	}
	types.add(health.Types)
	switch {
	case health.AccountID == "":
		d.warn("WORKER_SILENT", s.AccountID, s.WorkerURL+" answers, and does not say whom it signs for",
			"see that this is the worker's address; have it serve GET /health, so that one of the wrong account is found before it signs")
	case !slices.Contains(health.Capabilities, "prove"):
		d.warn("WORKER_LEGACY", s.AccountID, s.WorkerURL+" has no /prove: it sends by itself, so a lost answer may need a person",
			"serve /prove there: docs/architecture/workers.md says what it buys")
	default:
		d.ok("WORKER", s.AccountID, s.WorkerURL+" holds its key, proves and signs"+terminal.Prefixed(", o1js ", health.O1js))
	}
	if names := slices.DeleteFunc(slices.Clone([]string(d.cfg.Types.Simulate)), func(typ string) bool {
		return health.Simulates() || !health.Makes(typ)
	}); len(names) > 0 {
		d.warn("WORKER_SIMULATES", s.AccountID, fmt.Sprintf("%s does not say that it simulates, so %s, which SEQUENCER_SIMULATE "+
			"names, is proved there at once", s.WorkerURL, strings.Join(names, ", ")),
			"have it serve POST /simulate and say so in capabilities, or take them out of SEQUENCER_SIMULATE")
	}
	d.unsafe(s.AccountID, s.WorkerURL, health.O1js, chain)
}

const rightNetwork = "start it for the network of SEQUENCER_MINA_URL with the o1js that it needs, or name nodes of its network"

// safeO1js is the first that is: the audit of o1js in 2026-09 found, for Mesa, account
// updates that vanish, token ids that nothing constrains, and field checks that can be
// gone round.
const safeO1js = "v3.1.0"

// unsafe tells of a worker or a prover whose o1js is older than that.
func (d *doctor) unsafe(subject, url, o1js string, chain mina.Chain) {
	version := "v" + o1js
	if chain.Era == mina.Mesa && semver.IsValid(version) && semver.Compare(version, safeO1js) < 0 {
		d.warn("WORKER_O1JS", subject,
			fmt.Sprintf("%s has o1js %.20s, which is unsafe on Mesa: so an audit found", url, o1js),
			"take o1js 3.1.0 or later, and deploy the contracts with their new verification keys")
	}
}

// sick says why a worker or a prover did not tell its health; level is for what others cannot make up for.
func (d *doctor) sick(level, subject, url string, err error) {
	e, answered := errors.AsType[*dispatcher.WorkerError](err)
	_, busy := errors.AsType[*dispatcher.BusyError](err)
	switch {
	case busy:
		d.warn("WORKER_BUSY", subject, url+" asks for time", "wait, and call the doctor again")
	case answered && (e.Code == "401" || e.Code == "403"):
		d.problem("WORKER_TOKEN", subject, url+" turns this caller away: "+e.Message, "set SEQUENCER_WORKER_TOKEN to the token that it wants")
	case answered:
		d.say(level, "WORKER_SICK", subject, url+": "+e.Message, "see its log")
	default:
		d.say(level, "WORKER_AWAY", subject, url+": "+err.Error(), "start it, or correct its address")
	}
}

// account looks at what a sender can pay with.
func (d *doctor) account(ctx context.Context, chain *chainLook, account string) {
	if !chain.seen.Quorum {
		return // it has been said that nothing can be known
	}
	a, err := chain.tracker.Account(ctx, account)
	least, most, locked := d.cfg.LeastBalance(), uint64(d.cfg.Fee.Max), ""
	if a.Locked > 0 {
		locked = ", and " + fees.FormatMina(a.Locked) + " that its timing still locks"
	}
	switch {
	case errors.Is(err, mina.ErrDisagree):
		d.warn("ACCOUNT", account, err.Error(), "the nodes are a block apart, or one is on a fork: call the doctor again")
	case err != nil:
		d.problem("ACCOUNT", account, err.Error(), "see the nodes")
	case !a.Exists:
		d.problem("ACCOUNT_MISSING", account, "is not on the chain", "send it MINA: its first payment makes it, and costs 1 MINA once")
	case a.Balance < least:
		d.problem("NO_FUNDS", account, fmt.Sprintf("has %s MINA to spend%s, and is given work from %s on", fees.FormatMina(a.Balance), locked, fees.FormatMina(least)), "send it MINA, or set SEQUENCER_MIN_BALANCE to less")
	case a.Balance < most:
		d.warn("LOW_FUNDS", account, fmt.Sprintf("has %s MINA to spend%s, and a fee may become %s", fees.FormatMina(a.Balance), locked, fees.FormatMina(most)), "send it MINA, or set SEQUENCER_FEE_MAX to less")
	default:
		d.ok("ACCOUNT", account, fmt.Sprintf("has %s MINA to spend%s, next nonce %d", fees.FormatMina(a.Balance), locked, a.Nonce))
	}
}
