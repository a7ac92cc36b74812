//go:build unix

package local

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestServes(t *testing.T) {
	t.Parallel()
	var changed atomic.Int32
	c := runs(t, "compiles", func(o *Options) { o.Changed = func() { changed.Add(1) } })
	s := c.ready(0)
	worker := identityOf(s.PID)
	if got := c.Ready(); !slices.Equal(got, []string{"B62a"}) {
		t.Errorf("ready: %v", got)
	}
	eventually(t, "it is told", func() bool { return changed.Load() == 1 })
	if _, ok := c.State("B62b"); ok {
		t.Error("it has a worker that nobody named")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/env", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer the-token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var env []string
	if err := json.NewDecoder(resp.Body).Decode(&env); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HOST=127.0.0.1", "PORT=" + s.URL[strings.LastIndexByte(s.URL, ':')+1:],
		"WORKER_TOKEN=the-token", "KEY=hush-hush", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, want) {
			t.Errorf("the worker lacks %s", want)
		}
	}
	for _, pair := range env {
		if strings.HasPrefix(pair, "SEQUENCER_") && !strings.HasPrefix(pair, markVariable) {
			t.Errorf("the worker is told %s", pair)
		}
	}
	files, err := filepath.Glob(filepath.Join(c.o.Dir, "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("records: %v, %v", files, err)
	}
	c.stop()
	gone(t, "the worker", worker)
	c.says("good bye")
	if s, _ := c.State("B62a"); s != (State{}) || len(c.Ready()) != 0 {
		t.Errorf("after the end: %+v", s)
	}
	if files, _ := filepath.Glob(filepath.Join(c.o.Dir, "*")); len(files) != 0 {
		t.Errorf("records left: %v", files)
	}
}

// TestStartedAgain wants another process whatever became of the one before.
func TestStartedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		patience time.Duration
		end      func(*crew, State)
		says     string
	}{
		"killed": {time.Minute, func(_ *crew, s State) { _ = syscall.Kill(s.PID, syscall.SIGKILL) }, "signal: killed"},
		"ended":  {time.Minute, func(_ *crew, s State) { _ = syscall.Kill(s.PID, syscall.SIGTERM) }, "exit status 0"},
		"silent": {time.Second, func(_ *crew, s State) { _ = syscall.Kill(s.PID, syscall.SIGSTOP) },
			"it does not answer for 1s"},
		"a call too long": {time.Minute, func(c *crew, s State) { c.Hung("B62a", s.URL) }, "it does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := runs(t, "", func(o *Options) { o.Patience = tc.patience })
			first := c.ready(0)
			one := identityOf(first.PID)
			c.Hung("B62a", "http://127.0.0.1:1") // of an earlier process: no matter
			c.Hung("B62b", first.URL)
			tc.end(c, first)
			second := c.ready(first.PID)
			gone(t, "the first process", one)
			c.says(tc.says)
			if second.URL == first.URL {
				t.Logf("the same port again: %s", first.URL)
			}
		})
	}
}

// TestNeverReady: what does not come up is tried again and again, ever less
// often, and is never offered.
func TestNeverReady(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		does, says string
		change     func(*Options)
	}{
		"dies at once": {"die", "exit status 3", nil},
		"never takes on": {"never ready", "it takes no calls 100ms after its start",
			func(o *Options) { o.Patience = 100 * time.Millisecond }},
		"no program": {"", "not started", func(o *Options) { o.Commands[0].Args = []string{"/nowhere/at/all"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := runs(t, tc.does, tc.change)
			eventually(t, "three starts", func() bool { return strings.Count(c.log.String(), tc.says) >= 3 })
			if len(c.Ready()) > 0 || strings.Contains(c.log.String(), "worker ready") {
				t.Error("it was offered")
			}
			var next State
			eventually(t, "it waits for its next start", func() bool {
				next, _ = c.State("B62a")
				return !next.Next.IsZero()
			})
			if next.PID != 0 || next.URL != "" {
				t.Errorf("while it waits: %+v", next)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	w := New(Options{Commands: []Command{{Account: "B62a"}}}).all["B62a"]
	for tries, longest := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		longest *= time.Second
		for range 100 {
			if d := w.backoff(tries); d < longest/2 || d > longest {
				t.Fatalf("try %d waits %v, want %v to %v", tries, d, longest/2, longest)
			}
		}
	}
}

// TestFamily: what a worker has started ends with it.
func TestFamily(t *testing.T) {
	t.Parallel()
	t.Run("worker killed", func(t *testing.T) {
		t.Parallel()
		c := runs(t, "family", func(o *Options) { o.Grace = 10 * time.Millisecond })
		first := c.ready(0)
		child := childIn(t, &c.log)
		if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(t, "the child", child)
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		c := runs(t, "family", func(o *Options) { o.Grace = 10 * time.Millisecond })
		worker := identityOf(c.ready(0).PID)
		child := childIn(t, &c.log)
		c.stop() // the child ignores SIGTERM
		gone(t, "the worker", worker)
		gone(t, "the child", child)
	})
}
