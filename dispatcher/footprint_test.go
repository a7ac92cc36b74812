package dispatcher_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

const (
	zkApp  = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
	holder = "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS"
	token  = "xPi5ctD8Dcn5HpLpyKPYTkHHMdXRFKVWFTALrFPCZfw7GNc4Mt"
)

// built is a command as o1js writes it, of which text may be replaced.
func built(t *testing.T, updates []devnet.Update, replace ...string) json.RawMessage {
	t.Helper()
	command, err := devnet.Build(devnet.Plan{Payer: key, Nonce: 1, Fee: 1, Updates: updates})
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(strings.NewReplacer(replace...).Replace(string(command)))
}

func TestTouched(t *testing.T) {
	t.Parallel()
	of := func(keys ...string) (all []devnet.Update) {
		for _, k := range keys {
			all = append(all, devnet.Update{Account: k})
		}
		return all
	}
	account := func(key string) tx.Account { return tx.Account{Key: key, Token: tx.MinaToken} }
	held := tx.Account{Key: holder, Token: token}
	var many []devnet.Update
	for i := range tx.MostTouched + 3 {
		many = append(many, devnet.Update{Account: zkApp[:54] + string("ABCDEFGHJKLMNPQRSTUVWXYZ"[i])})
	}
	for name, c := range map[string]struct {
		signed json.RawMessage
		want   []tx.Account
	}{
		"in their order":               {built(t, of(zkApp, holder)), []tx.Account{account(zkApp), account(holder)}},
		"each once":                    {built(t, of(zkApp, holder, zkApp)), []tx.Account{account(zkApp), account(holder)}},
		"not the payer":                {built(t, of(key, zkApp)), []tx.Account{account(zkApp)}},
		"the payer alone":              {built(t, of(key)), nil},
		"a payer's of another token":   {built(t, of(key), tx.MinaToken, token), []tx.Account{{Key: key, Token: token}}},
		"of a token":                   {built(t, of(holder), tx.MinaToken, token), []tx.Account{held}},
		"a key that is none":           {built(t, of(zkApp, holder), holder, "B62\u00e9"), []tx.Account{account(zkApp)}},
		"a token that is none":         {built(t, of(holder), tx.MinaToken, "a b"), nil},
		"a command that cannot be one": {json.RawMessage(`{"accountUpdates":7}`), nil},
	} {
		if got := dispatcher.FootprintOf(key, c.signed).Touched; fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := dispatcher.FootprintOf(key, built(t, many)).Touched; len(got) != tx.MostTouched || got[1].Key != many[1].Account {
		t.Errorf("of many: %d, %v", len(got), got)
	}
}

func TestRaces(t *testing.T) {
	t.Parallel()
	one := func(u devnet.Update, replace ...string) json.RawMessage {
		u.Account = zkApp
		return built(t, []devnet.Update{u}, replace...)
	}
	state := func(from, to string) json.RawMessage {
		u := devnet.Update{Expect: map[int]string{}, Set: map[int]string{}}
		if from != "" {
			u.Expect[2] = from
		}
		if to != "" {
			u.Set[2] = to
		}
		return one(u)
	}
	signs := one(devnet.Update{IncrementNonce: true}, `"nonce":null`, `"nonce":{"lower":"4","upper":"4"}`)
	reads := one(devnet.Update{}, `"balance":null`, `"balance":{"lower":"7","upper":"7"}`)
	pays := one(devnet.Update{BalanceChange: 5})
	acts := one(devnet.Update{}, `"actions":[]`, `"actions":[["1"]]`)
	reduces := one(devnet.Update{}, `"actionState":null`, `"actionState":"9"`)
	for name, c := range map[string]struct {
		a, b json.RawMessage
		want string
	}{
		"from one state to two":            {state("1", "2"), state("1", "3"), "state 2"},
		"from one state to the same":       {state("1", "2"), state("1", "2"), "state 2"},
		"one is on what the other makes":   {state("1", "2"), state("2", "3"), "state 2"},
		"one requires what another sets":   {state("1", ""), state("", "2"), "state 2"},
		"both require it, and none sets":   {state("1", ""), state("1", ""), ""},
		"both set it, and none requires":   {state("", "1"), state("", "2"), ""},
		"one sets it to what it was":       {state("1", ""), state("1", "1"), ""},
		"both sign with a nonce":           {signs, signs, "nonce"},
		"one signs, and one pays":          {signs, pays, ""},
		"both are paid":                    {pays, pays, ""},
		"one requires a balance":           {reads, pays, "balance"},
		"one acts, and one reduces":        {acts, reduces, ""},
		"both act":                         {acts, acts, ""},
		"one of them is no command at all": {state("1", "2"), json.RawMessage(`{}`), ""},
	} {
		a, b := dispatcher.FootprintOf(key, c.a), dispatcher.FootprintOf(key, c.b)
		for _, pair := range [][2]dispatcher.Footprint{{a, b}, {b, a}} {
			of, what := pair[0].Races(&pair[1])
			if what != c.want || what != "" && of != (tx.Account{Key: zkApp, Token: tx.MinaToken}) {
				t.Errorf("%s: %q of %v, want %q", name, what, of, c.want)
			}
		}
	}
}
