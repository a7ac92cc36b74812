package dispatcher_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

const key = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"

func newRules() *dispatcher.Rules {
	return dispatcher.NewRules(func(s string) error {
		if s != key {
			return errors.New("no key")
		}
		return nil
	})
}

func votingTypes(t testing.TB) *dispatcher.Registry {
	var r dispatcher.Registry
	if err := r.Register(dispatcher.VotingTypes(dispatcher.NewClient(dispatcher.ClientOptions{}), newRules())...); err != nil {
		t.Fatal(err)
	}
	return &r
}

const (
	claim = `0123456789abcdefABCDEF0123456789`
	vote  = `"planUid":"p","batchUid":"b","claimUid":"` + claim + `","electorAccountId":"` + key + `"`
)

func TestPayloads(t *testing.T) {
	t.Parallel()
	types := votingTypes(t)
	account := func(strategy string) string { return `{"claimUid":"` + claim + `","strategy":` + strategy + `}` }
	batch := func(signed string) string {
		return `{"batchUid":"b","senderAccountId":"` + key + `","signedData":` + signed + `}`
	}
	tests := []struct {
		name, typ, data string
		want            []string // bad fields, without "data."
	}{
		{"account", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":1,"requiredPositives":1}`), nil},
		{"account, zero positives", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":3,"requiredPositives":0}`), nil},
		{"account, more fields", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":3,"requiredPositives":0,"x":1E400}`), nil},
		{"account, beyond uint64", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":28948022309329048855892746252171976963363056481941560715954676764349967630336,"requiredPositives":28948022309329048855892746252171976963363056481941560715954676764349967630336}`), nil},
		{"account, beyond uint64, too many", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":28948022309329048855892746252171976963363056481941560715954676764349967630336,"requiredPositives":28948022309329048855892746252171976963363056481941560715954676764349967630337}`), []string{"strategy.requiredPositives"}},
		{"account, too many positives", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":9,"requiredPositives":10}`), []string{"strategy.requiredPositives"}},
		{"account, tens", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":10,"requiredPositives":10}`), nil},
		{"account, votes a text", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":"3","requiredPositives":12345}`), []string{"strategy.requiredVotes"}},
		{"account, white space around", "CREATE_CLAIM_VOTING_ACCOUNT", "\r\n\t " + account(`{"requiredVotes":1,"requiredPositives":1}`), nil},
		{"account, no votes", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":0,"requiredPositives":0}`), []string{"strategy.requiredVotes"}},
		{"account, all bad", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":7,"strategy":{"requiredVotes":"3","requiredPositives":-1}}`, []string{"claimUid", "strategy.requiredVotes", "strategy.requiredPositives"}},
		{"account, strategy no object", "CREATE_CLAIM_VOTING_ACCOUNT", account(`[]`), []string{"strategy"}},
		{"account, strategy null", "CREATE_CLAIM_VOTING_ACCOUNT", account(`null`), []string{"strategy"}},
		{"account, nothing", "CREATE_CLAIM_VOTING_ACCOUNT", `{}`, []string{"claimUid", "strategy"}},
		{"account, fractions", "CREATE_CLAIM_VOTING_ACCOUNT", account(`{"requiredVotes":1.5,"requiredPositives":1e2}`), []string{"strategy.requiredVotes", "strategy.requiredPositives"}},
		{"account, short uid", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":"` + claim[1:] + `","strategy":{"requiredVotes":1,"requiredPositives":0}}`, []string{"claimUid"}},
		{"account, uid no hex", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":"g` + claim[1:] + `","strategy":{"requiredVotes":1,"requiredPositives":0}}`, []string{"claimUid"}},
		{"account, uid with what follows the digits", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":":` + claim[1:] + `","strategy":{"requiredVotes":1,"requiredPositives":0}}`, []string{"claimUid"}},
		{"account, uid with what follows the letters", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":"G` + claim[1:] + `","strategy":{"requiredVotes":1,"requiredPositives":0}}`, []string{"claimUid"}},
		{"account, name in other case", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimuid":"` + claim + `","strategy":{"requiredVotes":1,"requiredPositives":0}}`, []string{"claimUid"}},
		{"account, other case beside it", "CREATE_CLAIM_VOTING_ACCOUNT", `{"claimUid":"` + claim + `","CLAIMUID":5,"strategy":{"requiredVotes":1,"requiredPositives":0}}`, nil},

		{"vote 1", "SEND_CLAIM_VOTE", `{` + vote + `,"index":0,"vote":1}`, nil},
		{"vote -1", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote": -1 }`, nil},
		{"vote 0", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":0}`, nil},
		{"vote +1 text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"+1"}`, nil},
		{"vote +1 escaped", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"\u002b1"}`, nil},
		{"vote -1 text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"-1"}`, nil},
		{"vote 0 text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"0"}`, nil},
		{"vote 1 text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"1"}`, nil},
		{"vote 2 text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":"2"}`, []string{"vote"}},
		{"vote, empty text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":""}`, []string{"vote"}},
		{"vote 2", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":2}`, []string{"vote"}},
		{"vote true", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":true}`, []string{"vote"}},
		{"vote null", "SEND_CLAIM_VOTE", `{` + vote + `,"index":7,"vote":null}`, []string{"vote"}},
		{"vote, bad index", "SEND_CLAIM_VOTE", `{` + vote + `,"index":-1,"vote":1}`, []string{"index"}},
		{"vote, index text", "SEND_CLAIM_VOTE", `{` + vote + `,"index":"1","vote":1}`, []string{"index"}},
		{"vote, no index", "SEND_CLAIM_VOTE", `{` + vote + `,"vote":1}`, []string{"index"}},
		{"vote, nothing", "SEND_CLAIM_VOTE", `{}`, []string{"planUid", "batchUid", "claimUid", "electorAccountId", "index", "vote"}},
		{"vote, bad key", "SEND_CLAIM_VOTE", `{"planUid":"p","batchUid":"b","claimUid":"` + claim + `","electorAccountId":"B62q","index":0,"vote":0}`, []string{"electorAccountId"}},

		{"batches", "CREATE_VOTING_BATCHES_ACCOUNT", `{"planUid":"p","communityUid":"` + strings.Repeat("é", 64) + `"}`, nil},
		{"batches, too long, empty", "CREATE_VOTING_BATCHES_ACCOUNT", `{"planUid":"","communityUid":"` + strings.Repeat("c", 65) + `"}`, []string{"planUid", "communityUid"}},

		{"batch", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":["d"],"signature":{"field":"1","scalar":"2"}}`), nil},
		{"batch, numbers", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":[1],"signature":{"field":21791658148574718546142603343401336590593293460733582696645378503479229577364,"scalar":"2"}}`), nil},
		{"batch, negative", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":[1],"signature":{"field":-21,"scalar":"2"}}`), nil},
		{"batch, a fraction", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":[1],"signature":{"field":-2.1,"scalar":"2"}}`), []string{"signedData.signature.field"}},
		{"batch, data as a text", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":" [{\"claimUid\":\"c\"}]\n","signature":{"field":"1","scalar":"2"}}`), nil},
		{"batch, a text that is no JSON", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":"[1","signature":{"field":"1","scalar":"2"}}`), []string{"signedData.data"}},
		{"batch, a text of an object", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":"{}","signature":{"field":"1","scalar":"2"}}`), []string{"signedData.data"}},
		{"batch, data a number", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":1,"signature":{"field":"1","scalar":"2"}}`), []string{"signedData.data"}},
		{"batch, no signature", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":5,"data":null}`), []string{"signedData.publicKey", "signedData.data", "signedData.signature"}},
		{"batch, empty signature", "RECEIVE_VOTES_BATCH", batch(`{"publicKey":"B","data":[],"signature":{"field":"","scalar":{}}}`), []string{"signedData.signature.field", "signedData.signature.scalar"}},
		{"batch, nothing", "RECEIVE_VOTES_BATCH", `{"senderAccountId":null}`, []string{"batchUid", "senderAccountId", "signedData"}},

		{"commit", "COMMIT_ALL_VOTING_BATCHES", `{"planUid":"p","note":"\ud800"}`, nil},
		{"commit, as the original posts it", "COMMIT_ALL_BATCHES", `{"planUid":"p"}`, nil},
		{"commit, as the original, nothing", "COMMIT_ALL_BATCHES", `{}`, []string{"planUid"}},
		{"commit, nothing", "COMMIT_ALL_VOTING_BATCHES", `{}`, []string{"planUid"}},
		{"commit, doubled", "COMMIT_ALL_VOTING_BATCHES", `{"planUid":"p","planUid":1}`, []string{"planUid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, ok := types.Lookup(tt.typ)
			if !ok {
				t.Fatalf("no type %s", tt.typ)
			}
			got := map[string]int{}
			for _, e := range d.Check(json.RawMessage(tt.data)) {
				if e.Message == "" {
					t.Errorf("%s: no message", e.Field)
				}
				got[e.Field]++
			}
			want := map[string]int{}
			for _, f := range tt.want {
				want["data."+f]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("bad fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPayloadMessages(t *testing.T) {
	t.Parallel()
	d, _ := votingTypes(t).Lookup("CREATE_CLAIM_VOTING_ACCOUNT")
	got := d.Check(json.RawMessage(`{"claimUid":"x","strategy":{"requiredVotes":1,"requiredPositives":2}}`))
	want := []dispatcher.FieldError{
		{Field: "data.claimUid", Message: "must be a string of 32 hexadecimal digits"},
		{Field: "data.strategy.requiredPositives", Message: "must be at most requiredVotes"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPayloadWants: each rule has its words.
func TestPayloadWants(t *testing.T) {
	t.Parallel()
	type all struct {
		UID     string          `json:"uid" validate:"uid"`
		Text    string          `json:"text" validate:"text"`
		Hex     string          `json:"hex" validate:"hex32"`
		Key     string          `json:"key" validate:"key"`
		Vote    json.RawMessage `json:"vote" validate:"vote"`
		Count   json.RawMessage `json:"count" validate:"count=2"`
		Element json.RawMessage `json:"element" validate:"element"`
		List    json.RawMessage `json:"list" validate:"list"`
	}
	want := []dispatcher.FieldError{
		{Field: "data.uid", Message: "must be a string of 1 to 64 characters"},
		{Field: "data.text", Message: "must be a string that is not empty"},
		{Field: "data.hex", Message: "must be a string of 32 hexadecimal digits"},
		{Field: "data.key", Message: "must be a public key (B62…)"},
		{Field: "data.vote", Message: `must be 1, -1 or 0, as a number or as "1", "+1", "-1" or "0"`},
		{Field: "data.count", Message: "must be an integer, 2 or more"},
		{Field: "data.element", Message: "must be an integer or a string that is not empty"},
		{Field: "data.list", Message: "must be an array, or a string that holds one in JSON"},
	}
	got := dispatcher.Payload[all](newRules())(json.RawMessage(`{"count":1}`))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPayloadAny: a type without a check takes any object, and no more.
func TestPayloadAny(t *testing.T) {
	t.Parallel()
	any := dispatcher.NewRemote(dispatcher.NewClient(dispatcher.ClientOptions{}), "MINT", nil)
	if any.Check(json.RawMessage(` {"a":1}`)) != nil || any.Check(json.RawMessage(`[]`)) == nil {
		t.Error("takes something else than objects")
	}
}

// TestSubmitBatch: of the ledgers that are named, none where none is.
func TestSubmitBatch(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"ledger":"grid","batchId":"` + strings.Repeat("ab", 64) + `","batchList":""}`)
	for _, tt := range []struct {
		ledgers []string
		want    bool
	}{{[]string{"other", "grid"}, true}, {[]string{"other"}, false}, {[]string{}, false}, {nil, false}} {
		known := true
		for _, e := range dispatcher.SubmitBatch(tt.ledgers).Check(data) {
			known = known && e.Field != "data.ledger"
		}
		if known != tt.want {
			t.Errorf("of %q the ledger is known: %t", tt.ledgers, known)
		}
	}
	got := dispatcher.SubmitBatch(nil).Check(json.RawMessage(`{"batchId":"` + strings.Repeat("ab", 64) + `"}`))
	if len(got) == 0 || got[0].Field != "data.ledger" || got[0].Message == "" {
		t.Errorf("without a ledger: %+v", got)
	}
	if name, id := dispatcher.SubmitBatch(nil).(dispatcher.ForLedger).Batch(data); name != "grid" || id != strings.Repeat("ab", 64) {
		t.Errorf("it is batch %s of %s", id, name)
	}
}

func TestPayloadNoObject(t *testing.T) {
	t.Parallel()
	types := votingTypes(t)
	want := []dispatcher.FieldError{{Field: "data", Message: "must be a JSON object"}}
	for _, data := range []string{``, `null`, `[]`, `"{}"`, `1`} {
		for _, name := range types.Types() {
			d, _ := types.Lookup(name)
			if diff := cmp.Diff(want, d.Check(json.RawMessage(data))); diff != "" {
				t.Errorf("%s %q (-want +got):\n%s", name, data, diff)
			}
		}
	}
}

func TestPayloadOfOwnType(t *testing.T) {
	t.Parallel()
	type mint struct {
		Name  string `json:"name" validate:"required,max=3"`
		Count *int   `json:"count" validate:"omitempty,min=1"`
		Note  string `json:"note"`
		Tags  []int  `json:"tags" validate:"max=1"`
		Away  string `json:"-" validate:"max=1"`
		away  string
	}
	_ = mint{}.away // which no JSON can set
	check := dispatcher.Payload[mint](newRules())
	tests := []struct {
		data string
		want []dispatcher.FieldError
	}{
		{`{"name":"a"}`, nil},
		{`{"name":"abcd","count":0}`, []dispatcher.FieldError{{Field: "data.name", Message: "must satisfy max=3"}, {Field: "data.count", Message: "must satisfy min=1"}}},
		{`{"name":5,"note":[]}`, []dispatcher.FieldError{{Field: "data.name", Message: "must be a JSON string"}, {Field: "data.note", Message: "must be a JSON string"}}},
		{`{"name":5,"tags":"x"}`, []dispatcher.FieldError{{Field: "data.name", Message: "must be a JSON string"}, {Field: "data.tags", Message: "must be a JSON slice"}}},
		{`{}`, []dispatcher.FieldError{{Field: "data.name", Message: "must be present"}}},
		{`{"name":"a","":"bc","-":"bc","Away":"bc","away":"bc"}`, nil},
		{`{"name":"a","tags":[1,2]}`, []dispatcher.FieldError{{Field: "data.tags", Message: "must satisfy max=1"}}},
		{`{"name":"a","tags":[1,2,"x"]}`, []dispatcher.FieldError{{Field: "data.tags", Message: "must be a JSON slice"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, check(json.RawMessage(tt.data))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.data, diff)
		}
	}
}

// FuzzPayloads holds every payload rule to this: no panic, no doubled field,
// the same answer twice, and nothing passes that is no object.
func FuzzPayloads(f *testing.F) {
	f.Add(`{"claimUid":"` + claim + `","strategy":{"requiredVotes":1,"requiredPositives":1}}`)
	f.Add(`{` + vote + `,"index":0,"vote":"+1"}`)
	f.Add(`{"batchUid":"b","senderAccountId":"` + key + `","signedData":{"publicKey":"B","data":"[1]","signature":{"field":"1","scalar":2}}}`)
	f.Add(`{"planUid":null,"communityUid":{}}`)
	types := votingTypes(f)
	f.Fuzz(func(t *testing.T, data string) {
		for _, name := range types.Types() {
			d, _ := types.Lookup(name)
			bad := d.Check(json.RawMessage(data))
			seen := map[string]bool{}
			for _, e := range bad {
				if seen[e.Field] || e.Message == "" || !utf8.ValidString(e.Field+e.Message) {
					t.Errorf("%s: field error %+v", name, e)
				}
				seen[e.Field] = true
			}
			if diff := cmp.Diff(bad, d.Check(json.RawMessage(data))); diff != "" {
				t.Errorf("%s: not the same twice:\n%s", name, diff)
			}
			var object map[string]json.RawMessage
			// What is not JSON is not asked for; it only has to end.
			if bad == nil && json.Valid([]byte(data)) && json.Unmarshal([]byte(data), &object) != nil {
				t.Errorf("%s takes %q", name, data)
			}
		}
	})
}
