package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mina-sequencer/dispatcher"
)

// A type of one's own is a struct that says what its payload has to be, and a
// name. The work is done by the workers that serve it.
type transferBadge struct {
	BadgeUID string          `json:"badgeUid" validate:"uid"`
	To       string          `json:"to" validate:"key"`
	Level    json.RawMessage `json:"level" validate:"count=1"`
}

func TransferBadge(client *dispatcher.Client, rules *dispatcher.Rules) dispatcher.Dispatcher {
	return dispatcher.NewRemote(client, "TRANSFER_BADGE", dispatcher.Payload[transferBadge](rules))
}

func Example() {
	client := dispatcher.NewClient(dispatcher.ClientOptions{})
	rules := dispatcher.NewRules(func(key string) error {
		if !strings.HasPrefix(key, "B62") {
			return errors.New("not a public key")
		}
		return nil
	})
	var types dispatcher.Registry
	if err := types.Register(TransferBadge(client, rules)); err != nil {
		panic(err)
	}
	badge, _ := types.Lookup("TRANSFER_BADGE")
	for _, e := range badge.Check(json.RawMessage(`{"badgeUid": "gold-7", "to": "Alice", "level": 0}`)) {
		fmt.Println(e.Field, e.Message)
	}
	// Output:
	// data.to must be a public key (B62…)
	// data.level must be an integer, 1 or more
}
