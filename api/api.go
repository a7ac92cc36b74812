// Package api is the service's HTTP API: JSON in and out, problems as RFC 9457.
// It checks what comes from outside and shows what is stored; what is to be
// done with a transaction is decided elsewhere, behind [Control].
package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"mina-sequencer/api/codes"
	"mina-sequencer/api/dashboard"
	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// Control decides on what a person asks for. Its methods return queues.ErrNotFound,
// queues.ErrUnavailable, queues.ErrUnsettled, or the refusal of package lifecycle that each names.
type Control interface {
	// Retry gives a transaction fresh retries. Errors: ErrNotRetryable,
	// ErrMightStillLand.
	Retry(ctx context.Context, uid string) (*tx.Transaction, error)
	// Cancel ends a transaction, or with pending promises that no further
	// attempt is made. Error: ErrNotCancellable.
	Cancel(ctx context.Context, uid string) (t *tx.Transaction, pending bool, err error)
	// Resolve settles an attempt of unknown outcome; hash may be "". Errors:
	// ErrContradicted, ErrNotRetryable, ErrFollowed.
	Resolve(ctx context.Context, uid string, landed bool, hash string) (*tx.Transaction, error)
	// Explain says where a transaction stands and what happens next; of senders only how many
	// they are, where whoever asks sees some queues only.
	Explain(ctx context.Context, uid string, limited bool) (explain.Explanation, error)
}

// Readiness says what works. What it holds is shown without a key.
type Readiness struct {
	Store   Part `json:"store"`   // decides whether the service is ready
	Chain   Part `json:"chain"`   // decides only where all is asked for
	Senders Part `json:"senders"` // as Chain
	Ledgers Part `json:"ledgers"` // as Chain
	Clock   Part `json:"clock"`   // as Chain: that of the process beside that of the store
	Queues  Part `json:"queues"`  // decides nothing: those that wait for a person stop nobody else
}

// A Part is one thing that has to work.
type Part struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// Options are what the API works on. Store, Senders, Types, Control, Webhooks and
// ValidKey are needed; the rest has defaults.
type Options struct {
	Store   *queues.Store
	Senders *senders.Pool
	// Provers are the pool of those without a key; nil: it has none, and knows of none.
	Provers *provers.Pool
	// Types are those that may be posted, whichever process dispatches them.
	Types   *dispatcher.Registry
	Control Control
	// ValidKey says why a string is no account id.
	ValidKey func(string) error
	// Webhooks are the endpoints that are told what happens.
	Webhooks *webhooks.Service
	// Ready says what works, where all is asked for by asking; nil asks the store alone.
	Ready func(ctx context.Context, all bool) Readiness
	// Chain says what the nodes say; nil, or what returns nil, leaves it out of the overview.
	Chain func(context.Context) *Chain
	// Recovering says why this process binds and sends nothing; "" if it does, and nil too.
	Recovering func() string
	// Troubles says what else keeps this process, or its store, from working as it should; nil is nothing.
	Troubles func() []Trouble
	// Ledgers says how the ledgers stand that this process hands batches to; nil are none.
	Ledgers func() []Ledger
	// Batch says what a batch is in Grid's words, and what its ledger made of its transactions; nil
	// knows of no batches.
	Batch func(context.Context, *tx.Transaction) (tx.Submission, []tx.BatchTransaction)
	// Fees says what others pay, and what each type would pay now; nil leaves it out.
	Fees func(context.Context) (*fees.Look, []fees.TypeFee, error)
	// Simulate has a worker say what a transaction that is not posted would do now, and tells what
	// its first attempt would pay. Errors are those of package dispatcher, ErrNoSimulator and
	// BusyError among them, and queues.ErrUnavailable; nil simulates nothing.
	Simulate func(context.Context, *tx.Transaction) (dispatcher.Simulation, uint64, error)
	// Hosts are those that this process talks to (the store, nodes, ledgers), with or without a port: only
	// keys for all queues are shown them, and other addresses of the kind.
	Hosts []string
	// Explorer is the address of a transaction in a block explorer, with {hash}
	// in the place of its hash; "" links none.
	Explorer string
	// Keys are who may do what, at each moment; nil lets everybody do everything.
	Keys *Keyring
	// Rate is how many transactions each name of a key may post, and how many other requests
	// it may make beside them, over all processes together; none for no limit.
	Rate queues.Rate
	// BlockZkapps is how many zkApp commands a block takes, default fees.BlockTakes.
	BlockZkapps int
	// Width is how many of a queue may be in flight where nobody has set it, default 1.
	Width int
	// Origins are those of other sites whose pages may use the API, by a key.
	Origins []string
	// Loopback: only this machine reaches the API. Where nobody needs a key, that is what
	// guards it, and who asks has to name this machine: localhost, or a loopback address.
	Loopback bool
	// BodyLimit is the most bytes of one transaction, default 1 MiB;
	// BatchLimit of one batch, default 32 MiB; BatchItems the most
	// transactions of one batch, default 10,000.
	BodyLimit, BatchLimit int64
	BatchItems            int
	// EventClients is the most clients that follow the events at a time,
	// default 4,096.
	EventClients int
	// EventMemory is how many bytes of recent events are kept for those who
	// follow them, default 8 MiB.
	EventMemory int
	// Meter is told what is asked for, for figures.
	Meter Meter
	// Tracer follows what is asked for.
	Tracer Tracer
	// Metrics answers GET /metrics; nil is no such route.
	Metrics http.Handler
	Log     *slog.Logger // default: none
}

// A Meter is told what clients do. Its functions are called concurrently and must
// not wait; one that is nil is not called.
type Meter struct {
	// Request is told every request when it has ended. route is the pattern that it
	// matched, "" if none.
	Request func(method, route string, status int, took time.Duration)
	// Following is told that a client begins to follow the events (1) or ends (-1).
	Following func(change int)
	// Posted is told what became of a post of the keys of a name: accepted, existed or refused; and
	// in which queue it is, "" if in none.
	Posted func(key, queue, outcome string)
	// WrongKey is told that a key was given that is none, by the login or by a program.
	WrongKey func(way string)
}

// A Tracer follows requests. Its functions are called concurrently; one that is nil is not
// called.
type Tracer struct {
	// Continue returns ctx within the trace that a traceparent names, if it is one.
	Continue func(ctx context.Context, traceparent string) context.Context
	// Accepting is told what is about to be accepted. It returns what is kept with the
	// transaction, "" for nothing, and who is told how that ended.
	Accepting func(ctx context.Context, queue, typ string) (kept string, end func(uid string, err error))
}

// What becomes of a post, as a Meter is told.
const (
	postAccepted = "accepted"
	postExisted  = "existed"
	postRefused  = "refused"
)

// Outcomes are all of these.
var Outcomes = []string{postAccepted, postExisted, postRefused}

// posted tells what became of a post.
func (a *api) posted(who caller, result queues.Accepted) {
	if a.Meter.Posted == nil {
		return
	}
	switch {
	case result.Err != nil || result.Transaction == nil:
		a.Meter.Posted(who.name, "", postRefused)
	case result.Existed:
		a.Meter.Posted(who.name, result.Transaction.Queue, postExisted)
	default:
		a.Meter.Posted(who.name, result.Transaction.Queue, postAccepted)
	}
}

// accepting begins the trace of an item.
func (a *api) accepting(ctx context.Context, item *queues.Item) (end func(queues.Accepted)) {
	if a.Tracer.Accepting == nil {
		return func(queues.Accepted) {}
	}
	kept, done := a.Tracer.Accepting(ctx, item.Queue, item.Type)
	item.Trace = kept
	return func(r queues.Accepted) {
		uid := item.UID
		if r.Transaction != nil {
			uid = r.Transaction.UID
		}
		done(uid, r.Err)
	}
}

const base = "/api/v1"

type api struct {
	Options
	bodies  buffers
	batches *seats // those under way: each holds its body
	// simulations are what dry runs have workers do.
	simulations *seats
	feed        *feed
	pace        *queues.Spender // nil without a rate
	veil        *veil
	guesses     *guessing

	overview overview
}

// New returns the API with /healthz and /readyz.
func New(o Options) http.Handler {
	o.BodyLimit = cmp.Or(o.BodyLimit, 1<<20)
	o.BatchLimit = cmp.Or(o.BatchLimit, 32<<20)
	o.BatchItems = cmp.Or(o.BatchItems, 10_000)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = func(ctx context.Context, _ bool) Readiness {
			return Readiness{Store: Part{OK: o.Store.Ping(ctx) == nil}}
		}
	}
	if o.Provers == nil {
		o.Provers = provers.New(provers.Options{Store: o.Store})
	}
	if o.Keys == nil {
		o.Keys = NewKeyring(nil)
	}
	o.EventClients = cmp.Or(o.EventClients, 4096)
	o.EventMemory = cmp.Or(o.EventMemory, 8<<20)
	a := &api{
		Options: o, batches: newSeats(batchesAtOnce, 0),
		simulations: newSeats(simulationsAtOnce, simulationsEach), feed: newFeed(&o), veil: newVeil(o.Hosts),
		guesses: newGuessing(&o),
	}
	if o.Rate.PerSecond > 0 {
		a.pace = queues.NewSpender(o.Store, o.Rate)
	}
	router := chi.NewRouter()
	router.Use(a.identified, a.watch, secure, a.addressed, shared(o.Origins), sameSite(o.Origins), middleware.GetHead)
	pages := dashboard.New(o.Explorer)
	nowhere := a.handle(func(http.ResponseWriter, *http.Request) error {
		return &problem{
			Status: http.StatusNotFound, Code: codeNotFound, Title: "There is no such route",
			Detail: "Routes begin with " + base + " and end without a slash. Check the path.",
		}
	})
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		// Who has mistyped the address of a page gets one that says so.
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if reads && strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/") {
			dashboard.NotFound(pages).ServeHTTP(w, r)
			return
		}
		nowhere(w, r)
	})
	router.MethodNotAllowed(a.handle(func(w http.ResponseWriter, r *http.Request) error {
		return notAllowed(w, r, router)
	}))
	router.Get("/healthz", a.handle(a.health))
	router.Get("/readyz", a.handle(a.ready))

	router.Get(codes.Path, a.handle(a.explained))
	router.Get(base+"/session", a.handle(a.getSession))
	router.Post(base+"/session", a.handle(a.openSession))
	router.Delete(base+"/session", a.handle(a.closeSession))
	for _, pattern := range dashboard.Patterns {
		router.Get(pattern, pages.ServeHTTP)
	}

	router.Group(func(r chi.Router) {
		r.Use(a.require(Read), a.paced(asking))
		r.Get("/openapi.json", a.handle(a.description))
		r.Get("/docs", a.handle(a.reference))
		r.Get(base+"/transactions", a.timed(a.listTransactions))
		r.Get(base+"/transactions/{uid}", a.handle(a.getTransaction))
		r.Get(base+"/transactions/{uid}/explain", a.timed(a.explain))
		r.Get(base+"/transactions/{uid}/batch", a.timed(a.getBatch))
		r.Get(base+"/queues", a.timed(a.listQueues))
		r.Get(base+"/queues/{name}", a.timed(a.getQueue))
		r.Get(base+"/events", a.handle(a.events))
		r.Group(func(r chi.Router) {
			r.Use(a.unlimited)
			r.Get(base+"/senders", a.timed(a.listSenders))
			r.Get(base+"/senders/{accountId}", a.timed(a.getSender))
			r.Get(base+"/provers", a.timed(a.listProvers))
			r.Get(base+"/provers/{id}", a.timed(a.getProver))
			r.Get(base+"/webhooks", a.timed(a.listWebhooks))
			r.Get(base+"/webhooks/{id}", a.timed(a.getWebhook))
			r.Get(base+"/webhooks/{id}/deliveries", a.timed(a.webhookDeliveries))
			r.Get(base+"/webhooks/{id}/parked", a.timed(a.webhookParked))
			if o.Metrics != nil {
				r.Method(http.MethodGet, "/metrics", o.Metrics)
			}
			r.Get(base+"/overview", a.handle(a.getOverview))
			r.Get(base+"/history", a.timed(a.getHistory))
			r.Get(base+"/fees", a.timed(a.getFees))
		})
	})
	router.Group(func(r chi.Router) {
		r.Use(a.require(Submit))
		r.Group(func(r chi.Router) {
			r.Use(a.paced(posting))
			r.Post(base+"/transactions", a.handle(a.postTransaction))
			r.Post(base+"/transactions/batch", a.handle(a.postBatch))
		})
		r.With(a.paced(asking)).Post(base+"/transactions/{uid}/cancel", a.timed(a.cancel))
	})
	router.Group(func(r chi.Router) {
		r.Use(a.require(Admin), a.paced(asking))
		r.Post(base+"/transactions/cancel", a.timed(a.cancelAll))
		r.Post(base+"/transactions/retry", a.timed(a.retryAll))
		r.Post(base+"/transactions/delete", a.timed(a.removeAll))
		r.Post(base+"/transactions/{uid}/retry", a.timed(a.retry))
		r.Post(base+"/transactions/{uid}/resolve", a.timed(a.resolve))
		r.Delete(base+"/transactions/{uid}", a.timed(a.remove))
		r.Post(base+"/queues/pause", a.timed(a.pauseAll))
		r.Post(base+"/queues/resume", a.timed(a.resumeAll))
		r.Post(base+"/queues/{name}/pause", a.timed(a.pauseQueue))
		r.Post(base+"/queues/{name}/resume", a.timed(a.resumeQueue))
		r.Post(base+"/queues/{name}/width", a.timed(a.widenQueue))
		r.Post(base+"/senders", a.timed(a.addSender))
		r.Delete(base+"/senders/{accountId}", a.timed(a.removeSender))
		r.Post(base+"/senders/{accountId}/drain", a.timed(a.drainSender))
		r.Post(base+"/senders/{accountId}/resume", a.timed(a.resumeSender))
		r.Post(base+"/provers", a.timed(a.addProver))
		r.Delete(base+"/provers/{id}", a.timed(a.removeProver))
		r.Post(base+"/provers/{id}/drain", a.timed(a.drainProver))
		r.Post(base+"/provers/{id}/resume", a.timed(a.resumeProver))
		r.Post(base+"/webhooks", a.timed(a.addWebhook))
		r.Patch(base+"/webhooks/{id}", a.timed(a.editWebhook))
		r.Delete(base+"/webhooks/{id}", a.timed(a.removeWebhook))
		r.Post(base+"/webhooks/{id}/enable", a.timed(a.enableWebhook))
		r.Post(base+"/webhooks/{id}/disable", a.timed(a.disableWebhook))
		r.Post(base+"/webhooks/{id}/ping", a.timed(a.pingWebhook))
		r.Post(base+"/webhooks/{id}/secret", a.timed(a.rotateWebhook))
		r.Post(base+"/webhooks/{id}/replay", a.timed(a.replayWebhook))
		r.Delete(base+"/webhooks/{id}/parked", a.timed(a.discardParked))
	})
	return router
}

// handle answers with the problem that h returns, if any, or with that of a query that the route
// does not take. h returns none after it has begun an answer.
func (a *api) handle(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := checkQuery(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			p := a.viewOf(w).problem(r.Context(), err)
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				p.toReader()
			}
			a.veilFor(w).problem(p).write(w)
		}
	}
}

// problem is problemOf, with its cause in the log: what is answered does not hold it.
func (a *api) problem(ctx context.Context, err error) *problem {
	p := problemOf(err)
	switch {
	case p.Status == http.StatusInternalServerError:
		a.Log.ErrorContext(ctx, "request failed", "route", route(ctx), "err", p.cause)
	case p.cause != nil && !errors.Is(ctx.Err(), context.Canceled): // else who asked has hung up, and nothing is wrong
		a.Log.WarnContext(ctx, "request refused", "route", route(ctx), "code", p.Code, "err", p.cause)
	}
	return p
}

// timed is handle with an end to the time that h may take.
func (a *api) timed(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return a.handle(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// route is the pattern that a request matched: a name for logs that holds
// nothing of the client's.
func route(ctx context.Context) string {
	if c := chi.RouteContext(ctx); c != nil {
		return c.RoutePattern()
	}
	return ""
}

// An answer remembers whether it was begun, and for whom.
type answer struct {
	http.ResponseWriter
	caller // as far as it is known
	status int
}

func (w *answer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answer) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

func (w *answer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// watch turns a panic into a problem and logs every request.
func (a *api) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, out := time.Now(), &answer{ResponseWriter: w}
		if leaving(r.Context()) {
			w.Header().Set("Connection", "close")
		}
		defer func() {
			failure := recover()
			if failure != nil && failure != http.ErrAbortHandler { //nolint:errorlint // net/http compares so too
				a.Log.ErrorContext(r.Context(), "request failed", "route", route(r.Context()), "err", failure, "stack", string(debug.Stack()))
			}
			if failure != nil {
				if out.status != 0 {
					panic(http.ErrAbortHandler) // the client must not take a part for the whole
				}
				problemOf(errors.New("panic")).write(out)
			}
			if a.Meter.Request != nil {
				a.Meter.Request(r.Method, route(r.Context()), cmp.Or(out.status, http.StatusOK), time.Since(start))
			}
			if a.Log.Enabled(r.Context(), slog.LevelDebug) {
				a.Log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("method", r.Method),
					slog.String("route", route(r.Context())), slog.String("key", out.name), slog.Int("status", out.status), slog.Duration("took", time.Since(start)))
			}
		}()
		next.ServeHTTP(out, r)
	})
}

func notAllowed(w http.ResponseWriter, r *http.Request, router *chi.Mux) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if router.Match(chi.NewRouteContext(), method, r.URL.EscapedPath()) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &problem{
		Status: http.StatusMethodNotAllowed, Code: codeBadRequest, Title: "The method is not for this route",
		Detail: "Use " + strings.Join(allowed, " or ") + " here.",
	}
}

func (a *api) health(w http.ResponseWriter, _ *http.Request) error {
	return send(w, http.StatusOK, []byte(`{"status":"ok"}`))
}

// send answers with one JSON document.
func send(w http.ResponseWriter, status int, doc []byte) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(doc, '\n')) // nobody is left to tell
	return nil
}
