package devnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxControl limits the body of a control request.
const maxControl = 1 << 20

// State is what GET /control/state tells a person.
type State struct {
	Node      int      `json:"node"`
	Nodes     int      `json:"nodes"`
	Slot      uint32   `json:"slot"`      // current, since genesis
	Height    uint32   `json:"height"`    // of this node's best tip
	StateHash string   `json:"stateHash"` // of this node's best tip
	Highest   uint32   `json:"highest"`   // of the network's best tip
	Pool      int      `json:"pool"`      // commands in this node's pool
	Pooled    []string `json:"pooled"`    // the first hundred of their hashes, by payer and nonce
	Faults    Faults   `json:"faults"`
}

// State returns a summary of the node.
func (d *Node) State() State {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	s := State{
		Node: d.index, Nodes: len(d.network.nodes), Slot: d.network.now(), Height: d.tip().height, StateHash: d.tip().hash,
		Highest: d.network.core.tip().height, Pool: len(d.pool.byHash), Pooled: []string{}, Faults: d.faults,
	}
	for _, c := range d.pool.list("") {
		if len(s.Pooled) < 100 {
			s.Pooled = append(s.Pooled, c.Hash)
		}
	}
	return s
}

// serveControl registers the control endpoints:
//
//	GET  /control/state              State
//	GET  /control/effects?from=1     {"effects": [Effect…]} on this node's best chain, from a height on
//	POST /control/heal               takes all faults away
//	POST /control/faults {…}         sets the named fields of Faults, keeps the others
//	POST /control/{field} value      sets one field of Faults: lag 2, hang true, sync "BOOTSTRAP", …
//	POST /control/drop {"hash", "local"}         drops a command from all pools, or this node's only
//	POST /control/clear-pool {"local"}           empties all pools, or this node's only
//	POST /control/reorg Reorg                    rival chain
//	POST /control/fail-next {"payer", "count", "reasons"}
//	POST /control/block {"local"}                makes a block, the network's or this node's
//	POST /control/step                           advances one slot
//
// Every POST answers with the State afterwards; an error is {"error": "…"}.
func (d *Node) serveControl() {
	d.mux.HandleFunc("GET /control/state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, d.State())
	})
	d.mux.HandleFunc("GET /control/effects", d.serveEffects)
	d.mux.HandleFunc("POST /control/{fault}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxControl))
		if err == nil {
			err = d.control(r.PathValue("fault"), body)
		}
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		answer(w, http.StatusOK, d.State())
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone is no concern of the node's.
	_ = json.NewEncoder(w).Encode(v)
}

func (d *Node) serveEffects(w http.ResponseWriter, r *http.Request) {
	from := uint64(1)
	if given := r.URL.Query().Get("from"); given != "" {
		var err error
		if from, err = strconv.ParseUint(given, 10, 32); err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": "from is a block height"})
			return
		}
	}
	d.network.mu.Lock()
	effects := d.effects(uint32(from))
	d.network.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"effects": effects})
}

// control carries out one POST.
func (d *Node) control(name string, body []byte) error {
	switch name {
	case "heal":
		return d.SetFaults(Faults{})
	case "faults":
		return d.mergeFaults(body)
	case "drop":
		var o struct {
			Hash  string `json:"hash"`
			Local bool   `json:"local"`
		}
		if err := strict(body, &o); err != nil {
			return err
		}
		if o.Local && d.Drop(o.Hash) || !o.Local && d.network.Drop(o.Hash) {
			return nil
		}
		return fmt.Errorf("no pool has %.60q", o.Hash)
	case "clear-pool", "block":
		var o struct {
			Local bool `json:"local"`
		}
		if err := strict(body, &o); err != nil {
			return err
		}
		switch {
		case name == "block" && o.Local:
			d.MakeBlock()
		case name == "block":
			d.network.MakeBlock()
		case o.Local:
			d.ClearPool()
		default:
			d.network.ClearPools()
		}
		return nil
	case "step":
		d.network.Step()
		return nil
	case "reorg":
		var o Reorg
		if err := strict(body, &o); err != nil {
			return err
		}
		return d.network.Reorg(o)
	case "fail-next":
		o := struct {
			Payer   string   `json:"payer"`
			Count   int      `json:"count"`
			Reasons []string `json:"reasons"`
		}{Count: 1}
		if err := strict(body, &o); err != nil {
			return err
		}
		if o.Count < 1 || len(o.Reasons) == 0 {
			return errors.New("count is at least 1, and reasons names at least one")
		}
		d.network.FailNext(o.Payer, o.Count, o.Reasons...)
		return nil
	default:
		if !json.Valid(body) {
			return fmt.Errorf("the body of %.40q is no JSON value", name)
		}
		field, err := json.Marshal(map[string]json.RawMessage{name: body})
		if err != nil {
			return fmt.Errorf("reading fault: %w", err)
		}
		return d.mergeFaults(field)
	}
}

// mergeFaults sets the fields of Faults that a JSON object names.
func (d *Node) mergeFaults(body []byte) error {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	f := d.faults
	if err := strict(body, &f); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	d.setFaults(f)
	return nil
}

// strict decodes an object with known fields only; no body is an empty one.
func strict(body []byte, v any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("reading request: %w", err)
	}
	return nil
}
