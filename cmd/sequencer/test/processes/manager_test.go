//go:build linux

package processes

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
)

// notified: what systemd is told on its socket, from the start to the end.
func notified(t *testing.T, bin binaries) {
	r := newRig(t, bin, "notified", nil)
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	r.ok(err)
	defer manager.Close()
	next := func() string {
		r.ok(manager.SetReadDeadline(time.Now().Add(patience)))
		b := make([]byte, 4096)
		n, err := manager.Read(b)
		r.ok(err)
		return string(b[:n])
	}
	s := r.serve("serve", map[string]string{
		"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "SEQUENCER_SHUTDOWN_DELAY": "1s", "SEQUENCER_SHUTDOWN_TIMEOUT": "7s",
	})
	if got := next(); got != "READY=1" {
		t.Errorf("first it says %q", got)
	}
	for range 5 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("while it serves it says %q", got)
		}
	}
	s.signal(syscall.SIGTERM)
	after := 0
	for got := next(); !strings.HasPrefix(got, "STOPPING=1\nEXTEND_TIMEOUT_USEC=25000000"); got = next() {
		if got != "WATCHDOG=1" {
			t.Fatalf("told to end it says %q", got)
		}
	}
	for ; after < 5; after++ {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("while it ends it says %q", got)
		}
	}
	if code := r.exitCodeOf(s.program); code != command.ExitOK {
		t.Errorf("ended with %d", code)
	}
}

// firstOfContainer: as the first process of a container the program waits for those that
// nobody else does, passes signals on, and ends as its child has.
func firstOfContainer(t *testing.T, bin binaries) {
	r := newRig(t, bin, "first", nil)
	done := filepath.Join(t.TempDir(), "done")
	// A worker that leaves an orphan behind.
	orphan := fmt.Sprintf(`(sh -c 'sleep 0.2; echo over > %s' &); exec "$0" "$@"`, done)
	text, err := json.Marshal([]map[string]any{{"accountId": devnet.Key(1), "command": []string{"sh", "-c", orphan, bin.worker,
		"--account", devnet.Key(1), "--node", "http://" + r.node + "/graphql"}}})
	r.ok(err)
	file := filepath.Join(t.TempDir(), "senders.json")
	r.ok(os.WriteFile(file, text, 0o600))
	r.env["SEQUENCER_SENDERS_FILE"], r.env["SEQUENCER_STATE_DIR"] = file, t.TempDir()

	s := r.serveAs("serve", nil, container())
	r.ready(s, 1, 0)
	pid := s.cmd.Process.Pid
	r.eventually(patience, "the orphan has ended", func() bool { b, _ := os.ReadFile(done); return string(b) == "over\n" })
	r.eventually(patience, "somebody has waited for it", func() bool { return len(childrenOf(pid)) == 1 })
	r.post(s, "q", "one")
	r.allDone()
	s.signal(syscall.SIGTERM)
	if code := r.exitCodeOf(s.program); code != command.ExitOK {
		t.Errorf("ended with %d: %s", code, s.out.lines(20))
	}
	bad := r.runAs("bad", bin.sequencer, map[string]string{"SEQUENCER_FEE": "much"}, container(), "serve")
	if code := r.exitCodeOf(bad); code != command.ExitUsage {
		t.Errorf("a bad setting ended it with %d: %s", code, bad.out.lines(20))
	}
}

// container has a process be the first of a namespace of its own, as in a container.
func container() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// childrenOf lists the children of a process, those that nobody has waited for, too.
func childrenOf(parent int) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^PPid:\t%d$`, parent))
	for _, name := range all {
		if text, err := os.ReadFile(name); err == nil && line.Match(text) {
			pids = append(pids, name)
		}
	}
	return pids
}
