//go:build !linux

package serve

import "mina-sequencer/cmd/sequencer/command"

// FirstProcess is for containers, which are Linux.
func FirstProcess() bool { return false }

// RunBehind is never called.
func RunBehind() (code int) { return command.ExitFailure }
