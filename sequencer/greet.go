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
	era := ""
	if s.Health == nil || !g.at.IsZero() && time.Since(g.at) < greetAgain {
		return nil, nil
	}
	health, err := s.Health(ctx, h.worker)
	if err == nil {
		era = wrongEra(network, s.Chain.Chain().SlotTime, health.O1js)
	}
	why, message := senders.Reason(""), ""
	switch {
	case errors.Is(err, dispatcher.ErrWrongAccount):
		why, message = senders.WrongAccount, err.Error()
	case err != nil:
		return nil, ctx.Err() // health is optional; the call itself will tell
	case network != "" && health.Network != "" && !sameNetworks(network, health.Network):
		why, message = senders.WrongNetwork, fmt.Sprintf("the worker signs for the network %.64q, the Mina nodes are of %.64q", health.Network, network)
	}
	if why == "" && era != "" {
		why, message = senders.WrongNetwork, era
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
	return &stop{why, max(s.retryDelay(g.strange), time.Second), &queues.Error{Code: string(why), Message: message}}, nil
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
