package serve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/metrics/traces"
)

// NewLogger writes to w: readable text where a person looks, JSON lines
// elsewhere, unless the configuration says which. Of warnings and errors that
// repeat themselves it writes some, and tells how many it did not.
func NewLogger(w io.Writer, c settings.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "text" || (c.Format == "" && terminal.Is(w)) {
		return slog.New(newCalmHandler(slog.NewTextHandler(w, options)))
	}
	return slog.New(newCalmHandler(slog.NewJSONHandler(w, options)))
}

// LogRedis has log take what the client of Redis says by itself, which is plain text and
// goes to stderr where nobody takes it.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ *slog.Logger }

// Printf is what the client calls.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.WarnContext(ctx, "redis client", "err", fmt.Sprintf(format, v...))
}

// origin is what a line says of where it comes from: of the request that it is written
// for, and of the trace, if there is one.
func origin(ctx context.Context) (attrs []slog.Attr) {
	if id := api.RequestID(ctx); id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if id := traces.ID(ctx); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	return attrs
}

const (
	// calmAfter warnings or errors with one message and code in calmTime are written; the
	// next one written after that time tells how many were not.
	calmAfter = 10
	calmTime  = time.Minute
	// calmMost is how many messages are counted at a time.
	calmMost = 1000
)

// A calmHandler keeps a trouble that hits everything, such as a store that is
// away, from filling the log.
type calmHandler struct {
	slog.Handler
	said *said
}

func newCalmHandler(h slog.Handler) calmHandler {
	return calmHandler{h, &said{by: map[string]*repeats{}}}
}

// Handle implements [slog.Handler].
func (h calmHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		held, write := h.said.again(what(r), cmp.Or(r.Time, time.Now()))
		if !write {
			return nil
		}
		if held > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("held_back", held))
		}
	}
	if attrs := origin(ctx); len(attrs) > 0 {
		r = r.Clone()
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// what a line tells, of which repeats are counted: its message and, where it has one, its code, so
// that a flood of one cause hides no other.
func what(r slog.Record) string {
	told := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "code" {
			told += " " + a.Value.String()
		}
		return a.Key != "code"
	})
	return told
}

// WithAttrs implements [slog.Handler].
func (h calmHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calmHandler{h.Handler.WithAttrs(attrs), h.said}
}

// WithGroup implements [slog.Handler].
func (h calmHandler) WithGroup(name string) slog.Handler {
	return calmHandler{h.Handler.WithGroup(name), h.said}
}

// said counts messages.
type said struct {
	mu sync.Mutex
	by map[string]*repeats
}

type repeats struct {
	since         time.Time
	written, held int
}

// again counts a message, and says whether it is to be written and how many
// like it were not since the last one that was.
func (s *said) again(message string, at time.Time) (held int, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.by[message]
	if one == nil {
		s.forget(at)
		one = &repeats{since: at}
		s.by[message] = one
	}
	if at.Sub(one.since) >= calmTime {
		held = one.held
		*one = repeats{since: at}
	}
	if one.written >= calmAfter {
		one.held++
		return 0, false
	}
	one.written++
	return held, true
}

// forget makes room: of what has not been said lately first, and else of all,
// for it is better to write too much than nothing.
func (s *said) forget(at time.Time) {
	if len(s.by) < calmMost {
		return
	}
	for message, one := range s.by {
		if at.Sub(one.since) >= calmTime {
			delete(s.by, message)
		}
	}
	if len(s.by) >= calmMost {
		clear(s.by)
	}
}
