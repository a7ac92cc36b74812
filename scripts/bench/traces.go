package main

import (
	"context"
	"io"
	"net/http"
)

// collector takes traces, and keeps none.
func collector() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
}

// traced is figure 10: posts as of figure 1, with a collector for every post, and for one
// in a hundred, against the same without.
func (b *bench) traced(ctx context.Context) ([]row, error) {
	at, err := b.startRole(ctx, roleCollector)
	if err != nil {
		return nil, err
	}
	_, off, err := b.serve(ctx, queueCount)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, of := range []struct{ name, share string }{{"every post", "1"}, {"one in a hundred", "0.01"}} {
		_, on, err := b.serve(ctx, queueCount, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+at, "OTEL_TRACES_SAMPLER=parentbased_traceidratio",
			"OTEL_TRACES_SAMPLER_ARG="+of.share)
		if err != nil {
			return nil, err
		}
		p, err := alternate(ctx, b.scale.rounds,
			func() (float64, error) { return on.rate(b.scale.window) },
			func() (float64, error) { return off.rate(b.scale.window) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, p.row("10 POST/s, "+of.name+" traced", "without traces", 0.5))
	}
	return rows, nil
}
