// Package dev holds the commands that run what is simulated, as processes of their own: Mina
// nodes, and ledgers that take batches. It is for the program to put together; nothing else
// is to use it.
package dev

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/serve"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
)

// devnetFlags describe the simulated network to start.
type devnetFlags struct {
	addr     string
	insecure bool
	nodes    int
	slot     time.Duration
	fill     float64
	k        int
	zkapps   int
	era      string
	seed     uint64
	network  string
	accounts []string
	fund     uint64 // nanomina
}

// NodesCommand is `sequencer devnet`.
func NodesCommand(a *command.App) *cobra.Command {
	f := devnetFlags{fund: devnet.DefaultFunds}
	var fund string
	cmd := &cobra.Command{
		Use:   "devnet",
		Short: "Run simulated Mina nodes",
		Long: `Runs simulated Mina nodes until interrupted: GraphQL as a daemon has it, with a
pool, a ledger, blocks and reorgs, but without proofs. Node 2 listens on the port
after node 1's, and so on. Without --accounts every public key has an account.
It takes what o1js 3 and mina-signer 4 make, with 32 state fields, as Mina does
since the Mesa fork of 2026-09; with --era berkeley what o1js 2 and mina-signer 3
make, with 8.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("max-zkapps") {
				f.zkapps = devnet.Era(f.era).Zkapps()
			}
			if fund != "" {
				var err error
				if f.fund, err = mina.FeeFromMina(fund); err != nil {
					return command.Usagef("--fund is not an amount of MINA with at most 9 decimals")
				}
			}
			return runDevnet(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:3085", "address of the first node")
	flags.BoolVar(&f.insecure, "insecure", false, "listen on an address that is not loopback: anybody may control the network")
	flags.IntVar(&f.nodes, "nodes", 1, "number of nodes")
	flags.DurationVar(&f.slot, "slot", devnet.DefaultSlotTime, "length of a slot")
	flags.Float64Var(&f.fill, "fill", devnet.DefaultFillRate, "share of the slots that have a block")
	flags.IntVar(&f.k, "k", devnet.DefaultK, "blocks that a node remembers")
	flags.IntVar(&f.zkapps, "max-zkapps", devnet.DefaultMaxZkapps,
		"the most zkApp commands of one block (with --era berkeley 24 by default); -1: no limit")
	flags.StringVar(&f.era, "era", string(devnet.Mesa), "what commands look like: mesa or berkeley")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the dice that decide which slots have a block")
	flags.StringVar(&f.network, "network", "testnet", "network id, without mina:")
	flags.StringSliceVar(&f.accounts, "accounts", nil, "public keys that have an account, and no others")
	flags.StringVar(&fund, "fund", "", "what each of --accounts has, in MINA (default 1000000)")
	return cmd
}

func runDevnet(ctx context.Context, a *command.App, f devnetFlags) error {
	host, port, err := net.SplitHostPort(f.addr)
	if err != nil {
		return command.Usagef("--addr wants host:port")
	}
	first, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return command.Usagef("--addr wants host:port with a port of at most 65535")
	}
	if !api.Loopback(host) && !f.insecure {
		return command.Usagef("--addr is not loopback: whoever reaches it controls the network; --insecure allows it")
	}
	if f.fill <= 0 {
		return command.Usagef("--fill wants more than 0, up to 1")
	}
	if f.zkapps == 0 || f.zkapps < -1 {
		return command.Usagef("--max-zkapps wants 1 or more, or -1")
	}
	config := devnet.Config{
		Nodes: f.nodes, SlotTime: f.slot, FillRate: f.fill, K: f.k, MaxZkapps: f.zkapps, Seed: f.seed, NetworkID: f.network,
		Era:     devnet.Era(f.era),
		FundAll: len(f.accounts) == 0, Accounts: map[string]devnet.Account{}, Log: serve.NewLogger(a.Stderr, settings.Log{}),
	}
	for _, key := range f.accounts {
		config.Accounts[key] = devnet.Account{Balance: f.fund}
	}
	network, err := devnet.New(config)
	if err != nil {
		return command.Usage(err)
	}
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for i := range network.Nodes() {
		at := first
		if at > 0 {
			at += uint64(i)
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.FormatUint(at, 10)))
		if err != nil {
			return fmt.Errorf("starting node %d: %w", i+1, err)
		}
		listeners = append(listeners, l)
	}
	urls := ""
	for i, l := range listeners {
		if i > 0 {
			urls += ","
		}
		urls += "http://" + l.Addr().String() + "/graphql"
	}
	fmt.Fprintf(a.Stdout, `%d simulated node(s), one slot every %s, transactions of %s
  GraphQL   %s
  archive   http://%s/archive
  control   http://%s/control/state
use it with
  SEQUENCER_MINA_URL=%s sequencer serve
`, len(listeners), f.slot, f.era, urls, listeners[0].Addr(), listeners[0].Addr(), urls)

	return simulate(ctx, listeners, func(i int) http.Handler { return network.Node(i) }, network.Run)
}
