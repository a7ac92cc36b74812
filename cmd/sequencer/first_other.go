//go:build !linux

package main

// firstProcess is for containers, which are Linux.
func firstProcess() bool { return false }

func runBehind() (code int) { return exitFailure }
