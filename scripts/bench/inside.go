package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Figures 4 to 6 are of moments that cannot be seen from outside of a process,
// so they run the service's packages in this one.

func (b *bench) openStore(namespace string, client *redis.Client) (*queues.Store, error) {
	return queues.Open(client, queues.Options{Namespace: namespace, Retention: time.Hour})
}

// profileSelf is profile for what runs in this process.
func (b *bench) profileSelf(ctx context.Context, work func() error) error {
	if b.profiles == "" {
		return work()
	}
	name := filepath.Join(b.profiles, b.current)
	file, err := os.Create(name + ".pprof")
	if err != nil {
		return err
	}
	b.redis.ConfigResetStat(ctx)
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = work()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close(), os.WriteFile(name+".redis", []byte(b.redis.Info(ctx, "commandstats").Val()), 0o600))
}

// A stopwatch measures figure 4. It sees the store's calls as a hook of the
// client, and the worker's requests.
type stopwatch struct {
	client *redis.Client // for the round trips

	trips sync.WaitGroup // under way

	mu        sync.Mutex
	releases  int       // of the only sender
	released  time.Time // zero once it is dispatched on
	turnTimes []time.Duration
	tripTimes []time.Duration
}

// trivial is what a round trip runs.
var trivial = redis.NewScript(`return 1`)

// DialHook leaves dialing alone.
func (w *stopwatch) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook looks at each command of a shared round trip.
func (w *stopwatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			w.look(ctx, cmd)
		}
		return err
	}
}

// ProcessHook looks at one command.
func (w *stopwatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.look(ctx, cmd)
		return err
	}
}

// look notes when the store has answered changes that end transactions and so
// release the sender: runs of the script that is given, for each change, how
// many words follow, and then these.
func (w *stopwatch) look(ctx context.Context, cmd redis.Cmder) {
	const head, phase = 5, 8 // EVALSHA, digest, number of keys, two keys; the phase's place
	args := cmd.Args()
	if cmd.Err() != nil || len(args) < head+phase {
		return
	}
	for at := head; at+phase < len(args); {
		n, counts := args[at].(int)
		if !counts || at+n >= len(args) {
			return
		}
		if args[at+phase] == string(tx.PhaseDone) && slices.Contains(args[at:at+n+1], any(string(tx.OnSuccess))) {
			w.release(context.WithoutCancel(ctx))
		}
		at += n + 1
	}
}

// release begins to time a turn or, every other time, a round trip instead: so
// both meet what else goes on at such a moment, and not each other.
func (w *stopwatch) release(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.releases++
	if w.releases%2 == 1 {
		w.released = time.Now()
		return
	}
	w.trips.Go(func() {
		begin := time.Now()
		if trivial.EvalSha(ctx, w.client, []string{"{trip}"}).Err() == nil {
			took := time.Since(begin)
			w.mu.Lock()
			w.tripTimes = append(w.tripTimes, took)
			w.mu.Unlock()
		}
	})
}

// proving is called when the worker has the header of a request for a proof.
func (w *stopwatch) proving(http.ResponseWriter) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.released.IsZero() {
		w.turnTimes = append(w.turnTimes, now.Sub(w.released))
		w.released = time.Time{}
	}
}

// turns is figure 4: one sender, many ready queues with one transaction each.
// The time runs from the moment that the sequencer has read the store's answer
// to the change that makes a transaction DONE and releases the sender, to the
// moment that the sender's worker has the request for the next proof: the bind,
// the stored plan and a new connection lie between, and what is written of other
// transactions at the time is in the way. The round trip is that of a script
// that does nothing, begun by the same client at such a moment; what it takes
// in a tight loop, with nothing else going on, is shown beside it and does not count.
func (b *bench) turns(ctx context.Context) ([]row, error) {
	world, err := newWorld(devnet.Config{FundAll: true, BlockOnSend: true, MaxZkapps: -1})
	if err != nil {
		return nil, err
	}
	watch := &stopwatch{client: b.redis}
	world.proving = watch.proving
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: world.mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()

	if err := trivial.Load(ctx, b.redis).Err(); err != nil {
		return nil, err
	}
	var idle []time.Duration
	for range 1_000 {
		begin := time.Now()
		if err := trivial.EvalSha(ctx, b.redis, []string{"{trip}"}).Err(); err != nil {
			return nil, err
		}
		idle = append(idle, time.Since(begin))
	}
	client := redis.NewClient(b.redis.Options())
	defer func() { _ = client.Close() }()
	client.AddHook(watch)
	store, err := b.openStore("turn", client)
	if err != nil {
		return nil, err
	}
	pool := senders.New(store, client)
	url := "http://" + l.Addr().String()
	if err := pool.Configure(ctx, map[string]string{sender(0): url + "/workers/" + sender(0)}); err != nil {
		return nil, err
	}
	workers := dispatcher.NewClient(dispatcher.ClientOptions{})
	types := new(dispatcher.Registry)
	if err := types.Register(dispatcher.VotingTypes(workers, dispatcher.NewRules(func(string) error { return nil }))...); err != nil {
		return nil, err
	}
	service := sequencer.New(sequencer.Options{
		Store: store, Senders: pool, Types: types, Namespace: "turn",
		Chain: mina.NewTracker(mina.TrackerOptions{Nodes: []*mina.Node{mina.NewNode(url+"/graphql", mina.NodeOptions{})}, Depth: 15}),
		Policy: lifecycle.Policy{
			CycleInterval: 5 * time.Second, InclusionInterval: 10 * time.Millisecond, DispatchTimeout: time.Minute, CallbackWait: time.Minute,
			RetryDelay: time.Minute, RetryDelayMax: time.Minute, Confirmations: 1, SettleDepth: 15, Finality: 15, Fee: 100_000_000,
			FeeMax: 5_000_000_000, FeeBump: 1.5, BumpAfter: 1000, ValidSlots: 1000, ClaimTTL: 15 * time.Second,
			Retention: time.Hour, ShutdownTimeout: 10 * time.Second,
		},
	})
	if err := fill(ctx, store, 0, b.scale.turns, b.scale.turns); err != nil {
		return nil, err
	}
	err = b.profileSelf(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- service.Run(ctx) }()
		err := awaitDone(ctx, l.Addr().String(), b.scale.turns)
		cancel()
		return errors.Join(err, <-ended)
	})
	if err != nil {
		return nil, err
	}
	watch.trips.Wait()
	if len(watch.turnTimes) < b.scale.turns/4 || len(watch.tripTimes) < b.scale.turns/4 {
		return nil, fmt.Errorf("only %d turns and %d round trips were seen in %d: the stopwatch no longer knows the store's calls",
			len(watch.turnTimes), len(watch.tripTimes), b.scale.turns)
	}
	turn, trip := median(watch.turnTimes), median(watch.tripTimes)
	ratio := float64(turn) / float64(trip)
	return []row{{
		"4 release to next dispatch", micros(turn), fmt.Sprintf("%s Redis round trip (%s in a tight loop)", micros(trip), micros(median(idle))),
		fmt.Sprintf("%.1f", ratio), "≤ 6", ratio <= 6,
	}}, nil
}

func micros(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d.Nanoseconds())/1000) }

// fill posts count transactions to queues numbered from first on, in turns.
func fill(ctx context.Context, store *queues.Store, first, count, queueCount int) error {
	for n := 0; n < count; {
		items := make([]queues.Item, 0, queues.MaxBatch)
		for ; n < count && len(items) < cap(items); n++ {
			q := first + n%queueCount
			items = append(items, queues.Item{Queue: queueName(q), Type: kind, Data: payload(q)})
		}
		for _, a := range store.EnqueueBatch(ctx, items) {
			if a.Err != nil {
				return a.Err
			}
		}
	}
	return nil
}

// memory is figure 5: what a waiting transaction takes of Redis's memory, all
// indexes and its share of its queue included.
func (b *bench) memory(ctx context.Context) ([]row, error) {
	store, err := b.openStore("memory", b.redis)
	if err != nil {
		return nil, err
	}
	used := func() (float64, error) { return strconv.ParseFloat(b.infoField(ctx, "memory", "used_memory"), 64) }
	if err := fill(ctx, store, -1, 1, 1); err != nil { // loads the script
		return nil, err
	}
	before, err := used()
	if err != nil {
		return nil, err
	}
	if err := b.profileSelf(ctx, func() error { return fill(ctx, store, 0, b.scale.waiting, queueCount) }); err != nil {
		return nil, err
	}
	after, err := used()
	if err != nil {
		return nil, err
	}
	each := (after - before) / float64(b.scale.waiting)
	more := each - payloadSize
	return []row{{
		"5 bytes per waiting transaction", fmt.Sprintf("%.0f", each), fmt.Sprintf("%d payload", payloadSize),
		fmt.Sprintf("+%.0f", more), "≤ +400", more <= 400,
	}}, nil
}

// A namespace is one of the two that figure 6 compares: the same but for the
// number of ready queues.
type namespace struct {
	store *queues.Store
	posts int
	times map[string][]time.Duration // by operation
}

const process = "bench"

func (b *bench) newNamespace(ctx context.Context, name string, ready int) (*namespace, error) {
	store, err := b.openStore(name, b.redis)
	if err != nil {
		return nil, err
	}
	if _, err := store.Heartbeat(ctx, process, time.Hour, ""); err != nil {
		return nil, err
	}
	if err := fill(ctx, store, 0, ready, ready); err != nil {
		return nil, err
	}
	err = senders.New(store, b.redis).Register(ctx, sender(0), "http://127.0.0.1:1")
	return &namespace{store, ready, map[string][]time.Duration{}}, err
}

func (n *namespace) time(operation string, do func() error) error {
	begin := time.Now()
	err := do()
	n.times[operation] = append(n.times[operation], time.Since(begin))
	return err
}

const (
	idleCycle = "idle cycle"
	onePost   = "post"
	oneBind   = "bind"
)

// repeat times each operation once. The number of ready queues is the same
// afterwards: the post makes one, the bind takes one.
func (n *namespace) repeat(ctx context.Context) error {
	err := n.time(idleCycle, func() error {
		_, err := n.store.Tick(ctx, queues.TickRequest{Process: process, Most: 64, Lease: time.Minute})
		return err
	})
	if err != nil {
		return err
	}
	item := queues.Item{Queue: queueName(n.posts), Type: kind, Data: payload(n.posts)}
	n.posts++
	if err := n.time(onePost, func() error { return n.store.Enqueue(ctx, item).Err }); err != nil {
		return err
	}
	var bound []queues.Bound
	err = n.time(oneBind, func() (err error) {
		bound, err = n.store.Bind(ctx, queues.BindRequest{
			Process: process, Types: []string{kind}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Hour,
		})
		return err
	})
	if err != nil {
		return err
	}
	if len(bound) != 1 {
		return fmt.Errorf("%d queues were bound where one sender was free", len(bound))
	}
	// It ends, which frees the sender for the next one.
	ended := bound[0].Transaction.Clone()
	ended.Phase = tx.PhaseDone
	change := &queues.Change{Before: bound[0].Transaction, After: ended, Now: time.Now()}
	change.Remove = queues.Never
	_, err = n.store.Advance(ctx, change)
	return err
}

// sizes is figure 6: what a cycle with nothing to do, a post and a bind take
// with few and with many ready queues. Both sizes are on the same Redis, and
// take turns repetition by repetition.
func (b *bench) sizes(ctx context.Context) ([]row, error) {
	few, err := b.newNamespace(ctx, "few", b.scale.few)
	if err != nil {
		return nil, err
	}
	many, err := b.newNamespace(ctx, "many", b.scale.many)
	if err != nil {
		return nil, err
	}
	err = b.profileSelf(ctx, func() error {
		for i := range b.scale.repetition {
			first, second := few, many
			if i%2 == 1 {
				first, second = many, few
			}
			if err := errors.Join(first.repeat(ctx), second.repeat(ctx)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, operation := range []string{idleCycle, onePost, oneBind} {
		ours, limit := median(many.times[operation]), median(few.times[operation])
		ratio := float64(ours) / float64(limit)
		rows = append(rows, row{
			fmt.Sprintf("6 %s, %d ready queues", operation, b.scale.many), micros(ours), fmt.Sprintf("%s with %d", micros(limit), b.scale.few),
			fmt.Sprintf("%.2f", ratio), "0.8 to 1.2", ratio >= 0.8 && ratio <= 1.2,
		})
	}
	return rows, nil
}
