// Package metrics is the figures of a process and of its namespace, for Prometheus.
//
// What a process does itself is counted as it happens, by functions that the other
// packages are given; they know nothing of Prometheus. What all processes share is
// read when somebody asks, at a cost that follows the senders and types, and never
// the queues or transactions; no label holds either.
//
// All methods may be called concurrently.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mina-sequencer/api"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Options say what is known of the process from the start. Fees are in nanomina.
type Options struct {
	Version, Commit            string
	MinBalance                 uint64
	FeeLimitSender, FeeLimit   uint64 // of a day; 0 is no limit
	FeeLimitQueue, FeeLimitKey uint64
	// Beginning is the beginning of a queue's name by which its figures are told, "" for none of
	// its own; nil is none of any.
	Beginning func(queue string) string
}

// Metrics is one registry of figures.
type Metrics struct {
	registry *prometheus.Registry
	figures  []Figure

	states, ends, inclusion, blocks           *prometheus.HistogramVec
	calls, scripts, requests                  *prometheus.HistogramVec
	retries, errors, raises, reopened         *prometheus.CounterVec
	fees, scriptCalls, answers, takeover      *prometheus.CounterVec
	followers                                 prometheus.Gauge
	wrongKeys, tenants, ended                 *prometheus.CounterVec
	keys, beginnings                          names
	beginning                                 func(queue string) string
	looks, estimates, repriced, landed, apart *prometheus.CounterVec
	webhooks                                  *prometheus.CounterVec
	webhookCalls, posts                       *prometheus.HistogramVec
	verdicts                                  *prometheus.CounterVec
	zkApps                                    zkApps
}

// New returns figures that nothing has been counted in.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), beginning: o.Beginning}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.states = m.histogram("state_seconds",
		"How long transactions were in a state that they left.", long, "type", "state")
	m.ends = m.histogram("transaction_seconds",
		"How old transactions were when they came to their end.", long, "type", "state")
	m.inclusion = m.histogram("inclusion_seconds",
		"Time from sending to a block deep enough, where one process did both.", long, "type")
	m.blocks = m.histogram("inclusion_blocks",
		"How many blocks that took, its own included.", []float64{1, 2, 3, 4, 5, 7, 10, 15, 25, 50}, "type")
	m.landed = m.counter("landed_total",
		"Transactions that this process saw in a block, by whether the one before them of their queue was in the same "+
			"(beside: yes or no). All of them by those with no is how many of a queue share a block.", "type", "beside")
	m.calls = m.histogram("worker_call_seconds",
		"Calls of workers: prove, resign, dispatch (legacy), simulate (before a proof) and report (callbacks); and submit, "+
			"of ledgers. "+
			"Outcome is ok or failed.", long, "type", "call", "outcome")
	m.retries = m.counter("retries_total", "Retries begun.", "type")
	m.errors = m.counter("errors_total",
		"What went wrong, by class: error and hopeless (a worker, or every node at the first sending), lost (an "+
			"answer), deferred (put off, no retry used), settled (an attempt failed, expired or lost its nonce), "+
			"unknown (only a person can tell), nonce-ignored.", "type", "class")
	m.raises = m.counter("fee_raises_total", "Fees of open attempts raised; no retries.", "type")
	m.reopened = m.counter("reopened_total", "DONE transactions whose block left the best chain.", "type")
	m.fees = m.counter("fees_paid_mina_total",
		"Fees of attempts that this process saw in a block, by outcome: landed or failed.", "sender", "outcome")
	m.estimates = m.counter("fees_estimated_mina_total",
		"What those fees were estimated at by the market, by why: POOL, FLOOR, CAP or UNKNOWN (see fees.md).", "type", "why")
	m.repriced = m.counter("fees_repriced_total",
		"Attempts that were signed again before they left, for they weighed other than was supposed.", "type")
	m.apart = m.counter("overlap_wrong_total",
		"Transactions made behind others in flight in vain: by what they require or make they go alone.", "type")
	m.looks = m.counter("pool_looks_total",
		"Looks at the pool of a node, where SEQUENCER_FEE is auto: at its size or at all of it (offers).", "at")
	m.takeover = m.counter("takeovers_total", "Transactions taken over from processes that were gone.")
	m.takeover.WithLabelValues()
	m.scripts = m.histogram("script_seconds",
		"Round trips of scripts to Redis. Scripts that are sent together share one, and each counts.", short, "script")
	m.scriptCalls = m.counter("script_calls_total", "Calls of scripts; several may share a run.", "script")
	m.requests = m.histogram("http_request_seconds",
		"Requests but for the stream of events, by the pattern of the route.", short, "route")
	m.answers = m.counter("http_requests_total", "Requests that have ended.", "method", "route", "status")
	m.wrongKeys = m.counter("wrong_keys_total",
		"Keys that were given and are none, by the way: login (of the dashboard) or program (Authorization: Bearer).", "way")
	for _, way := range api.Ways {
		m.wrongKeys.WithLabelValues(way)
	}
	m.tenants = m.counter("posted_total",
		"Posts by the name of the API key, and by the longest beginning of the queue's name that keys are limited to: none "+
			"where nobody needs a key, of what is refused, and of other queues; other beyond a hundred of each. "+
			"Transactions accepted, known already (existed) or refused, each of a batch by itself.", "key", "prefix", "outcome")
	m.ended = m.counter("ended_total",
		"Transactions that came to their end, by whom posted them and to which queues, as of sequencer_posted_total.",
		"key", "prefix", "state")
	m.webhooks = m.counter("webhook_tries_total",
		"Tries to deliver an event, by outcome: delivered, failed or throttled (429).", "endpoint", "outcome")
	m.webhookCalls = m.histogram("webhook_seconds", "How long endpoints took to answer, or not to.", short, "endpoint")
	m.posts = m.histogram("ledger_post_seconds",
		"How long ledgers took to answer the post of a batch, by answer: accepted; not taken for now (busy) or for "+
			"good (rejected); turned away (auth, address, protocol) or unreached; or unknown, where it may have "+
			"been taken.", long, "ledger", "answer")
	m.verdicts = m.counter("ledger_verdicts_total",
		"Batches that came to their end, by verdict: committed, invalid (executed and refused), rejected (not "+
			"taken), silent (none within SEQUENCER_LEDGER_PATIENCE).", "ledger", "verdict")
	m.followers = m.one(partly, "event_clients", "Clients that follow the events here.")

	m.one(viewed, "build_info", "1, with what this process is made of.",
		"version", o.Version, "commit", o.Commit, "go", runtime.Version()).Set(1)
	m.one(viewed, "min_balance_mina", "What a sender must have to spend to be given work.").Set(inMina(o.MinBalance))
	for _, limit := range []struct {
		of  string
		fee uint64
	}{{"sender", o.FeeLimitSender}, {"all", o.FeeLimit}, {"queue", o.FeeLimitQueue}, {"key", o.FeeLimitKey}} {
		m.one(viewed, "fee_limit_mina",
			"The most that attempts may cost in a day, 0 for no limit.", "of", limit.of).Set(inMina(limit.fee))
	}
	return m
}

const prefix = "sequencer_"

// long is for what takes milliseconds in tests and hours in trouble, short for what
// should take milliseconds; both in seconds.
var (
	long  = []float64{.1, .5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}
	short = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30}
)

// A Figure is one family of metrics, as the reference lists them.
type Figure struct {
	Name, Kind, Help string
	Labels           []string
	Over             Over
}

// Over says what the figures of several processes make together.
type Over string

const (
	partly Over = "sum"        // each process shows its own part
	shared Over = "max"        // the same at every process of the namespace
	viewed Over = "max or min" // a setting of a process, or what it sees
)

// Figures lists the families of this package; those of the Go runtime and of the
// process come beside them.
func (m *Metrics) Figures() []Figure { return slices.Clone(m.figures) }

var overHelp = map[Over]string{
	partly: " Of this process: sum them up.",
	shared: " Shared: the same at every process.",
	viewed: " A setting or a view of this process: take the maximum or minimum.",
}

func (m *Metrics) note(over Over, name, kind, help string, labels ...string) (string, string) {
	m.figures = append(m.figures, Figure{Name: prefix + name, Kind: kind, Help: help, Labels: labels, Over: over})
	return prefix + name, help + overHelp[over]
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	name, help = m.note(partly, name, "histogram", help, labels...)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	name, help = m.note(partly, name, "counter", help, labels...)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

// one is a gauge with fixed labels, given as names and values.
func (m *Metrics) one(over Over, name, help string, pairs ...string) prometheus.Gauge {
	labels, names := prometheus.Labels{}, []string{}
	for pair := range slices.Chunk(pairs, 2) {
		labels[pair[0]] = pair[1]
		names = append(names, pair[0])
	}
	if last := len(m.figures) - 1; last >= 0 && m.figures[last].Name == prefix+name {
		name = prefix + name
	} else {
		name, _ = m.note(over, name, "gauge", help, names...)
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help + overHelp[over], ConstLabels: labels})
	m.registry.MustRegister(g)
	return g
}

func inMina(nanomina uint64) float64 { return float64(nanomina) / 1e9 }

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry: nil, MaxRequestsInFlight: 4, Timeout: scrapeTimeout + time.Second})
}

// Sequencer is what package sequencer tells.
func (m *Metrics) Sequencer() sequencer.Meter {
	return sequencer.Meter{
		Moved: m.moved, Included: m.included, Called: m.called, Posted: m.posted,
		Raised:   func(typ string) { m.raises.WithLabelValues(typ).Inc() },
		Apart:    func(typ string) { m.apart.WithLabelValues(typ).Inc() },
		TookOver: func(n int) { m.takeover.WithLabelValues().Add(float64(n)) },
		Looked: func(offers bool) {
			m.looks.WithLabelValues(map[bool]string{true: "offers", false: "size"}[offers]).Inc()
		},
	}
}

// begin shows at 0 what may happen to transactions: an increase from nothing to one
// is none that Prometheus could see.
func (m *Metrics) begin(types []string, ledgers []sequencer.LedgerStanding) {
	for _, l := range ledgers {
		for _, answer := range sequencer.Answers {
			m.posts.WithLabelValues(l.Name, answer)
		}
		for _, verdict := range sequencer.Verdicts {
			m.verdicts.WithLabelValues(l.Name, verdict)
		}
	}
	for _, typ := range types {
		for _, class := range lifecycle.Failures {
			m.errors.WithLabelValues(typ, class)
		}
		for _, c := range []*prometheus.CounterVec{m.retries, m.raises, m.reopened, m.repriced, m.apart} {
			c.WithLabelValues(typ)
		}
		for _, state := range tx.States {
			if state.Final() {
				m.ends.WithLabelValues(typ, string(state))
			}
		}
	}
}

func (m *Metrics) moved(x sequencer.Move) {
	if x.Failure != "" {
		m.errors.WithLabelValues(x.Type, x.Failure).Inc()
	}
	if x.Retry {
		m.retries.WithLabelValues(x.Type).Inc()
	}
	if x.Reason == lifecycle.ReasonRepricing {
		m.repriced.WithLabelValues(x.Type).Inc()
	}
	if x.Orphaned {
		m.reopened.WithLabelValues(x.Type).Inc()
	}
	if verdict := x.Verdict(); verdict != "" {
		m.verdicts.WithLabelValues(x.Ledger, verdict).Inc()
	}
	from, to := x.From.State(), x.To.State()
	if from == to {
		return
	}
	if x.Lasted >= 0 && !from.Final() {
		m.states.WithLabelValues(x.Type, string(from)).Observe(x.Lasted.Seconds())
	}
	if to.Final() && !from.Final() {
		m.ended.WithLabelValues(m.tenant(x.Key, x.Queue, string(to))...).Inc()
	}
	if to.Final() && !from.Final() && x.Age >= 0 {
		m.ends.WithLabelValues(x.Type, string(to)).Observe(x.Age.Seconds())
	}
}

func (m *Metrics) included(x sequencer.Inclusion) {
	outcome := "landed"
	if x.Failed {
		outcome = "failed"
	} else {
		m.landed.WithLabelValues(x.Type, map[bool]string{true: "yes", false: "no"}[x.Beside]).Inc()
		if x.Waited > 0 {
			m.inclusion.WithLabelValues(x.Type).Observe(x.Waited.Seconds())
		}
		if x.Blocks > 0 {
			m.blocks.WithLabelValues(x.Type).Observe(float64(x.Blocks))
		}
	}
	m.zkApps.add(x.Touched, x.Failed)
	m.fees.WithLabelValues(x.Sender, outcome).Add(inMina(x.Fee))
	if x.Quote.Why != "" {
		m.estimates.WithLabelValues(x.Type, string(x.Quote.Why)).Add(inMina(x.Quote.Fee))
	}
}

func (m *Metrics) called(x sequencer.WorkerCall) {
	outcome := "ok"
	if x.Failed {
		outcome = "failed"
	}
	m.calls.WithLabelValues(x.Type, x.Call, outcome).Observe(x.Took.Seconds())
}

func (m *Metrics) posted(x sequencer.Post) {
	m.posts.WithLabelValues(x.Ledger, x.Answer).Observe(x.Took.Seconds())
}

// Script is what package queues tells of each run of a script.
func (m *Metrics) Script(script string, calls int, took time.Duration) {
	m.scripts.WithLabelValues(script).Observe(took.Seconds())
	m.scriptCalls.WithLabelValues(script).Add(float64(calls))
}

// Webhook is what package webhooks tells of each try.
func (m *Metrics) Webhook(endpoint, outcome string, took time.Duration) {
	m.webhooks.WithLabelValues(endpoint, outcome).Inc()
	m.webhookCalls.WithLabelValues(endpoint).Observe(took.Seconds())
}

// API is what package api tells.
func (m *Metrics) API() api.Meter {
	return api.Meter{
		Request: m.request, Following: func(change int) { m.followers.Add(float64(change)) },
		Posted: func(key, queue, outcome string) {
			m.tenants.WithLabelValues(m.tenant(key, queue, outcome)...).Inc()
		},
		WrongKey: func(way string) { m.wrongKeys.WithLabelValues(way).Inc() },
	}
}

// tenant are the labels of what was posted with a key to a queue, and of what became of it.
func (m *Metrics) tenant(key, queue, what string) []string {
	begin := ""
	if m.beginning != nil {
		begin = m.beginning(queue)
	}
	return []string{m.keys.bounded(key), m.beginnings.bounded(begin), what}
}

// names bound how many values of a label there are. They may be used concurrently.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
}

const mostNames = 100

// bounded is a name as a label: none for nobody's, other where there are too many.
func (n *names) bounded(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case name == "":
		return "none"
	case !n.seen[name] && len(n.seen) >= mostNames:
		return "other"
	case n.seen == nil:
		n.seen = make(map[string]bool)
	}
	n.seen[name] = true
	return name
}

func (m *Metrics) request(method, route string, status int, took time.Duration) {
	known := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}
	if !slices.Contains(known, method) {
		method = "other" // anything goes for a method
	}
	if route == "" {
		route = "none"
	}
	m.answers.WithLabelValues(method, route, statusText(status)).Inc()
	if route != eventsRoute {
		m.requests.WithLabelValues(route).Observe(took.Seconds())
	}
}

// eventsRoute is open for as long as its clients like.
const eventsRoute = "/api/v1/events"

func statusText(status int) string {
	if status < 100 || status > 599 {
		return "other"
	}
	return string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
}

// state names, so that a figure of none is shown as 0.
func stateNames() []string {
	var names []string
	for _, s := range tx.States {
		names = append(names, string(s))
	}
	return names
}
