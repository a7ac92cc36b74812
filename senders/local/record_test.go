//go:build unix

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bystander is a process that only the end of the test may end.
func bystander(t *testing.T, env ...string) identity {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(append(os.Environ(), role+"=stubborn"), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return identityOf(cmd.Process.Pid)
}

// TestRecords: only a process that is beyond doubt a worker of a parent that has
// gone is ended.
func TestRecords(t *testing.T) {
	t.Parallel()
	dead := identity{1 << 22, "long ago"} // no process has such a number
	me := identityOf(os.Getpid())
	for name, tc := range map[string]struct {
		record      func(other identity) record
		ends, stays bool
	}{
		"left over": {func(i identity) record { return record{Worker: i, Parent: dead} }, true, false},
		"parent's pid reused": {func(i identity) record { return record{Worker: i, Parent: identity{me.PID, "before"}} },
			true, false},
		"pid reused": {func(i identity) record { return record{Worker: identity{i.PID, "before"}, Parent: dead} },
			false, false},
		"start not known": {func(i identity) record { return record{Worker: identity{i.PID, ""}, Parent: dead} },
			false, false},
		"never started": {func(identity) record { return record{Parent: dead} }, false, false},
		"parent lives":  {func(i identity) record { return record{Worker: i, Parent: me} }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := records{t.TempDir()}
			if err := os.Chmod(r.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			other := bystander(t)
			text, err := json.Marshal(tc.record(other))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(r.dir, "B62a.7.json")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := r.endLeftOvers(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			if other.alive() == tc.ends {
				t.Errorf("the process is alive: %v", other.alive())
			}
			if _, err := os.Stat(file); (err == nil) != tc.stays {
				t.Errorf("the record: %v", err)
			}
		})
	}
}

func TestRecordsOfOthers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := records{t.TempDir()}
	if err := os.Chmod(r.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := r.endLeftOvers(t.Context(), slog.New(slog.NewTextHandler(&log, nil))); err == nil {
		t.Error("a folder that others can write to is believed")
	}
	if err := r.open(); err == nil {
		t.Error("a folder that others can write to is used")
	}
	if err := os.Chmod(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "x.1.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.endLeftOvers(t.Context(), slog.New(slog.NewTextHandler(&log, nil))); err != nil || log.Len() == 0 {
		t.Errorf("a record that is none: %v, log %q", err, &log)
	}
	if err := (records{filepath.Join(r.dir, "absent")}).endLeftOvers(t.Context(),
		slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// TestNoPlaceForRecords: where it cannot be noted what runs, the start fails, and says which setting
// it is and what to do: also where the folder is there, and cannot be written to.
func TestNoPlaceForRecords(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{"cannot be made": filepath.Join(file, "workers"), "is no folder": file}
	if runtime.GOOS == "linux" {
		dirs["cannot be written to"] = "/proc/self" // by nobody
	}
	for name, dir := range dirs {
		w := New(Options{Commands: []Command{{Account: "B62a", Args: []string{os.Args[0]}}}, Dir: dir})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // if it starts all the same
		err := w.Run(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "set SEQUENCER_STATE_DIR to a folder") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
