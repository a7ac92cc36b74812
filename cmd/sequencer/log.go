package main

import (
	"io"
	"log/slog"
)

// newLogger writes to w: readable text where a person looks, JSON lines
// elsewhere, unless the configuration says which.
func newLogger(w io.Writer, c logConfig) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "text" || (c.Format == "" && isTerminal(w)) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
