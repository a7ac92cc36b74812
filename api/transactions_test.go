package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// odd holds every kind of token that a careless encoder rewrites.
const odd = `{"n":[1E400,123456789012345678901234567890,-0,0.10,1e+2],"s":"\u0041<>&` + "\u2028" + `\u2028\/ é😀\ud83d\ude00","":{},"a":1,"a":2}`

func TestPost(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := s.ask("POST", "/transactions", ` { "uid" : "u:1" , "data":`+odd+`,"type":"ANY","queue":"q"}`+"\n", "Content-Type", "application/json; charset=utf-8").want(202)
	if got := r.Header().Get("Location"); got != "/api/v1/transactions/u:1" {
		t.Errorf("Location %q", got)
	}
	got := r.read()
	if got["receivedAt"] == nil {
		t.Error("no receivedAt")
	}
	delete(got, "receivedAt")
	delete(got, "data")
	if diff := cmp.Diff(map[string]any{
		"uid": "u:1", "queue": "q", "sequence": json.Number("1"), "type": "ANY", "state": "WAITING", "hash": nil, "posted": nil,
		"retries": json.Number("0"), "sender": nil, "done": nil, "error": nil, "attempts": []any{}, "submittedAt": nil,
		"notBefore": nil, "expiresAt": nil, "maxFee": nil, "retriedAt": nil, "doneAt": nil, "finalAt": nil, "reopened": false, "cancelRequested": false, "claim": nil, "callback": nil,
		"submitted": nil, "submissionError": nil, "submissionErrorMessage": nil,
	}, got); diff != "" {
		t.Error(diff)
	}
	again := s.ask("GET", "/transactions/u%3A1", "").want(200)
	if !strings.Contains(r.Body.String(), `"data":`+odd+`,`) || r.Body.String() != again.Body.String() {
		t.Errorf("data was rewritten:\n%s%s", r.Body, again.Body)
	}
	if list := s.ask("GET", "/transactions", "").want(200).Body.String(); !strings.Contains(list, `"data":`+odd+`,`) {
		t.Errorf("data was rewritten:\n%s", list)
	}
}

// Terms are shown, and part of what a repeated key is compared with, as the times that
// they are.
func TestPostTerms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const first = `{"queue":"q","type":"ANY","data":{},"uid":"u"`
	post := func(terms string) reply { return s.ask("POST", "/transactions", first+terms+"}") }
	got := post(`,"notBefore":"2030-01-01T01:00:00.0000001+01:00","expiresAt":"2030-01-02T00:00:00.0019Z","maxFee":"500000000"`).want(202).read()
	for name, want := range map[string]string{
		"notBefore": "2030-01-01T00:00:00.001Z", "expiresAt": "2030-01-02T00:00:00.001Z", "maxFee": "500000000",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %s: none is to be too early, or too late", name, got[name], want)
		}
	}
	post(`,"maxFee":"500000000","expiresAt":"2030-01-02T00:00:00.001Z","notBefore":"2030-01-01T00:00:00.001Z"`).want(200)
	for _, other := range []string{
		``, `,"maxFee":"500000000","expiresAt":"2030-01-02T00:00:00.001Z"`,
		`,"maxFee":"500000001","expiresAt":"2030-01-02T00:00:00.001Z","notBefore":"2030-01-01T00:00:00.001Z"`,
	} {
		post(other).wantProblem(409, "KEY_REUSED")
	}
	// What expired before it was posted is refused; what was accepted in time may be posted again.
	past := `{"queue":"q","type":"ANY","data":{},"uid":"late","expiresAt":"2000-01-01T00:00:00Z"}`
	refused := s.ask("POST", "/transactions", past).wantProblem(422, "INVALID_DATA")
	if f := fields(refused); !slices.Equal(f, []string{"expiresAt"}) {
		t.Errorf("fields %q", f)
	}
	if err := s.store.Enqueue(t.Context(), queues.Item{UID: "late", Queue: "q", Type: "ANY", Data: []byte("{}"),
		Terms: tx.Terms{ExpiresAt: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}}).Err; err != nil {
		t.Fatal(err)
	}
	s.ask("POST", "/transactions", past).want(200)
}

// Where Redis does not say whether what is over was accepted in time, it is not accepted now.
func TestPostOverUnknown(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer func() { _ = client.Close() }()
	s := setupOn(t, client, "t")
	client.AddHook(new(firstLost))
	past := `{"queue":"q","type":"ANY","data":{},"uid":"late","expiresAt":"2000-01-01T00:00:00Z"}`
	s.ask("POST", "/transactions", past).wantProblem(503, "STORE_UNAVAILABLE")
}

// A firstLost hook loses the answer to the first command.
type firstLost struct{ asked atomic.Bool }

func (*firstLost) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*firstLost) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h *firstLost) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.asked.Swap(true) {
			return next(ctx, cmd)
		}
		cmd.SetErr(io.ErrUnexpectedEOF)
		return io.ErrUnexpectedEOF
	}
}

// A post keeps the name of its key, one by one and in a batch, and none without keys; the same
// by another key is the same.
func TestPostedBy(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]Key{{{"ci", Submit, "one", nil}, {"app", Submit, "two", nil}}, nil} {
		s := setup(t, func(o *Options) { o.Keys = NewKeyring(keys) })
		post := func(path, body, key string) reply { return s.ask("POST", path, body, "Authorization", "Bearer "+key) }
		post("/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"a"}`, "one").want(202)
		post("/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"a"}`, "two").want(200)
		post("/transactions/batch", `[{"queue":"q","type":"ANY","data":{},"uid":"b","maxFee":"7000000"}]`, "two").want(200)
		for uid, want := range map[string]string{"a": "ci", "b": "app"} {
			if keys == nil {
				want = ""
			}
			if x, err := s.store.Get(t.Context(), uid); err != nil || x.PostedBy != want {
				t.Errorf("%d keys: %s was posted by %q, want %q, %v", len(keys), uid, x.PostedBy, want, err)
			}
		}
	}
}

// What is posted by another name of a type is of that type, also where a key is
// used again.
func TestPostByAnotherName(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) {
		if err := o.Types.Register(dispatcher.VotingTypes(nil, dispatcher.NewRules(o.ValidKey))...); err != nil {
			t.Fatal(err)
		}
	})
	commit := func(name string) string {
		return `{"queue":"plan-p","type":"` + name + `","data":{"planUid":"p"},"uid":"commit"}`
	}
	first := s.ask("POST", "/transactions", commit("COMMIT_ALL_BATCHES")).want(202)
	if got := first.read()["type"]; got != "COMMIT_ALL_VOTING_BATCHES" {
		t.Errorf("it is of type %v", got)
	}
	for _, name := range []string{"COMMIT_ALL_BATCHES", "COMMIT_ALL_VOTING_BATCHES"} {
		if again := s.ask("POST", "/transactions", commit(name)).want(200); again.Body.String() != first.Body.String() {
			t.Errorf("another answer: %s%s", first.Body, again.Body)
		}
	}
	if diff := cmp.Diff([]string{"data.planUid"}, fields(s.ask("POST", "/transactions", `{"queue":"q","type":"COMMIT_ALL_BATCHES","data":{}}`).wantProblem(422, "INVALID_DATA"))); diff != "" {
		t.Error(diff)
	}
}

func TestPostKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	body := func(queue, data, uid string) string {
		if uid != "" {
			uid = `,"uid":"` + uid + `"`
		}
		return `{"queue":"` + queue + `","type":"ANY","data":` + data + uid + `}`
	}
	first := s.ask("POST", "/transactions", body("q", `{"a":1,"b":[2]}`, ""), "Idempotency-Key", "k").want(202).Body.String()
	for _, same := range []reply{
		s.ask("POST", "/transactions", body("q", `{"a":1,"b":[2]}`, ""), "Idempotency-Key", "k"),
		s.ask("POST", "/transactions", body("q", ` {"b":[ 2 ],"a":1}`, "k")),
		s.ask("POST", "/transactions", body("q", `{"a":1,"b":[2]}`, "k"), "Idempotency-Key", "k"),
	} {
		if same.want(200); same.Body.String() != first {
			t.Errorf("another answer: %s%s", first, same.Body)
		}
	}
	s.ask("POST", "/transactions", body("q", `{"a":1.0,"b":[2]}`, "k")).wantProblem(409, "KEY_REUSED")
	s.ask("POST", "/transactions", body("r", `{"a":1,"b":[2]}`, "k")).wantProblem(409, "KEY_REUSED")
	for _, r := range []reply{
		s.ask("POST", "/transactions", body("q", `{}`, "k"), "Idempotency-Key", "l"),
		s.ask("POST", "/transactions", body("q", `{}`, ""), "Idempotency-Key", "l", "Idempotency-Key", "m"),
		s.ask("POST", "/transactions", body("q", `{}`, ""), "Idempotency-Key", ""),
		s.ask("POST", "/transactions", body("q", `{}`, ""), "Idempotency-Key", "a b"),
		s.ask("POST", "/transactions", body("q", `{}`, ""), "Idempotency-Key", ".."), // no path leads to it
		s.ask("POST", "/transactions", body("q", `{}`, ".")),
	} {
		if diff := cmp.Diff([]string{"uid"}, fields(r.wantProblem(422, "INVALID_DATA"))); diff != "" {
			t.Error(diff)
		}
	}
	// Without a key each post is another transaction.
	a, b := s.ask("POST", "/transactions", body("q", `{}`, "")).want(202).read(), s.ask("POST", "/transactions", body("q", `{}`, "")).want(202).read()
	if a["uid"] == b["uid"] {
		t.Errorf("both are %v", a["uid"])
	}
}

func TestPostKeyAtOnce(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const posts = 40
	replies := make([]reply, posts)
	var all sync.WaitGroup
	for i := range posts {
		all.Go(func() {
			replies[i] = s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":"q","type":"ANY","data":{"n":%d}}`, i%2), "Idempotency-Key", fmt.Sprint("k", i%4/2))
		})
	}
	all.Wait()
	seen := map[int]int{}
	for _, r := range replies {
		seen[r.Code]++
	}
	// Two keys with two payloads each: one of each key is accepted.
	if diff := cmp.Diff(map[int]int{202: 2, 200: 18, 409: 20}, seen); diff != "" {
		t.Error(diff)
	}
	if n := len(s.ask("GET", "/transactions", "").read()["items"].([]any)); n != 2 {
		t.Errorf("%d transactions", n)
	}
}

func TestPostRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	good := `"queue":"q","type":"ANY","data":{}`
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
		fields []string
	}{
		"empty":             {"", 400, "BAD_REQUEST", nil},
		"not JSON":          {"{queue}", 400, "BAD_REQUEST", nil},
		"array":             {"[]", 400, "BAD_REQUEST", nil},
		"trailing bytes":    {"{" + good + "} {}", 400, "BAD_REQUEST", nil},
		"cut off":           {"{" + good, 400, "BAD_REQUEST", nil},
		"bad UTF-8":         {`{"queue":"q","type":"ANY","data":{"a":"` + "\xff" + `"}}`, 400, "BAD_REQUEST", nil},
		"NaN":               {`{"queue":"q","type":"ANY","data":{"a":NaN}}`, 400, "BAD_REQUEST", nil},
		"deep":              {`{"queue":"q","type":"ANY","data":{"a":` + strings.Repeat("[", 1000), 400, "BAD_REQUEST", nil},
		"too large":         {`{"queue":"q","type":"ANY","data":{"a":"` + strings.Repeat("x", 2048) + `"}}`, 413, "TOO_LARGE", nil},
		"byte order mark":   {"\ufeff{" + good + "}", 400, "BAD_REQUEST", nil},
		"nothing":           {"{}", 422, "INVALID_DATA", []string{"queue", "type", "data"}},
		"nulls":             {`{"queue":null,"type":null,"data":null,"uid":null}`, 422, "INVALID_DATA", []string{"queue", "type", "data"}},
		"numbers":           {`{"queue":1,"type":2,"data":3,"uid":4}`, 422, "INVALID_DATA", []string{"queue", "uid", "type", "data"}},
		"data is text":      {`{"queue":"q","type":"ANY","data":"{}"}`, 422, "INVALID_DATA", []string{"data"}},
		"data is a list":    {`{"queue":"q","type":"ANY","data":[{}]}`, 422, "INVALID_DATA", []string{"data"}},
		"unknown field":     {"{" + good + `,"Queue":"q"}`, 422, "INVALID_DATA", []string{"Queue"}},
		"field twice":       {"{" + good + `,"queue":"r"}`, 422, "INVALID_DATA", []string{"queue"}},
		"escaped twice":     {"{" + good + `,"\u0071ueue":"r"}`, 422, "INVALID_DATA", []string{"queue"}},
		"dots":              {`{"queue":"..","type":"ANY","data":{}}`, 422, "INVALID_DATA", []string{"queue"}},
		"empty queue":       {`{"queue":"","type":"ANY","data":{}}`, 422, "INVALID_DATA", []string{"queue"}},
		"long queue":        {`{"queue":"` + strings.Repeat("q", 129) + `","type":"ANY","data":{}}`, 422, "INVALID_DATA", []string{"queue"}},
		"empty uid":         {"{" + good + `,"uid":""}`, 422, "INVALID_DATA", []string{"uid"}},
		"terms":             {"{" + good + `,"notBefore":"soon","expiresAt":5,"maxFee":"0"}`, 422, "INVALID_DATA", []string{"notBefore", "expiresAt", "maxFee"}},
		"fee as a number":   {"{" + good + `,"maxFee":5}`, 422, "INVALID_DATA", []string{"maxFee"}},
		"fee in MINA":       {"{" + good + `,"maxFee":"0.5"}`, 422, "INVALID_DATA", []string{"maxFee"}},
		"fee below any":     {"{" + good + `,"maxFee":"1"}`, 422, "INVALID_DATA", []string{"maxFee"}},
		"expires first":     {"{" + good + `,"notBefore":"2030-01-01T00:00:00Z","expiresAt":"2030-01-01T00:00:00Z"}`, 422, "INVALID_DATA", []string{"expiresAt"}},
		"a far year":        {"{" + good + `,"expiresAt":"1969-01-01T00:00:00Z"}`, 422, "INVALID_DATA", []string{"expiresAt"}},
		"the last moment":   {"{" + good + `,"notBefore":"9999-12-31T23:59:59.9995Z"}`, 422, "INVALID_DATA", []string{"notBefore"}},
		"too deep":          {`{"queue":"q","type":"ANY","data":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`, 422, "INVALID_DATA", []string{"data"}},
		"an hour of one":    {"{" + good + `,"expiresAt":"2030-01-01T0:00:00Z"}`, 422, "INVALID_DATA", []string{"expiresAt"}},
		"no time at all":    {"{" + good + `,"notBefore":"1970-01-01T00:00:00Z","expiresAt":"1970-01-01T00:00:00.0009Z"}`, 422, "INVALID_DATA", []string{"notBefore", "expiresAt"}},
		"negative there":    {"{" + good + `,"notBefore":"1970-01-01T00:00:00+01:00","expiresAt":"1970-01-01T09:00:00+10:00"}`, 422, "INVALID_DATA", []string{"notBefore", "expiresAt"}},
		"10000 elsewhere":   {"{" + good + `,"expiresAt":"9999-12-31T23:59:59-05:00"}`, 422, "INVALID_DATA", []string{"expiresAt"}},
		"bad uid":           {"{" + good + `,"uid":"a/b"}`, 422, "INVALID_DATA", []string{"uid"}},
		"unknown type":      {`{"queue":"q","type":"NONE","data":{}}`, 422, "UNKNOWN_TYPE", []string{"type"}},
		"empty type":        {`{"queue":"q","type":"","data":{}}`, 422, "UNKNOWN_TYPE", []string{"type"}},
		"payload":           {`{"queue":"q","type":"STRICT","data":{}}`, 422, "INVALID_DATA", []string{"data.a", "data.b"}},
		"payload and queue": {`{"queue":" ","type":"STRICT","data":{"a":1},"uid":""}`, 422, "INVALID_DATA", []string{"queue", "uid", "data.b"}},
		"all at once":       {`{"queue":" ","type":"NONE","data":1,"uid":"ü","x":1}`, 422, "UNKNOWN_TYPE", []string{"x", "queue", "uid", "type", "data"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.in(t).ask("POST", "/transactions", test.body)
			if diff := cmp.Diff(test.fields, fields(r.wantProblem(test.status, test.code))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, media := range []string{"text/plain", "application/x-ndjson", "application/json; charset=latin1", ";"} {
		s.ask("POST", "/transactions", "{"+good+"}", "Content-Type", media).wantProblem(415, "BAD_REQUEST")
	}
	s.ask("POST", "/transactions", "{"+good+"}", "Content-Encoding", "gzip").wantProblem(415, "BAD_REQUEST")
	r := httptest.NewRequest("POST", base+"/transactions", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 3000))})
	r.ContentLength = -1
	s.serve(r).wantProblem(413, "TOO_LARGE")
	// What says that it is too large is not read.
	r = httptest.NewRequest("POST", base+"/transactions", iotest.ErrReader(errors.New("read")))
	r.ContentLength = 3000
	s.serve(r).wantProblem(413, "TOO_LARGE")
	long := s.ask("POST", "/transactions", `{`+strings.Repeat(`"é`+strings.Repeat("x", 90)+`":1,`, 19)+good+`}`).wantProblem(422, "INVALID_DATA")
	if f := fields(long); len(f) != 19 || len(f[0]) > 70 {
		t.Errorf("fields %q", f)
	}
}

func TestStoreProblems(t *testing.T) {
	t.Parallel()
	s := setup(t)
	post := func(queue string) reply {
		return s.ask("POST", "/transactions", `{"queue":"`+queue+`","type":"ANY","data":{}}`)
	}
	s.redis.SetError("LOADING Redis is loading")
	r := post("q")
	r.wantProblem(503, "STORE_UNAVAILABLE")
	if r.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.ask("GET", "/transactions/u", "").wantProblem(503, "STORE_UNAVAILABLE")
	s.ask("GET", "/queues", "").wantProblem(503, "STORE_UNAVAILABLE")
	s.ask("GET", "/senders", "").wantProblem(503, "STORE_UNAVAILABLE")
	s.redis.SetError("OOM command not allowed")
	r = post("q")
	r.wantProblem(507, "STORE_FULL")
	if r.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.redis.SetError("ERR strange")
	post("q").wantProblem(500, "STORE_UNAVAILABLE")
	if !strings.Contains(s.log.String(), "strange") {
		t.Errorf("a fault is not in the log: %s", s.log)
	}
	s.redis.SetError("")
	s.store.MaxWaiting = 1
	post("q").want(202)
	r = post("q")
	r.wantProblem(429, "TOO_MANY_WAITING")
	if r.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	post("r").want(202)
	s.store.MaxWaitingInAll = 2
	r = post("t")
	r.wantProblem(503, "TOO_MANY_WAITING")
	if r.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.serve(httptest.NewRequestWithContext(ctx, "GET", base+"/transactions", nil)).wantProblem(503, "STORE_UNAVAILABLE")
}

func TestTransactionActions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`).want(202)
	for _, test := range []struct {
		path, body string
		err        error
		pending    bool
		status     int
		code       string
		asked      string
	}{
		{"retry", "", nil, false, 200, "", "retry u"},
		{"retry", "", fmt.Errorf("u: %w", tx.ErrNotRetryable), false, 409, "NOT_RETRYABLE", "retry u"},
		{"retry", "", tx.ErrMightStillLand, false, 409, "MIGHT_STILL_LAND", "retry u"},
		{"retry", "", fmt.Errorf("u: %w", queues.ErrNotFound), false, 404, "NOT_FOUND", "retry u"},
		{"retry", "", queues.ErrStale, false, 503, "STORE_UNAVAILABLE", "retry u"},
		{"cancel", "", queues.ErrUnsettled, false, 503, "STORE_UNAVAILABLE", "cancel u"},
		{"retry", "", errors.New("bug"), false, 500, "STORE_UNAVAILABLE", "retry u"},
		{"cancel", "", nil, false, 200, "", "cancel u"},
		{"cancel", "", nil, true, 202, "", "cancel u"},
		{"cancel", "", tx.ErrNotCancellable, false, 409, "NOT_CANCELLABLE", "cancel u"},
		{"resolve", `{"outcome":"landed","hash":"5Jx"}`, nil, false, 200, "", `resolve true "5Jx" u`},
		{"resolve", `{"outcome":"dead"}`, nil, false, 200, "", `resolve false "" u`},
		{"resolve", `{"outcome":"dead","hash":null}`, nil, false, 200, "", `resolve false "" u`},
		{"resolve", `{"outcome":"dead"}`, tx.ErrContradicted, false, 409, "CONTRADICTED", `resolve false "" u`},
		{"resolve", `{"outcome":"dead"}`, tx.ErrNotRetryable, false, 409, "NOT_RETRYABLE", `resolve false "" u`},
		{"resolve", `{"outcome":"dead"}`, fmt.Errorf("u: %w", tx.ErrFollowed), false, 409, "MIGHT_STILL_LAND", `resolve false "" u`},
		{"resolve", `{"outcome":"maybe"}`, nil, false, 422, "INVALID_DATA", ""},
		{"resolve", `{}`, nil, false, 422, "INVALID_DATA", ""},
		{"resolve", `{"outcome":1}`, nil, false, 422, "INVALID_DATA", ""},
		{"resolve", `{"outcome":"dead","hash":"/"}`, nil, false, 422, "INVALID_DATA", ""},
		{"resolve", `{"outcome":"dead","hsh":"5"}`, nil, false, 422, "INVALID_DATA", ""},
		{"resolve", ``, nil, false, 400, "BAD_REQUEST", ""},
	} {
		*s.control = control{err: test.err, pending: test.pending, store: s.store}
		r := s.ask("POST", "/transactions/u/"+test.path, test.body)
		if test.code != "" {
			r.wantProblem(test.status, test.code)
		} else if got := r.want(test.status).read()["uid"]; got != "u" {
			t.Errorf("%s answered %v", test.path, got)
		}
		if s.control.asked != test.asked {
			t.Errorf("%s %s asked %q, want %q", test.path, test.body, s.control.asked, test.asked)
		}
	}
	s.ask("POST", "/transactions/a%2Fb/retry", "").wantProblem(400, "BAD_REQUEST")
	// A uid may be what a route is called.
	*s.control = control{store: s.store}
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"batch"}`).want(202)
	for _, uid := range []string{"batch", "cancel", "retry"} {
		s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"`+uid+`"}`)
		for method, path := range map[string]string{"GET": "/transactions/" + uid, "POST": "/transactions/" + uid + "/cancel"} {
			if got := s.ask(method, path, "").want(200).read()["uid"]; got != uid {
				t.Errorf("%s %s answered %v", method, path, got)
			}
		}
	}
}

// TestRefusalsSayWhy: what one code has several causes for is told apart in words.
func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = NewKeyring([]Key{{"a", Admin, "admin", nil}}) })
	ask := func(method, path, body, key string) reply {
		return s.ask(method, path, body, "Authorization", key)
	}
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	late := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{},"uid":"u","expiresAt":"`+late+`"}`, "Bearer admin").want(202)
	*s.control = control{err: tx.ErrNotRetryable, store: s.store}
	waiting := ask("POST", "/transactions/u/retry", "", "Bearer admin").wantProblem(409, "NOT_RETRYABLE")
	s.finish(tx.PhaseFailed, func(c *queues.Change) {
		c.After.Error = &tx.Error{Code: "EXPIRED", Message: "m"}
		c.After.DoneAt = c.Now
	})
	overdue := ask("POST", "/transactions/u/retry", "", "Bearer admin").wantProblem(409, "NOT_RETRYABLE")
	settled := ask("POST", "/transactions/u/resolve", `{"outcome":"dead"}`, "Bearer admin").wantProblem(409, "NOT_RETRYABLE")
	s.control.err = fmt.Errorf("no block holds 5Jx: %w", tx.ErrContradicted)
	landed := ask("POST", "/transactions/u/resolve", `{"outcome":"landed","hash":"5Jx"}`, "Bearer admin").wantProblem(409, "CONTRADICTED")
	dead := ask("POST", "/transactions/u/resolve", `{"outcome":"dead"}`, "Bearer admin").wantProblem(409, "CONTRADICTED")
	if got := slices.Concat(fields(landed), fields(dead)); !slices.Equal(got, []string{"hash", "outcome"}) {
		t.Errorf("the fields at fault are %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", base+"/transactions", nil)
	r.Header.Set("Authorization", "Bearer admin")
	for _, one := range []struct {
		problem map[string]any
		want    string
	}{
		{waiting, "this one is WAITING"}, {overdue, "deadline"}, {settled, "no attempt of unknown outcome"},
		{landed, "no block holds 5Jx"}, {dead, "chain says otherwise"},
		{ask("GET", "/queues", "", "Bearer wrong").wantProblem(401, "UNAUTHORIZED"), "not replaced"},
		{ask("GET", "/queues", "", "Basic admin").wantProblem(401, "UNAUTHORIZED"), "Send a key"},
		{s.serve(r).wantProblem(503, "STORE_UNAVAILABLE"), "Ask again"},
	} {
		if detail := fmt.Sprint(one.problem["detail"]); !strings.Contains(detail, one.want) {
			t.Errorf("%q does not say %q", detail, one.want)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	post := `{"queue":"q","type":"ANY","data":{},"uid":"u"}`
	s.ask("POST", "/transactions", post).want(202)
	s.ask("DELETE", "/transactions/u", "").wantProblem(409, "MIGHT_STILL_LAND")
	s.finish(tx.PhaseFailed, func(c *queues.Change) {
		c.After.Error = &tx.Error{Code: "X", Message: "m"}
		c.After.DoneAt = c.Now
	})
	got := s.ask("GET", "/transactions/u?wait=1m", "").want(200).read() // final: answers at once
	if diff := cmp.Diff(map[string]any{"code": "X", "message": "m", "exception": nil}, got["error"]); diff != "" || got["state"] != "FAILED" || got["doneAt"] == nil {
		t.Errorf("%v %s", got, diff)
	}
	if body := s.ask("DELETE", "/transactions/u", "").want(204).Body.String(); body != "" {
		t.Errorf("body %q", body)
	}
	s.ask("DELETE", "/transactions/u", "").wantProblem(404, "NOT_FOUND")
	s.ask("GET", "/transactions/u", "").wantProblem(404, "NOT_FOUND")
	p := s.ask("POST", "/transactions", post).wantProblem(409, "KEY_REUSED")
	if !strings.Contains(p["detail"].(string), "removed") {
		t.Errorf("detail %v", p["detail"])
	}
	s.ask("GET", "/transactions/a%20b", "").wantProblem(400, "BAD_REQUEST")
}

func TestList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if err := s.senders.Register(t.Context(), "B62x", "http://w"); err != nil {
		t.Fatal(err)
	}
	post := func(from, to int) {
		for i := from; i < to; i++ {
			s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":"q","type":"ANY","data":{},"uid":"u%02d"}`, i)).want(202)
		}
	}
	uids := func(page map[string]any) (uids string) {
		for _, item := range page["items"].([]any) {
			uids += item.(map[string]any)["uid"].(string) + " "
		}
		return uids
	}
	for _, filter := range []string{"", "queue=q&", "type=ANY&"} {
		if filter == "" {
			post(0, 7)
		}
		page := s.ask("GET", "/transactions?"+filter+"limit=3", "").want(200).read()
		got := uids(page)
		switch filter { // the list changes while it is read
		case "":
			post(7, 9)
		case "queue=q&":
			s.finish(tx.PhaseFailed)
		}
		for cursor := page["nextCursor"]; cursor != nil; cursor = page["nextCursor"] {
			page = s.ask("GET", "/transactions?"+filter+"limit=3&cursor="+cursor.(string), "").want(200).read()
			got += uids(page)
		}
		if want := "u00 u01 u02 u03 u04 u05 u06 u07 u08 "; got != want {
			t.Errorf("%s: %s", filter, got)
		}
	}
	for query, want := range map[string]string{
		"state=FAILED": "u00 ", "state=FAILED&queue=q": "u00 ", "sender=B62x": "u00 ", "state=DONE": "", "queue=none": "", "type=NONE": "",
		"queue=&state=FAILED": "u00 ",
	} {
		if got := uids(s.ask("GET", "/transactions?"+query, "").want(200).read()); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	next := s.ask("GET", "/transactions?limit=1", "").read()["nextCursor"].(string)
	for query, code := range map[string]string{
		"cursor=x": "BAD_CURSOR", "queue=q&cursor=" + next: "BAD_CURSOR", "cursor=" + strings.Repeat("A", 300): "BAD_CURSOR",
		"state=waiting": "BAD_REQUEST", "queue=a%20b": "BAD_REQUEST", "type=any": "BAD_REQUEST", "sender=x": "BAD_REQUEST",
		"zkApp=x": "BAD_REQUEST", "zkApp=:t": "BAD_REQUEST", "zkApp=B62a:": "BAD_REQUEST", "zkApp=B62a:t:u": "BAD_REQUEST",
		"limit=-1": "BAD_REQUEST", "stat=DONE": "BAD_REQUEST",
	} {
		s.ask("GET", "/transactions?"+query, "").wantProblem(400, code)
	}
}

func FuzzPost(f *testing.F) {
	for _, data := range []string{odd, "{}", "[", `{"a":"\`, "{\n\r\t}"} {
		f.Add(`{"queue":"q","type":"ANY","data":` + data + `}`)
	}
	f.Add(`{"queue":"q\u0031","type":"STRICT","data":{"a":1},"uid":"a"}`)
	s := setup(f, func(o *Options) { o.Log = nil })
	f.Fuzz(func(t *testing.T, body string) {
		s.redis.FlushAll()
		r := s.in(t).ask("POST", "/transactions", body)
		got := decodeNumbers(t, r.Body.Bytes())
		var sent struct{ Queue, Type string }
		switch r.Code {
		case 202:
			if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Queue != got["queue"] || sent.Type != got["type"] {
				t.Errorf("%q was accepted as %v", body, got)
			}
			var both [2]struct{ Data json.RawMessage }
			_ = json.Unmarshal([]byte(body), &both[0])
			_ = json.Unmarshal(r.Body.Bytes(), &both[1])
			if !cmp.Equal(appendRaw(nil, both[0].Data), []byte(both[1].Data)) {
				t.Errorf("data %q became %q", both[0].Data, both[1].Data)
			}
		case 400, 413, 422:
			if got["code"] == nil {
				t.Errorf("problem %v", got)
			}
		default:
			t.Errorf("status %d: %s", r.Code, r.Body)
		}
	})
}
