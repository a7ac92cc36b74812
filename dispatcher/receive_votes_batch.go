package dispatcher

import "encoding/json"

type receiveVotesBatch struct {
	BatchUID        string `json:"batchUid" validate:"uid"`
	SenderAccountID string `json:"senderAccountId" validate:"key"`
	SignedData      struct {
		PublicKey string          `json:"publicKey" validate:"text"`
		Data      json.RawMessage `json:"data" validate:"list"`
		Signature struct {
			Field  json.RawMessage `json:"field" validate:"element"`
			Scalar json.RawMessage `json:"scalar" validate:"element"`
		} `json:"signature"`
	} `json:"signedData"`
}

// ReceiveVotesBatch is the type RECEIVE_VOTES_BATCH: it takes in the votes
// that one elector has signed. The signature itself is the worker's to check. Each requires
// the root of shares that the one before it makes.
func ReceiveVotesBatch(client *Client, rules *Rules) *Remote {
	return NewRemote(client, "RECEIVE_VOTES_BATCH", Payload[receiveVotesBatch](rules)).Together(Chained).SettledAt(1)
}
