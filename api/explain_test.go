package api

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("GET", "/transactions/u/explain", "").wantProblem(404, "NOT_FOUND")
	s.ask("GET", "/transactions/%20/explain", "").wantProblem(400, "BAD_REQUEST")
	s.ask("POST", "/transactions/u/explain", "").wantProblem(405, "BAD_REQUEST")
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
	got := strings.TrimSpace(s.ask("GET", "/transactions/u/explain", "").want(200).Body.String())
	want := `{"state":"WAITING","since":null,"summary":"It waits.","waitingFor":{"code":"BLOCK","until":"1970-01-01T00:00:07.000Z","detail":null},` +
		`"attempts":[{"number":1,"sender":null,"nonce":0,"fee":"1152921504606846976","weight":null,"estimate":null,"hash":"5J","outcome":"sent","open":true,"place":"pool","agreed":true,` +
		`"blockHeight":null,"stateHash":null,"depth":null,"detail":"in a pool","startedAt":null,"endedAt":null}],"next":{"action":"WATCH","at":null}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
