package processes

import (
	"syscall"
	"testing"
)

// processesOfLinux are tests of what is only there on Linux.
var processesOfLinux = map[string]func(*testing.T, binaries){"Notified": notified, "FirstOfContainer": firstOfContainer}

// endWithParent lets a process die with a test that has no time to clean up.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
