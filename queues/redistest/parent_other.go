//go:build !linux

package redistest

import "syscall"

// endWithParent has nothing to offer here: a test that is killed leaves its
// server behind.
func endWithParent() *syscall.SysProcAttr { return nil }
