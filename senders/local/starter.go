package local

import (
	"errors"
	"os/exec"
	"runtime"
)

// A starter starts all processes from one thread of the system, which lives as
// long as any of them: the kernel takes its end for the end of their parent.
type starter struct {
	jobs  chan startJob
	ended chan struct{}
}

type startJob struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() *starter {
	s := &starter{make(chan startJob), make(chan struct{})}
	go s.serve()
	return s
}

// stop ends the thread, and with it what it has started and still runs.
func (s *starter) stop() {
	close(s.jobs)
	<-s.ended
}

func (s *starter) serve() {
	defer close(s.ended)
	// Never unlocked, so that the runtime gives the thread to nobody else.
	runtime.LockOSThread()
	for job := range s.jobs {
		job.done <- job.cmd.Start()
	}
}

func (s *starter) start(cmd *exec.Cmd) error {
	if attributes() == nil {
		return errors.New("workers are started on Unix systems only")
	}
	job := startJob{cmd, make(chan error, 1)}
	s.jobs <- job
	return <-job.done
}
