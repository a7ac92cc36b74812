package traces

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A road answers requests in the place of a collector.
type road func(*http.Request) (*http.Response, error)

func (r road) RoundTrip(q *http.Request) (*http.Response, error) { return r(q) }

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestRequest: a span has the form of OTLP's JSON, with its ids in hexadecimal, its times as
// text and the numbers that OTLP has for kinds and results.
func TestRequest(t *testing.T) {
	t.Parallel()
	var told string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := gzip.NewReader(r.Body)
		if err != nil || r.URL.Path != "/shop/v1/traces" || r.Header.Get("Api-Key") != "a b" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
			return
		}
		all, _ := io.ReadAll(body)
		told = string(all)
	}))
	t.Cleanup(server.Close)
	e, err := newExporter(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/shop/", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b,",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	})
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(e))
	const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx := within(context.Background(), sampled)
	_, span := provider.Tracer("mina-sequencer").Start(ctx, "prove", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("queue", "q"), attribute.Int("attempt", 2), attribute.Bool("late", true)),
		trace.WithLinks(trace.Link{SpanContext: trace.SpanContextFromContext(ctx)}))
	span.SetStatus(codes.Error, "gone")
	span.End()

	var got struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Scope struct{ Name string }
				Spans []map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(told), &got); err != nil {
		t.Fatalf("%s: %v", told, err)
	}
	s := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	own := span.SpanContext().SpanID().String()
	for name, want := range map[string]string{
		"traceId": sampled[3:35], "parentSpanId": sampled[36:52], "spanId": own, "kind": "3", "name": "prove", "flags": "769",
		"status":     "map[code:2 message:gone]",
		"attributes": "[map[key:queue value:map[stringValue:q]] map[key:attempt value:map[intValue:2]] map[key:late value:map[boolValue:true]]]",
		"links":      "[map[flags:769 spanId:00f067aa0ba902b7 traceId:4bf92f3577b34da6a3ce929d0e0e4736]]",
	} {
		if fmt.Sprint(s[name]) != want {
			t.Errorf("%s is %v, want %s", name, s[name], want)
		}
	}
	if text, isText := s["startTimeUnixNano"].(string); !isText || len(text) != 19 {
		t.Errorf("began at %v", s["startTimeUnixNano"])
	}
}

// TestExporterSettings: a value that cannot be used is named, and not shown.
func TestExporterSettings(t *testing.T) {
	t.Parallel()
	const all, own = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for _, test := range []struct {
		env  map[string]string
		url  string
		fail string
	}{
		{map[string]string{all + "ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "http://c:4318", own + "ENDPOINT": "https://d/tell"}, "https://d/tell", ""},
		{map[string]string{own + "ENDPOINT": "https://d"}, "https://d", ""},
		{map[string]string{all + "ENDPOINT": "http://c", own + "HEADERS": "secret"}, "", own + "HEADERS"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "HEADERS": "a=secret%zz"}, "", all + "HEADERS"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "TIMEOUT": "10s"}, "", all + "TIMEOUT"},
		{map[string]string{all + "ENDPOINT": "http://c", all + "TIMEOUT": "10s", own + "TIMEOUT": "10"}, "http://c/v1/traces", ""},
		{map[string]string{all + "ENDPOINT": "http://c", all + "COMPRESSION": "br"}, "", all + "COMPRESSION"},
		{map[string]string{all + "ENDPOINT": "https://c", all + "CERTIFICATE": "/nowhere"}, "", all + "CERTIFICATE"},
		{map[string]string{all + "ENDPOINT": "https://c", all + "CLIENT_KEY": "/nowhere"}, "", all + "CLIENT_CERTIFICATE"},
	} {
		e, err := newExporter(test.env)
		switch {
		case test.fail == "" && (err != nil || e.url != test.url):
			t.Errorf("%v: %v, %v", test.env, e, err)
		case test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%v: %v", test.env, err)
		}
	}
}

// TestExportAgain: what the specification has tried again is, in growing pauses, and
// nothing else; no error shows the address.
func TestExportAgain(t *testing.T) {
	t.Parallel()
	lost := errors.New("reset")
	for _, test := range []struct {
		name  string
		road  road
		tries int
		err   string
	}{
		{"taken", func(*http.Request) (*http.Response, error) { return answer(200, "{}"), nil }, 1, ""},
		{"not as JSON", func(*http.Request) (*http.Response, error) { return answer(200, "\x0a"), nil }, 1, ""},
		{"in part", func(*http.Request) (*http.Response, error) {
			return answer(200, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}`), nil
		}, 1, "3 spans: too old"},
		{"refused", func(*http.Request) (*http.Response, error) { return answer(401, ""), nil }, 1, "401"},
		{"busy", func(*http.Request) (*http.Response, error) { return answer(503, ""), nil }, exportTries, "503"},
		{"away", func(*http.Request) (*http.Response, error) { return nil, lost }, exportTries, "reset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				e := &exporter{url: "http://user:secret@c/", headers: http.Header{}, client: &http.Client{
					Transport: road(func(r *http.Request) (*http.Response, error) { tries++; return test.road(r) }),
				}}
				err := e.ExportSpans(t.Context(), nil)
				if tries != test.tries || (err != nil) != (test.err != "") {
					t.Fatalf("%d tries: %v", tries, err)
				}
				if err != nil && (!strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
