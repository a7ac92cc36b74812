package dispatcher

import "encoding/json"

type sendClaimVote struct {
	PlanUID          string          `json:"planUid" validate:"uid"`
	BatchUID         string          `json:"batchUid" validate:"uid"`
	ClaimUID         string          `json:"claimUid" validate:"hex32"`
	ElectorAccountID string          `json:"electorAccountId" validate:"key"`
	Index            json.RawMessage `json:"index" validate:"count=0"`
	Vote             json.RawMessage `json:"vote" validate:"vote"`
}

// SendClaimVote is the type SEND_CLAIM_VOTE: it adds the vote of one elector,
// the one at index in its batch, to a claim's account. Each requires the root of nullifiers
// that the one before it makes.
func SendClaimVote(client *Client, rules *Rules) *Remote {
	return NewRemote(client, "SEND_CLAIM_VOTE", Payload[sendClaimVote](rules)).Together(Chained).SettledAt(1)
}
