package dispatcher

type createVotingBatchesAccount struct {
	PlanUID      string `json:"planUid" validate:"uid"`
	CommunityUID string `json:"communityUid" validate:"uid"`
}

// CreateVotingBatchesAccount is the type CREATE_VOTING_BATCHES_ACCOUNT: it
// deploys the account that collects a plan's batches of votes.
func CreateVotingBatchesAccount(client *Client, rules *Rules) *Remote {
	return NewRemote(client, "CREATE_VOTING_BATCHES_ACCOUNT", Payload[createVotingBatchesAccount](rules)).SettledAt(1)
}
