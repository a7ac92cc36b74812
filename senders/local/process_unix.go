//go:build unix

package local

import (
	"io/fs"
	"os"
	"syscall"
)

func terminateGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// killGroup ends what is left of a group. A leader that has ended still keeps
// its number from others as long as one of its group is left.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

func groupAlive(leader int) bool { return syscall.Kill(-leader, 0) == nil }

// ownedAlone reports whether only this user can change a file.
func ownedAlone(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
