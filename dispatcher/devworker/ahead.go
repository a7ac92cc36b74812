package devworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"mina-sequencer/dispatcher"
)

// ahead is a command in flight on the wire.
type ahead struct {
	UID    string `json:"uid"`
	Nonce  uint32 `json:"nonce"`
	Hash   string `json:"hash"`
	Signed string `json:"signed"`
	Built  string `json:"built"` // in the place of all but the uid
}

func (a *ahead) command() json.RawMessage {
	if a.Built != "" {
		return json.RawMessage(a.Built)
	}
	return json.RawMessage(a.Signed)
}

// A Chain is what a node shows of a payer: its nonce, and which commands stand in its best
// chain, by their hashes; the value says that the command took effect.
type Chain struct {
	Nonce  uint32
	Landed map[string]bool
}

// on is what an answer says it was built upon.
func (rq *request) on() string {
	n := len(rq.body.Ahead)
	if n == 0 {
		return ""
	}
	digest, _ := dispatcher.EffectsOf(rq.body.Ahead[n-1].command())
	return digest
}

// joins says whether the ledger's nonce and what is ahead lead up to the attempt's nonce,
// and what of it the ledger has passed has taken effect; else it comes with the answer.
func (w *Worker) joins(rq *request) (answer, bool) {
	list := rq.body.Ahead
	if len(list) == 0 || w.o.NoAhead {
		return answer{}, true
	}
	signed := list
	for i, a := range list {
		if a.Built != "" {
			signed = list[:i]
			break
		}
	}
	for i, a := range signed {
		last := rq.Kind == Build || len(signed) < len(list) // whose nonce nobody knows yet
		if a.Nonce+uint32(len(signed)-i) != rq.body.Attempt.Nonce && !last {
			return answer{status: http.StatusBadRequest}, false
		}
	}
	if list = signed; w.o.Payer == nil || len(list) == 0 {
		return answer{}, true
	}
	chain, err := w.o.Payer(rq.life.ctx, w.payer(rq))
	if err != nil {
		return failed("502", "reading the payer", err.Error()), false
	}
	stands := chain.Nonce >= list[0].Nonce
	for _, a := range list {
		stands = stands && (a.Nonce >= chain.Nonce || chain.Landed[a.Hash])
	}
	if !stands {
		return answer{status: http.StatusServiceUnavailable, after: 5}, false
	}
	return answer{}, true
}

// left is the first state field of an account after what is ahead, which was first before it.
func left(list []ahead, account, first string) (string, error) {
	for _, a := range list {
		var command struct {
			AccountUpdates []struct {
				Body struct {
					PublicKey string `json:"publicKey"`
					Update    struct {
						AppState []*string `json:"appState"`
					} `json:"update"`
				} `json:"body"`
			} `json:"accountUpdates"`
		}
		if err := json.Unmarshal(a.command(), &command); err != nil {
			return "", fmt.Errorf("the command with nonce %d: %w", a.Nonce, err)
		}
		for _, u := range command.AccountUpdates {
			state := u.Body.Update.AppState
			if u.Body.PublicKey == account && len(state) > 0 && state[0] != nil {
				first = *state[0]
			}
		}
	}
	return first, nil
}

// PayerFrom returns an [Options.Payer] that asks the GraphQL endpoint of a node. A nil
// client means a new one.
func PayerFrom(endpoint string, client *http.Client) func(ctx context.Context, account string) (Chain, error) {
	ask := asker(endpoint, client)
	return func(ctx context.Context, account string) (Chain, error) {
		var out struct {
			Account *struct {
				Nonce string `json:"nonce"`
			} `json:"account"`
			BestChain []struct {
				Transactions struct {
					ZkappCommands []struct {
						Hash          string            `json:"hash"`
						FailureReason []json.RawMessage `json:"failureReason"`
					} `json:"zkappCommands"`
				} `json:"transactions"`
			} `json:"bestChain"`
		}
		const query = `query($key: PublicKey!) { account(publicKey: $key) { nonce }
			bestChain(maxLength: 290) { transactions { zkappCommands { hash failureReason { failures } } } } }`
		if err := ask(ctx, query, account, &out); err != nil {
			return Chain{}, err
		}
		if out.Account == nil {
			return Chain{}, errors.New("the node knows no such account")
		}
		nonce, err := strconv.ParseUint(out.Account.Nonce, 10, 32)
		if err != nil {
			return Chain{}, fmt.Errorf("reading the nonce: %w", err)
		}
		chain := Chain{Nonce: uint32(nonce), Landed: map[string]bool{}}
		for _, b := range out.BestChain {
			for _, c := range b.Transactions.ZkappCommands {
				chain.Landed[c.Hash] = len(c.FailureReason) == 0
			}
		}
		return chain, nil
	}
}
