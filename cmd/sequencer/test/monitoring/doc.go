// Package monitoring holds a test, and nothing of the program: a real Prometheus scrapes a demo
// and is asked what the dashboard and the alerts of the documentation ask.
package monitoring
