// Devworker runs simulated o1js workers as a process of its own, one per
// account, for tests that kill processes and for trying things out. It prints
// one URL per account, in their order, and serves until it is stopped. With
// --signs they sign what others have proved; with --prover it is one prover
// without a key, which builds, and prints of which transaction it begins a proof.
//
// The Bearer token that callers must have is read from DEVWORKER_TOKEN or
// WORKER_TOKEN. With PORT set it listens there on 127.0.0.1, as a worker that the
// sequencer starts has to. Without a token it listens on loopback alone.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "devworker:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags := flag.NewFlagSet("devworker", flag.ContinueOnError)
	port := cmp.Or(getenv("PORT"), "0")
	addr := flags.String("addr", net.JoinHostPort("127.0.0.1", port), "address to listen on; without a token a loopback IP")
	accounts := flags.String("account", "", "public keys of the senders, comma-separated")
	legacy := flags.Bool("legacy", false, "send transactions by itself; needs --node")
	node := flags.String("node", "", "GraphQL endpoint of a Mina node")
	state := flags.Bool("state", false, "make transactions that depend on the zkApp's state; needs --node")
	signs := flags.Bool("signs", false, "only sign what provers have proved")
	prover := flags.String("prover", "", "types, comma-separated, to build and to prove one at a time without a key, for any sender")
	proveTime := flags.Duration("prove-time", 0, "how long a proof takes")
	seed := flags.Uint64("seed", uint64(os.Getpid()), "distinguishes the proofs of workers with one account")
	era := flags.String("era", string(devnet.Mesa), "what it makes: transactions of mesa, or of berkeley")
	simulates := flags.String("simulate", "", "what it tells of each transaction that it is asked to try: ok, or Mina's name of a failure, such as Overflow; without it, it is not asked")
	before := flags.Bool("exit-before-send", false, "exit 1 at the first call that makes a transaction, before anything is done")
	after := flags.Bool("exit-after-send", false, "exit 1 at that call, when all is done but its answer")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), `A worker that makes no real proofs, to try a sequencer with. For a sender of its own:

    go run ./scripts/devworker --account %[1]s --addr 127.0.0.1:3101
    SEQUENCER_SENDERS=%[1]s=http://127.0.0.1:3101

With several accounts that of each is http://127.0.0.1:3101/ACCOUNT, as it prints.

`, devnet.Key(1))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	token := cmp.Or(getenv("DEVWORKER_TOKEN"), getenv("WORKER_TOKEN"))
	host, _, err := net.SplitHostPort(*addr)
	if err != nil || token == "" && !net.ParseIP(host).IsLoopback() {
		return errors.New("--addr wants host:port, without WORKER_TOKEN with a loopback IP")
	}
	if *era != string(devnet.Mesa) && *era != string(devnet.Berkeley) {
		return errors.New("--era is mesa or berkeley")
	}
	if (*legacy || *state) && *node == "" {
		return errors.New("--legacy and --state want --node")
	}
	if *prover == "" && *accounts == "" {
		return errors.New("--account is missing: give the public key of a sender, such as " + devnet.Key(1))
	}
	if *prover != "" && *accounts != "" {
		return errors.New("a prover has no key: give --prover or --account")
	}
	o := devworker.Options{
		Legacy: *legacy, ProveTime: *proveTime, Token: token, Seed: *seed,
		Network: "mina:testnet", Era: devnet.Era(*era), Exit: func() { os.Exit(1) },
	}
	o.Payer = devworker.PayerFrom(*node, nil)
	if *legacy {
		o.Send = mina.NewNode(*node, mina.NodeOptions{}).Send
	}
	if *simulates != "" {
		o.Simulate = func(devworker.Call) string {
			if *simulates == "ok" {
				return ""
			}
			return *simulates
		}
	}
	if *state {
		o.State = devworker.StateFrom(*node, nil)
	}
	if *prover != "" {
		o.Prover, o.Builds, o.Capacity, o.Types = true, true, 1, strings.Split(*prover, ",")
		o.Began = func(uid string) { fmt.Fprintf(stdout, "proving %s\n", uid) }
	}

	var dying atomic.Bool
	dying.Store(*before || *after)
	mux, keys := http.NewServeMux(), strings.Split(*accounts, ",")
	for _, key := range keys {
		if _, err := mina.ParsePublicKey(key); err != nil && !o.Prover {
			return fmt.Errorf("--account %q: %w", key, err)
		}
		var h http.Handler = &devworker.Signer{Account: key, Network: o.Network}
		if !*signs {
			o.Account = key
			w := devworker.New(o)
			w.Script(func(c devworker.Call) *devworker.Fault {
				makes := c.Kind == devworker.Dispatch || !*legacy && (c.Kind == devworker.Prove || c.Kind == devworker.Resign)
				if !makes || !dying.CompareAndSwap(true, false) {
					return nil
				}
				return &devworker.Fault{Kind: devworker.Die, After: *after}
			})
			h = w
		}
		if key != "" {
			mux.Handle("/"+key+"/", http.StripPrefix("/"+key, h))
		}
		if len(keys) == 1 {
			mux.Handle("/", h)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	for _, key := range keys {
		if len(keys) == 1 {
			key = ""
		}
		fmt.Fprintf(stdout, "http://%s\n", strings.TrimSuffix(l.Addr().String()+"/"+key, "/"))
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
