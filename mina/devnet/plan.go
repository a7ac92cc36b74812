package devnet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// A Plan describes a zkApp command to Build.
type Plan struct {
	Payer      string
	Nonce      uint32
	Fee        uint64 // nanomina
	ValidUntil uint32 // last slot since genesis; 0 for no limit
	Memo       string // plain text, at most 32 bytes
	Era        Era    // default Mesa
	Updates    []Update
}

// An Update is one account update of a Plan. State fields are decimal field elements.
type Update struct {
	Account        string
	Expect         map[int]string // preconditions on the account's state, by index
	Set            map[int]string // the account's new state, by index
	BalanceChange  int64          // nanomina
	CallData       string         // a decimal field element; "" for 0
	IncrementNonce bool
}

// Build returns the JSON of a signed zkApp command, complete as o1js writes
// it; its signatures are made up. A plan without updates gets one that changes
// nothing, for a command without any is never included.
func Build(p Plan) (json.RawMessage, error) {
	memo, err := encodeMemo(p.Memo)
	if err != nil {
		return nil, fmt.Errorf("building command: %w", err)
	}
	if !wellFormedKey(p.Payer) {
		return nil, errors.New("building command: payer is no public key")
	}
	updates := p.Updates
	if len(updates) == 0 {
		updates = []Update{{Account: p.Payer}}
	}
	body := map[string]any{
		"publicKey": p.Payer, "nonce": strconv.FormatUint(uint64(p.Nonce), 10),
		"fee": strconv.FormatUint(p.Fee, 10), "validUntil": nil,
	}
	if p.ValidUntil != 0 {
		body["validUntil"] = strconv.FormatUint(uint64(p.ValidUntil), 10)
	}
	list := make([]any, len(updates))
	for i, u := range updates {
		list[i] = u.json(p.Era.Fields())
	}
	command := map[string]any{"accountUpdates": list, "memo": memo}
	content, err := json.Marshal([]any{body, command})
	if err != nil {
		return nil, fmt.Errorf("building command: %w", err)
	}
	command["feePayer"] = map[string]any{"body": body, "authorization": signature(content)}
	return json.Marshal(command)
}

func (u Update) json(length int) map[string]any {
	sign, magnitude := "Positive", uint64(u.BalanceChange)
	if u.BalanceChange < 0 {
		sign, magnitude = "Negative", -magnitude
	}
	fields := func(set map[int]string) []any {
		out := make([]any, length)
		for i, v := range set {
			if i >= 0 && i < len(out) {
				out[i] = v
			}
		}
		return out
	}
	epoch := map[string]any{
		"ledger": map[string]any{"hash": nil, "totalCurrency": nil},
		"seed":   nil, "startCheckpoint": nil, "lockCheckpoint": nil, "epochLength": nil,
	}
	return map[string]any{
		"body": map[string]any{
			"publicKey": u.Account, "tokenId": defaultToken,
			"update": map[string]any{
				"appState": fields(u.Set), "delegate": nil, "verificationKey": nil, "permissions": nil,
				"zkappUri": nil, "tokenSymbol": nil, "timing": nil, "votingFor": nil,
			},
			"balanceChange":  map[string]any{"magnitude": strconv.FormatUint(magnitude, 10), "sgn": sign},
			"incrementNonce": u.IncrementNonce, "events": []any{}, "actions": []any{}, "callData": cmp.Or(u.CallData, "0"), "callDepth": 0,
			"preconditions": map[string]any{
				"network": map[string]any{
					"snarkedLedgerHash": nil, "blockchainLength": nil, "minWindowDensity": nil, "totalCurrency": nil,
					"globalSlotSinceGenesis": nil, "stakingEpochData": epoch, "nextEpochData": epoch,
				},
				"account": map[string]any{
					"balance": nil, "nonce": nil, "receiptChainHash": nil, "delegate": nil, "state": fields(u.Expect),
					"actionState": nil, "provedState": nil, "isNew": nil,
				},
				"validWhile": nil,
			},
			"useFullCommitment": true, "implicitAccountCreationFee": false,
			"mayUseToken": map[string]any{"parentsOwnToken": false, "inheritFromParent": false},
			"authorizationKind": map[string]any{
				"isSigned": true, "isProved": false,
				"verificationKeyHash": "3392518251768960475377392625298437850623664973002200885669375116181514017494",
			},
		},
		"authorization": map[string]any{"proof": nil, "signature": signature([]byte(u.Account))},
	}
}

// signature has the form of a signature and the content of a digest.
func signature(content []byte) string {
	payload := make([]byte, 65)
	payload[0] = 1
	copy(payload[1:], digest58(versionSignature, 1, content))
	return encode58(versionSignature, payload)
}
