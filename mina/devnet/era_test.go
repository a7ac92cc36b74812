package devnet_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mina-sequencer/mina/devnet"
)

// TestEras: a network takes the commands of its own era, and says of others what they are.
func TestEras(t *testing.T) {
	t.Parallel()
	of := map[devnet.Era]json.RawMessage{}
	for _, era := range []devnet.Era{devnet.Mesa, devnet.Berkeley} {
		of[era] = build(t, with(plan(0, 5), func(p *devnet.Plan) { p.Era = era }))
	}
	for _, era := range []devnet.Era{devnet.Mesa, devnet.Berkeley} {
		n := network(t, func(c *devnet.Config) { c.Era = era })
		for made, command := range of {
			_, refusal := send(t, n.Node(0), command)
			want := "Could not decode an app state of " + map[devnet.Era]string{devnet.Mesa: "32", devnet.Berkeley: "8"}[made]
			if made == era && refusal != "" || made != era && !strings.HasPrefix(refusal, want) {
				t.Errorf("%s takes a command of %s with %q", era, made, refusal)
			}
		}
		n.MakeBlock()
		if got := n.Effects(); len(got) != 1 || !got[0].OK {
			t.Errorf("%s has %+v", era, got)
		}
	}
}

// TestMesaCommand: what mina-signer 4.0.0 signs is taken as it is. The network is Mesa by itself.
func TestMesaCommand(t *testing.T) {
	t.Parallel()
	command, err := os.ReadFile("testdata/mina-signer-4.0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	n, err := devnet.New(devnet.Config{FundAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, refusal := send(t, n.Node(0), command); refusal != "" {
		t.Fatal(refusal)
	}
	n.MakeBlock()
	got := n.Effects()
	if len(got) != 1 || !got[0].OK {
		t.Fatalf("effects %+v", got)
	}
	if a, _ := n.Account(got[0].Accounts[0]); len(a.State) != 32 || a.State[0] != "1" || a.State[31] != "32" {
		t.Errorf("the account has %q", a.State)
	}
}
