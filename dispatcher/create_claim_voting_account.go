package dispatcher

import "encoding/json"

type createClaimVotingAccount struct {
	ClaimUID string `json:"claimUid" validate:"hex32"`
	Strategy struct {
		RequiredVotes     json.RawMessage `json:"requiredVotes" validate:"count=1"`
		RequiredPositives json.RawMessage `json:"requiredPositives" validate:"count=0,atmost=RequiredVotes"`
	} `json:"strategy"`
}

// CreateClaimVotingAccount is the type CREATE_CLAIM_VOTING_ACCOUNT: it deploys
// the account that counts the votes on one claim, and so comes first in the
// claim's queue.
func CreateClaimVotingAccount(client *Client, rules *Rules) *Remote {
	return NewRemote(client, "CREATE_CLAIM_VOTING_ACCOUNT", Payload[createClaimVotingAccount](rules)).SettledAt(1)
}
