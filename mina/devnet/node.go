package devnet

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/graph-gophers/graphql-go"
)

// Faults are what is wrong with a node. The zero value is a healthy node.
type Faults struct {
	// Lag keeps the node's best tip so many blocks behind the network, from
	// where it is now; negative: it follows no longer.
	Lag int `json:"lag"`
	// Isolated cuts the node off: it neither gives nor takes commands and
	// blocks, and its own blocks (Node.MakeBlock) are a fork nobody sees until
	// it is healed.
	Isolated bool `json:"isolated"`
	// Sync is a syncStatus other than SYNCED. In all but CATCHUP the node has no
	// best tip: accounts are null, chains are errors, sends are refused.
	Sync string `json:"sync"`
	// Status answers every request with this HTTP status.
	Status int `json:"status"`
	// Hang holds every request until the fault is taken away or the client gives up.
	Hang bool `json:"hang"`
	// DelayMs has the node take so many milliseconds more for every request.
	DelayMs int `json:"delayMs"`
	// LoseReplies is how many more sends are worked on but not answered, and
	// LoseRequests how many do not even arrive: the connection is closed or, with
	// LoseStatus, that HTTP status comes instead, with LoseBody, as a gateway in
	// front of a daemon answers. See GatewayWords.
	LoseReplies  int    `json:"loseReplies"`
	LoseRequests int    `json:"loseRequests"`
	LoseStatus   int    `json:"loseStatus"`
	LoseBody     string `json:"loseBody"`
	// NetworkID is told instead of the network's, without "mina:".
	NetworkID string `json:"networkId"`
	// Refuse is what the node answers to sends, after "Couldn't send zkApp
	// command: ", for example `["Overloaded"]`; to all of them or, with
	// RefuseNext, to so many more.
	Refuse     string `json:"refuse"`
	RefuseNext int    `json:"refuseNext"`
}

func (f Faults) validate() error {
	statuses := []string{"", "CONNECTING", "LISTENING", "OFFLINE", "BOOTSTRAP", "SYNCED", "CATCHUP"}
	status := func(s int) bool { return s == 0 || s >= 200 && s <= 599 }
	switch {
	case !slices.Contains(statuses, f.Sync):
		return fmt.Errorf("sync is one of %s", strings.Join(statuses[1:], ", "))
	case !status(f.Status) || !status(f.LoseStatus):
		return errors.New("an HTTP status lies between 200 and 599")
	case f.DelayMs < 0 || f.LoseReplies < 0 || f.LoseRequests < 0 || f.RefuseNext < 0:
		return errors.New("counts and delays are not negative")
	}
	return nil
}

// GatewayWords are bodies that gateways send with HTTP 200, and with other statuses,
// in the place of a daemon's answer. None of them says whether the daemon has, or will
// have, what was sent.
func GatewayWords() []string {
	return []string{
		`{"errors":[{"message":"upstream timeout"}]}`,
		`{"data":null,"errors":[{"message":"context deadline exceeded","extensions":{"code":"UPSTREAM"}}]}`,
		`{"errors":"upstream request timeout"}`,
		`{"data":{"sendZkapp":null},"errors":[{"message":"no response from upstream","path":["sendZkapp"]}]}`,
		`{"data":{"sendZkapp":{"zkapp":null}},"errors":[{"message":"Couldn't send zkApp command: upstream","path":["sendZkapp","zkapp"]}]}`,
		`{"errors":[{"message":"Couldn't send zkApp command: [\"Invalid_nonce\"]"},{"message":"upstream timeout"}]}`,
		`{"data":{"sendZkapp":{"zkapp":{"ha`,
		`{"error":{"code":504,"message":"Gateway Time-out"}}`,
		"<html><head><title>504 Gateway Time-out</title></head></html>",
		"",
	}
}

// A Node is one daemon of a Network: an HTTP handler with its own pool, best
// tip and faults. It serves POST /graphql and, for whoever breaks it on
// purpose, /control/. Beside it, under /archive, stands an Archive-Node-API of
// the whole network, which knows none of the node's faults.
type Node struct {
	network *Network
	index   int
	schema  *graphql.Schema
	mux     *http.ServeMux

	// Guarded by the network's lock.
	branch
	faults  Faults
	healed  chan struct{}            // closed when Hang ends; nil without
	outbox  []told                   // to be gossiped
	own     map[*command]*ownCommand // sent here, and told to the peers again
	turns   []*ownCommand            // those, by when that is
	highest uint32                   // the greatest height heard of
	sent    int32
	added   int32
}

func newNode(n *Network, index int, b branch) (*Node, error) {
	node := &Node{network: n, index: index, branch: b, highest: b.tip().height, mux: http.NewServeMux()}
	var err error
	if node.schema, err = parseSchema(node); err != nil {
		return nil, fmt.Errorf("devnet: parsing schema: %w", err)
	}
	node.mux.HandleFunc("POST /graphql", node.serveGraphQL)
	node.serveControl()
	return node, nil
}

// ServeHTTP serves GraphQL and the control endpoints.
func (d *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// SetFaults replaces the node's faults. What the node missed while it was cut
// off or lagging reaches it at once. Unknown statuses and negative counts are
// an error.
func (d *Node) SetFaults(f Faults) error {
	if err := f.validate(); err != nil {
		return fmt.Errorf("setting faults: %w", err)
	}
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	d.setFaults(f)
	return nil
}

func (d *Node) setFaults(f Faults) {
	d.faults = f
	switch {
	case f.Hang && d.healed == nil:
		d.healed = make(chan struct{})
	case !f.Hang && d.healed != nil:
		close(d.healed)
		d.healed = nil
	}
	if d.reachable() && d.tip().height > d.network.core.tip().height {
		d.network.core.move(d.tip(), d.network.now())
		d.network.announce()
	}
	d.follow()
}

// Faults returns the node's faults.
func (d *Node) Faults() Faults {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	return d.faults
}

// MakeBlock makes a block of this node's own, on its own tip and of its own
// pool. It is the network's too if it makes the longest chain and the node is
// not isolated.
func (d *Node) MakeBlock() {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	d.network.produce(&d.branch, max(d.network.now(), d.tip().slot+1), nil)
	d.highest = max(d.highest, d.tip().height)
	if d.reachable() && d.tip().height > d.network.core.tip().height {
		d.network.core.move(d.tip(), d.network.now())
		d.network.announce()
	}
}

// Pooled lists the hashes in this node's pool, by payer and nonce.
func (d *Node) Pooled() []string {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	out := []string{}
	for _, c := range d.pool.list("") {
		out = append(out, c.Hash)
	}
	return out
}

// Waiting lists the commands in this node's pool, by payer and nonce.
func (d *Node) Waiting() []Command {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	out := []Command{}
	for _, c := range d.pool.list("") {
		out = append(out, c.Command)
	}
	return out
}

// Drop takes a command and all that depend on it out of this node's pool only;
// it reports whether it was there.
func (d *Node) Drop(hash string) bool {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	return d.drop(hash)
}

func (d *Node) drop(hash string) bool {
	d.outbox = slices.DeleteFunc(d.outbox, func(t told) bool { return t.Hash == hash })
	found := d.pool.drop(hash)
	d.disown()
	return found
}

// ClearPool empties this node's pool only.
func (d *Node) ClearPool() {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	d.clear()
}

func (d *Node) clear() {
	d.pool, d.outbox = newPool(), nil
	d.disown()
}

// Effects lists every command on this node's best chain, oldest first.
func (d *Node) Effects() []Effect {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	return d.effects(1)
}

// reachable reports whether other nodes hear from this one.
func (d *Node) reachable() bool { return !d.faults.Isolated }

// frontier reports whether the node has a best tip to speak of.
func (d *Node) frontier() bool {
	return d.faults.Sync == "" || d.faults.Sync == "SYNCED" || d.faults.Sync == "CATCHUP"
}

// follow moves to the network's best tip, or as near as the faults allow; a
// tip that is not higher than the node's own does not win.
func (d *Node) follow() {
	if !d.reachable() {
		return
	}
	chain := d.network.core.chain
	d.highest = max(d.highest, uint32(len(chain)))
	if d.faults.Lag < 0 || d.faults.Lag >= len(chain) {
		return
	}
	if to := chain[len(chain)-1-d.faults.Lag]; to.height > d.tip().height {
		d.move(to, d.network.now())
	}
}

// admit puts a command that a client sent through all of a node's checks.
// A poolError's text is what the daemon puts after "Couldn't send …: ".
func (d *Node) admit(c *command) error {
	n := d.network
	if d.faults.Refuse != "" {
		text := d.faults.Refuse
		if d.faults.RefuseNext > 0 {
			if d.faults.RefuseNext--; d.faults.RefuseNext == 0 {
				d.faults.Refuse = ""
			}
		}
		return poolError(text)
	}
	switch {
	case !d.frontier():
		return errors.New("Daemon is bootstrapping") //nolint:staticcheck // the daemon's text
	case c.Fee < n.config.MinFee:
		return poolError("Insufficient fee")
	case d.ledger[c.Payer] == nil && !onCurve(c.Payer): // else it was checked before
		return poolError(fmt.Sprintf(`(invalid "Invalid_keys: [%s]")`, c.Payer))
	case !c.signed:
		return poolError(fmt.Sprintf(`(invalid "Invalid_signature: [%s]")`, c.Payer))
	}
	if err := n.config.Era.reads(c); err != nil {
		return err
	}
	if key := n.lacks(&d.branch, c); key != "" {
		return poolError(fmt.Sprintf(`(invalid "No verification key found for proved account update" (account_id %s))`, key))
	}
	known := d.pool.byHash[c.Hash]
	if reason := d.pool.add(c, d.account(c.Payer), n.now()); reason != accepted {
		return poolError(fmt.Sprintf("[%q]", reason))
	}
	d.sent++
	if known != nil {
		d.broadcast(known)
		return nil
	}
	d.pool.shrink(n.config.PoolSize)
	if d.pool.byHash[c.Hash] == nil {
		// Evicted by its own arrival, which the daemon reports without a reason.
		return poolError("")
	}
	d.added++
	c.first = n.now()
	if before := n.seen[c.Hash]; before != nil {
		c.first = before.first
	}
	n.seen[c.Hash] = c
	for i := range c.updates {
		if u := &c.updates[i]; u.givesKey() {
			n.keyed[u.key] = true
		}
	}
	d.broadcast(c)
	if n.config.BlockOnSend {
		n.gossip()
		n.produce(&n.core, max(n.now(), n.core.tip().slot), nil)
		n.announce()
	}
	return nil
}

// poolError is the reason why a command was refused.
type poolError string

func (e poolError) Error() string { return string(e) }
