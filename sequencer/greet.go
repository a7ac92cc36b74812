package sequencer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// greetAgain is how long a worker's word on itself is believed.
const greetAgain = 5 * time.Minute

// A greeting is what is known of a worker, by its sender.
type greeting struct {
	at      time.Time // when it last said that it is the right one
	strange int       // times in a row that it said it is not
}

// greet asks a worker, once in a while, whom it signs for and on what network.
// The sender of a wrong one rests, the longer the more often it is found so: who
// puts it right need not tell anybody.
func (s *Sequencer) greet(ctx context.Context, h *held) (*stop, error) {
	sender := h.t.Sender
	s.mu.Lock()
	g, network := s.greeted[sender], s.network
	s.mu.Unlock()
	if s.Health == nil || !g.at.IsZero() && time.Since(g.at) < greetAgain {
		return nil, nil
	}
	health, err := s.Health(ctx, h.worker)
	why, message := Strange(health, err, network, s.Chain.Chain().SlotTime)
	if err != nil && why == "" {
		return nil, ctx.Err() // health is optional; the call itself will tell
	}
	next := greeting{at: time.Now()}
	if why != "" {
		next = greeting{strange: g.strange + 1}
	}
	s.mu.Lock()
	s.greeted[sender] = next
	s.mu.Unlock()
	if why == "" {
		return nil, nil
	}
	return &stop{why, max(s.retryDelay(g.strange), time.Second), &lifecycle.Error{Code: string(why), Message: message}}, nil
}

// Strange says why a worker, by what it says of itself, cannot serve its sender on
// a network with slots of this length: WrongAccount, or WrongNetwork, also for one
// of another era, and in words too; "" if nothing speaks against it, or err is of
// another kind.
func Strange(health dispatcher.Health, err error, network string, slotTime time.Duration) (why senders.Reason, message string) {
	switch {
	case errors.Is(err, dispatcher.ErrWrongAccount):
		return senders.WrongAccount, err.Error()
	case err != nil:
		return "", ""
	case network != "" && health.Network != "" && !sameNetworks(network, health.Network):
		return senders.WrongNetwork, fmt.Sprintf("the worker signs for the network %.64q, the Mina nodes are of %.64q", health.Network, network)
	}
	if era := wrongEra(network, slotTime, health.O1js); era != "" {
		return senders.WrongNetwork, era
	}
	return "", ""
}

// ungreet forgets a worker's word on itself: it could not be reached, and may be
// another one when it is back.
func (s *Sequencer) ungreet(sender string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.greeted[sender]; !g.at.IsZero() {
		delete(s.greeted, sender)
	}
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
