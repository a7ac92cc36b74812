package devledger

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxControl limits the body of a control request.
const maxControl = 1 << 20

// State is what GET /control/state tells a person.
type State struct {
	Kind      string  `json:"kind"`
	Effects   int     `json:"effects"`   // how many
	Batches   int     `json:"batches"`   // that took effect; fewer than Effects if some did so more than once
	Queued    int     `json:"queued"`    // batches that wait for a block or proposal
	Held      int     `json:"held"`      // batches that wait for a dependency
	Undecided int     `json:"undecided"` // PENDING, or remembered as Pending or Valid
	Blocks    int     `json:"blocks"`    // of the chain; 0 on Scabbard
	Faults    []Fault `json:"faults"`    // that are not used up
}

// count fills in what follows from effects.
func (s *State) count(effects []Effect) {
	batches := map[string]bool{}
	for _, e := range effects {
		batches[e.Batch] = true
	}
	s.Effects, s.Batches = len(effects), len(batches)
}

// serveControl adds the control routes:
//
//	GET  /control/state              State
//	GET  /control/effects            {"effects": [Effect…]}, in their order
//	POST /control/fail Fault or [Fault…]
//	POST /control/dice {"seed", "trouble", "fates"}   replaces the plan
//	POST /control/heal               takes all faults away, breaks off what hangs
//	POST /control/release            breaks off what hangs
//	POST /control/restart {"down": "5s", "services": [circuit::service…]}
//	POST /control/block              a block now; Sawtooth only, as the next two
//	POST /control/commit {"batch"}   another validator commits it
//	POST /control/fork {"depth"}     the last blocks lose against others
//
// Every POST answers with the State afterwards; an error is {"error": "…"}.
func serveControl(mux *http.ServeMux, l Ledger) {
	mux.HandleFunc("GET /control/state", func(w http.ResponseWriter, _ *http.Request) {
		answer{status: http.StatusOK, body: l.State()}.write(w)
	})
	mux.HandleFunc("GET /control/effects", func(w http.ResponseWriter, _ *http.Request) {
		answer{status: http.StatusOK, body: map[string]any{"effects": l.Effects()}}.write(w)
	})
	mux.HandleFunc("POST /control/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
		if err == nil {
			err = l.control(r.PathValue("name"), body)
		}
		if err != nil {
			answer{status: http.StatusBadRequest, body: map[string]string{"error": err.Error()}}.write(w)
			return
		}
		answer{status: http.StatusOK, body: l.State()}.write(w)
	})
}

// control does what both ledgers can be told.
func (c *core) control(name string, body []byte) error {
	switch name {
	case "fail":
		faults := make([]Fault, 1)
		var to any = &faults[0]
		if strings.HasPrefix(strings.TrimSpace(string(body)), "[") {
			to = &faults
		}
		if err := strict(body, to); err != nil {
			return err
		}
		c.Fail(faults...)
	case "dice":
		var d struct {
			Seed           uint64
			Trouble, Fates float64
		}
		if err := strict(body, &d); err != nil {
			return err
		}
		if !isShare(d.Trouble) || !isShare(d.Fates) {
			return errors.New("trouble and fates: want a number from 0 to 1")
		}
		c.SetPlan(Dice(d).Plan)
	case "heal":
		c.Heal()
	case "release":
		c.Release()
	default:
		return fmt.Errorf("there is no /control/%.40s", name)
	}
	return nil
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// restartOrder is the body of /control/restart, which may be empty.
func restartOrder(body []byte) (down time.Duration, services []string, err error) {
	var in struct {
		Down     string
		Services []string
	}
	if len(body) > 0 {
		if err = strict(body, &in); err != nil {
			return 0, nil, err
		}
	}
	if in.Down != "" {
		if down, err = time.ParseDuration(in.Down); err != nil || down < 0 {
			return 0, nil, errors.New("down: want a duration like 5s")
		}
	}
	return down, in.Services, nil
}

func (s *Sawtooth) serveControl() { serveControl(s.mux, s) }

func (s *Sawtooth) control(name string, body []byte) error {
	var in struct {
		Batch string
		Depth int
	}
	switch name {
	case "restart":
		down, services, err := restartOrder(body)
		if err == nil && services != nil {
			err = errors.New("services: a validator has none")
		}
		if err != nil {
			return err
		}
		s.Restart(down)
	case "block":
		s.MakeBlock()
	case "commit":
		if err := strict(body, &in); err != nil {
			return err
		}
		return s.CommitElsewhere(in.Batch)
	case "fork":
		if err := strict(body, &in); err != nil {
			return err
		}
		if in.Depth < 1 {
			return errors.New("depth: want at least 1")
		}
		s.Fork(in.Depth)
	default:
		return s.core.control(name, body)
	}
	return nil
}

// MakeBlock makes a block at once of what is in the pool.
func (s *Sawtooth) MakeBlock() { s.do(s.validator.build) }

// Restart empties the validator's memory but for the chain. For a while nobody
// answers behind the REST API, and requests that wait for an answer get none.
func (s *Sawtooth) Restart(down time.Duration) {
	s.do(func() {
		s.life++
		s.validator.forget()
		s.validator.up = s.at.Add(down)
	})
}

// CommitElsewhere lets another validator bring a batch into the chain that was
// accepted here once, also one that is INVALID or forgotten here.
func (s *Sawtooth) CommitElsewhere(batch string) (err error) {
	s.do(func() {
		v := s.validator
		b, known := v.known.look(batch, v.at)
		switch {
		case !known:
			err = fmt.Errorf("batch: nobody has heard of %.16q", batch)
		case !v.fits(b):
			err = fmt.Errorf("batch: %.16s does not fit the chain", batch)
		default:
			v.commit(b)
			v.blocks = append(v.blocks, block{[]*Batch{b}, v.at})
		}
	})
	return err
}

// Fork lets the last blocks lose against empty ones of another validator: their
// batches are UNKNOWN until they come again in the next block.
func (s *Sawtooth) Fork(depth int) { s.do(func() { s.validator.fork(depth) }) }

// Effects lists every batch on the chain, oldest first.
func (s *Sawtooth) Effects() []Effect {
	s.lock()
	defer s.mu.Unlock()
	return s.validator.effects()
}

// State returns a summary.
func (s *Sawtooth) State() State {
	s.lock()
	defer s.mu.Unlock()
	v := s.validator
	out := State{
		Kind: s.kind, Queued: len(v.pool), Held: len(v.held), Undecided: len(v.pending), Blocks: len(v.blocks),
		Faults: s.script.left(),
	}
	out.count(v.effects())
	return out
}
