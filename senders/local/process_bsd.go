//go:build unix && !linux

package local

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes make the process a leader of a group of its own. There is no way
// here to have it end with this process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// startOf is when a process was started, "" if there is none.
func startOf(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// leftOf finds the process of a worker if it still runs. Its group goes with it.
func leftOf(r record) []identity {
	if !r.Worker.alive() {
		return nil
	}
	killGroup(r.Worker.PID)
	return []identity{r.Worker}
}
