package local

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// markVariable carries a random text that is only in the environment of one
// worker and what it has started.
const markVariable = "SEQUENCER_WORKER_MARK"

// An identity is a process beyond doubt: its pid alone will be another's one
// day, so it comes with the boot and the time that the process was started at.
type identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

func identityOf(pid int) identity { return identity{pid, startOf(pid)} }

// alive reports whether this very process still runs.
func (i identity) alive() bool { return i.PID > 0 && i.Start != "" && startOf(i.PID) == i.Start }

// A record says which process a worker is, and whose child.
type record struct {
	Account string   `json:"account"`
	Mark    string   `json:"mark"`
	Worker  identity `json:"worker"` // none while it is being started
	Parent  identity `json:"parent"`
}

// records is the folder that holds a record per worker that runs. Processes may
// share it: each writes files of its own.
type records struct{ dir string }

func (r records) file(account string) string {
	return filepath.Join(r.dir, account+"."+strconv.Itoa(os.Getpid())+".json")
}

// open makes the folder, and tries whether it can be written to: a worker that is not noted is not
// started. Nobody else may write to it: what it says is killed.
func (r records) open() error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("the folder of records: %w", err)
	}
	if err := r.check(); err != nil {
		return err
	}
	try, err := os.CreateTemp(r.dir, "try-*")
	if err != nil {
		return fmt.Errorf("the folder of records: %w", err)
	}
	_ = try.Close()
	_ = os.Remove(try.Name())
	return nil
}

// unusable says what to do where no records can be kept.
func unusable(err error) error {
	return fmt.Errorf("workers that are commands are not started, for it cannot be noted which run: %w: set "+
		"SEQUENCER_STATE_DIR to a folder that this user can write to and nobody else can; where the root file system "+
		"is read-only, mount a volume for it", err)
}

func (r records) check() error {
	info, err := os.Stat(r.dir)
	if err != nil {
		return fmt.Errorf("the folder of records: %w", err)
	}
	if !info.IsDir() || !ownedAlone(info) {
		return fmt.Errorf("the folder of records %s: it must be a folder of this user that nobody else can write to", r.dir)
	}
	return nil
}

// announce records a worker that is about to be started, and returns its mark.
func (r records) announce(account string) (mark string, err error) {
	mark = rand.Text()
	return mark, r.write(record{Account: account, Mark: mark})
}

// note records the process that has become of it.
func (r records) note(account, mark string, pid int) error {
	return r.write(record{Account: account, Mark: mark, Worker: identityOf(pid)})
}

func (r records) write(one record) error {
	one.Parent = identityOf(os.Getpid())
	text, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("recording a worker: %w", err)
	}
	file := r.file(one.Account)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return fmt.Errorf("recording a worker: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("recording a worker: %w", err)
	}
	return nil
}

func (r records) remove(account string) { _ = os.Remove(r.file(account)) }

// endLeftOvers ends the workers whose parent has gone without ending them.
func (r records) endLeftOvers(ctx context.Context, log *slog.Logger) error {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the folder of records: %w", err)
	}
	if err := r.check(); err != nil {
		return err
	}
	for _, e := range entries {
		file := filepath.Join(r.dir, e.Name())
		if !strings.HasSuffix(file, ".json") {
			continue
		}
		one, err := readRecord(file)
		switch {
		case errors.Is(err, fs.ErrNotExist): // another process has seen to it
		case err != nil:
			log.Warn("record of a worker not understood", "file", file, "err", err)
		case one.Parent.alive():
		default:
			if err := one.end(ctx, log); err != nil {
				return err
			}
			_ = os.Remove(file)
		}
	}
	return nil
}

func readRecord(file string) (one record, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return record{}, err
	}
	return one, json.Unmarshal(text, &one)
}

// end kills what is left of a worker. Nobody waits for its work any more: if it
// had signed something, that was not sent.
func (r record) end(ctx context.Context, log *slog.Logger) error {
	const limit = 10 * time.Second
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	told := false
	var left []identity
	for end := time.Now().Add(limit); ; {
		// What dies loses its mark before it is gone.
		left = append(slices.DeleteFunc(left, func(i identity) bool { return !i.alive() }), leftOf(r)...)
		if len(left) == 0 {
			return nil
		}
		if !told {
			log.Warn("ending what is left over of a worker",
				"sender", r.Account, "pid", r.Worker.PID, "processes", len(left))
			told = true
		}
		for _, p := range left {
			p.kill()
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("process %d is left over of the worker of %s and does not end", left[0].PID, r.Account)
		}
	}
}

// kill ends the process if it is still the one. Where the system has handles of
// processes, nothing can come between the look and the blow.
func (i identity) kill() {
	p, err := os.FindProcess(i.PID)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if i.alive() {
		_ = p.Kill()
	}
}
