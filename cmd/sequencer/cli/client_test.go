package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/cmd/sequencer/command"
)

// A fakeAPI answers by "METHOD /path" below /api/v1 with what is scripted, the
// last answer again and again, and notes what it was asked.
type fakeAPI struct {
	mu      sync.Mutex
	answers map[string][]fakeAnswer
	asked   []string
	headers []http.Header
}

type fakeAnswer struct {
	status int
	body   string
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1")
	line := key
	if r.URL.RawQuery != "" {
		line += "?" + r.URL.RawQuery
	}
	if len(body) > 0 {
		line += " " + string(body)
	}
	f.asked = append(f.asked, line)
	f.headers = append(f.headers, r.Header)
	answers := f.answers[key]
	if len(answers) == 0 {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"title":"Not found","detail":"there is nothing here","code":"NOT_FOUND"}`)
		return
	}
	if len(answers) > 1 {
		f.answers[key] = answers[1:]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(answers[0].status)
	fmt.Fprint(w, answers[0].body)
}

// execute runs a command of this package in the place that it has in the program.
func execute(ctx context.Context, a *command.App, args ...string) int {
	return a.Execute(ctx, command.Group("sequencer", "", Commands(a, nil)...), args)
}

// run does so as main does.
func run(ctx context.Context, args []string, env map[string]string, stdin io.Reader, stdout, stderr io.Writer) int {
	return execute(ctx, &command.App{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr, Poll: time.Second, Retries: 4}, args...)
}

type outcome struct {
	Code           int
	Stdout, Stderr string
	Asked          []string
}

// runClient runs one command against the scripted answers.
func runClient(t *testing.T, answers map[string][]fakeAnswer, stdin string, args ...string) (outcome, *fakeAPI) {
	t.Helper()
	api := &fakeAPI{answers: answers}
	server := httptest.NewServer(api)
	defer server.Close()
	var stdout, stderr bytes.Buffer
	a := &command.App{
		Env: map[string]string{"SEQUENCER_URL": server.URL + "/", "SEQUENCER_KEY": "the-key"}, Stdin: strings.NewReader(stdin),
		Stdout: &stdout, Stderr: &stderr, Poll: time.Millisecond,
	}
	code := execute(t.Context(), a, args...)
	api.mu.Lock()
	defer api.mu.Unlock()
	return outcome{code, stdout.String(), strings.ReplaceAll(stderr.String(), server.URL, "URL"), api.asked}, api
}

func ok(body string) []fakeAnswer { return []fakeAnswer{{200, body}} }

const txnA = `{"uid":"u1","queue":"claim-1","sequence":9007199254740993,"type":"SEND_CLAIM_VOTE","data":{"x":12345678901234567890123,"s":"\u003c"},` +
	`"state":"%s","hash":"5JuJ1eRNWdE8jSMmCDoHnAdBGhLyBnCk2gkcsk7pGJgaEGYQ1234","retries":1,"sender":null,"done":null,"error":%s,` +
	`"attempts":[{"number":1,"sender":"B62","nonce":7,"fee":"100000000","validUntil":44,"hash":null,"outcome":"expired","blockHeight":null,"stateHash":null,"confirmations":null,"touched":[{"publicKey":"B62q","tokenId":"wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"},{"publicKey":"B62q","tokenId":"xPi5"}],"error":null,"startedAt":"2026-11-20T10:00:00Z","endedAt":null}],` +
	`"receivedAt":"2026-11-20T09:59:00Z","submittedAt":null,"retriedAt":null,"doneAt":null,"finalAt":null,"reopened":false,"cancelRequested":false}`

func txn(state string) string {
	fault := "null"
	if state == "FAILED" {
		fault = `{"code":"502","message":"gone","exception":null}`
	}
	return fmt.Sprintf(txnA, state, fault)
}

func TestClientCommands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte(`{"from":"file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	batch := `{"queue":"q","type":"T","data":{"n":1e400},"uid":"a"}` + "\n\n" + `{"queue":"q","uid":"b"}` + "\n" + `{"uuid":"b"}` + "\n" + `{"uid":"c"}` + "\n"
	const batchAsked = `POST /transactions/batch {"queue":"q","type":"T","uid":"a","data":{"n":1e400}}` + "\n" +
		`{"queue":"q","type":"","uid":"b","data":null}` + "\n" + `{"queue":"","type":"","uid":"c","data":null}` + "\n"
	queue := `{"name":"claim-1","state":"BLOCKED","sender":"` + keyA + `","running":"u1","inFlight":["u1","u2"],"width":6,"retries":0,"counts":{"DONE":2,"DISPATCHING":1,"WAITING":5},"paused":true,"reason":"asked to","nextAt":null}`
	sender := `{"accountId":"` + keyA + `","workerUrl":"http://w:1","state":"FREE","queue":null,"retries":0,"nonce":7,"balance":"99800000001","available":false,"reason":"LOW_BALANCE","until":null}`
	slot := `{"accountId":"saw/1","workerUrl":"http://10.0.0.8:8008","state":"BLOCKED","queue":"orders","retries":0,"nonce":null,"balance":null,"available":true,"reason":null,"until":null}`
	show := `uid        u1
state      DONE
queue      claim-1
sequence   9007199254740993
type       SEND_CLAIM_VOTE
hash       5JuJ1eRNWdE8jSMmCDoHnAdBGhLyBnCk2gkcsk7pGJgaEGYQ1234
retries    1
received   2026-11-20T09:59:00Z
data       {"x":12345678901234567890123,"s":"\u003c"}

ATTEMPT  OUTCOME  NONCE  FEE  VALID UNTIL  BLOCK  CONF  HASH  STARTED               ERROR
1        expired  7      0.1  44                              2026-11-20T10:00:00Z

touches    B62q
touches    B62q:xPi5
`
	feesShown := `pool          31 commands at 2026-03-01T12:00:00Z; a block takes 12 zkApp commands
others pay    MINA for each unit of weight: 0.031 at the end of block 1, 0.012 at the end of block 2

TYPE  WEIGHT  FEE          PER WEIGHT   WHY
MINT  9       0.279000009  0.031000001  POOL
NEW           0.1

DAY         MINA         SENDER                                                   QUEUE
2026-03-01  0.279000009  ` + keyA + `
2026-03-01  0.000000001                                                           plan-p1
`
	noFees := `pool          nobody has looked at it: SEQUENCER_FEE is a number, or there was no work

TYPE  WEIGHT  FEE  PER WEIGHT  WHY

nothing was spent in the last seven days
`
	for _, tc := range []struct {
		name, args, stdin string
		answers           map[string][]fakeAnswer
		want              outcome
	}{
		{
			"fees", "fees", "", map[string][]fakeAnswer{"GET /fees": ok(`{"pool":{"at":"2026-03-01T12:00:00.000Z","size":31,"capacity":12,"ranks":[{"blocks":1,"feePerWeight":"31000000"},{"blocks":2,"feePerWeight":"12000000"}]},` +
				`"types":[{"type":"MINT","weight":9,"fee":"279000009","why":"POOL","feePerWeight":"31000001"},{"type":"NEW","weight":null,"fee":"100000000","why":null,"feePerWeight":null}],` +
				`"spent":[{"day":"2026-03-01","sender":"` + keyA + `","queue":null,"fee":"279000009"},{"day":"2026-03-01","sender":null,"queue":"plan-p1","fee":"1"}]}`)},
			outcome{0, feesShown, "", []string{"GET /fees"}},
		},
		{
			"no fees", "fees", "", map[string][]fakeAnswer{"GET /fees": ok(`{"pool":null,"types":[],"spent":[]}`)}, outcome{0, noFees, "", []string{"GET /fees"}},
		},
		{
			"post", `post --queue q<1 --type T --uid u1 --data {"a":"<\u00e9>","n":1e400}`, "",
			map[string][]fakeAnswer{"POST /transactions": {{202, txn("WAITING")}}},
			outcome{Stdout: "u1  claim-1  WAITING\n", Asked: []string{`POST /transactions {"queue":"q\u003c1","type":"T","uid":"u1","data":{"a":"<\u00e9>","n":1e400}}`}},
		},
		{
			"post json from file", "post --queue q --type T --uid u1 --json --data @" + file, "",
			map[string][]fakeAnswer{"POST /transactions": {{200, `{"uid": "u1" , "n":1e400}`}}},
			outcome{Stdout: `{"uid": "u1" , "n":1e400}` + "\n", Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"u1","data":{"from":"file"}}`}},
		},
		{
			"post and wait", "post --queue q --type T --uid u1 --wait 1h --data -", `[1]`,
			map[string][]fakeAnswer{"POST /transactions": {{202, txn("WAITING")}}, "GET /transactions/u1": {{200, txn("REVISION")}, {503, "restarting"}, {200, txn("DONE")}}},
			outcome{Stdout: show, Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"u1","data":[1]}`, "GET /transactions/u1?wait=0s", "GET /transactions/u1?wait=30s", "GET /transactions/u1?wait=30s"}},
		},
		{
			"post and wait for what is there", "post --queue q --type T --uid mine --wait 1h --data -", `[1]`,
			map[string][]fakeAnswer{"POST /transactions": {{200, txn("WAITING")}}, "GET /transactions/u1": {{200, txn("DONE")}}},
			outcome{Stdout: show, Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"mine","data":[1]}`, "GET /transactions/u1?wait=0s"}},
		},
		{
			"post refused", "post --queue q --type T --uid u1 --data {}", "",
			map[string][]fakeAnswer{"POST /transactions": {{422, `{"type":"about:blank","title":"Invalid data","detail":"the data is not what T wants","status":422,"code":"INVALID_DATA","errors":[{"field":"data.vote","message":"must be 1, -1 or 0"},{"field":"data.index","message":"is\u001b[2J missing"}]}`}}},
			outcome{Code: 5, Stderr: "sequencer: the data is not what T wants (INVALID_DATA HTTP 422)\n  data.vote: must be 1, -1 or 0\n  data.index: is?[2J missing\n  → docs/codes.md#http-problems says what INVALID_DATA means\n", Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"u1","data":{}}`}},
		},
		{
			"post conflict as json", "post --queue q --type T --uid u1 --data {} --json", "",
			map[string][]fakeAnswer{"POST /transactions": {{409, `{"code":"KEY_REUSED","title":"x"}`}}},
			outcome{Code: 4, Stderr: `{"code":"KEY_REUSED","title":"x"}` + "\n", Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"u1","data":{}}`}},
		},
		{
			"post with unknown outcome", "post --queue q --type T --data {} --uid u1 --json", "",
			map[string][]fakeAnswer{"POST /transactions": {{503, `{"code":"STORE_UNAVAILABLE"}`}}},
			outcome{Code: 6, Stderr: "u1 may have been accepted: the same command with --uid u1 is safe\n{\"code\":\"STORE_UNAVAILABLE\"}\n", Asked: []string{`POST /transactions {"queue":"q","type":"T","uid":"u1","data":{}}`}},
		},
		{"post without data", "post --queue q --type T", "", nil, outcome{Code: 2, Stderr: "sequencer: --queue, --type and --data are needed, or --batch\nSee 'sequencer post --help'.\n"}},
		{"post bad data", "post --queue q --type T --data nope", "", nil, outcome{Code: 2, Stderr: "sequencer: --data is not JSON (a file is named @file)\nSee 'sequencer post --help'.\n"}},
		{
			"batch", "post --batch -", batch,
			map[string][]fakeAnswer{"POST /transactions/batch": ok(`{"index":0,"status":202,"transaction":{}}` + "\n" + `{"index":1,"status":422,"problem":{"code":"BAD_REQUEST","title":"type is missing"}}` + "\n" + `{"index":2,"status":200,"transaction":{}}`)},
			outcome{
				Code: 5, Stdout: "1 accepted  1 already there  2 refused\n",
				Stderr: "line 4: It must be {\"queue\",\"type\",\"data\",\"uid\"}: json: unknown field \"uuid\" (BAD_REQUEST HTTP 400)\nline 3: type is missing (BAD_REQUEST HTTP 422)\nsequencer: 2 of 4 were refused\n",
				Asked:  []string{batchAsked},
			},
		},
		{
			"batch cut short", "post --batch -", batch,
			map[string][]fakeAnswer{"POST /transactions/batch": ok(`{"index":0,"status":202,"transaction":{}}` + "\n")},
			outcome{
				Code: 6, Stdout: "1 accepted  0 already there  1 refused\n",
				Stderr: "line 4: It must be {\"queue\",\"type\",\"data\",\"uid\"}: json: unknown field \"uuid\" (BAD_REQUEST HTTP 400)\n" +
					"sequencer: posting the batch: lines 3 to 5: no answer from URL: the answer ended early: cut short; the same command again repeats nothing\n  → is the service running there? see --url and SEQUENCER_URL\n",
				Asked: []string{batchAsked},
			},
		},
		{
			"batch as json", "post --batch - --json", `{"queue":"q","type":"T","data":{"n":1e400},"uid":"b"}` + "\n[1]\n",
			map[string][]fakeAnswer{"POST /transactions/batch": ok(`{"index":0,"status":200,"transaction":{"uid":"b","data":{"n":1e400}}}`)},
			outcome{
				Code: 5, Stderr: "sequencer: 1 of 2 were refused\n",
				Stdout: `{"line":2,"problem":{"code":"BAD_REQUEST","detail":"It must be {\"queue\",\"type\",\"data\",\"uid\"}: it is no JSON object","status":400,"title":"The line is no transaction"},"uid":""}` + "\n" +
					`{"existed":true,"line":1,"transaction":{"uid":"b","data":{"n":1e400}},"uid":"b"}` + "\n",
				Asked: []string{`POST /transactions/batch {"queue":"q","type":"T","uid":"b","data":{"n":1e400}}` + "\n"},
			},
		},
		{
			"txn list", "txn list --queue claim-1 --state DONE --limit 2 --all", "",
			map[string][]fakeAnswer{"GET /transactions": {{200, `{"items":[` + txn("DONE") + `],"nextCursor":"c1"}`}, {200, `{"items":[],"nextCursor":null}`}}},
			outcome{
				Stdout: "SEQ               UID  QUEUE    TYPE             STATE  RETRIES  SENDER  HASH          RECEIVED              ERROR\n9007199254740993  u1   claim-1  SEND_CLAIM_VOTE  DONE   1                5JuJ1eRN…234  2026-11-20T09:59:00Z\n",
				Asked:  []string{"GET /transactions?limit=2&queue=claim-1&state=DONE", "GET /transactions?cursor=c1&limit=2&queue=claim-1&state=DONE"},
			},
		},
		{
			"txn list of an account", "txn list --zkapp B62q:xPi5 --hash 5J --json", "", map[string][]fakeAnswer{"GET /transactions": ok(`{"items": [], "nextCursor":null}`)},
			outcome{Stdout: `{"items": [], "nextCursor":null}` + "\n", Asked: []string{"GET /transactions?hash=5J&zkApp=B62q%3AxPi5"}},
		},
		{"txn list json", "txn list --json", "", map[string][]fakeAnswer{"GET /transactions": ok(`{"items": [{"data":1e400}], "nextCursor":"x"}`)}, outcome{Stdout: `{"items": [{"data":1e400}], "nextCursor":"x"}` + "\n", Asked: []string{"GET /transactions"}}},
		{"txn show", "txn show u1", "", map[string][]fakeAnswer{"GET /transactions/u1": ok(txn("DONE"))}, outcome{Stdout: show, Asked: []string{"GET /transactions/u1"}}},
		{
			"txn explain", "txn show u1 --explain", "",
			map[string][]fakeAnswer{"GET /transactions/u1/explain": ok(`{"state":"RETRY","since":"2026-11-20T10:00:00.000Z","summary":"It waits.","waitingFor":{"code":"DELAY","until":"2026-11-20T10:01:00.000Z","detail":"backoff"},"attempts":[],"next":{"action":"dispatch","at":"2026-11-20T10:01:00.000Z"}}`)},
			outcome{Stdout: "RETRY  since 2026-11-20T10:00:00Z\nIt waits.\nwaits for  DELAY  until 2026-11-20T10:01:00Z  backoff\nnext       dispatch  at 2026-11-20T10:01:00Z\n", Asked: []string{"GET /transactions/u1/explain"}},
		},
		{
			"txn explain UID", "txn explain u1", "",
			map[string][]fakeAnswer{"GET /transactions/u1/explain": ok(`{"state":"REVISION","since":"2026-11-20T10:00:00.000Z","summary":"In a pool.","waitingFor":{"code":"BLOCK","until":null,"detail":null},"attempts":[{"number":1,"outcome":"expired","open":false,"hash":null,"detail":"expired unspent"},{"number":2,"outcome":"sent","open":true,"hash":"5JuJ1eRNWdE8jSMmCDoHnAd","detail":"in a pool"}],"next":{"action":"RAISE_FEE","at":null}}`)},
			outcome{Stdout: "REVISION  since 2026-11-20T10:00:00Z\nIn a pool.\nwaits for  BLOCK\nnext       RAISE_FEE\nattempt    1  expired  expired unspent\nattempt    2  sent  may still land  5JuJ1eRN…nAd  in a pool\n", Asked: []string{"GET /transactions/u1/explain"}},
		},
		{
			"txn show of a batch that was refused", "txn show u1", "", map[string][]fakeAnswer{"GET /transactions/u1": ok(
				`{"uid":"u1","queue":"q","sequence":1,"state":"UNRESOLVED","submitted":true,"submissionError":"30","submissionErrorMessage":"not permitted"}`)},
			outcome{Stdout: "uid        u1\nstate      UNRESOLVED\nqueue      q\nsequence   1\nretries    0\nto Grid    submitted, 30: not permitted\n", Asked: []string{"GET /transactions/u1"}},
		},
		{"grid of no database", "grid --ledger saw", "", nil, outcome{Code: 2, Stderr: "sequencer: --db wants an SQLite file, or postgres://…\nSee 'sequencer grid --help'.\n"}},
		{"grid of no ledger", "grid --db x", "", nil, outcome{Code: 2, Stderr: "sequencer: --ledger or --services has to name a ledger of the service's SEQUENCER_LEDGERS\nSee 'sequencer grid --help'.\n"}},
		{"grid of a service alone", "grid --db x --services a", "", nil, outcome{Code: 2, Stderr: "sequencer: --services wants service-id=ledger,…, such as vzrQS-rvwf4::a001=orders\nSee 'sequencer grid --help'.\n"}},
		{"grid without time", "grid --db x --ledger saw --claim 1ms", "", nil, outcome{Code: 2, Stderr: "sequencer: --every wants more than 0, --claim at least 1s, --claim-limit at least 1\nSee 'sequencer grid --help'.\n"}},
		{"txn absent", "txn show a/b", "", nil, outcome{Code: 3, Stderr: "sequencer: there is nothing here (NOT_FOUND HTTP 404)\n  → docs/codes.md#http-problems says what NOT_FOUND means\n", Asked: []string{"GET /transactions/a%2Fb"}}},
		{"txn dots", "txn delete ..", "", nil, outcome{Code: 2, Stderr: "sequencer: \"..\" cannot be a name\nSee 'sequencer txn delete --help'.\n"}},
		{
			"txn wait failed", "txn wait u1 --for 1s --json", "",
			map[string][]fakeAnswer{"GET /transactions/u1": ok(txn("FAILED"))},
			outcome{Code: 1, Stdout: txn("FAILED") + "\n", Stderr: "sequencer: u1 ended FAILED: 502: gone\n  → docs/codes.md#errors-of-transactions says what its code means; 'sequencer txn explain' what comes next\n", Asked: []string{"GET /transactions/u1?wait=" + "W"}},
		},
		{
			"txn wait over", "txn wait u1 --for 0s --json", "",
			map[string][]fakeAnswer{"GET /transactions/u1": ok(txn("REVISION"))},
			outcome{Code: 7, Stdout: txn("REVISION") + "\n", Stderr: "sequencer: u1 is still REVISION\n", Asked: []string{"GET /transactions/u1?wait=0s"}},
		},
		{"txn retry", "txn retry u1", "", map[string][]fakeAnswer{"POST /transactions/u1/retry": ok("{}")}, outcome{Stdout: "u1 will be tried again\n", Asked: []string{"POST /transactions/u1/retry"}}},
		{"txn retry, queue paused", "txn retry u1", "", map[string][]fakeAnswer{"POST /transactions/u1/retry": ok(`{"queue":"q"}`), "GET /queues/q": ok(`{"paused":true,"reason":"3 in a row"}`)},
			outcome{Stdout: "u1 will be tried again. Not yet: its queue is paused (3 in a row). To do: sequencer queue resume q\n", Asked: []string{"POST /transactions/u1/retry", "GET /queues/q"}}},
		{"txn retry, queue runs", "txn retry u1", "", map[string][]fakeAnswer{"POST /transactions/u1/retry": ok(`{"queue":"q"}`), "GET /queues/q": ok(`{"paused":false}`)},
			outcome{Stdout: "u1 will be tried again\n", Asked: []string{"POST /transactions/u1/retry", "GET /queues/q"}}},
		{
			"txn cancel", "txn cancel u1", "",
			map[string][]fakeAnswer{"POST /transactions/u1/cancel": {{409, `{"code":"NOT_CANCELLABLE","title":"It is DONE"}`}}},
			outcome{Code: 4, Stderr: "sequencer: It is DONE (NOT_CANCELLABLE HTTP 409)\n  → see 'sequencer txn show' for its state\n  → docs/codes.md#http-problems says what NOT_CANCELLABLE means\n", Asked: []string{"POST /transactions/u1/cancel"}},
		},
		{
			"txn cancel, nothing open", "txn cancel u1", "", map[string][]fakeAnswer{"POST /transactions/u1/cancel": ok(txn("FAILED"))},
			outcome{Stdout: "u1 is cancelled\n", Asked: []string{"POST /transactions/u1/cancel"}},
		},
		{
			"txn cancel, an attempt open", "txn cancel u1", "", map[string][]fakeAnswer{"POST /transactions/u1/cancel": {{202, txn("REVISION")}}},
			outcome{Stdout: "u1 will not be tried again; what was sent already may still land\n", Asked: []string{"POST /transactions/u1/cancel"}},
		},
		{
			"http to a TLS service", "txn cancel u1", "",
			map[string][]fakeAnswer{"POST /transactions/u1/cancel": {{400, "Client sent an HTTP request to an HTTPS server.\n"}}},
			outcome{
				Code: 5, Stderr: "sequencer: Bad Request (HTTP 400)\n  → the service speaks TLS: does --url or SEQUENCER_URL begin with https://?\n",
				Asked: []string{"POST /transactions/u1/cancel"},
			},
		},
		{"txn delete", "txn delete u1", "", map[string][]fakeAnswer{"DELETE /transactions/u1": {{204, ""}}}, outcome{Stdout: "u1 is deleted\n", Asked: []string{"DELETE /transactions/u1"}}},
		{
			"txn resolve", "txn resolve u1 --outcome landed --hash 5Jx", "", map[string][]fakeAnswer{"POST /transactions/u1/resolve": ok("{}")},
			outcome{Stdout: "u1 is recorded as landed\n", Asked: []string{`POST /transactions/u1/resolve {"hash":"5Jx","outcome":"landed"}`}},
		},
		{"txn resolve wrong", "txn resolve u1", "", nil, outcome{Code: 2, Stderr: "sequencer: --outcome is landed or dead\nSee 'sequencer txn resolve --help'.\n"}},
		{
			"queue list", "queue list", "", map[string][]fakeAnswer{"GET /queues": ok(`{"items":[` + queue + `],"nextCursor":"n"}`)},
			outcome{Stdout: "QUEUE    STATE             TRANSACTIONS                      RUNNING  SENDER        RETRIES  NEXT AT\nclaim-1  BLOCKED (paused)  5 waiting, 1 dispatching, 2 done  u1 +1    B62qiy32…Xgg  0\nmore: --cursor n (or --all)\n", Asked: []string{"GET /queues"}},
		},
		{"queue list chosen", "queue list --state FREE --active --oldest --prefix c", "", map[string][]fakeAnswer{"GET /queues": ok(`{"items":[],"nextCursor":null}`)}, outcome{Stdout: "none\n", Asked: []string{"GET /queues?active=true&order=oldest&prefix=c&state=FREE"}}},
		{"queue list paused", "queue list --paused", "", map[string][]fakeAnswer{"GET /queues": ok(`{"items":[],"nextCursor":null}`)}, outcome{Stdout: "none\n", Asked: []string{"GET /queues?paused=true"}}},
		{"sender list in a state", "sender list --state DELAY", "", map[string][]fakeAnswer{"GET /senders": ok(`{"items":[],"nextCursor":null}`)}, outcome{Stdout: "none\n", Asked: []string{"GET /senders?state=DELAY"}}},
		{"queue none", "queue list", "", map[string][]fakeAnswer{"GET /queues": ok(`{"items":[],"nextCursor":null}`)}, outcome{Stdout: "none\n", Asked: []string{"GET /queues"}}},
		{
			"queue show", "queue show claim-1", "", map[string][]fakeAnswer{"GET /queues/claim-1": ok(queue)},
			outcome{Stdout: "queue         claim-1\nstate         BLOCKED (paused)\ntransactions  5 waiting, 1 dispatching, 2 done\nrunning       u1 u2\nwidth         6\nsender        " + keyA + "\nretries       0\nreason        asked to\n", Asked: []string{"GET /queues/claim-1"}},
		},
		{"queue pause", "queue pause claim-1", "", map[string][]fakeAnswer{"POST /queues/claim-1/pause": ok("{}")}, outcome{Stdout: "claim-1 is paused\n", Asked: []string{"POST /queues/claim-1/pause"}}},
		{
			"queue width", "queue width claim-1 6", "", map[string][]fakeAnswer{"POST /queues/claim-1/width": ok(`{"width":6}`)},
			outcome{Stdout: "up to 6 of claim-1 may be pending at once\n", Asked: []string{`POST /queues/claim-1/width {"width":6}`}},
		},
		{
			"queue width default", "queue width claim-1 default", "", map[string][]fakeAnswer{"POST /queues/claim-1/width": ok(`{"width":1}`)},
			outcome{Stdout: "up to 1 of claim-1 may be pending at once\n", Asked: []string{`POST /queues/claim-1/width {"width":null}`}},
		},
		{"queue width wrong", "queue width claim-1 six", "", nil, outcome{Code: 2, Stderr: "sequencer: the width of a queue is a number from 1 to 24, or default\nSee 'sequencer queue width --help'.\n"}},
		{"queue resume json", "queue resume claim-1 --json", "", map[string][]fakeAnswer{"POST /queues/claim-1/resume": ok("{ }")}, outcome{Stdout: "{ }\n", Asked: []string{"POST /queues/claim-1/resume"}}},
		{
			"sender list", "sender list", "", map[string][]fakeAnswer{"GET /senders": ok(`{"items":[` + sender + `],"nextCursor":null}`)},
			outcome{Stdout: "ACCOUNT                                                  STATE  QUEUE  NONCE  BALANCE       REASON       UNTIL  WORKER\n" + keyA + "  FREE          7      99.800000001  LOW_BALANCE         http://w:1\n", Asked: []string{"GET /senders"}},
		},
		{
			"sender list rests", "sender list", "", map[string][]fakeAnswer{"GET /senders": ok(`{"items":[{"accountId":"A","workerUrl":"http://w:1","state":"FREE","reason":"RESTED",` +
				`"detail":"worker not reached","since":"2026-11-20T09:59:00Z","until":"2026-11-20T10:00:00Z","remedy":"see to its worker","command":"sequencer sender resume A"}],"nextCursor":null}`)},
			outcome{Stdout: "ACCOUNT  STATE  QUEUE  NONCE  BALANCE  REASON  UNTIL                 WORKER\nA        FREE                          RESTED  2026-11-20T10:00:00Z  http://w:1\n" +
				"! A is out of use since 2026-11-20T09:59:00Z: worker not reached\n  → see to its worker: sequencer sender resume A\n", Asked: []string{"GET /senders"}},
		},
		{
			"sender show", "sender show " + keyA, "", map[string][]fakeAnswer{"GET /senders/" + keyA: ok(sender)},
			outcome{Stdout: "account       " + keyA + "\nworker        http://w:1\nstate         FREE\nretries       0\nnonce         7\nbalance       99.800000001 MINA\navailable     false\nreason        LOW_BALANCE\n", Asked: []string{"GET /senders/" + keyA}},
		},
		{
			"sender add", "sender add " + keyA + " http://w:1", "", map[string][]fakeAnswer{"POST /senders": {{201, "{}"}}},
			outcome{Stdout: keyA + " is registered\n", Asked: []string{`POST /senders {"accountId":"` + keyA + `","workerUrl":"http://w:1"}`}},
		},
		{"linked", "txn show a", "", map[string][]fakeAnswer{"GET /transactions/a": {{404, `{"code":"NOT_FOUND","title":"No","type":"/docs/codes#problem.NOT_FOUND"}`}}},
			outcome{Code: 3, Stderr: "sequencer: No (NOT_FOUND HTTP 404)\n  → URL/docs/codes#problem.NOT_FOUND says what NOT_FOUND means\n", Asked: []string{"GET /transactions/a"}}},
		{"sender remove", "sender remove A", "", map[string][]fakeAnswer{"DELETE /senders/A": {{409, `{"code":"SENDER_BOUND"}`}}}, outcome{Code: 4, Stderr: "sequencer: refused (SENDER_BOUND HTTP 409)\n  → docs/codes.md#http-problems says what SENDER_BOUND means\n", Asked: []string{"DELETE /senders/A"}}},
		{"sender drain", "sender drain A", "", map[string][]fakeAnswer{"POST /senders/A/drain": ok("{}")}, outcome{Stdout: "A gets no new work\n", Asked: []string{"POST /senders/A/drain"}}},
		{"sender drain a slot", "sender drain saw/1", "", map[string][]fakeAnswer{"POST /senders/saw%2F1/drain": ok("{}")}, outcome{Stdout: "saw/1 gets no new work\n", Asked: []string{"POST /senders/saw%2F1/drain"}}},
		{"sender resume in vain", "sender resume S", "", map[string][]fakeAnswer{"POST /senders/S/resume": ok(`{"reason":"OUTCOME_UNKNOWN"}`)}, outcome{Stdout: "S stays out of use: OUTCOME_UNKNOWN\n", Asked: []string{"POST /senders/S/resume"}}},
		{"sender resume a slot", "sender resume saw/1", "", map[string][]fakeAnswer{"POST /senders/saw%2F1/resume": ok("{}")}, outcome{Stdout: "saw/1 is back in use\n", Asked: []string{"POST /senders/saw%2F1/resume"}}},
		{"sender remove a slot", "sender remove saw/1", "", map[string][]fakeAnswer{"DELETE /senders/saw%2F1": {{204, ""}}}, outcome{Stdout: "saw/1 is removed\n", Asked: []string{"DELETE /senders/saw%2F1"}}},
		{
			"sender show a slot", "sender show saw/1", "", map[string][]fakeAnswer{"GET /senders/saw%2F1": ok(slot)},
			outcome{Stdout: "account       saw/1\nworker        http://10.0.0.8:8008\nstate         BLOCKED\nqueue         orders\nretries       0\navailable     true\n", Asked: []string{"GET /senders/saw%2F1"}},
		},
		{
			"sender list of slots", "sender list", "", map[string][]fakeAnswer{"GET /senders": ok(`{"items":[` + slot + `],"nextCursor":null}`)},
			outcome{Stdout: "ACCOUNT  STATE    QUEUE   NONCE  BALANCE  REASON  UNTIL  WORKER\nsaw/1    BLOCKED  orders                                 http://10.0.0.8:8008\n", Asked: []string{"GET /senders"}},
		},
		{"sender resume forbidden", "sender resume A", "", map[string][]fakeAnswer{"POST /senders/A/resume": {{403, `{"code":"FORBIDDEN","title":"No"}`}}}, outcome{Code: 5, Stderr: "sequencer: No (FORBIDDEN HTTP 403)\n  → this key's scope does not allow it\n  → docs/codes.md#http-problems says what FORBIDDEN means\n", Asked: []string{"POST /senders/A/resume"}}},
		{"store down", "queue list", "", map[string][]fakeAnswer{"GET /queues": {{503, `{"code":"STORE_UNAVAILABLE","title":"Redis is away"}`}}}, outcome{Code: 6, Stderr: "sequencer: Redis is away (STORE_UNAVAILABLE HTTP 503)\n  → docs/codes.md#http-problems says what STORE_UNAVAILABLE means\n", Asked: []string{"GET /queues"}}},
		{"proxy in between", "queue list --json", "", map[string][]fakeAnswer{"GET /queues": {{502, "<html>"}}}, outcome{Code: 6, Stderr: "sequencer: Bad Gateway (HTTP 502)\n", Asked: []string{"GET /queues"}}},
		{"redirect", "queue list", "", map[string][]fakeAnswer{"GET /queues": {{302, ""}}}, outcome{Code: 1, Stderr: "sequencer: Found (HTTP 302)\n", Asked: []string{"GET /queues"}}},
		{"not a sequencer", "queue list", "", map[string][]fakeAnswer{"GET /queues": ok("hello")}, outcome{Code: 1, Stderr: "sequencer: the answer is not what a sequencer says: invalid character 'h' looking for beginning of value\n", Asked: []string{"GET /queues"}}},
		{"unknown command", "frobnicate", "", nil, outcome{Code: 2, Stderr: "sequencer: unknown command \"frobnicate\" for \"sequencer\"\nSee 'sequencer --help'.\n"}},
		{"unknown subcommand", "txn frobnicate", "", nil, outcome{Code: 2, Stderr: "sequencer: unknown command \"frobnicate\" for \"sequencer txn\"\nSee 'sequencer txn --help'.\n"}},
		{"unknown flag", "txn list --frob", "", nil, outcome{Code: 2, Stderr: "sequencer: unknown flag: --frob\nSee 'sequencer txn list --help'.\n"}},
		{"missing argument", "txn show", "", nil, outcome{Code: 2, Stderr: "sequencer: accepts 1 arg(s), received 0\nSee 'sequencer txn show --help'.\n"}},
		{"bad url", "queue list --url localhost:8080", "", nil, outcome{Code: 2, Stderr: "sequencer: --url holds what is no http:// or https:// address\nSee 'sequencer queue list --help'.\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, api := runClient(t, tc.answers, tc.stdin, strings.Fields(tc.args)...)
			for i, asked := range got.Asked {
				// How much is left of a wait depends on the clock.
				if head, wait, ok := strings.Cut(asked, "?wait="); ok && strings.HasSuffix(tc.name, "failed") && wait != "" {
					got.Asked[i] = head + "?wait=W"
				}
				got.Asked[i] = strings.Replace(got.Asked[i], "wait=29.999s", "wait=30s", 1)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			for _, h := range api.headers {
				if h.Get("Authorization") != "Bearer the-key" {
					t.Errorf("Authorization is %q", h.Get("Authorization"))
				}
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"SEQUENCER_URL": url}
	args := []string{"post", "--queue", "q", "--type", "T", "--data", "{}", "--uid", "u9"}
	if code := run(t.Context(), args, env, nil, &stdout, &stderr); code != command.ExitUnavailable || !strings.Contains(stderr.String(), "--uid u9 is safe") {
		t.Errorf("code %d, %s", code, stderr.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := run(ctx, args, env, nil, &stdout, &stderr); code != command.ExitInterrupted {
		t.Errorf("code %d after an interrupt", code)
	}
}

func TestNoAnswerInTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"queue", "list", "--timeout", "5ms", "--url", server.URL}, nil, nil, &stdout, &stderr)
	if code != command.ExitUnavailable || !strings.Contains(stderr.String(), "no answer in time") {
		t.Errorf("code %d, %s", code, stderr.String())
	}
}

const (
	keyA = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	keyB = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
)
