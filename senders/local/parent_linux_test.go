package local

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// TestParentKilled: with a parent that is killed its worker goes at once, and
// what the worker had started is ended by whoever comes next, before that one
// starts its own.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), role+"=parent", "LOCAL_TEST_DIR="+dir)
	var out logged
	parent.Stdout, parent.Stderr = &out, &out
	parent.SysProcAttr = attributes()
	if err := newStarterFor(t).start(parent); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan error, 1)
	go func() { reaped <- parent.Wait() }()
	t.Cleanup(func() { _ = parent.Process.Kill() })

	var pid int
	ready := regexp.MustCompile(`worker ready.* pid=(\d+)`)
	eventually(t, "the parent has a worker", func() bool {
		if found := ready.FindStringSubmatch(out.String()); found != nil {
			pid, _ = strconv.Atoi(found[1])
		}
		return pid > 0
	})
	worker, child := identityOf(pid), childIn(t, &out)
	t.Cleanup(child.kill)

	// A second process beside the first leaves its worker alone.
	beside := runs(t, "", func(o *Options) { o.Dir = dir + "/workers" })
	beside.ready(0)
	if !worker.alive() || !child.alive() {
		t.Fatal("another process ended a worker whose parent lives")
	}
	beside.stop()

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-reaped //nolint:errcheck // it was killed, and says so
	gone(t, "the worker", worker)
	if !child.alive() {
		t.Error("nothing is left over: the test tests nothing")
	}
	next := runs(t, "", func(o *Options) { o.Dir = dir + "/workers" })
	next.ready(0)
	if child.alive() {
		t.Error("a worker was started beside a left-over")
	}
	next.says("left over")
	next.stop()
	if left, err := os.ReadDir(dir + "/workers"); err != nil || len(left) > 0 {
		t.Errorf("records left: %v, %v", left, err)
	}
}

func newStarterFor(t *testing.T) *starter {
	s := newStarter()
	t.Cleanup(s.stop)
	return s
}
