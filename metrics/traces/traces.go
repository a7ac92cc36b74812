// Package traces tells an OpenTelemetry collector what becomes of transactions.
//
// It hangs on functions that the other packages are given, and they know nothing of
// OpenTelemetry. A transaction is traced if its post was; then the trace context of that
// is kept with it, and whichever process goes on with it goes on with the trace. What is
// done for a retry, hours later perhaps, is a trace of its own, with a link to the first.
//
// All methods may be called concurrently. Those of nil do nothing.
package traces

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mina-sequencer/api"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/tx"
)

// Traces are what one process tells.
type Traces struct {
	posts  trace.Tracer // by the sampler that is configured
	follow trace.Tracer // of what is sampled already
	stop   func(context.Context) error
}

// Wanted reports whether the environment names who is to be told. A value that cannot be
// used is an error.
func Wanted(env map[string]string) (bool, error) {
	if env["OTEL_EXPORTER_OTLP_ENDPOINT"] == "" && env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == "" ||
		env["OTEL_SDK_DISABLED"] == "true" || env["OTEL_TRACES_EXPORTER"] == "none" {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		at, err := url.Parse(env[name])
		if env[name] != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "") {
			return false, fmt.Errorf("%s: is no http:// or https:// address", name) // which may hold a password
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		// A collector that takes protobufs over HTTP takes JSON at the same address.
		if value := env[name]; value != "" && value != "http/json" && value != "http/protobuf" {
			return false, fmt.Errorf("%s=%.40q: only OTLP over HTTP can be spoken: set http/json, and the collector's port for HTTP, 4318 as a rule", name, value)
		}
	}
	return true, nil
}

// New returns traces for the collector that env names, by OpenTelemetry's own variables. Of
// these the SDK reads OTEL_BSP_…, _SAMPLER, _SERVICE_NAME and _RESOURCE_ATTRIBUTES from the
// environment of the process.
func New(ctx context.Context, env map[string]string, version string) (*Traces, error) {
	exporter, err := newExporter(env)
	if err != nil {
		return nil, err
	}
	return newTraces(ctx, sdk.NewBatchSpanProcessor(exporter), version)
}

func newTraces(ctx context.Context, p sdk.SpanProcessor, version string) (*Traces, error) {
	of, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "mina-sequencer"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithFromEnv()) // the last word is the environment's
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces: %w", err)
	}
	const scope = "mina-sequencer"
	posts := sdk.NewTracerProvider(sdk.WithResource(of), sdk.WithSpanProcessor(p))
	follow := sdk.NewTracerProvider(sdk.WithResource(of), sdk.WithSpanProcessor(p), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithIDGenerator(given{}))
	return &Traces{posts: posts.Tracer(scope), follow: follow.Tracer(scope), stop: p.Shutdown}, nil
}

// Stop tells what is not told yet.
func (x *Traces) Stop(ctx context.Context) error {
	if x == nil {
		return nil
	}
	return x.stop(ctx)
}

// API is for what is posted.
func (x *Traces) API() api.Tracer {
	if x == nil {
		return api.Tracer{}
	}
	return api.Tracer{Continue: within, Accepting: x.accepting}
}

// accepting begins the span of a post, and returns what is kept with the transaction: ""
// if it is not sampled.
func (x *Traces) accepting(ctx context.Context, queue, typ string) (kept string, end func(uid string, err error)) {
	_, span := x.posts.Start(ctx, "accepted", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("sequencer.queue", queue), attribute.String("sequencer.type", typ)))
	return parent(span.SpanContext()), func(uid string, err error) {
		span.SetAttributes(attribute.String("sequencer.uid", uid))
		finish(span, err)
	}
}

// Sequencer is for what is done about transactions.
func (x *Traces) Sequencer() sequencer.Tracer {
	if x == nil {
		return sequencer.Tracer{}
	}
	return sequencer.Tracer{Begin: x.begin, Passed: x.passed, Retried: x.retried}
}

// begin begins the span of something that is done for an attempt.
func (x *Traces) begin(ctx context.Context, t *tx.Transaction, what string, attempt int) (
	context.Context, func(error),
) {
	ctx, span := x.follow.Start(within(ctx, t.TraceParent()), what,
		trace.WithSpanKind(trace.SpanKindClient), about(t, attempt))
	return ctx, func(err error) { finish(span, err) }
}

// passed tells of what is over and began at a time.
func (x *Traces) passed(t *tx.Transaction, what string, attempt int, since time.Time, err error) {
	_, span := x.follow.Start(within(context.Background(), t.TraceParent()), what,
		about(t, attempt), trace.WithTimestamp(since))
	finish(span, err)
}

// retried begins the trace of a retry, which is linked to that of the post. Its ids are
// those that every process makes of it.
func (x *Traces) retried(t *tx.Transaction) {
	own := trace.SpanContextFromContext(within(context.Background(), t.TraceParent()))
	first := trace.SpanContextFromContext(within(context.Background(), t.Trace))
	_, span := x.follow.Start(context.WithValue(context.Background(), givenKey{}, own), "retry",
		about(t, len(t.Attempts)), trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: first}),
		trace.WithAttributes(attribute.Int("sequencer.retry", t.Retries)))
	span.End()
}

func about(t *tx.Transaction, attempt int) trace.SpanStartEventOption {
	return trace.WithAttributes(attribute.String("sequencer.uid", t.UID), attribute.String("sequencer.queue", t.Queue),
		attribute.String("sequencer.type", t.Type), attribute.String("sequencer.sender", t.Sender),
		attribute.Int("sequencer.attempt", attempt), attribute.String("sequencer.state", string(t.State())))
}

func finish(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// within returns ctx in the trace that a traceparent names, if that is one.
func within(ctx context.Context, traceparent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// parent is the traceparent of what is sampled, else "".
func parent(of trace.SpanContext) string {
	if !of.IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), of), carrier)
	return carrier["traceparent"]
}

// Parent is the traceparent for whoever goes on with what ctx is of, "" if that is not
// traced.
func Parent(ctx context.Context) string { return parent(trace.SpanContextFromContext(ctx)) }

// ID is that of the trace that ctx is within, "" if there is none.
func ID(ctx context.Context) string {
	if of := trace.SpanContextFromContext(ctx); of.HasTraceID() {
		return of.TraceID().String()
	}
	return ""
}

type givenKey struct{}

// given makes random ids, but for a root whose context has them.
type given struct{}

// NewIDs implements [sdk.IDGenerator].
func (given) NewIDs(ctx context.Context) (of trace.TraceID, id trace.SpanID) {
	if own, ok := ctx.Value(givenKey{}).(trace.SpanContext); ok {
		return own.TraceID(), own.SpanID()
	}
	_, _ = rand.Read(of[:]) // never fails
	return of, given{}.NewSpanID(ctx, of)
}

// NewSpanID implements [sdk.IDGenerator].
func (given) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for binary.BigEndian.Uint64(id[:]) == 0 {
		_, _ = rand.Read(id[:])
	}
	return id
}
