package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"mina-sequencer/api/client"
)

// Post a transaction under a key of one's own, and wait until it is final. The
// same again, after a crash for example, finds the first one.
func Example() {
	c, err := client.New(client.Options{URL: "http://127.0.0.1:8080", Key: os.Getenv("SEQUENCER_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	data := json.RawMessage(`{"claimUid": "0123456789abcdef0123456789abcdef", "strategy": {"requiredVotes": 3, "requiredPositives": 2}}`)
	_, err = c.Post(ctx, client.Item{Queue: "claim-1", Type: "CREATE_CLAIM_VOTING_ACCOUNT", Data: data, UID: "open-claim-1"})
	if refused, ok := errors.AsType[*client.Error](err); ok {
		for _, f := range refused.Fields {
			fmt.Println(f.Field, f.Message)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	t, err := c.Wait(ctx, "open-claim-1", time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.State, t.Hash)
}

// Follow what happens, and go on behind the last event that was worked on, also
// after a restart of this program.
func ExampleClient_Events() {
	c, err := client.New(client.Options{URL: "http://127.0.0.1:8080"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, last := context.Background(), load()
	for e, err := range c.Events(ctx, last, client.EventFilter{Type: "SEND_CLAIM_VOTE"}) {
		if errors.Is(err, client.EventsGone) {
			log.Fatal("read the state anew, and follow from now on: ", err)
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.UID, e.From, e.To, e.Code)
		save(e.ID)
	}
}

func load() string { return "" }

func save(string) {}

// Count first, and then retry all that has failed in a queue.
func ExampleClient_RetryAll() {
	c, err := client.New(client.Options{URL: "http://127.0.0.1:8080"})
	if err != nil {
		log.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		for step, err := range c.RetryAll(context.Background(), client.Filter{Queue: "claim-1", State: client.Failed}, dry) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(step.Matched, step.Done, step.Refusals)
		}
	}
}

// The codes of the service are errors.
func ExampleCode() {
	var err error = &client.Error{Status: 404, Code: client.NotFound, Detail: "transaction vote-7: not found"}
	fmt.Println(errors.Is(err, client.NotFound), err)
	// Output: true transaction vote-7: not found (NOT_FOUND HTTP 404)
}
