//go:build unix

package processes

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
)

// traced: a trace goes from a client through the post, the worker and the chain. What is
// done for a retry is a trace of its own with a link; what its caller does not sample is
// not traced.
func traced(t *testing.T, bin binaries) {
	r := newRig(t, bin, "traced", nil)
	told := newCollector(t)
	r.worker(1)
	asked := r.before(1, told)
	s := r.serve("serve", map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": told.url, "OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_SERVICE_NAME": "shop",
	})
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	post := func(uid, flags string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.api+"/transactions",
			strings.NewReader(fmt.Sprintf(`{"queue":%q,"type":"MINT","data":{},"uid":%q}`, uid, uid)))
		r.ok(err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-"+flags)
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		r.ok(err)
		r.ok(resp.Body.Close())
		if flags == "01" {
			told.beside("client", "POST /transactions", trace, "", parent, began)
		}
		if resp.StatusCode != http.StatusAccepted {
			t.Fatalf("posting %s: %s", uid, resp.Status)
		}
		r.posted = append(r.posted, posting{uid, uid})
	}
	r.fault(1, workerError) // the first try
	post("traced", "01")
	r.allDone()
	post("untraced", "00")
	r.allDone()
	s.signal(syscall.SIGTERM)
	if code := r.exitCodeOf(s.program); code != command.ExitOK {
		t.Errorf("ended with %d", code)
	}

	first := told.of(trace)
	if got := namesOf(first); got != "accepted prove" {
		t.Errorf("the first try is told as %s", got)
	}
	accepted, again := told.named("accepted"), told.named("retry")
	if accepted.Parent != parent || first[1].Parent != accepted.ID {
		t.Errorf("the post is not a child of its caller, or the attempt none of the post: %v", first)
	}
	if first[1].Status.Code != spanFailed {
		t.Errorf("the worker's error is none: %v", first[1])
	}
	if links := again.Links; again.Parent != "" || len(links) != 1 || links[0].ID != accepted.ID {
		t.Errorf("the retry is no linked root: %v", again)
	}
	second := told.of(again.Trace)
	// The same bytes are sent once more where a look at the chain has missed them.
	if got := namesOf(second); strings.ReplaceAll(got, "send send", "send") != "included prove report retry send settled" {
		t.Errorf("the retry is told as %s", got)
	}
	for _, span := range second {
		if span.Name != "retry" && span.Parent != again.ID {
			t.Errorf("%s is no child of the retry", span.Name)
		}
	}
	if all := told.all(); len(all) != len(first)+len(second) {
		t.Errorf("%d spans are of neither try: %s", len(all)-len(first)-len(second), namesOf(all))
	}
	for _, span := range append(first, second...) {
		t.Logf("%s %-8s %6d ms, %6d ms long", span.Trace[:8], span.Name,
			(span.Begin-accepted.Begin)/1e6, (span.End-span.Begin)/1e6)
	}
	// The worker is told the span of its call.
	for _, span := range []toldSpan{first[1], second[1]} {
		want := fmt.Sprintf("00-%s-%s-01", span.Trace, span.ID)
		if span.Name != "prove" || !slices.Contains(asked(), want) {
			t.Errorf("%s: the worker was told %q, not %s", span.Name, asked(), want)
		}
	}
	for _, id := range []string{trace, again.Trace} {
		if !strings.Contains(s.out.lines(1<<20), "trace_id="+id) {
			t.Errorf("the log does not name the trace %s", id)
		}
	}
	told.keep()
}

// before puts a proxy before the nth account's worker, and tells what traces it was asked
// within.
func (r *rig) before(n uint64, told *collected) (asked func() []string) {
	r.Helper()
	to, err := url.Parse(r.urls[n])
	r.ok(err)
	var mu sync.Mutex
	var parents []string
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if parent := q.Header.Get("Traceparent"); parent != "" {
			mu.Lock()
			parents = append(parents, parent)
			mu.Unlock()
			defer func(began time.Time) {
				told.beside("worker", q.Method+" "+q.URL.Path, parent[3:35], parent[36:52],
					fmt.Sprintf("%016x", rand.Uint64()), began)
			}(time.Now())
		}
		proxy.ServeHTTP(w, q)
	}))
	r.Cleanup(server.Close)
	r.env["SEQUENCER_SENDERS"] = devnet.Key(n) + "=" + server.URL
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(parents)
	}
}

// A collected is a collector of traces. It reads OTLP's JSON by its own shapes.
type collected struct {
	*testing.T
	url   string
	mu    sync.Mutex
	spans []toldSpan
	ours  []json.RawMessage // resourceSpans of the service
	other []json.RawMessage // of its client and its worker, in this test
}

type toldSpan struct {
	Trace  string `json:"traceId"`
	ID     string `json:"spanId"`
	Parent string `json:"parentSpanId,omitempty"`
	Name   string `json:"name"`
	Begin  uint64 `json:"startTimeUnixNano,string"`
	End    uint64 `json:"endTimeUnixNano,string"`
	Status struct {
		Code int `json:"code,omitempty"`
	} `json:"status"`
	Links []struct {
		ID string `json:"spanId"`
	} `json:"links,omitempty"`
}

const spanFailed = 2 // STATUS_CODE_ERROR of OTLP

type toldSpans struct {
	Resource   json.RawMessage  `json:"resource"`
	ScopeSpans []toldScopeSpans `json:"scopeSpans"`
}

type toldScopeSpans struct {
	Spans []toldSpan `json:"spans"`
}

type toldRequest struct {
	ResourceSpans []json.RawMessage `json:"resourceSpans"`
}

var tracesTo = flag.String("traces", "", "file to write the spans of a trace to, for scripts/tracepicture")

// beside notes a span of who is no part of the service: its client, or its worker.
func (c *collected) beside(service, name, trace, parent, id string, began time.Time) {
	told, err := json.Marshal(toldSpans{
		Resource: json.RawMessage(fmt.Sprintf(`{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]}`, service)),
		ScopeSpans: []toldScopeSpans{{[]toldSpan{{
			Trace: trace, ID: id, Parent: parent, Name: name,
			Begin: uint64(began.UnixNano()), End: uint64(time.Now().UnixNano()),
		}}}},
	})
	if err != nil {
		c.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.other = append(c.other, told)
}

// keep writes all that was told to where the flag says.
func (c *collected) keep() {
	if *tracesTo == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	doc, err := json.Marshal(toldRequest{append(c.other, c.ours...)})
	if err == nil {
		err = os.WriteFile(*tracesTo, doc, 0o644)
	}
	if err != nil {
		c.Error(err)
	}
}

func newCollector(t *testing.T) *collected {
	c := &collected{T: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var told toldRequest
		if err := json.NewDecoder(r.Body).Decode(&told); err != nil || r.URL.Path != "/v1/traces" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s of %s: %v", r.URL, r.Header.Get("Content-Type"), err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ours = append(c.ours, told.ResourceSpans...)
		for _, raw := range told.ResourceSpans {
			var of toldSpans
			if err := json.Unmarshal(raw, &of); err != nil || !strings.Contains(string(of.Resource), `"shop"`) {
				t.Errorf("told of %s: %v", of.Resource, err)
			}
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collected) all() []toldSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// of are the spans of a trace, by name.
func (c *collected) of(trace string) []toldSpan {
	spans := slices.DeleteFunc(c.all(), func(s toldSpan) bool { return s.Trace != trace })
	slices.SortFunc(spans, func(a, b toldSpan) int { return strings.Compare(a.Name, b.Name) })
	return spans
}

func (c *collected) named(name string) toldSpan {
	c.Helper()
	for _, s := range c.all() {
		if s.Name == name {
			return s
		}
	}
	c.Fatalf("no span %s among %s", name, namesOf(c.all()))
	return toldSpan{}
}

func namesOf(spans []toldSpan) string {
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}
