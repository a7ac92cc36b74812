package devnet

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/graph-gophers/graphql-go"
	gqlerrors "github.com/graph-gophers/graphql-go/errors"
)

//go:embed schema.graphql
var schemaText string

// Limits on what a client may send.
const (
	maxBody      = 8 << 20
	maxNesting   = 64 // brackets within brackets
	maxSelection = 20 // fields within fields
	maxWanted    = 10_000
)

func parseSchema(d *Node) (*graphql.Schema, error) {
	return graphql.ParseSchema(schemaText, &root{d},
		graphql.UseFieldResolvers(), graphql.MaxDepth(maxSelection), graphql.OverlapValidationLimit(100_000),
		graphql.DisableFieldSelections(), graphql.Logger(silent{}), graphql.PanicHandler(silent{}))
}

// silent turns a panic of the library, which some malformed literals cause,
// into an error of the request.
type silent struct{}

func (silent) LogPanic(context.Context, any) {}
func (silent) MakePanicError(_ context.Context, value any) *gqlerrors.QueryError {
	return gqlerrors.Errorf("Argument error: %v", value)
}

// sendKey marks in a request's context where to note that it was a send.
type sendKey struct{}

func (d *Node) serveGraphQL(w http.ResponseWriter, r *http.Request) {
	d.network.mu.Lock()
	status, healed, delay := d.faults.Status, d.healed, time.Duration(d.faults.DelayMs)*time.Millisecond
	d.network.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			http.Error(w, "gone", http.StatusServiceUnavailable)
			return
		}
	}
	if healed != nil {
		select {
		case <-healed:
		case <-r.Context().Done():
			http.Error(w, "gone", http.StatusServiceUnavailable)
			return
		}
	}
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "Could not read the body", http.StatusBadRequest)
		return
	}
	var request struct {
		Query         *string        `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Query == nil || nesting(*request.Query) > maxNesting {
		http.Error(w, "Must provide a query string", http.StatusBadRequest)
		return
	}
	if strings.HasPrefix(strings.TrimSpace(*request.Query), "mutation") && d.lose(w, (*Faults).requests) {
		return
	}
	var sent bool
	answer := d.schema.Exec(context.WithValue(r.Context(), sendKey{}, &sent), *request.Query, request.OperationName, request.Variables)
	if sent && d.lose(w, (*Faults).replies) {
		return
	}
	writeAnswer(w, answer)
}

// writeAnswer writes errors, if any, and then the data as it was made.
func writeAnswer(w http.ResponseWriter, answer *graphql.Response) {
	var out bytes.Buffer
	out.WriteByte('{')
	if len(answer.Errors) > 0 {
		// Errors are texts, numbers and lists of them: they can be encoded.
		errs, _ := json.Marshal(answer.Errors)
		out.WriteString(`"errors":`)
		out.Write(errs)
		out.WriteByte(',')
	}
	out.WriteString(`"data":`)
	if len(answer.Data) == 0 || len(answer.Errors) > 0 && string(answer.Data) == "{}" {
		out.WriteString("null")
	} else {
		out.Write(answer.Data)
	}
	out.WriteByte('}')
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone is no concern of the node's.
	_, _ = w.Write(out.Bytes())
}

// nesting is how deep brackets lie within brackets, strings apart.
func nesting(query string) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']' || c == ')':
			depth--
		}
	}
	return deepest
}

func (f *Faults) requests() *int { return &f.LoseRequests }
func (f *Faults) replies() *int  { return &f.LoseReplies }

// lose reports whether something else than the answer to a send has been said, as long
// as a count of the faults lasts.
func (d *Node) lose(w http.ResponseWriter, count func(*Faults) *int) bool {
	d.network.mu.Lock()
	left, status, body := count(&d.faults), d.faults.LoseStatus, d.faults.LoseBody
	lost := *left > 0
	if lost {
		*left--
	}
	d.network.mu.Unlock()
	switch {
	case !lost:
	case status == 0:
		panic(http.ErrAbortHandler)
	case body == "":
		http.Error(w, http.StatusText(status), status)
	default:
		if w.Header().Set("Content-Type", "text/html"); body[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		// A client that is gone is no concern of the node's.
		_, _ = io.WriteString(w, body)
	}
	return lost
}

// root resolves queries and mutations. Each method takes the lock once and
// returns what no later block can change.
type root struct{ d *Node }

func (r *root) lock() (d *Node, unlock func()) {
	r.d.network.mu.Lock()
	return r.d, r.d.network.mu.Unlock
}

func (r *root) Account(args struct {
	PublicKey text
	Token     *text
}) (*accountResolver, error) {
	if !wellFormedKey(string(args.PublicKey)) {
		return nil, badKey(args.PublicKey)
	}
	token := text(defaultToken)
	if args.Token != nil {
		token = *args.Token
	}
	d, unlock := r.lock()
	defer unlock()
	if !d.frontier() {
		return nil, nil
	}
	return d.resolveAccount(string(args.PublicKey), token), nil
}

// window is the part of the best path within the transition frontier, which holds nothing from
// before a fork.
func (d *Node) window() []*block {
	return d.chain[max(int(d.network.first.height)-1, len(d.chain)-d.network.config.K-1):]
}

func (r *root) BestChain(args struct{ MaxLength *int32 }) (*[]blockResolver, error) {
	d, unlock := r.lock()
	defer unlock()
	if !d.frontier() {
		return nil, errors.New("Could not obtain best chain from transition frontier") //nolint:staticcheck // the daemon's text
	}
	chain := d.window()
	if args.MaxLength != nil {
		chain = chain[max(0, len(chain)-max(0, int(*args.MaxLength))):]
	}
	out := make([]blockResolver, len(chain))
	for i, b := range chain {
		out[i] = blockResolver{d, b}
	}
	return &out, nil
}

func (r *root) Block(args struct {
	StateHash *string
	Height    *int32
}) (blockResolver, error) {
	d, unlock := r.lock()
	defer unlock()
	oldest := int(d.window()[0].height)
	switch {
	case (args.StateHash == nil) == (args.Height == nil):
		return blockResolver{}, errors.New("Must provide exactly one of state hash, height") //nolint:staticcheck // the daemon's text
	case !d.frontier():
		return blockResolver{}, errors.New("Could not obtain transition frontier") //nolint:staticcheck // the daemon's text
	case args.StateHash != nil:
		b := d.known[*args.StateHash]
		if b == nil || int(b.height) < oldest {
			return blockResolver{}, fmt.Errorf("could not find block with state hash %.60q in transition frontier", *args.StateHash)
		}
		return blockResolver{d, b}, nil
	case int(*args.Height) < oldest || int(*args.Height) > len(d.chain):
		return blockResolver{}, fmt.Errorf("could not find block with height %d in transition frontier", *args.Height)
	default:
		return blockResolver{d, d.chain[*args.Height-1]}, nil
	}
}

type pooledArgs struct {
	PublicKey *text
	Hashes    *[]string
	IDs       *[]graphql.ID
}

// pooled selects as the daemon does: a payer's queue, hashes, both at once, or
// everything; ids are returned whether they are pooled or not.
func (r *root) pooled(kind string, args pooledArgs) ([]*command, error) {
	d, unlock := r.lock()
	defer unlock()
	if args.Hashes != nil && len(*args.Hashes) > maxWanted || args.IDs != nil && len(*args.IDs) > maxWanted {
		return nil, errors.New("too many hashes or ids")
	}
	var found []*command
	switch {
	case !d.frontier():
		return nil, nil
	case args.Hashes != nil:
		for _, hash := range *args.Hashes {
			if c := d.pool.byHash[hash]; c != nil && (args.PublicKey == nil || c.Payer == string(*args.PublicKey)) {
				found = append(found, c)
			}
		}
	case args.PublicKey != nil:
		found = d.pool.list(string(*args.PublicKey))
	case args.IDs == nil:
		found = d.pool.list("")
	}
	found = slices.DeleteFunc(found, func(c *command) bool { return c.Kind != kind })
	if args.IDs != nil {
		for _, id := range *args.IDs {
			c, err := decodeID(string(id), kind)
			if err != nil {
				return nil, err
			}
			found = append(found, c)
		}
	}
	return found, nil
}

func decodeID(id, kind string) (*command, error) {
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return nil, fmt.Errorf("Could not decode id: %w", err) //nolint:staticcheck // the daemon's text
	}
	if kind == KindZkapp {
		return decodeCommand(raw)
	}
	var in paymentInput
	if err := json.Unmarshal(raw, &in); err != nil || in.Nonce == nil {
		return nil, errors.New("Could not decode id") //nolint:staticcheck // the daemon's text
	}
	return newPayment(&in, true)
}

func (r *root) PooledZkappCommands(args pooledArgs) ([]zkappResolver, error) {
	found, err := r.pooled(KindZkapp, args)
	out := make([]zkappResolver, len(found))
	for i, c := range found {
		out[i] = zkappResolver{included{command: c}}
	}
	return out, err
}

func (r *root) PooledUserCommands(args pooledArgs) ([]paymentResolver, error) {
	found, err := r.pooled(KindPayment, args)
	out := make([]paymentResolver, len(found))
	for i, c := range found {
		out[i] = paymentResolver{r.d, included{command: c}}
	}
	return out, err
}

func (r *root) TransactionStatus(args struct{ Payment, ZkappTransaction *graphql.ID }) (text, error) {
	if (args.Payment == nil) == (args.ZkappTransaction == nil) {
		return "", errors.New("Must provide exactly one of payment, zkappTransaction") //nolint:staticcheck // the daemon's text
	}
	id, kind := args.Payment, KindPayment
	if id == nil {
		id, kind = args.ZkappTransaction, KindZkapp
	}
	c, err := decodeID(strings.TrimSpace(string(*id)), kind)
	if err != nil {
		return "", err
	}
	d, unlock := r.lock()
	defer unlock()
	if !d.frontier() {
		return "UNKNOWN", nil
	}
	has := func(b *block) bool {
		return slices.ContainsFunc(b.commands, func(i included) bool { return i.Hash == c.Hash })
	}
	if slices.ContainsFunc(d.window(), has) {
		return "INCLUDED", nil
	}
	if d.pool.byHash[c.Hash] != nil {
		return "PENDING", nil
	}
	oldest := d.window()[0].height
	for _, b := range d.known {
		if b.height >= oldest && !d.holds(b) && has(b) {
			return "PENDING", nil
		}
	}
	return "UNKNOWN", nil
}
