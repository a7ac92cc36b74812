package devnet_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"mina-sequencer/mina/devnet"
)

// network returns a network that fills every slot, with 10 funded accounts.
func network(t *testing.T, change func(*devnet.Config)) *devnet.Network {
	t.Helper()
	c := devnet.Config{FillRate: 1, Accounts: map[string]devnet.Account{}}
	for i := range uint64(10) {
		c.Accounts[devnet.Key(i)] = devnet.Account{Balance: 100e9, Nonce: 5}
	}
	if change != nil {
		change(&c)
	}
	n, err := devnet.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reply is a GraphQL answer.
type reply struct {
	Status int
	Data   map[string]any
	Error  string // the first
	raw    string
}

// at walks into the data by field names and list indexes.
func (r reply) at(path ...any) any {
	var v any = r.Data
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p < 0 {
				p += len(l)
			}
			if p < 0 || p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func ask(t *testing.T, d http.Handler, query string, variables map[string]any) reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{"operationName": nil, "query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return post(t, d, body)
}

// tell is ask, and takes any answer.
func tell(t *testing.T, d http.Handler, query string, variables map[string]any) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body)))
	return w
}

func post(t *testing.T, d http.Handler, body []byte) reply {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/graphql", bytes.NewReader(body)))
	r := reply{Status: w.Code, raw: w.Body.String()}
	if w.Code != http.StatusOK {
		return r
	}
	var answer struct {
		Data   map[string]any
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("answer %q: %v", w.Body, err)
	}
	r.Data = answer.Data
	if len(answer.Errors) > 0 {
		r.Error = answer.Errors[0].Message
	}
	return r
}

const sendQuery = `mutation($input: SendZkappInput!) { sendZkapp(input: $input) { zkapp { id hash failureReason { index failures } } } }`

// send gives a command to a node and returns its hash and the error's text.
func send(t *testing.T, d http.Handler, command json.RawMessage) (hash, refusal string) {
	t.Helper()
	r := ask(t, d, sendQuery, map[string]any{"input": map[string]any{"zkappCommand": command}})
	hash, _ = r.at("sendZkapp", "zkapp", "hash").(string)
	return hash, r.Error
}

func build(t *testing.T, p devnet.Plan) json.RawMessage {
	t.Helper()
	command, err := devnet.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// mustSend sends a planned command that has to be accepted.
func mustSend(t *testing.T, d http.Handler, p devnet.Plan) string {
	t.Helper()
	hash, refusal := send(t, d, build(t, p))
	if refusal != "" {
		t.Fatalf("send refused: %s", refusal)
	}
	return hash
}

const fee = 100_000_000

// plan is a plain command of the ith account.
func plan(i uint64, nonce uint32) devnet.Plan {
	return devnet.Plan{Payer: devnet.Key(i), Nonce: nonce, Fee: fee, Memo: "hello"}
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	n := network(t, nil)
	hash := mustSend(t, n.Node(0), plan(0, 5))
	n.MakeBlock()
	effects := n.Effects()
	if len(effects) != 1 || effects[0].Hash != hash || !effects[0].OK || effects[0].Memo != "hello" {
		t.Fatalf("effects = %+v", effects)
	}
}
