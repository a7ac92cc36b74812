//go:build unix

package processes

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

// local makes the workers of the nth accounts, by the arguments given, commands
// of the sequencers that are started later.
func (r *rig) local(workers map[uint64][]string) {
	r.Helper()
	type entry struct {
		AccountID string            `json:"accountId"`
		Command   []string          `json:"command"`
		Env       map[string]string `json:"env"`
	}
	var entries []entry
	for n, args := range workers {
		entries = append(entries, entry{devnet.Key(n), append([]string{r.bin.worker, "--account", devnet.Key(n),
			"--node", "http://" + r.node + "/graphql"}, args...), map[string]string{"SECRET": "hush-hush"}})
	}
	text, err := json.Marshal(entries)
	r.ok(err)
	file := filepath.Join(r.TempDir(), "senders.json")
	r.ok(os.WriteFile(file, text, 0o600))
	r.env["SEQUENCER_SENDERS_FILE"], r.env["SEQUENCER_STATE_DIR"] = file, filepath.Join(r.TempDir(), "state")
	r.env["SEQUENCER_WORKER_TOKEN"] = ""
}

// ready waits until s has a worker for the nth account, which is another process
// than before, and returns its pid.
func (r *rig) ready(s *serving, n uint64, before int) (pid int) {
	r.Helper()
	line := regexp.MustCompile(`msg="worker ready" sender=` + devnet.Key(n) + ` pid=(\d+) url=(\S+)`)
	r.eventually(patience, "a worker is ready", func() bool {
		all := line.FindAllStringSubmatch(s.out.lines(1<<20), -1)
		if len(all) == 0 {
			return false
		}
		pid, _ = strconv.Atoi(all[len(all)-1][1])
		r.urls[n] = all[len(all)-1][2]
		return pid != before
	})
	return pid
}

// act does to a sender what the API offers.
func (r *rig) act(s *serving, n uint64, what string) {
	r.Helper()
	if status := r.call(http.MethodPost, s.api+"/senders/"+devnet.Key(n)+"/"+what, "", nil); status != http.StatusOK {
		r.Fatalf("%s: status %d", what, status)
	}
}

// refuses waits until nothing listens any more where a worker did.
func (r *rig) refuses(n uint64) {
	r.Helper()
	r.eventually(patience, "the worker is gone", func() bool { return reach(r.Context(), r.urls[n]+"/health") != nil })
}

// localWorkers: workers that the sequencer starts die at the worst moments, and
// so does the sequencer. What they were at work on is settled before it is made
// again, and takes effect once.
func localWorkers(t *testing.T, bin binaries) {
	r := newRig(t, bin, "local", nil)
	r.local(map[uint64][]string{1: nil, 9: {"--legacy"}})
	r.legacy[devnet.Key(9)] = true
	s := r.serve("serve", nil)
	one, nine := r.ready(s, 1, 0), r.ready(s, 9, 0)
	var shown struct{ WorkerURL string }
	if r.call(http.MethodGet, s.api+"/senders/"+devnet.Key(1), "", &shown); shown.WorkerURL != "local" {
		t.Errorf("shown as %+v", shown)
	}

	r.act(s, 9, "drain")
	begun := func(uid string) func() bool {
		return func() bool {
			x := r.get(uid)
			a := x.Last()
			return x.Phase == tx.PhaseDispatching && a != nil && a.State == tx.Planned
		}
	}
	for _, tc := range []struct {
		name, fault string
		kill        bool
	}{
		{"killed-while-proving", `{"on":"prove","kind":"hang"}`, true},
		{"dead-after-signing", `{"on":"prove","kind":"die","after":true}`, false},
		{"hung", `{"on":"prove","kind":"hang"}`, false},
	} {
		r.fault(1, tc.fault)
		r.post(s, "two-phase", tc.name)
		r.post(s, "two-phase", tc.name+"-next")
		if tc.kill {
			r.eventually(patience, "the worker is asked", begun(tc.name))
			r.ok(syscall.Kill(one, syscall.SIGKILL))
		}
		one = r.ready(s, 1, one)
		r.eventually(patience, tc.name+" is DONE", func() bool { return r.get(tc.name+"-next").State() == tx.Done })
		if x := r.get(tc.name); x.State() != tx.Done || x.Retries != 0 {
			t.Errorf("%s: %s, %d retries", tc.name, x.State(), x.Retries)
		}
	}

	r.act(s, 1, "drain")
	r.act(s, 9, "resume")
	r.fault(9, `{"on":"dispatch","kind":"die","after":true}`)
	r.post(s, "legacy", "dead-after-sending")
	r.ready(s, 9, nine)
	r.eventually(patience, "it is found on the chain", func() bool { return r.get("dead-after-sending").State() == tx.Done })
	if x := r.get("dead-after-sending"); len(x.Attempts) != 1 || x.Retries != 0 {
		t.Errorf("dispatched again: %d retries, %+v", x.Retries, x.Attempts)
	}
	r.act(s, 9, "drain")
	r.act(s, 1, "resume")

	// The sequencer is killed, and with it its workers; the next one has its own.
	r.fault(1, `{"on":"prove","kind":"hang"}`)
	r.post(s, "two-phase", "orphaned")
	r.eventually(patience, "the worker is asked", begun("orphaned"))
	s.kill()
	r.refuses(1)
	next := r.serve("after a kill", nil)
	r.ready(next, 1, one)
	r.eventually(patience, "it is DONE", func() bool { return r.get("orphaned").State() == tx.Done })

	r.act(next, 9, "resume")
	r.allDone()
	r.ready(next, 1, 0)
	next.signal(syscall.SIGTERM)
	if code := r.exitCodeOf(next.program); code != command.ExitOK {
		t.Errorf("drained with exit code %d", code)
	}
	r.refuses(1)
	if left, err := filepath.Glob(filepath.Join(r.env["SEQUENCER_STATE_DIR"], "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("records left: %v, %v", left, err)
	}
	for _, p := range []*program{s.program, next.program} {
		if p.out.find(regexp.MustCompile("(hush-hush)")) != nil {
			t.Errorf("%s logs a secret", p.name)
		}
	}

	// A command that is no longer named leaves its sender drained.
	r.local(map[uint64][]string{1: nil})
	last := r.serve("with one command less", nil)
	var gone struct {
		Available bool
		Reason    string
	}
	if r.call(http.MethodGet, last.api+"/senders/"+devnet.Key(9), "", &gone); gone.Available || gone.Reason != "DRAINING" {
		t.Errorf("a sender whose command is gone: %+v", gone)
	}
}
