package traces

import (
	"context"
	"errors"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	const at, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, test := range []struct {
		env  map[string]string
		want bool
		bad  bool
	}{
		{nil, false, false},
		{map[string]string{at: "http://c:4318"}, true, false},
		{map[string]string{traces: "http://c:4318/v1/traces"}, true, false},
		{map[string]string{at: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, false, false},
		{map[string]string{at: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, false, false},
		{map[string]string{at: "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, false},
		{map[string]string{at: "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, true, false},
		{map[string]string{at: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, false},
		{map[string]string{at: "zz"}, false, true},
		{map[string]string{at: "c:4318"}, false, true},
		{map[string]string{traces: "https://"}, false, true},
		{map[string]string{at: "grpc://c:4317", traces: "http://c:4318/v1/traces"}, false, true},
		{map[string]string{at: "zz", "OTEL_SDK_DISABLED": "true"}, false, false},
	} {
		if got, err := Wanted(test.env); got != test.want || (err != nil) != test.bad {
			t.Errorf("%v: %v, %v", test.env, got, err)
		}
	}
}

// TestAccepting: what is kept is the span of the post, and nothing of what is not sampled.
func TestAccepting(t *testing.T) {
	t.Parallel()
	told := tracetest.NewSpanRecorder()
	x, err := newTraces(t.Context(), told, "1")
	if err != nil {
		t.Fatal(err)
	}
	const sampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, test := range []struct {
		parent string
		kept   bool
	}{
		{sampled, true}, {sampled[:53] + "00", false}, {"", true}, {"nonsense", true},
	} {
		kept, end := x.accepting(within(context.Background(), test.parent), "q", "T")
		if (kept != "") != test.kept || kept != "" && len(kept) != 55 {
			t.Errorf("%q: kept %q", test.parent, kept)
		}
		end("u", errors.New("full"))
	}
	ended := told.Ended()
	if len(ended) != 3 || ended[0].Parent().SpanID().String() != "00f067aa0ba902b7" || ended[0].Status().Description != "full" {
		t.Errorf("told: %v", ended)
	}
	if Parent(context.Background()) != "" || ID(context.Background()) != "" || ID(within(context.Background(), sampled)) != sampled[3:35] {
		t.Error("the context is not read")
	}
	var none *Traces
	if none.API().Accepting != nil || none.Sequencer().Begin != nil || none.Stop(t.Context()) != nil {
		t.Error("without traces something is told")
	}
}

var _ sdk.IDGenerator = given{}
