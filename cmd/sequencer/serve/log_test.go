package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

// TestRepeatedErrors: a message that comes too often is held back and counted;
// others, and what is no trouble, are not.
func TestRepeatedErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := NewLogger(&out, settings.Log{Level: slog.LevelInfo, Format: "json"})
		one := log.With("sender", "B62").WithGroup("g")
		for i := range 100 {
			log.Warn("cycle failed", "err", fmt.Sprint(i))
			one.Warn("cycle failed", "txn", i)
			log.Info("transaction", "txn", i)
			log.Debug("never")
			log.Warn("transaction failed", "code", []string{"LOST", "EXPIRED"}[min(i, 1)])
		}
		log.Error("something else")
		<-time.After(calmTime - time.Nanosecond)
		log.Warn("cycle failed")
		<-time.After(time.Nanosecond)
		log.Warn("cycle failed", "txn", "last")
		log.Warn("cycle failed")

		counts, held := map[string]int{}, []float64{}
		for line := range strings.Lines(out.String()) {
			var one map[string]any
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			counts[one["msg"].(string)]++
			if n, ok := one["held_back"].(float64); ok {
				held = append(held, n)
			}
		}
		if counts["cycle failed"] != calmAfter+2 || counts["transaction"] != 100 || counts["something else"] != 1 ||
			counts["transaction failed"] != 1+calmAfter || len(counts) != 4 {
			t.Errorf("written: %v", counts)
		}
		if len(held) != 1 || held[0] != 200-calmAfter+1 {
			t.Errorf("told to be held back: %v", held)
		}
	})
}

// TestManyMessages: what is counted does not grow, and nothing new is held back.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := newCalmHandler(slog.NewTextHandler(&out, nil))
	at := time.Unix(1_900_000_000, 0)
	for i := range 5 * calmMost {
		if err := h.Handle(context.Background(), slog.NewRecord(at, slog.LevelError, fmt.Sprintf("message %d", i), 0)); err != nil {
			t.Fatal(err)
		}
		if len(h.said.by) > calmMost {
			t.Fatalf("%d messages are counted", len(h.said.by))
		}
		at = at.Add(time.Duration(i%3) * 10 * time.Millisecond)
	}
	if n := strings.Count(out.String(), "\n"); n != 5*calmMost {
		t.Errorf("%d of %d written", n, 5*calmMost)
	}
}

// TestLinesOfRequests: a line that is written for a request names it.
func TestLinesOfRequests(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	var out bytes.Buffer
	log := NewLogger(&out, settings.Log{Level: slog.LevelDebug, Format: "json"})
	store, err := queues.Open(client, queues.Options{Namespace: "t", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Set("{t}:t:odd", "what no build has written"); err != nil {
		t.Fatal(err)
	}
	types, err := settings.Config{}.Registry(nil)
	if err != nil {
		t.Fatal(err)
	}
	handler := api.New(api.Options{
		Store: store, Senders: senders.New(store, client), Types: types, ValidKey: func(string) error { return nil }, Log: log,
	})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/transactions/odd", nil)
	r.Header.Set("X-Request-Id", "one-of-mine")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		if !strings.Contains(line, `"request_id":"one-of-mine"`) {
			t.Errorf("a line does not name its request: %s", line)
		}
	}
	if len(lines) < 2 {
		t.Errorf("%d lines, want that of the request and of what went wrong: %s", len(lines), &out)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	for format, want := range map[settings.Log]string{{}: `"msg":"hello"`, {Format: "json"}: `"msg":"hello"`, {Format: "text"}: "msg=hello"} {
		var out bytes.Buffer
		format.Level = slog.LevelWarn
		logger := NewLogger(&out, format)
		logger.Info("quiet")
		logger.Warn("hello")
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, "quiet") {
			t.Errorf("%+v: %s", format, text)
		}
	}
}
