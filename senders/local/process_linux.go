package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// attributes make the process a leader of a group of its own, and let the
// kernel kill it when the thread that starts it ends. That is why all are
// started by one thread, see starter.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

// startOf is when a process was started, in ticks since a certain boot, "" if
// there is none.
func startOf(pid int) string {
	_, start, ok := stat(pid)
	if !ok {
		return ""
	}
	return bootID() + ":" + start
}

// stat reads process group and start time of a process that is no zombie, see
// proc_pid_stat(5).
func stat(pid int) (group int, start string, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, "", false
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, pgrp, starttime = 0, 2, 19 // behind the name
	if len(fields) <= starttime || fields[state] == "Z" || fields[state] == "X" {
		return 0, "", false
	}
	group, err = strconv.Atoi(fields[pgrp])
	return group, fields[starttime], err == nil
}

// leftOf finds what still runs of a worker: the process itself, what is in its
// group, and whatever carries its mark.
func leftOf(r record) []identity {
	led := r.Worker.alive()
	folders, _ := os.ReadDir("/proc")
	mark := []byte(markVariable + "=" + r.Mark)
	var left []identity
	for _, f := range folders {
		pid, err := strconv.Atoi(f.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		one := identityOf(pid)
		group, _, ok := stat(pid)
		if ok && (one == r.Worker || led && group == r.Worker.PID || r.Mark != "" && marked(pid, mark)) {
			left = append(left, one)
		}
	}
	return left
}

func marked(pid int, mark []byte) bool {
	env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(pair, mark) {
			return true
		}
	}
	return false
}
