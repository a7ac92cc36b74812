// Package browser holds tests, and nothing of the program: a Chromium without a screen does on
// the dashboard what people do there.
package browser
