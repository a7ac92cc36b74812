package redistest

import "syscall"

// endWithParent lets the server die with a test that has no time to clean up.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
