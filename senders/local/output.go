package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxLine is how many bytes of a line are logged.
	maxLine = 2 << 10
	// maxRate is how many lines per second are logged of one stream.
	maxRate = 100
)

// output passes on what a process prints to the log, line by line.
type output struct {
	log     *slog.Logger
	secrets *strings.Replacer
	longest int // bytes of a secret
	streams []stream
	parts   sync.WaitGroup
}

type stream struct {
	name  string
	level slog.Level
	r, w  *os.File
}

// newOutput gives cmd its standard output and error. They are pipes of our own:
// so the end of a process is seen although what it started holds them open.
func newOutput(cmd *exec.Cmd, log *slog.Logger, secrets []string) (*output, error) {
	o := &output{log: log, streams: []stream{
		{name: "stdout", level: slog.LevelInfo}, {name: "stderr", level: slog.LevelWarn}}}
	o.secrets, o.longest = hide(secrets)
	for i := range o.streams {
		var err error
		if o.streams[i].r, o.streams[i].w, err = os.Pipe(); err != nil {
			o.begin(false)
			return nil, fmt.Errorf("making a pipe for the output: %w", err)
		}
	}
	cmd.Stdout, cmd.Stderr = o.streams[0].w, o.streams[1].w
	return o, nil
}

// begin reads once the process has its ends; if it was not started, it closes
// all.
func (o *output) begin(started bool) {
	for _, s := range o.streams {
		_ = s.w.Close()
		if !started {
			_ = s.r.Close()
			continue
		}
		o.parts.Go(func() { o.pass(s) })
	}
}

// close waits until what the process has printed is logged. It does not wait for
// others that still hold its output.
func (o *output) close() {
	for _, s := range o.streams {
		_ = s.r.SetReadDeadline(time.Now().Add(time.Second))
	}
	o.parts.Wait()
	for _, s := range o.streams {
		_ = s.r.Close()
	}
}

// pass logs a stream until it ends. It always reads on: a process whose output
// nobody takes would stand still.
func (o *output) pass(s stream) {
	in := bufio.NewReaderSize(s.r, 2*maxLine+o.longest)
	var second time.Time
	lines, dropped := 0, 0
	tell := func() {
		if dropped > 0 {
			o.log.Warn("worker printed more than is logged", "stream", s.name, "lines", dropped)
		}
		lines, dropped = 0, 0
	}
	defer tell()
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			if now := time.Now(); now.Sub(second) >= time.Second {
				tell()
				second = now
			}
			if lines++; lines > maxRate {
				dropped++
			} else if text := o.clean(line, !errors.Is(err, bufio.ErrBufferFull)); text != "" {
				o.log.Log(context.Background(), s.level, "worker: "+text, "stream", s.name) //nolint:sloglint // its own words
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// clean is what is logged of a line; whole says that it is not cut. A secret may
// begin in the end of one that is.
func (o *output) clean(line []byte, whole bool) string {
	text := o.secrets.Replace(string(bytes.TrimRight(line, "\r\n")))
	if !whole {
		text = text[:max(0, len(text)-o.longest)]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if whole && len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:min(len(text), maxLine)], "") + "…"
}

// hide replaces secrets, each line of one by itself, and returns how long the
// longest is. What is very short is no secret, and would be found everywhere.
func hide(secrets []string) (replacer *strings.Replacer, longest int) {
	const shortest = 6
	var all []string
	for _, s := range secrets {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= shortest {
				all = append(all, line, inJSON(line, true), inJSON(line, false))
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, one := range all {
		pairs = append(pairs, one, "***")
		longest = max(longest, len(one))
	}
	return strings.NewReplacer(pairs...), longest
}

// inJSON is how a text stands in JSON, where some escape also what HTML minds.
func inJSON(text string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text) // a text always can be
	return b.String()[1 : b.Len()-len("\"\n")]
}
