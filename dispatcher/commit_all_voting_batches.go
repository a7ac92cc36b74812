package dispatcher

type commitAllVotingBatches struct {
	PlanUID string `json:"planUid" validate:"uid"`
}

// CommitAllVotingBatches is the type COMMIT_ALL_VOTING_BATCHES: it closes a
// plan with everything that its batches hold. Clients of the TypeScript original
// post it as COMMIT_ALL_BATCHES. It requires the root of shares that the one before it makes.
func CommitAllVotingBatches(client *Client, rules *Rules) *Remote {
	return NewRemote(client, "COMMIT_ALL_VOTING_BATCHES", Payload[commitAllVotingBatches](rules)).
		AlsoPostedAs("COMMIT_ALL_BATCHES").Together(Chained).SettledAt(1)
}
