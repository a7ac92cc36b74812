// Package inprocess is what tests of more than one package of the program need: to run one of its
// commands as main does, and to watch what it prints. It is for tests alone.
package inprocess

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
)

// Run runs a command as the program would, and returns its exit code. ctx ends with the first
// signal.
func Run(ctx context.Context, newCommand func(*command.App) *cobra.Command, env map[string]string, out io.Writer, args ...string) int {
	a := &command.App{Env: env, Stdout: out, Stderr: out, Poll: time.Second, Retries: 4, Version: "(devel)", Commit: "unknown"}
	return a.Execute(ctx, command.Group("sequencer", "", newCommand(a)), args)
}

// Demo runs the demo in the background. The environment is one that was
// set for a real network: none of it may be used.
func Demo(t *testing.T, newCommand func(*command.App) *cobra.Command, args ...string) (out *Output, stop context.CancelFunc, code <-chan int) {
	t.Helper()
	env := map[string]string{
		"SEQUENCER_MINA_URL":     "http://192.0.2.1/graphql",
		"SEQUENCER_SENDERS":      "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg=http://192.0.2.1",
		"SEQUENCER_SENDERS_FILE": "", "SEQUENCER_MINA_QUORUM": "1", "SEQUENCER_API_KEYS": "me:read:0123456789abcdef",
		"SEQUENCER_KEY": "another", "SEQUENCER_TYPES": "SEND_CLAIM_VOTE", "SEQUENCER_FEE": "0.2",
	}
	ctx, cancel := context.WithCancel(t.Context())
	out = &Output{}
	ended := make(chan int, 1)
	all := append([]string{"demo", "--slot", "150ms"}, args...)
	go func() { ended <- Run(ctx, newCommand, env, out, all...) }()
	t.Cleanup(cancel)
	return out, cancel, ended
}

// An Output keeps what is written and says when a text first occurs in it.
type Output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	waits map[string]chan struct{}
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	for text, seen := range o.waits {
		if strings.Contains(o.text.String(), text) {
			close(seen)
			delete(o.waits, text)
		}
	}
	return n, err
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Seen is closed once the text is there.
func (o *Output) Seen(text string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := make(chan struct{})
	if strings.Contains(o.text.String(), text) {
		close(seen)
		return seen
	}
	if o.waits == nil {
		o.waits = map[string]chan struct{}{}
	}
	o.waits[text] = seen
	return seen
}
