// Package processes holds tests, and nothing of the program: they run the programs as they run
// in service, a real Redis among them, and end them in every way that a process can end.
package processes
