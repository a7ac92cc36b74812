package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/ledger/devledger"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// A world is all that the service meets outside of itself: Mina nodes and
// workers, behind HTTP on loopback ports.
type world struct {
	network *devnet.Network
	nodes   []string // GraphQL addresses
	senders []settings.Sender
	// ledgers that take batches, by name, and where they are.
	ledgers   map[string]devledger.Ledger
	ledgersAt string
	token     string // that the workers want to see
	feed      *feed
	http      *http.Client
	stop      func()

	mu       sync.Mutex
	proofs   int  // asked for so far
	failed   bool // one of them
	outsider outsiderMove
}

const (
	nodeCount   = 3
	senderCount = 4 // the last one has a legacy worker
	// The proof, in the order they are asked for, that finds its worker busy, and
	// the one after which an account is changed behind the next one's back.
	busyProof  = 4
	staleProof = 6
)

// An outsiderMove is a command that changes the account of a claim and was not
// sent through the sequencer.
type outsiderMove struct {
	account, hash, state string
}

// newWorld starts nodes and workers. They outlive ctx, so that the service
// can drain, and end with stop.
func newWorld(ctx context.Context, slot time.Duration, feed *feed) (*world, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &world{feed: feed, token: rand.Text(), http: &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}}
	var parts sync.WaitGroup
	w.stop = func() {
		cancel()
		parts.Wait()
		w.http.CloseIdleConnections()
	}
	accounts := map[string]devnet.Account{}
	for i := range senderCount {
		accounts[devnet.Key(uint64(i+1))] = devnet.Account{Balance: 100_000_000_000}
	}
	var err error
	w.network, err = devnet.New(devnet.Config{
		Nodes: nodeCount, SlotTime: slot, FillRate: 0.85, Seed: 1, Accounts: accounts, FundAll: true,
	})
	if err != nil {
		w.stop()
		return nil, err
	}
	at, err := serveLocally(ctx, &parts, w.network)
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("starting the nodes: %w", err)
	}
	for i := range nodeCount {
		w.nodes = append(w.nodes, at+"/nodes/"+strconv.Itoa(i)+"/graphql")
	}
	parts.Go(func() { _ = w.network.Run(ctx) }) // it ends with ctx, without an error
	workers := http.NewServeMux()
	for i := range senderCount {
		workers.Handle("/"+strconv.Itoa(i+1)+"/", http.StripPrefix("/"+strconv.Itoa(i+1), w.worker(i, slot)))
	}
	if at, err = serveLocally(ctx, &parts, workers); err != nil {
		w.stop()
		return nil, fmt.Errorf("starting the workers: %w", err)
	}
	for i := range senderCount {
		w.senders = append(w.senders, settings.Sender{AccountID: devnet.Key(uint64(i + 1)), WorkerURL: at + "/" + strconv.Itoa(i+1)})
	}
	if err := w.startLedgers(ctx, &parts, slot); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// serveLocally serves on a free loopback port until ctx ends.
func serveLocally(ctx context.Context, parts *sync.WaitGroup, handler http.Handler) (url string, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	parts.Go(func() { _ = server.Serve(l) }) // it ends with the server
	parts.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return "http://" + l.Addr().String(), nil
}

// worker makes the ith worker; each takes longer for a proof than the one
// before.
func (w *world) worker(i int, slot time.Duration) *devworker.Worker {
	state := devworker.StateFrom(w.nodes[0], w.http)
	o := devworker.Options{
		Account: devnet.Key(uint64(i + 1)), Token: w.token, Seed: uint64(i), Network: "mina:testnet",
		ProveTime: slot + time.Duration(i)*slot/2, SignTime: slot / 20, State: w.meddled(state),
	}
	if i == senderCount-1 {
		o.Legacy, o.State = true, state
		o.Send = mina.NewNode(w.nodes[0], mina.NodeOptions{Client: w.http}).Send
		return devworker.New(o)
	}
	worker := devworker.New(o)
	worker.Script(w.mishap)
	return worker
}

// mishap lets one proof meet a busy worker and another one fail.
func (w *world) mishap(c devworker.Call) *devworker.Fault {
	if c.Kind != devworker.Prove {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proofs++
	switch {
	case w.proofs == busyProof:
		return &devworker.Fault{Kind: devworker.Busy, Wait: time.Second}
	case w.proofs > staleProof && w.outsider.account != "" && !w.failed:
		// Not before the outsider has moved: his victim must get as far as a block.
		w.failed = true
		return &devworker.Fault{Kind: devworker.Error, After: true, Code: "20202", Message: "the prover ran out of memory"}
	}
	return nil
}

// meddled reads the state that a proof is made for and then, once, lets an
// outsider change it: the transaction will be included and fail, because its
// precondition no longer holds.
func (w *world) meddled(read func(context.Context, string) ([]string, error)) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, account string) ([]string, error) {
		state, err := read(ctx, account)
		if err != nil || len(state) == 0 || state[0] == "" || state[0] == "0" {
			return state, err
		}
		w.mu.Lock()
		now := w.outsider.hash == "" && w.proofs >= staleProof
		if now {
			w.outsider = outsiderMove{account: account, hash: "on its way"}
		}
		w.mu.Unlock()
		if now {
			w.meddle(ctx, account, state[0])
		}
		return state, nil
	}
}

// meddle sends the outsider's command. It pays far more than the sequencer, so
// that it comes first even within one block.
func (w *world) meddle(ctx context.Context, account, state string) {
	next := devworker.NextState(state, "outsider")
	command, err := devnet.Build(devnet.Plan{
		Payer: devnet.Key(1000), Fee: 10_000_000_000, Memo: "by hand, from a wallet",
		Updates: []devnet.Update{{Account: account, Expect: map[int]string{0: state}, Set: map[int]string{0: next}}},
	})
	var hash string
	if err == nil {
		hash, err = devnet.Hash(command)
	}
	if err == nil {
		_, err = mina.NewNode(w.nodes[0], mina.NodeOptions{Client: w.http}).Send(ctx, json.RawMessage(command))
	}
	if err != nil {
		w.feed.add(board.Event{Extra: "the outsider failed: " + err.Error()})
		return
	}
	w.mu.Lock()
	w.outsider = outsiderMove{account: account, hash: hash, state: next}
	w.mu.Unlock()
	e := board.Event{Extra: "somebody else changes its account"}
	for _, item := range votingRound() {
		if devworker.ZkApp(item.queue) == account {
			e.Queue = item.queue
		}
	}
	w.feed.add(e)
}

// verify reads in the ledger what the transactions have done: every one that
// is DONE took effect once, those of a queue in the order they were posted, and
// nothing took effect that the sequencer does not know of.
func (w *world) verify(done []client.Transaction) error {
	w.mu.Lock()
	outsider := w.outsider
	w.mu.Unlock()
	byHash, waiting, state := map[string]string{}, map[string][]string{}, map[string]string{}
	if err := w.verifyBatches(done); err != nil {
		return err
	}
	for _, t := range done {
		if batchLedger(t) != "" {
			continue
		}
		account := devworker.ZkApp(t.Queue)
		byHash[t.Hash], state[account] = t.UID, "0"
		waiting[account] = append(waiting[account], t.UID)
	}
	for _, e := range w.network.Effects() {
		if !e.OK || len(e.Accounts) == 0 {
			continue
		}
		account, uid := e.Accounts[0], byHash[e.Hash]
		switch {
		case e.Hash == outsider.hash:
			state[account] = outsider.state
			continue
		case uid == "":
			return fmt.Errorf("block %d has %s, which no transaction knows", e.Height, e.Hash)
		case len(waiting[account]) == 0 || waiting[account][0] != uid:
			return fmt.Errorf("%s took effect in block %d, out of turn", uid, e.Height)
		}
		waiting[account] = waiting[account][1:]
		state[account] = devworker.NextState(state[account], uid)
	}
	for account, left := range waiting {
		if len(left) > 0 {
			return fmt.Errorf("%s took no effect", left[0])
		}
		if a, _ := w.network.Account(account); len(a.State) == 0 || cmp.Or(a.State[0], "0") != state[account] {
			return errors.New("the state of " + account + " is not what its transactions make of it")
		}
	}
	return nil
}

// A feed gathers what is worth showing beside the changes of transactions:
// mishaps, and as a slog handler the warnings of the service. It may be used
// concurrently.
type feed struct {
	mu     sync.Mutex
	events []board.Event
}

func (f *feed) add(e board.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) < 1000 {
		e.At = time.Now()
		f.events = append(f.events, e)
	}
}

// take returns what came in since the last time.
func (f *feed) take() []board.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// Enabled takes warnings and errors only.
func (f *feed) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle shows a record as an event.
func (f *feed) Handle(_ context.Context, r slog.Record) error {
	e := board.Event{Extra: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "queue":
			e.Queue = a.Value.String()
		case "txn":
			e.UID = a.Value.String()
		case "err":
			e.Extra += ": " + a.Value.String()
		}
		return true
	})
	f.add(e)
	return nil
}

// WithAttrs and WithGroup leave the handler as it is: only records count.
func (f *feed) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup does as WithAttrs.
func (f *feed) WithGroup(string) slog.Handler { return f }
