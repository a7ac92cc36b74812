package devledger

import (
	"fmt"
	"slices"
	"time"
)

func (n *Splinter) serveControl() { serveControl(n.mux, n) }

func (n *Splinter) control(name string, body []byte) error {
	if name != "restart" {
		return n.core.control(name, body)
	}
	down, services, err := restartOrder(body)
	if err != nil {
		return err
	}
	return n.Restart(down, services...)
}

// Restart empties the memory of services, by circuit::service, or of all, and
// the queue of those that are coordinators. For a while they do not run.
func (n *Splinter) Restart(down time.Duration, services ...string) error {
	if len(services) == 0 {
		services = n.config.Services
	}
	for _, name := range services {
		if n.services[name] == nil {
			return fmt.Errorf("services: there is no %.40q", name)
		}
	}
	n.do(func() {
		for _, name := range services {
			n.services[name].restart(down)
		}
	})
	return nil
}

// Effects lists every batch that took effect, as often as it did, oldest first.
func (n *Splinter) Effects() []Effect {
	n.lock()
	defer n.mu.Unlock()
	return slices.Clone(n.effects)
}

// State returns a summary of all services.
func (n *Splinter) State() State {
	n.lock()
	defer n.mu.Unlock()
	out := State{Kind: n.kind, Faults: n.script.left()}
	for _, c := range n.circuits {
		out.Queued += len(c.queue)
		for _, s := range c.services {
			for _, r := range s.history {
				if r.status == isPending || r.status == isValid {
					out.Undecided++
				}
			}
		}
	}
	out.count(n.effects)
	return out
}
