package dispatcher_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mina-sequencer/dispatcher"
)

const signedCommand = `{
 "feePayer": {"body": {"publicKey": "` + key + `", "fee": "100000000", "validUntil": "5123", "nonce": "12"}, "authorization": "7mX"},
 "accountUpdates": [
  {"body": {"publicKey": "B62other", "incrementNonce": true}, "authorization": {"proof": "AA", "signature": null}},
  {"body": {"publicKey": "` + key + `", "incrementNonce": false}, "authorization": {"proof": null, "signature": "7m"}}
 ],
 "memo": "memo:m"}`

// decodeMemo stands in for the base58 codec.
func decodeMemo(s string) (string, error) {
	text, ok := strings.CutPrefix(s, "memo:")
	if !ok {
		return "", errors.New("not a memo")
	}
	return text, nil
}

func TestCheckSigned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, old, new string // what is replaced in signedCommand
		wrong          string // field named by the error, empty if it is fine
	}{
		{"as asked", "", "", ""},
		{"publicKey", `{"publicKey": "` + key + `", "fee"`, `{"publicKey": "B62other", "fee"`, "feePayer.body.publicKey"},
		{"fee", `"100000000"`, `"100000001"`, "feePayer.body.fee"},
		{"fee as number", `"100000000"`, `100000000`, "feePayer.body.fee"},
		{"nonce", `"nonce": "12"`, `"nonce": "13"`, "feePayer.body.nonce"},
		{"nonce with a zero", `"nonce": "12"`, `"nonce": "012"`, "feePayer.body.nonce"},
		{"nonce missing", `, "nonce": "12"`, ``, "feePayer.body.nonce"},
		{"nonce twice", `"nonce": "12"`, `"nonce": "13", "nonce": "12"`, "feePayer.body"},
		{"nonce in other case", `"nonce": "12"`, `"Nonce": "12"`, "feePayer.body.nonce"},
		{"validUntil", `"5123"`, `"5124"`, "feePayer.body.validUntil"},
		{"validUntil null", `"5123"`, `null`, "feePayer.body.validUntil"},
		{"memo", `memo:m`, `memo:n`, "memo"},
		{"memo not base58", `memo:m`, `m`, "memo"},
		{"memo null", `"memo:m"`, `null`, "memo"},
		{"increments", `"incrementNonce": false`, `"incrementNonce": true`, "accountUpdates[1].body.incrementNonce"},
		{"increments that of MINA", `"incrementNonce": false`, `"incrementNonce": true, "tokenId": "` + minaToken + `"`, "accountUpdates[1].body.incrementNonce"},
		{"increments that of a token", `"incrementNonce": false`, `"incrementNonce": true, "tokenId": "x"`, ""},
		{"increments that of no token", `"incrementNonce": false`, `"incrementNonce": true, "tokenId": 7`, "accountUpdates[1].body.incrementNonce"},
		{"increments that of two tokens", `"incrementNonce": false`, `"incrementNonce": true, "tokenId": "` + minaToken + `", "tokenId": "x"`, "accountUpdates[1].body"},
		{"increments perhaps", `"incrementNonce": false`, `"incrementNonce": "true"`, "accountUpdates[1].body.incrementNonce"},
		{"increments twice", `"incrementNonce": false`, `"incrementNonce": true, "incrementNonce": false`, "accountUpdates[1].body"},
		{"update without key", `"publicKey": "B62other", `, ``, "accountUpdates[0].body.publicKey"},
		{"update null", `{"body": {"publicKey": "B62other", "incrementNonce": true}, "authorization": {"proof": "AA", "signature": null}}`, `null`, "accountUpdates[0]"},
		{"updates elsewhere", `"accountUpdates"`, `"updates"`, "accountUpdates"},
		{"updates twice", `"memo"`, `"accountUpdates": [], "memo"`, "the command"},
		{"no fee payer", `"feePayer"`, `"payer"`, "feePayer"},
		{"no body", `{"body": {"publicKey": "` + key + `", "fee"`, `{"bodies": {"publicKey": "` + key + `", "fee"`, "feePayer.body"},
		{"update without a body", `{"body": {"publicKey": "B62other"`, `{"bodies": {"publicKey": "B62other"`, "accountUpdates[0].body"},
		{"update with no key", `"publicKey": "B62other", `, `"publicKey": null, `, "accountUpdates[0].body.publicKey"},
		{"update with a number for a key", `"publicKey": "B62other", `, `"publicKey": 7, `, "accountUpdates[0].body.publicKey"},
		{"fee payer null", `{"body": {"publicKey": "` + key + `", "fee": "100000000", "validUntil": "5123", "nonce": "12"}, "authorization": "7mX"}`, `null`, "feePayer"},
		{"truncated", `"memo:m"}`, `"memo:m"`, "the command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(signedCommand, tt.old) {
				t.Fatal("nothing to replace")
			}
			err := dispatcher.CheckSigned(json.RawMessage(strings.Replace(signedCommand, tt.old, tt.new, 1)), key, newCall().Attempt, decodeMemo)
			if tt.wrong == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, dispatcher.ErrMismatch) || !strings.Contains(err.Error(), ": "+tt.wrong+" ") {
				t.Errorf("got %v, want %s named", err, tt.wrong)
			}
		})
	}
	t.Run("no updates", func(t *testing.T) {
		t.Parallel()
		from, to := strings.Index(signedCommand, "["), strings.LastIndex(signedCommand, "]")
		err := dispatcher.CheckSigned(json.RawMessage(signedCommand[:from+1]+signedCommand[to:]), key, newCall().Attempt, decodeMemo)
		if !errors.Is(err, dispatcher.ErrMismatch) {
			t.Error(err)
		}
	})
	for _, tt := range []struct{ old, new, want string }{
		{`"memo:m"`, `7`, "memo is not a string"},
		{`memo:m`, `m`, "memo cannot be decoded: not a memo"},
		{`memo:m`, `memo:` + strings.Repeat("n", 81), `memo is "` + strings.Repeat("n", 80) + `", want "m"`},
		{`"nonce": "12"`, `"nonce": "13", "nonce": "12"`, `feePayer.body has "nonce" twice`},
		{`"nonce": "12"`, `"` + strings.Repeat("n", 81) + `": 1, "` + strings.Repeat("n", 81) + `": 2`, `feePayer.body has "` + strings.Repeat("n", 80) + `" twice`},
	} {
		err := dispatcher.CheckSigned(json.RawMessage(strings.Replace(signedCommand, tt.old, tt.new, 1)), key, newCall().Attempt, decodeMemo)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	t.Run("no memo", func(t *testing.T) {
		t.Parallel()
		attempt := newCall().Attempt
		attempt.Memo = ""
		for memo, good := range map[string]bool{`"memo:"`: true, `"m"`: false, `7`: false, `null`: false} {
			err := dispatcher.CheckSigned(json.RawMessage(strings.Replace(signedCommand, `"memo:m"`, memo, 1)), key, attempt, decodeMemo)
			if (err == nil) != good {
				t.Errorf("%s: %v", memo, err)
			}
		}
	})
	t.Run("no limit", func(t *testing.T) {
		t.Parallel()
		attempt := newCall().Attempt
		attempt.ValidUntil = 0
		if err := dispatcher.CheckSigned(json.RawMessage(strings.Replace(signedCommand, `"5123"`, `null`, 1)), key, attempt, decodeMemo); err != nil {
			t.Error(err)
		}
	})
}

func TestWeight(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{
		" " + signedCommand: 3, `{"accountUpdates":[{}]}`: 2, `{"accountUpdates":[]}`: 1, `[]`: 0,
	} {
		if got := dispatcher.Weight(json.RawMessage(command)); got != want {
			t.Errorf("%s weighs %d, want %d", command, got, want)
		}
	}
}

// FuzzCheckSigned: whatever passes is, also for a lenient reader, what was
// asked for.
func FuzzCheckSigned(f *testing.F) {
	f.Add(signedCommand)
	f.Add(`{"feePayer":{"body":{}},"accountUpdates":[{}]}`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, signed string) {
		if err := dispatcher.CheckSigned(json.RawMessage(signed), key, newCall().Attempt, decodeMemo); err != nil {
			if !errors.Is(err, dispatcher.ErrMismatch) {
				t.Errorf("%v", err)
			}
			return
		}
		var c struct {
			FeePayer struct {
				Body map[string]any `json:"body"`
			} `json:"feePayer"`
			AccountUpdates []any `json:"accountUpdates"`
		}
		if err := json.Unmarshal([]byte(signed), &c); err != nil {
			t.Fatalf("passed %q: %v", signed, err)
		}
		b := c.FeePayer.Body
		if b["publicKey"] != key || b["nonce"] != "12" || b["fee"] != "100000000" || b["validUntil"] != "5123" || len(c.AccountUpdates) == 0 {
			t.Errorf("passed %q", signed)
		}
	})
}
