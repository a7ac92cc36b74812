package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// An exporter posts spans to a collector as OTLP in JSON, which every collector takes at
// the address where it takes protobufs. OpenTelemetry's own exporter does the same with
// gRPC, its gateway and the generated protobufs, a twelfth of what the program took to
// compile. Source of names and shapes: the OpenTelemetry specification, "OTLP Exporter
// Configuration", and the JSON encoding of "OTLP Specification 1.x".
type exporter struct {
	url     string
	headers http.Header
	gzip    bool
	client  *http.Client
}

const (
	exportTimeout = 10 * time.Second       // of one request, where the environment says nothing
	exportTries   = 5                      // of one batch; the batcher gives up after 30 s at the latest
	exportPause   = 500 * time.Millisecond // after the first try; each further one is twice as long
	mostAnswer    = 64 << 10               // bytes that are read of an answer
)

// newExporter reads OpenTelemetry's variables: of each the one for traces wins. The error
// names a variable, and no value, for a header may be a key.
func newExporter(env map[string]string) (*exporter, error) {
	of := func(name string) (from, value string) {
		if own := "OTEL_EXPORTER_OTLP_TRACES_" + name; env[own] != "" {
			return own, env[own]
		}
		return "OTEL_EXPORTER_OTLP_" + name, env["OTEL_EXPORTER_OTLP_"+name]
	}
	e := &exporter{headers: http.Header{}, client: &http.Client{Timeout: exportTimeout}}
	at, err := url.Parse(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
	if err != nil || at.Host == "" { // the address of all signals, which has a path for each
		if at, err = url.Parse(env["OTEL_EXPORTER_OTLP_ENDPOINT"]); err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: is no address")
		}
		at = at.JoinPath("v1", "traces")
	}
	e.url = at.String()
	from, value := of("HEADERS")
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, text, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if !found || err != nil || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s: wants name=value,name=value with values as in a URL", from)
		}
		e.headers.Set(strings.TrimSpace(name), text)
	}
	if from, value = of("TIMEOUT"); value != "" {
		ms, err := strconv.Atoi(value)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("%s: wants milliseconds, as 10000", from)
		}
		e.client.Timeout = time.Duration(ms) * time.Millisecond
	}
	switch from, value = of("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		e.gzip = true
	default:
		return nil, fmt.Errorf("%s: wants gzip or none", from)
	}
	files := [3]string{}
	for i, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		_, files[i] = of(name)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = tlsOf(files[0], files[1], files[2]); err != nil {
		return nil, err
	}
	e.client.Transport = transport
	return e, nil
}

// tlsOf is nil where no file is named.
func tlsOf(authority, certificate, key string) (*tls.Config, error) {
	if authority+certificate+key == "" {
		return nil, nil //nolint:nilnil // the standard library's word for its own
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		pem, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE: the file holds no certificate in PEM")
		}
	}
	if certificate+key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// ExportSpans implements [sdk.SpanExporter]. What the collector says to be tried again is,
// with growing pauses, until ctx ends.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(request(spans))
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	if e.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // a buffer takes all
		_ = w.Close()
		body = packed.Bytes()
	}
	for n := range exportTries {
		again, pause, failed := e.post(ctx, body)
		if failed == nil || !again {
			return failed
		}
		err = failed
		timer := time.NewTimer(max(pause, exportPause<<n))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
	return err
}

// post posts once. Where it failed it says whether the specification has it tried again,
// and how long the collector asks to be left alone.
func (e *exporter) post(ctx context.Context, body []byte) (again bool, pause time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, fmt.Errorf("traces: %w", withoutURL(err))
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	if e.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return true, 0, fmt.Errorf("traces: the collector was not reached: %w", withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return true, time.Duration(min(max(seconds, 0), 60)) * time.Second, fmt.Errorf("traces: the collector answers %s", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return false, 0, fmt.Errorf("traces: the collector answers %s", resp.Status)
	}
	var taken struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"` // a text in proto3's JSON; both are read
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &taken) == nil && taken.PartialSuccess.ErrorMessage != "" {
		return false, 0, fmt.Errorf("traces: the collector left out %s spans: %.200s",
			taken.PartialSuccess.RejectedSpans, taken.PartialSuccess.ErrorMessage)
	}
	return false, 0, nil
}

// withoutURL is the error without the collector's address, which may hold a password.
func withoutURL(err error) error {
	if about, ok := errors.AsType[*url.Error](err); ok {
		return about.Err
	}
	return err
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// The shapes of OTLP's JSON: ids in hexadecimal, 64-bit numbers as text, enums as numbers.
type (
	otlpRequest struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
		SchemaURL  string           `json:"schemaUrl,omitempty"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		TraceState string          `json:"traceState,omitempty"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Flags      uint32          `json:"flags"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      int64           `json:"startTimeUnixNano,string"`
		End        int64           `json:"endTimeUnixNano,string"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpLink struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
		Flags   uint32 `json:"flags"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// request has all spans under one resource: a process has one.
func request(spans []sdk.ReadOnlySpan) otlpRequest {
	var told otlpResourceSpans
	scopes := map[instrumentation.Scope]int{}
	for _, s := range spans {
		of := s.InstrumentationScope()
		i, known := scopes[of]
		if !known {
			i = len(told.ScopeSpans)
			scopes[of] = i
			told.ScopeSpans = append(told.ScopeSpans, otlpScopeSpans{Scope: otlpScope{of.Name, of.Version}})
		}
		told.ScopeSpans[i].Spans = append(told.ScopeSpans[i].Spans, otlpOf(s))
		if r := s.Resource(); told.Resource.Attributes == nil && r != nil {
			told.Resource.Attributes, told.SchemaURL = attributes(r.Attributes()), r.SchemaURL()
		}
	}
	return otlpRequest{[]otlpResourceSpans{told}}
}

func otlpOf(s sdk.ReadOnlySpan) otlpSpan {
	of := s.SpanContext()
	span := otlpSpan{
		TraceID: of.TraceID().String(), SpanID: of.SpanID().String(), TraceState: of.TraceState().String(),
		Flags: flags(of.TraceFlags(), s.Parent()), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: s.StartTime().UnixNano(), End: s.EndTime().UnixNano(), Attributes: attributes(s.Attributes()),
		Status: otlpStatus{Message: s.Status().Description},
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		span.Parent = parent.String()
	}
	switch s.Status().Code { // OTLP has the numbers of the two exchanged
	case codes.Ok:
		span.Status.Code = 1
	case codes.Error:
		span.Status.Code = 2
	}
	for _, link := range s.Links() {
		to := link.SpanContext
		span.Links = append(span.Links, otlpLink{to.TraceID().String(), to.SpanID().String(), flags(to.TraceFlags(), to)})
	}
	return span
}

// flags are those of the trace, and whether what they stand beside came from elsewhere:
// bit 8 says that bit 9 means something.
func flags(own trace.TraceFlags, of trace.SpanContext) uint32 {
	all := uint32(own) | 1<<8
	if of.IsRemote() {
		all |= 1 << 9
	}
	return all
}

func attributes(all []attribute.KeyValue) []otlpAttribute {
	var list []otlpAttribute
	for _, a := range all {
		value := map[string]any{}
		switch a.Value.Type() {
		case attribute.BOOL:
			value["boolValue"] = a.Value.AsBool()
		case attribute.INT64:
			value["intValue"] = strconv.FormatInt(a.Value.AsInt64(), 10)
		case attribute.FLOAT64:
			value["doubleValue"] = a.Value.AsFloat64()
		default:
			value["stringValue"] = a.Value.String()
		}
		list = append(list, otlpAttribute{string(a.Key), value})
	}
	return list
}
