package devnet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kinds of commands.
const (
	KindZkapp   = "zkapp"
	KindPayment = "payment"
)

// A Command is what the devnet tells about a transaction it was sent.
type Command struct {
	Hash       string   `json:"hash"`
	Kind       string   `json:"kind"` // KindZkapp or KindPayment
	Payer      string   `json:"payer"`
	Nonce      uint32   `json:"nonce"`
	Fee        uint64   `json:"fee,string"` // nanomina
	ValidUntil uint32   `json:"validUntil"` // last slot since genesis; math.MaxUint32 if unlimited
	Memo       string   `json:"memo"`       // plain text; empty if it is no text
	Accounts   []string `json:"accounts"`   // of its account updates in order, or the receiver
}

// command is a transaction as pools and blocks hold it. It is never changed
// once it is made.
type command struct {
	Command
	memo58  string
	signed  bool
	input   *commandInput // zkApp commands only
	updates []update
	payment *paymentInput // payments only
	amount  uint64
	first   uint32 // slot in which a node first accepted it
}

// weight is the number of weight units that a fee is compared by.
func (c *command) weight() uint64 { return 1 + uint64(len(c.updates)) }

// cost is what a pool reserves of the payer's balance.
func (c *command) cost() uint64 {
	if c.Fee > math.MaxUint64-c.amount {
		return math.MaxUint64
	}
	return c.Fee + c.amount
}

// id is all of it, in one form.
func (c *command) id() string {
	whole := any(c.input)
	if c.payment != nil {
		whole = c.payment
	}
	canonical, err := json.Marshal(whole)
	if err != nil {
		panic(err) // seal has written the same
	}
	return base64.StdEncoding.EncodeToString(canonical)
}

// text is every scalar that the daemon writes as a string; as input a number does too.
type text string

// ImplementsGraphQLType accepts all of the schema's own scalars but JSON.
func (text) ImplementsGraphQLType(name string) bool { return name != "JSON" }

// UnmarshalGraphQL reads an inlined or a variable value.
func (t *text) UnmarshalGraphQL(input any) error {
	switch v := input.(type) {
	case string:
		*t = text(v)
	case int32:
		*t = text(strconv.Itoa(int(v)))
	case int64:
		*t = text(strconv.FormatInt(v, 10))
	case float64:
		*t = text(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		return fmt.Errorf("Could not decode %T as a scalar", input) //nolint:staticcheck // the daemon's text
	}
	return nil
}

// UnmarshalJSON reads the same from a command's JSON.
func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(t))
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("reading a scalar: %w", err)
	}
	*t = text(n)
	return nil
}

// tree is a part of a command that GraphQL does not look into.
type tree struct{ v any }

// ImplementsGraphQLType accepts the JSON scalar.
func (tree) ImplementsGraphQLType(name string) bool { return name == "JSON" }

// UnmarshalGraphQL takes the value without its nulls.
func (t *tree) UnmarshalGraphQL(input any) error { t.v = plain(input); return nil }

// UnmarshalJSON takes the value without its nulls.
func (t *tree) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	t.v = plain(v)
	return nil
}

// MarshalJSON writes keys in sorted order.
func (t tree) MarshalJSON() ([]byte, error) { return json.Marshal(t.v) }

// plain drops null fields, for null and absent mean the same, and gives
// numbers one type, whether they were inlined or came as variables.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if e != nil {
				out[k] = plain(e)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	default:
		return v
	}
}

// field walks into nested objects; nil where something is absent.
func (t tree) field(path ...string) any {
	v := t.v
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// commandInput mirrors ZkappCommandInput.
type commandInput struct {
	FeePayer struct {
		Body struct {
			PublicKey  text  `json:"publicKey"`
			Fee        text  `json:"fee"`
			ValidUntil *text `json:"validUntil,omitempty"`
			Nonce      text  `json:"nonce"`
		} `json:"body"`
		Authorization text `json:"authorization"`
	} `json:"feePayer"`
	AccountUpdates []updateInput `json:"accountUpdates"`
	Memo           text          `json:"memo"`
}

// updateInput mirrors ZkappAccountUpdateInput.
type updateInput struct {
	Body struct {
		PublicKey                  text  `json:"publicKey"`
		TokenID                    *text `json:"tokenId,omitempty"`
		Update                     tree  `json:"update"`
		BalanceChange              tree  `json:"balanceChange"`
		IncrementNonce             bool  `json:"incrementNonce"`
		Events                     tree  `json:"events"`
		Actions                    tree  `json:"actions"`
		CallData                   text  `json:"callData"`
		CallDepth                  int32 `json:"callDepth"`
		Preconditions              tree  `json:"preconditions"`
		UseFullCommitment          bool  `json:"useFullCommitment"`
		ImplicitAccountCreationFee bool  `json:"implicitAccountCreationFee"`
		MayUseToken                tree  `json:"mayUseToken"`
		AuthorizationKind          tree  `json:"authorizationKind"`
	} `json:"body"`
	Authorization authorization `json:"authorization"`
}

type authorization struct {
	Proof     *text `json:"proof,omitempty"`
	Signature *text `json:"signature,omitempty"`
}

// paymentInput mirrors SendPaymentInput, with all that the daemon fills in.
type paymentInput struct {
	From       text  `json:"from"`
	To         text  `json:"to"`
	Amount     text  `json:"amount"`
	Fee        text  `json:"fee"`
	ValidUntil *text `json:"validUntil,omitempty"`
	Memo       *text `json:"memo,omitempty"`
	Nonce      *text `json:"nonce,omitempty"`
}

// Hash returns the transaction hash that a node of the devnet gives to a
// zkApp command, "5J…": a digest over all of its content but the authorizations,
// whatever its spacing and order of keys. It is no hash of Mina's, and like
// Mina's it is the same for a command that was proved or signed once more.
func Hash(zkappCommand json.RawMessage) (string, error) {
	c, err := decodeCommand(zkappCommand)
	if err != nil {
		return "", err
	}
	return c.Hash, nil
}

func decodeCommand(raw []byte) (*command, error) {
	var in commandInput
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("decoding zkApp command: %w", err)
	}
	return newZkapp(&in)
}

// newZkapp reads a command out of its input; an error is one of arguments.
func newZkapp(in *commandInput) (*command, error) {
	body := &in.FeePayer.Body
	c := &command{input: in, memo58: string(in.Memo), signed: in.FeePayer.Authorization != ""}
	c.Kind, c.Payer = KindZkapp, string(body.PublicKey)
	if err := c.readCommon(body.Fee, body.Nonce, body.ValidUntil); err != nil {
		return nil, err
	}
	if c.ValidUntil == math.MaxUint32 {
		body.ValidUntil = nil
	}
	if payload, ok := decode58(versionMemo, c.memo58); !ok || len(payload) != 34 {
		return nil, fmt.Errorf("Could not decode memo %.60q", c.memo58) //nolint:staticcheck // the daemon's text
	}
	c.Memo, _ = decodeMemo(c.memo58)
	c.updates = make([]update, len(in.AccountUpdates))
	for i := range in.AccountUpdates {
		if err := c.updates[i].read(&in.AccountUpdates[i]); err != nil {
			return nil, fmt.Errorf("account update %d: %w", i+1, err)
		}
		c.Accounts = append(c.Accounts, string(in.AccountUpdates[i].Body.PublicKey))
	}
	bare := *in
	bare.FeePayer.Authorization = ""
	bare.AccountUpdates = slices.Clone(in.AccountUpdates)
	for i := range bare.AccountUpdates {
		bare.AccountUpdates[i].Authorization = authorization{}
	}
	return c, c.seal(bare)
}

// newPayment does the same for a payment whose nonce is known.
func newPayment(in *paymentInput, signed bool) (*command, error) {
	c := &command{payment: in, signed: signed}
	c.Kind, c.Payer, c.Accounts = KindPayment, string(in.From), []string{string(in.To)}
	if err := c.readCommon(in.Fee, *in.Nonce, in.ValidUntil); err != nil {
		return nil, err
	}
	if !wellFormedKey(string(in.To)) {
		return nil, badKey(in.To)
	}
	var err error
	if c.amount, err = strconv.ParseUint(string(in.Amount), 10, 64); err != nil {
		return nil, fmt.Errorf("reading amount: %w", err)
	}
	if in.Memo != nil {
		c.Memo = string(*in.Memo)
	}
	if c.memo58, err = encodeMemo(c.Memo); err != nil {
		return nil, err
	}
	return c, c.seal(in)
}

func (c *command) readCommon(fee, nonce text, validUntil *text) (err error) {
	if !wellFormedKey(c.Payer) {
		return badKey(text(c.Payer))
	}
	if c.Fee, err = strconv.ParseUint(string(fee), 10, 64); err != nil {
		return fmt.Errorf("reading fee: %w", err)
	}
	if c.Nonce, err = readUint32(nonce); err != nil {
		return fmt.Errorf("reading nonce: %w", err)
	}
	c.ValidUntil = math.MaxUint32
	if validUntil != nil {
		if c.ValidUntil, err = readUint32(*validUntil); err != nil {
			return fmt.Errorf("reading validUntil: %w", err)
		}
	}
	return nil
}

// seal gives a command the hash of its content without authorizations.
func (c *command) seal(bare any) error {
	content, err := json.Marshal(bare)
	if err != nil {
		return fmt.Errorf("serialising command: %w", err)
	}
	c.Hash = digest58(versionHash, 0x20, content)
	return nil
}

func badKey(key text) error { return fmt.Errorf("Could not decode public key %.60q", key) } //nolint:staticcheck // the daemon's text

func readUint32(t text) (uint32, error) {
	n, err := strconv.ParseUint(string(t), 10, 32)
	return uint32(n), err
}
