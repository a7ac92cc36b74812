package metrics

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// Sources are what is read when somebody asks.
type Sources struct {
	Store     *queues.Store
	Senders   *senders.Pool
	Provers   *provers.Pool // nil: there is none
	Chain     *mina.Tracker
	Sequencer *sequencer.Sequencer
	Webhooks  *webhooks.Service
	Types     []string // that are known: what did not happen to them is shown as 0
	// StoreFaults are the codes of what does not fit about the store, as this process saw it last.
	StoreFaults func() []string
	Log         *slog.Logger
}

// scrapeTimeout is how long Redis may take to answer a scrape.
const scrapeTimeout = 5 * time.Second

// Watch has what Sources hold shown too. It is called once.
func (m *Metrics) Watch(s Sources) {
	m.registry.MustRegister(newScrape(m, s))
	var ledgers []sequencer.LedgerStanding
	if s.Sequencer != nil {
		ledgers = s.Sequencer.Ledgers()
	}
	m.begin(s.Types, ledgers)
}

// A scrape reads figures that nobody counts.
type scrape struct {
	Sources
	kinds  map[string]kind
	zkApps *zkApps
}

type kind struct {
	desc *prometheus.Desc
	as   prometheus.ValueType
}

func newScrape(m *Metrics, sources Sources) *scrape {
	s := &scrape{Sources: sources, kinds: map[string]kind{}, zkApps: &m.zkApps}
	add := func(over Over, as prometheus.ValueType, name, help string, labels ...string) {
		kinds := map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge"}
		name, full := m.note(over, name, kinds[as], help, labels...)
		s.kinds[name] = kind{prometheus.NewDesc(name, full, labels, nil), as}
	}
	ours := func(name, help string, labels ...string) { add(shared, prometheus.GaugeValue, name, help, labels...) }
	here := func(name, help string, labels ...string) { add(partly, prometheus.GaugeValue, name, help, labels...) }
	seen := func(name, help string, labels ...string) { add(viewed, prometheus.GaugeValue, name, help, labels...) }
	sums := func(name, help string, labels ...string) { add(partly, prometheus.CounterValue, name, help, labels...) }
	seenSums := func(name, help string, labels ...string) { add(viewed, prometheus.CounterValue, name, help, labels...) }

	seen("store_up", "1 if Redis answered this scrape; else what is shared is missing.")
	seen("store_fault",
		"1 if Redis is not set up as it should be, by what doctor calls it: looked at once a minute. All 0 where it is embedded.",
		"fault")
	ours("transactions", "Transactions that are kept, by state.", "state")
	ours("waiting", "Transactions that wait.", "type")
	ours("ready_queues", "Queues that can be bound, by the type of their first transaction.", "type")
	ours("bound", "Transactions that have a sender.", "type")
	ours("oldest_seconds",
		"Age of the oldest transaction that has a sender, or that is first in one of the 64 queues of its type "+
			"that are next; 0 if there is none. Paused queues do not count.", "type")
	ours("queues", "Queues that hold anything.")
	ours("queues_limited", "Queues that SEQUENCER_UNRESOLVED_LIMIT has paused, until a person resumes them.")
	ours("processes", "Processes that are alive.")
	ours("events_kept", "Events that can be resumed from.")
	ours("senders", "Senders, by state and by the reason why they are out of use (empty: none).", "state", "reason")
	ours("sender_available", "1 if the sender is given work.", "sender")
	ours("sender_balance_mina", "What the sender had to spend when it was last looked at: not what the timing of its account locks.", "sender")
	ours("sender_nonce", "The nonce that its next attempt takes.", "sender")
	ours("sender_fees_today_mina", "What its attempts of this day (UTC) have cost or may still cost.", "sender")
	ours("pool_size", "Commands in the pool of a node when it was last looked at, where SEQUENCER_FEE is auto.")
	ours("pool_fee_per_weight_mina", "What others paid then for each unit of weight at the end of so many blocks; 0 where fewer waited.", "blocks")
	ours("fee_estimate_mina", "What the first attempt of a type would pay now.", "type")
	ours("type_weight", "What a type weighs, as its workers signed last: 1 and its account updates.", "type")
	ours("webhook_enabled", "1 if events are sent to the endpoint; reason says why not.", "endpoint", "reason")
	ours("webhook_behind", "Events of the log that the endpoint has not come to.", "endpoint")
	ours("webhook_behind_seconds", "Age of the first of them.", "endpoint")
	ours("webhook_parked", "Events that are tried again later, and those that wait behind them.", "endpoint")
	ours("webhook_waiting",
		"Transactions, queues and senders whose events wait until a person asks for a replay.", "endpoint")
	ours("webhook_dropped", "Events that were lost because there was no room to park them.", "endpoint")

	ours("ledger_waiting", "Batches that wait.", "ledger")
	ours("ledger_in_flight", "Batches that have a slot of the ledger.", "ledger")
	ours("ledger_oldest_seconds", "Age of the oldest of its batches, as of sequencer_oldest_seconds.", "ledger")

	sums("zkapp_commands_total",
		"Attempts that this process saw in a block, by the public keys that they touch and by outcome (landed or failed): "+
			"of the twenty busiest of the last thousand keys. One that falls out of these ends, and goes on if it comes back.",
		"zkapp", "outcome")

	here("claims", "Transactions that this process drives or watches.")
	seen("provers",
		"Provers of the pool, by the reason why they are out of use (empty: none), as this process sees them.", "reason")
	here("provers_load", "Proofs that it has the provers of the pool make now.")
	here("provers_waiting", "Transactions that wait here for a prover that is free, by type.", "type")
	here("claims_bound", "Those of them that have a sender.")
	here("trains", "Queues of which this process has several in flight.")
	seen("train_longest", "The most that it has in flight of one queue, those in blocks that are not deep enough among them.")
	here("live", "1 if the claims are surely this process's, and it may call workers and send.")
	here("recovering",
		"1 while nothing is bound or sent, because Redis may have forgotten something or this process has just begun.")
	seen("clock_ahead_seconds", "How far the clock of this process is ahead of that of Redis; below 0 it is behind.")
	here("stalled",
		"Transactions whose signed bytes get to no node, by cause: the network takes nothing from anybody (network), what "+
			"stands in front of the nodes turns them away (gateway), or the nodes do not answer (nodes).", "cause")
	seen("stalled_seconds", "For how long the first of them has waited since it was sent; 0 if there is none.", "cause")
	here("chain_watched", "Transactions whose attempts are looked for on the chain.")
	seen("chain_nodes_synced", "Nodes with a vote.")
	seen("chain_quorum", "1 if those are enough.")
	seen("chain_height", "Height of the lowest voting tip.")
	seen("chain_asked_seconds", "Time since the nodes were last asked.")
	seen("ledger_up",
		"1 if the ledger answers, and turns no batch away. One that was not asked for a minute is asked for the "+
			"next scrape.", "ledger")
	here("ledger_followed", "Batches that it is asked about, once per interval for all.", "ledger")
	seen("ledger_status_seconds", "Time since it last answered for them; 0 if there are none.", "ledger")
	seen("node_voting", "1 if the node is synced, near the tip, and of the right network.", "node")
	seen("node_height", "Height of the node's tip.", "node")
	seen("node_lag_blocks", "Blocks that its tip is below the highest that any node has heard of.", "node")
	seen("node_tip_age_seconds", "How far its tip's slot was behind the clock when the node was last asked.", "node")
	seenSums("node_reorgs_total", "Times that blocks left the node's best chain.", "node")
	seenSums("node_orphaned_blocks_total", "Those blocks.", "node")
	return s
}

// Describe says nothing: which series there are is known only when they are read.
func (s *scrape) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *scrape) Collect(out chan<- prometheus.Metric) {
	show := func(name string, value float64, labels ...string) {
		k := s.kinds[prefix+name]
		out <- prometheus.MustNewConstMetric(k.desc, k.as, value, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	err := s.store(ctx, show)
	show("store_up", truth(err == nil))
	if err != nil {
		s.Log.Warn("figures of the store not read", "err", err)
	}
	if s.StoreFaults != nil {
		found := s.StoreFaults()
		for _, code := range queues.FaultCodes {
			show("store_fault", truth(slices.Contains(found, code)), code)
		}
	}
	s.process(show)
	s.zkApps.show(show)
	s.nodes(show)
	for _, x := range s.Sequencer.Ledgers() {
		if !x.Asked.IsZero() {
			show("ledger_up", truth(x.OK), x.Name)
		}
		show("ledger_followed", float64(x.Followed), x.Name)
		show("ledger_status_seconds", x.Behind.Seconds(), x.Name)
	}
}

type shown func(name string, value float64, labels ...string)

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// store reads all before it shows anything: half a store misleads.
func (s *scrape) store(ctx context.Context, show shown) error {
	o, err := s.Store.Overview(ctx)
	if err != nil {
		return err
	}
	var all []*senders.Sender
	for p, err := range s.Senders.All(ctx) {
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	endpoints, err := s.Webhooks.List(ctx)
	if err != nil {
		return err
	}
	look, types, err := s.Sequencer.Fees(ctx)
	if err != nil {
		return err
	}
	s.fees(look, types, show)
	for _, state := range stateNames() {
		show("transactions", float64(o.States[tx.State(state)]), state)
	}
	for typ, load := range o.Types {
		show("waiting", max(0, float64(load.Waiting)), typ)
		show("ready_queues", float64(load.Ready), typ)
		show("bound", float64(load.Bound), typ)
		show("oldest_seconds", age(o.At, load.Oldest), typ)
	}
	for name, load := range o.Ledgers {
		show("ledger_waiting", max(0, float64(load.Waiting)), name)
		show("ledger_in_flight", float64(load.Bound), name)
		show("ledger_oldest_seconds", age(o.At, load.Oldest), name)
	}
	show("queues", float64(o.Queues))
	show("queues_limited", float64(o.LimitedInAll))
	show("processes", float64(o.Processes))
	show("events_kept", float64(o.Events))
	s.senders(all, o.Fees, show)
	for _, x := range endpoints {
		show("webhook_enabled", truth(x.Disabled == ""), x.ID, x.Disabled)
		show("webhook_behind", float64(x.Behind), x.ID)
		show("webhook_behind_seconds", age(o.At, x.BehindSince), x.ID)
		show("webhook_parked", float64(x.Parked), x.ID)
		show("webhook_waiting", float64(x.Waiting), x.ID)
		show("webhook_dropped", float64(x.Dropped), x.ID)
	}
	return nil
}

// age is in seconds, 0 of what is not there.
func age(now, since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}

func (s *scrape) senders(all []*senders.Sender, fees map[string]uint64, show shown) {
	counts := map[[2]string]int{{string(tx.QueueFree), ""}: 0}
	for _, x := range all {
		counts[[2]string{string(x.State()), string(x.Reason)}]++
		show("sender_available", truth(x.Available()), x.AccountID)
		show("sender_fees_today_mina", inMina(fees[x.AccountID]), x.AccountID)
		if x.Balance != nil {
			show("sender_balance_mina", inMina(*x.Balance), x.AccountID)
		}
		if x.Nonce != nil {
			show("sender_nonce", float64(*x.Nonce), x.AccountID)
		}
	}
	for is, n := range counts {
		show("senders", float64(n), is[0], is[1])
	}
}

func (s *scrape) provers(show shown) {
	counts, load := map[tx.SenderReason]int{"": 0}, 0
	for _, p := range s.Provers.Shown() {
		counts[p.Reason]++
		load += p.Load
	}
	for why, n := range counts {
		show("provers", float64(n), string(why))
	}
	show("provers_load", float64(load))
	for typ, n := range s.Provers.Waiting() {
		show("provers_waiting", float64(n), typ)
	}
}

// fees shows what others pay, for the next ten blocks, and what ours would.
func (s *scrape) fees(look *fees.Look, types []fees.TypeFee, show shown) {
	if look != nil {
		show("pool_size", float64(look.Size))
		for i := 1; i < fees.MaxTarget; i += 2 { // ranks go by half blocks
			pays := uint64(0)
			if i < len(look.Ranks) {
				pays = look.Ranks[i]
			}
			show("pool_fee_per_weight_mina", inMina(pays), strconv.Itoa(i/2+1))
		}
	}
	for _, t := range types {
		show("fee_estimate_mina", inMina(t.Quote.Fee), t.Type)
		if t.Weight > 0 {
			show("type_weight", float64(t.Weight), t.Type)
		}
	}
}

func (s *scrape) process(show shown) {
	x := s.Sequencer.Standing()
	show("claims", float64(x.Claims))
	show("claims_bound", float64(x.Bound))
	if s.Provers != nil {
		s.provers(show)
	}
	show("trains", float64(x.Trains))
	show("train_longest", float64(x.Longest))
	show("live", truth(x.Live))
	show("recovering", truth(x.Recovering != ""))
	show("clock_ahead_seconds", x.Ahead.Seconds())
	stalled := s.Sequencer.Stalled()
	for _, cause := range sequencer.Causes {
		show("stalled", float64(stalled[cause].N), cause)
		show("stalled_seconds", stalled[cause].For.Seconds(), cause)
	}
}

func (s *scrape) nodes(show shown) {
	if !s.Chain.Any() {
		return // there is no chain to be out of touch with
	}
	c := s.Chain.Chain()
	show("chain_watched", float64(s.Chain.Watching()))
	show("chain_nodes_synced", float64(c.Synced))
	show("chain_quorum", truth(c.Quorum))
	show("chain_height", float64(c.Height))
	if !c.At.IsZero() {
		show("chain_asked_seconds", time.Since(c.At).Seconds())
	}
	for _, n := range s.Chain.Nodes() {
		show("node_voting", truth(n.Voting), n.Name)
		show("node_height", float64(n.Height), n.Name)
		show("node_lag_blocks", float64(n.Lag), n.Name)
		show("node_tip_age_seconds", n.TipAge.Seconds(), n.Name)
		show("node_reorgs_total", float64(n.Reorgs), n.Name)
		show("node_orphaned_blocks_total", float64(n.Orphaned), n.Name)
	}
}
