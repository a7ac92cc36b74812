//go:build unix && !linux

package processes

import (
	"syscall"
	"testing"
)

var processesOfLinux map[string]func(*testing.T, binaries)

// endWithParent has nothing to offer here: a test that is killed leaves its
// processes behind.
func endWithParent() *syscall.SysProcAttr { return nil }
