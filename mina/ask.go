package mina

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mina-sequencer/sequencer/tx"
)

// An answer is what one node said to a question put to all.
type answer[T any] struct {
	value T
	err   error
}

// askMost puts a question to all of some nodes at once and returns the answers in their
// order. It waits for those that are prompt, and for so many good answers; that of a
// node that is not waited for is ErrLate.
func askMost[T any](ctx context.Context, t *Tracker, views []*view, enough int, question func(context.Context, *Node) (T, error)) []answer[T] {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([]answer[T], len(views))
	pending := make(map[int]bool, len(views))
	come := make(chan struct {
		answer[T]
		of int
	}, len(views))
	for i, v := range views {
		answers[i].err = &lostError{v.node.name + ": " + ErrLate.Error(), ErrLate}
		pending[i] = true
		go func() {
			var a answer[T]
			a.value, a.err = question(ctx, v.node)
			come <- struct {
				answer[T]
				of int
			}{a, i}
		}()
	}
	var over <-chan time.Time
	began := time.Now()
	for good := 0; len(pending) > 0; {
		prompt := false
		for i := range pending {
			prompt = prompt || !views[i].late.Load()
		}
		if good >= enough && !prompt {
			break
		}
		if good >= enough && over == nil {
			over = time.After(t.grace(time.Since(began)))
		}
		select {
		case a := <-come:
			delete(pending, a.of)
			answers[a.of] = a.answer
			if a.err == nil {
				good++
			}
		case <-over:
			for i := range pending {
				views[i].late.Store(true)
			}
		}
	}
	return answers
}

// because adds the causes to err, in one line.
func because(err error, causes []error) error {
	for _, cause := range causes {
		err = fmt.Errorf("%w; %w", err, cause)
	}
	return err
}

// Account asks all nodes for an account that did not stand aside at the last poll. It returns the answer on which all
// synced nodes that are not late agree about the nonce, a quorum of them, with the
// lowest balance and the highest inferred nonce of any, and ErrNoQuorum or ErrDisagree
// otherwise. An account
// that no node has is returned with Exists false. ErrBase58Check: publicKey is
// none.
func (t *Tracker) Account(ctx context.Context, publicKey string) (Account, error) {
	var merged Account
	var failed []error
	synced := 0
	for _, a := range askMost(ctx, t, t.heeded(), max(t.quorum, 1), func(ctx context.Context, n *Node) (Account, error) {
		return n.Account(ctx, publicKey)
	}) {
		switch {
		case errors.Is(a.err, ErrBase58Check):
			return Account{}, a.err
		case a.err != nil:
			failed = append(failed, a.err)
			continue
		case synced == 0:
			merged = a.value
		case a.value.Exists != merged.Exists || a.value.Nonce != merged.Nonce:
			return Account{}, fmt.Errorf("asking for account %s: nonces %d and %d: %w", publicKey, merged.Nonce, a.value.Nonce, ErrDisagree)
		}
		synced++
		merged.Balance, merged.Locked = merged.lower(a.value)
		merged.InferredNonce = max(merged.InferredNonce, a.value.InferredNonce)
	}
	if synced < max(t.quorum, 1) {
		return Account{}, because(fmt.Errorf("asking for account %s: %w: %d, want %d", publicKey, ErrNoQuorum, synced, t.quorum), failed)
	}
	return merged, nil
}

// Accounts asks every synced node that is not late for accounts, one question per 200 of them, and
// returns each with the lowest balance and the highest nonces of any; Exists is
// true if any node has it. Errors: ErrNoQuorum, ErrBase58Check.
func (t *Tracker) Accounts(ctx context.Context, publicKeys []string) (map[string]Account, error) {
	select {
	case t.polling <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.polling }()
	if c := t.poll(ctx, false); !c.Quorum {
		return nil, fmt.Errorf("asking for accounts: %w", c.Err)
	}
	merged := make(map[string]Account, len(publicKeys))
	for part := range slices.Chunk(publicKeys, chunk) {
		var failed []error
		for _, a := range askMost(ctx, t, t.voted, t.quorum, func(ctx context.Context, n *Node) (map[string]Account, error) {
			return n.Accounts(ctx, part)
		}) {
			if errors.Is(a.err, ErrBase58Check) {
				return nil, a.err
			}
			if a.err != nil {
				failed = append(failed, a.err)
			}
			for key, account := range a.value {
				merged[key] = account.with(merged[key])
			}
		}
		if len(t.voted)-len(failed) < t.quorum {
			return nil, because(fmt.Errorf("asking for accounts: %w", ErrNoQuorum), failed)
		}
	}
	return merged, nil
}

// Absent asks the same nodes as Account which of some accounts, each of one token, are on none of them.
// Errors: ErrNoQuorum, ErrBase58Check.
func (t *Tracker) Absent(ctx context.Context, accounts []tx.Account) ([]tx.Account, error) {
	var failed []error
	absent, good := slices.Clone(accounts), 0
	for _, a := range askMost(ctx, t, t.heeded(), max(t.quorum, 1), func(ctx context.Context, n *Node) ([]tx.Account, error) {
		return n.Lacks(ctx, accounts)
	}) {
		switch {
		case errors.Is(a.err, ErrBase58Check):
			return nil, a.err
		case a.err != nil:
			failed = append(failed, a.err)
			continue
		}
		good++
		absent = slices.DeleteFunc(absent, func(of tx.Account) bool { return !slices.Contains(a.value, of) })
	}
	if good < max(t.quorum, 1) {
		return nil, because(fmt.Errorf("asking for accounts: %w", ErrNoQuorum), failed)
	}
	return absent, nil
}

// with joins what two nodes say of an account; the zero Account says nothing.
func (a Account) with(o Account) Account {
	if !o.Exists {
		return a
	}
	if !a.Exists {
		return o
	}
	a.Balance, a.Locked = a.lower(o)
	a.Nonce, a.InferredNonce = max(a.Nonce, o.Nonce), max(a.InferredNonce, o.InferredNonce)
	return a
}

// lower is what two nodes say that it may spend, and what is locked, by the one that says less.
func (a Account) lower(o Account) (balance, locked uint64) {
	if o.Balance < a.Balance {
		return o.Balance, o.Locked
	}
	return a.Balance, a.Locked
}

// Network returns the network id of which a quorum of the nodes are. ErrNoQuorum: too few
// answer; ErrDisagree: they are of different networks, and no quorum, or more than one, is of
// one of them.
func (t *Tracker) Network(ctx context.Context) (string, error) {
	var failed []error
	var ids []string
	for i, a := range askMost(ctx, t, t.views, t.quorum, func(ctx context.Context, n *Node) (Status, error) { return n.Status(ctx) }) {
		switch {
		case a.err != nil:
			failed = append(failed, a.err)
		case a.value.NetworkID == "":
			failed = append(failed, t.nodes[i].silent("no network id"))
		default:
			ids = append(ids, a.value.NetworkID)
		}
	}
	if id := t.common(ids); id != "" {
		return id, nil
	}
	slices.Sort(ids)
	why := ErrNoQuorum
	if ids = slices.Compact(ids); len(ids) > 1 {
		why = ErrDisagree
	}
	return "", because(fmt.Errorf("asking for the network: %.200q: %w", ids, why), failed)
}

// common returns the only id of which a quorum of the nodes are, "" if there is none.
func (t *Tracker) common(ids []string) (id string) {
	count := map[string]int{}
	for _, id := range ids {
		count[id]++
	}
	for of, n := range count {
		switch {
		case n < max(t.quorum, 1):
		case id != "":
			return ""
		default:
			id = of
		}
	}
	return id
}

// Belong says of which network the nodes have to be from now on to have a vote.
func (t *Tracker) Belong(network string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.network = network
}

// Send gives a signed zkApp command to every node at once. The first acceptance is
// enough; the other nodes get it all the same. Without one it waits for all of them, a
// moment for those that are late. See SendResult.
func (t *Tracker) Send(ctx context.Context, command []byte) SendResult {
	type reply struct {
		of   int
		hash string
		err  error
	}
	come := make(chan reply, len(t.nodes))
	prompt := make(map[int]bool, len(t.nodes))
	for i, n := range t.nodes {
		if !t.views[i].late.Load() {
			prompt[i] = true
		}
		go func() {
			hash, err := n.sendOrFind(context.WithoutCancel(ctx), command)
			come <- reply{i, hash, err}
		}()
	}
	var refused, silent *Error
	var over <-chan time.Time
	began := time.Now()
	for left := len(t.nodes); left > 0; {
		if len(prompt) == 0 && left < len(t.nodes) && over == nil {
			over = time.After(t.grace(time.Since(began)))
		}
		select {
		case r := <-come:
			left--
			delete(prompt, r.of)
			if r.err == nil {
				return SendResult{Accepted: true, Hash: r.hash}
			}
			e, ok := errors.AsType[*Error](r.err)
			switch {
			case !ok:
				silent = t.nodes[r.of].silent(r.err.Error())
			case e.Class == Transport:
				silent = e
			case refused == nil || e.Class.gravity() > refused.Class.gravity():
				refused = e
			}
			continue
		case <-over:
		case <-ctx.Done():
		}
		return SendResult{Err: &Error{Class: Transport, Code: CodeNoAnswer, Message: "not every node has answered in time"}}
	}
	switch {
	case silent != nil:
		return SendResult{Err: silent}
	case refused != nil:
		return SendResult{Refused: true, Err: refused}
	}
	return SendResult{Err: &Error{Class: Transport, Code: CodeNoAnswer, Message: "there is no node to send to"}}
}

// sendOrFind is Send, and takes for accepted what the pool has already. Mina: older
// nodes answer "Duplicate" then, without the hash.
func (n *Node) sendOrFind(ctx context.Context, command []byte) (hash string, err error) {
	hash, err = n.Send(ctx, command)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != "Duplicate" {
		return hash, err
	}
	var c struct {
		FeePayer struct {
			Body struct {
				PublicKey string `json:"publicKey"`
				Nonce     text32 `json:"nonce"`
			} `json:"body"`
		} `json:"feePayer"`
	}
	if json.Unmarshal(command, &c) != nil {
		return "", nil
	}
	payer, nonce := c.FeePayer.Body.PublicKey, uint32(c.FeePayer.Body.Nonce)
	pooled, err := n.PooledBy(ctx, payer)
	if err != nil {
		return "", nil // it is accepted all the same
	}
	at := slices.IndexFunc(pooled[payer], func(c Command) bool { return c.Nonce == nonce })
	if at < 0 {
		return "", nil
	}
	return pooled[payer][at].Hash, nil
}

// A SendResult merges the answers of all nodes to one command.
type SendResult struct {
	// Accepted: at least one node has it in its pool; Hash is the first one's, also where
	// it had it before, and empty only if it cannot be had.
	Accepted bool
	Hash     string
	// Refused: every node answered, and every one refused. Only then are the
	// bytes known to be nowhere. Neither Accepted nor Refused: the outcome is
	// unknown, and the bytes must be taken to be on their way. Mina refuses bytes
	// that are in a block already with Invalid_nonce: look there first.
	Refused bool
	// Err is the refusal to act on (the gravest class), or the transport error.
	Err *Error
}
