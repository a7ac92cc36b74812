package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/google/go-cmp/cmp"
)

// results decodes what a batch answers and checks that each line has its index.
func (r reply) results() []map[string]any {
	r.t.Helper()
	r.want(200)
	if got := r.Header().Get("Content-Type"); got != "application/x-ndjson" {
		r.t.Errorf("content type %q", got)
	}
	var out []map[string]any
	for line := range bytes.Lines(r.Body.Bytes()) {
		v := decodeNumbers(r.t, line)
		if v["index"] != json.Number(fmt.Sprint(len(out))) {
			r.t.Fatalf("line %d is %s", len(out), line)
		}
		out = append(out, v)
	}
	return out
}

// verdicts are the status of each item and the code of its problem.
func verdicts(results []map[string]any) (out []string) {
	for _, r := range results {
		verdict := fmt.Sprint(r["status"])
		if p, ok := r["problem"].(map[string]any); ok {
			verdict += " " + fmt.Sprint(p["code"])
		}
		if t, ok := r["transaction"].(map[string]any); ok {
			verdict += " " + fmt.Sprint(t["sequence"])
		}
		out = append(out, verdict)
	}
	return out
}

func TestBatch(t *testing.T) {
	t.Parallel()
	items := []string{
		`{"queue":"a","type":"ANY","data":` + odd + `,"uid":"u"}`,
		`{"queue":"b","type":"NONE","data":{}}`,
		`{"queue":"b","type":"ANY","data":{}}`,
		`{"queue":"a","type":"ANY","data":` + odd + `,"uid":"u"}`,
		`{"queue":"b","type":"ANY","data":{},"uid":"u"}`,
		`{"queue":"b","type":"STRICT","data":{"a":1}}`,
		`[]`,
		`{"queue":"b","type":"ANY","data":{"x":"` + strings.Repeat("x", 2048) + `"}}`,
		`{"queue":"a","type":"ANY","data":{}}`,
	}
	want := []string{
		"202 1", "422 UNKNOWN_TYPE", "202 2", "200 1", "409 KEY_REUSED", "422 INVALID_DATA", "400 BAD_REQUEST", "413 TOO_LARGE", "202 3",
	}
	for name, test := range map[string]struct{ body, media string }{
		"array":        {" [" + strings.Join(items, "\n,\n") + " ]\n", "application/json"},
		"no type":      {"[" + strings.Join(items, ",") + "]", ""},
		"lines":        {strings.Join(items, "\n"), "application/x-ndjson"},
		"lines by eye": {"\n" + strings.Join(items, "\r\n\r\n") + "\n", "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			r := s.ask("POST", "/transactions/batch", test.body, "Content-Type", test.media)
			body := r.Body.String()
			if diff := cmp.Diff(want, verdicts(r.results())); diff != "" {
				t.Error(diff)
			}
			if strings.Count(body, `"data":`+odd+`,`) != 2 {
				t.Errorf("data was rewritten: %s", body)
			}
			// One who stands alone and one in a batch get the same.
			alone := s.ask("GET", "/transactions/u", "").Body.String()
			if !strings.HasPrefix(body, `{"index":0,"status":202,"transaction":`+strings.TrimSuffix(alone, "\n")+"}\n") {
				t.Errorf("%s is not as %s", body, alone)
			}
		})
	}
}

// TestBatchDry: a batch that is only tried is answered as it is when it is posted, and stores nothing.
func TestBatchDry(t *testing.T) {
	t.Parallel()
	posts := 0
	s := setup(t, func(o *Options) { o.Meter.Posted = func(string, string, string) { posts++ } })
	body := "[" + strings.Join([]string{
		`{"queue":"a","type":"ANY","data":{"n":1},"uid":"u"}`, `{"queue":"b","type":"NONE","data":{}}`,
		`{"queue":"a","type":"ANY","data":{"n":1},"uid":"u"}`, `{"queue":"b","type":"ANY","data":{},"uid":"u"}`,
		`{"queue":"b","type":"ANY","data":{}}`, `7`,
	}, ",") + "]"
	for _, try := range []string{"true", "true", "false"} {
		got := s.ask("POST", "/transactions/batch?dryRun="+try, body).results()
		want := []string{"202 1", "422 UNKNOWN_TYPE", "200 1", "409 KEY_REUSED", "202 2", "400 BAD_REQUEST"}
		if diff := cmp.Diff(want, verdicts(got)); diff != "" {
			t.Errorf("dryRun=%s: %s", try, diff)
		}
		for _, r := range got {
			if said := r["dryRun"] == true; said != (try == "true") {
				t.Errorf("dryRun=%s: %v", try, r)
			}
		}
		if try == "true" {
			s.ask("GET", "/transactions/u", "").wantProblem(404, "NOT_FOUND")
		}
	}
	if posts != 6 {
		t.Errorf("%d posts were counted", posts)
	}
	s.ask("POST", "/transactions/batch?dryRun=yes", body).wantProblem(400, "BAD_REQUEST")
}

func TestBatchLines(t *testing.T) {
	t.Parallel()
	s := setup(t)
	good := `{"queue":"a","type":"ANY","data":{}}`
	// What is no JSON is one line's problem, an array among lines as well.
	r := s.ask("POST", "/transactions/batch", "[\n{}{}\n"+good+"\n"+good[:20]+"\n\xff\n"+good, "Content-Type", "application/x-ndjson; charset=utf-8")
	if diff := cmp.Diff([]string{"400 BAD_REQUEST", "400 BAD_REQUEST", "202 1", "400 BAD_REQUEST", "400 BAD_REQUEST", "202 2"}, verdicts(r.results())); diff != "" {
		t.Error(diff)
	}
	// A payload with line breaks is still answered on one line.
	r = s.ask("POST", "/transactions/batch", "[{\n\"queue\":\"a\",\"type\":\"ANY\",\"data\":{\r\n\"a\":\n1}}]")
	if diff := cmp.Diff([]string{"202 3"}, verdicts(r.results())); diff != "" {
		t.Error(diff)
	}
	if got := s.ask("POST", "/transactions/batch", " [ ] ").results(); got != nil {
		t.Errorf("an empty array answers %v", got)
	}
}

func TestBatchRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	good := `{"queue":"a","type":"ANY","data":{}}`
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"empty":            {" \n", 400, "BAD_REQUEST"},
		"cut off":          {"[" + good + ",", 400, "BAD_REQUEST"},
		"two arrays":       {"[" + good + "][]", 400, "BAD_REQUEST"},
		"too large":        {"[" + good + strings.Repeat(" ", 64<<10) + "]", 413, "TOO_LARGE"},
		"too many":         {"[" + strings.Repeat("1,", 1200) + "1]", 413, "TOO_LARGE"},
		"too many by line": {strings.Repeat("{}\n", 1201), 413, "TOO_LARGE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.in(t).ask("POST", "/transactions/batch", test.body).wantProblem(test.status, test.code)
		})
	}
	s.ask("POST", "/transactions/batch", good, "Idempotency-Key", "k").wantProblem(400, "BAD_REQUEST")
	s.ask("POST", "/transactions/batch", good, "Content-Type", "text/csv").wantProblem(415, "BAD_REQUEST")
	if n := len(s.ask("GET", "/transactions", "").read()["items"].([]any)); n != 0 {
		t.Errorf("%d transactions of refused batches", n)
	}
}

func TestBatchInParts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := s.ask("POST", "/transactions/batch", strings.Repeat(`{"queue":"a","type":"ANY","data":{}}`+"\n", 1200)).results()
	for i, verdict := range verdicts(got) {
		if want := fmt.Sprint("202 ", i+1); verdict != want {
			t.Fatalf("item %d: %s, want %s", i, verdict, want)
		}
	}
	if len(got) != 1200 {
		t.Errorf("%d answers", len(got))
	}
}

func TestBatchStoreFails(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("GET", "/transactions", "").want(200) // the server begins with its first connection
	var parts atomic.Int32
	s.redis.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if command != "EVALSHA" || parts.Add(1) != 2 {
			return false
		}
		c.WriteError("LOADING Redis is loading the dataset in memory")
		return true
	})
	r := s.ask("POST", "/transactions/batch", strings.Repeat(`{"queue":"a","type":"ANY","data":{}}`+"\n", 1200))
	seen := map[string]int{}
	for _, result := range r.results() {
		seen[fmt.Sprint(result["status"])]++
	}
	// The third part would have overtaken the second.
	if diff := cmp.Diff(map[string]int{"202": 100, "503": 1100}, seen); diff != "" {
		t.Error(diff)
	}
}

// Only so many bodies are held; who does not get a turn is told so.
func TestBatchesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t)
		var holding sync.WaitGroup
		release := make(chan struct{})
		for range batchesAtOnce {
			holding.Go(func() {
				body, end := io.Pipe()
				go func() {
					<-release
					_ = end.Close()
				}()
				s.serve(httptest.NewRequest("POST", base+"/transactions/batch", body)).wantProblem(400, "BAD_REQUEST")
			})
		}
		synctest.Wait()
		late := s.ask("POST", "/transactions/batch", "[]")
		late.wantProblem(429, "RATE_LIMITED")
		if late.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		close(release)
		holding.Wait()
		s.ask("POST", "/transactions/batch", "[]").want(200)
	})
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[{"queue":"a","type":"ANY","data":{}},1,"x"]`), false)
	f.Add([]byte("{\"queue\":\"a\",\"type\":\"ANY\",\"data\":{}}\n[\n\n{}"), true)
	f.Add([]byte(`[`), false)
	s := setup(f, func(o *Options) { o.Log = nil })
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		s.redis.FlushAll()
		media := map[bool]string{true: "application/x-ndjson", false: "application/json"}[lines]
		r := s.in(t).ask("POST", "/transactions/batch", string(body), "Content-Type", media)
		if r.Code != 200 {
			if r.Code != 400 && r.Code != 413 {
				t.Errorf("status %d: %s", r.Code, r.Body)
			}
			decodeNumbers(t, r.Body.Bytes())
			return
		}
		for _, result := range r.results() {
			if (result["transaction"] == nil) == (result["problem"] == nil) {
				t.Errorf("answer %v", result)
			}
		}
	})
}
