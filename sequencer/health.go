package sequencer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// greetAgain is how long a worker's word on itself is believed.
const greetAgain = 5 * time.Minute

// A greeting is what is known of a worker, by its sender.
type greeting struct {
	at      time.Time // when it last said that it is the right one
	ahead   bool      // it builds on what is in flight
	provers int       // how many it proves at a time
	builds  bool      // it tells what each of several will do before it proves them
	strange int       // times in a row that it said it is not
}

func (g greeting) fresh() bool { return !g.at.IsZero() && time.Since(g.at) < greetAgain }

// greet asks a worker whom it signs for and on what network.
func (s *Sequencer) greet(ctx context.Context, sender string, worker dispatcher.Worker) lifecycle.HealthTold {
	s.mu.Lock()
	g, network := s.greeted[sender], s.network
	s.mu.Unlock()
	health, err := s.Health(ctx, worker)
	why, message := Strange(health, err, network, s.Chain.Chain().Era)
	if err != nil && why == "" {
		return lifecycle.HealthTold{} // health is optional; the call itself will tell
	}
	if slices.Contains(health.Capabilities, "prove") {
		s.makesProofs(ctx, worker)
	}
	next := greeting{at: time.Now(), ahead: health.BuildsAhead(), provers: health.AtOnce(),
		builds: health.Builds() && health.AtOnce() > 1}
	if why != "" {
		next = greeting{strange: g.strange + 1}
	}
	s.mu.Lock()
	s.greeted[sender] = next
	s.mu.Unlock()
	return lifecycle.HealthTold{Why: why, Detail: message, Wrong: g.strange}
}

// makesProofs notes, once, that a worker has shown to be a two-phase one.
func (s *Sequencer) makesProofs(ctx context.Context, worker dispatcher.Worker) {
	s.mu.Lock()
	known := s.provers[worker.AccountID] == worker.URL
	s.mu.Unlock()
	if known {
		return
	}
	if err := s.Senders.Proves(ctx, worker.AccountID, worker.URL); err != nil {
		s.Log.Warn("that a worker makes proofs is not stored", "sender", worker.AccountID, "err", err)
		return
	}
	s.mu.Lock()
	s.provers[worker.AccountID] = worker.URL
	s.mu.Unlock()
}

// Strange says why a worker, by what it says of itself, cannot serve its sender on
// a network of an era: WrongAccount, or WrongNetwork, also for one of another era,
// and in words too; "" if nothing speaks against it, or err is of another kind.
func Strange(health dispatcher.Health, err error, network string,
	era mina.Era) (why tx.SenderReason, message string) {
	switch {
	case errors.Is(err, dispatcher.ErrWrongAccount):
		return tx.WrongAccount, err.Error()
	case err != nil:
		return "", ""
	case network != "" && health.Network != "" && !sameNetworks(network, health.Network):
		return tx.WrongNetwork,
			fmt.Sprintf("the worker signs for the network %.64q, the Mina nodes are of %.64q", health.Network, network)
	}
	major, _, _ := strings.Cut(health.O1js, ".")
	if n, err := strconv.Atoi(major); err == nil {
		made := mina.Mesa // Mina: o1js speaks it from 3 on
		if n < 3 {
			made = mina.Berkeley
		}
		if wrong := wrongEra(era, made); wrong != "" {
			return tx.WrongNetwork, fmt.Sprintf("the worker's o1js %.20s makes %s", health.O1js, wrong)
		}
	}
	return "", ""
}

// WrongProver says why a prover cannot serve the network that the nodes are of; see [Strange].
func (s *Sequencer) WrongProver(w provers.Word) (why tx.SenderReason, message string) {
	s.mu.Lock()
	network := s.network
	s.mu.Unlock()
	return Strange(dispatcher.Health{Network: w.Network, O1js: w.O1js}, nil, network, s.Chain.Chain().Era)
}

// wrongEra says in words why what is made for one era is refused by a network, "" if it may
// well be taken.
func wrongEra(network, made mina.Era) string {
	switch {
	case network == mina.EraUnknown || made == mina.EraUnknown || network == made:
		return ""
	case network == mina.Mesa:
		return "transactions of the time before the Mesa fork, and will be refused: the network needs o1js 3.0 or later"
	}
	return "Mesa transactions, and will be refused: the network is not there yet, and needs o1js 2"
}

// foreign says in words why a command that was made cannot be of the network, by its form; "" if it
// may well be.
func (s *Sequencer) foreign(command []byte) string {
	if len(command) == 0 {
		return ""
	}
	era := s.Chain.Chain().Era
	if era == mina.EraUnknown {
		return "" // and nothing has to be read
	}
	return wrongEra(era, mina.EraOf(command))
}

// sameNetworks compares a node's network id, such as mina:testnet, with what
// o1js calls its network: mainnet, testnet or devnet, which sign alike, or a
// name of its own.
func sameNetworks(node, worker string) bool {
	plain := func(id string) string {
		id = strings.ToLower(strings.TrimPrefix(id, "mina:"))
		if id == "devnet" {
			return "testnet"
		}
		return id
	}
	return plain(node) == plain(worker)
}
