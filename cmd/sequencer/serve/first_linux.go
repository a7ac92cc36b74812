package serve

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// FirstProcess reports whether this process is the first of a container. Orphans become
// its children, and somebody has to wait for them.
func FirstProcess() bool { return os.Getpid() == 1 }

// RunBehind runs the program again, as a child, and waits for whatever ends: in the
// program itself that would take from it the ends of its own workers. Signals are passed
// on, and the exit code is the child's.
func RunBehind() (code int) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if terminal.Is(os.Stdin) {
		attributes.Foreground = true // what is typed there is for the child alone
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	child, err := os.StartProcess(self, os.Args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attributes,
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "sequencer: starting itself as a child: %v\n", err)
		return command.ExitFailure
	}
	go func() {
		for s := range signals {
			if number, ok := s.(syscall.Signal); ok && number != syscall.SIGCHLD && number != syscall.SIGURG {
				_ = syscall.Kill(child.Pid, number)
			}
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != child.Pid:
		case err != nil:
			fmt.Fprintf(os.Stderr, "sequencer: waiting for children: %v\n", err)
			return command.ExitFailure
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
