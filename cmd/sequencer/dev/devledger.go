package dev

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/ledger/devledger"
)

// devledgerFlags describe the simulated ledgers to start.
type devledgerFlags struct {
	sawtoothAddr, splinterAddr string
	insecure                   bool
	blockTime, proposalTime    time.Duration
	services                   []string
	dice                       devledger.Dice
}

// LedgersCommand is `sequencer devledger`.
func LedgersCommand(a *command.App) *cobra.Command {
	var f devledgerFlags
	cmd := &cobra.Command{
		Use:   "devledger",
		Short: "Run simulated ledgers that take batches",
		Long: `Runs a simulated Sawtooth REST API with its validator, and a simulated Splinter
node with Scabbard services, until interrupted. Both check signatures, commit
after a time, and forget what the real ones forget. A transaction whose payload
begins with INVALID is refused. --trouble and --fates let go wrong what goes
wrong with real ones; more can be ordered under /control/.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDevledger(cmd.Context(), a, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.sawtoothAddr, "addr", "127.0.0.1:8008", "address of the Sawtooth REST API")
	flags.StringVar(&f.splinterAddr, "splinter-addr", "127.0.0.1:8085", "address of the Splinter node")
	flags.BoolVar(&f.insecure, "insecure", false, "listen also where others may control the ledgers")
	flags.DurationVar(&f.blockTime, "block-time", devledger.DefaultBlockTime, "time between blocks of Sawtooth")
	flags.DurationVar(&f.proposalTime, "proposal-time", devledger.DefaultProposalTime,
		"length of a proposal of Scabbard")
	flags.StringSliceVar(&f.services, "service", []string{devledger.DefaultService},
		"Scabbard services, circuit::service")
	flags.Uint64Var(&f.dice.Seed, "seed", 1, "seed of the dice that decide what goes wrong")
	flags.Float64Var(&f.dice.Trouble, "trouble", 0, "share of the calls that are lost, late, refused or badly answered")
	flags.Float64Var(&f.dice.Fates, "fates", 0, "share of the batches that are refused, or never get a verdict")
	return cmd
}

func (f devledgerFlags) check() error {
	for _, one := range [][2]string{{"--addr", f.sawtoothAddr}, {"--splinter-addr", f.splinterAddr}} {
		host, port, err := net.SplitHostPort(one[1])
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return command.Usagef("%s wants host:port with a port of at most 65535", one[0])
		}
		if !api.Loopback(host) && !f.insecure {
			return command.Usagef("%s is not loopback: whoever reaches it controls the ledger; --insecure allows it", one[0])
		}
	}
	if !isShare(f.dice.Trouble) || !isShare(f.dice.Fates) {
		return command.Usagef("--trouble and --fates want a number from 0 to 1")
	}
	if f.blockTime <= 0 || f.proposalTime <= 0 {
		return command.Usagef("--block-time and --proposal-time want more than 0")
	}
	return nil
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

func runDevledger(ctx context.Context, a *command.App, f devledgerFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	sawtooth, err := devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: f.blockTime, Plan: f.dice.Plan})
	if err != nil {
		return command.Usage(err)
	}
	defer sawtooth.Close()
	splinter, err := devledger.NewSplinter(devledger.SplinterConfig{
		Services: f.services, ProposalTime: f.proposalTime, Plan: f.dice.Plan,
	})
	if err != nil {
		return command.Usage(err)
	}
	defer splinter.Close()
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, addr := range []string{f.sawtoothAddr, f.splinterAddr} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("starting a ledger: %w", err)
		}
		listeners = append(listeners, l)
	}
	f.announce(a, listeners[0].Addr().String(), listeners[1].Addr().String())
	handlers := []http.Handler{sawtooth, splinter}
	return simulate(ctx, listeners, func(i int) http.Handler { return handlers[i] }, nil)
}

// announce says where the ledgers are, and what to set.
func (f devledgerFlags) announce(a *command.App, sawtooth, splinter string) {
	fmt.Fprintf(a.Stdout, "simulated ledgers, a block every %s\n  Sawtooth  http://%s\n", f.blockTime, sawtooth)
	ledgers := "sawtooth=sawtooth+http://" + sawtooth
	for i, name := range f.services {
		number := ""
		if i > 0 {
			number = strconv.Itoa(i + 1)
		}
		path := splinter + "/scabbard/" + strings.Replace(name, "::", "/", 1)
		fmt.Fprintf(a.Stdout, "  Scabbard  http://%s\n", path)
		ledgers += ",splinter" + number + "=splinter+http://" + path
	}
	fmt.Fprintf(a.Stdout, `  control   http://%s/control/state
            http://%s/control/state
use them with
  SEQUENCER_TYPES=SUBMIT_BATCH SEQUENCER_LEDGERS=%s sequencer serve
`, sawtooth, splinter, ledgers)
}
