//go:build !unix

package local

import (
	"io/fs"
	"syscall"
)

// Without process groups no worker could be ended for certain, so none is
// started: startOf knows nobody, and starter refuses.

func attributes() *syscall.SysProcAttr { return nil }
func startOf(int) string               { return "" }
func leftOf(record) []identity         { return nil }
func terminateGroup(int)               {}
func killGroup(int)                    {}
func groupAlive(int) bool              { return false }
func ownedAlone(fs.FileInfo) bool      { return true }
