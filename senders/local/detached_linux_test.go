package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"syscall"
	"testing"
)

// TestDetached: what a worker has started in a session of its own ends with it,
// before another is started.
func TestDetached(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "ended": syscall.SIGTERM} {
		t.Run("worker "+name, func(t *testing.T) {
			t.Parallel()
			c := runs(t, "detached", nil)
			first := c.ready(0)
			child := childIn(t, &c.log)
			t.Cleanup(child.kill)
			if err := syscall.Kill(first.PID, number); err != nil {
				t.Fatal(err)
			}
			c.ready(first.PID)
			if child.alive() {
				t.Error("a worker was started beside what the one before had left")
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		c := runs(t, "detached", nil)
		c.ready(0)
		child := childIn(t, &c.log)
		t.Cleanup(child.kill)
		c.stop()
		if child.alive() {
			t.Error("it outlived the end of all workers")
		}
	})
}

// TestForgotten: a worker is forgotten only when nothing is left of it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	w := New(options(t.TempDir(), slog.New(slog.DiscardHandler), "")).all["B62a"]
	if err := w.of.records.open(); err != nil {
		t.Fatal(err)
	}
	mark, err := w.of.records.announce(w.Account)
	if err != nil {
		t.Fatal(err)
	}
	w.last = record{Account: w.Account, Mark: mark}
	left := bystander(t, markVariable+"="+mark)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.clear(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("it was not waited for the end: %v", err)
	}
	if _, err := os.Stat(w.of.records.file(w.Account)); err != nil {
		t.Errorf("it was forgotten before its end: %v", err)
	}
	if err := w.clear(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, "what was left", left)
	if _, err := os.Stat(w.of.records.file(w.Account)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still recorded: %v", err)
	}
}
