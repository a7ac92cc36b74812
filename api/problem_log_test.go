package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"mina-sequencer/queues"
)

// TestHungUp: that somebody has hung up is no fault of the store's, and the log has none.
func TestHungUp(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for _, c := range []struct {
		ctx  context.Context
		logs bool
	}{{t.Context(), true}, {gone, false}} {
		var log bytes.Buffer
		a := &api{Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		p := a.problem(c.ctx, fmt.Errorf("get: %w: %w", queues.ErrUnavailable, context.Canceled))
		if p.Code != codeUnavailable || (log.Len() > 0) != c.logs {
			t.Errorf("%s, and the log has %q", p.Code, log.String())
		}
	}
}
