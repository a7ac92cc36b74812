package sequencer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// A journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

// TestBlocksTakeMore: that blocks take more zkApp commands than is set is said once for each new
// number, and not where it is set.
func TestBlocksTakeMore(t *testing.T) {
	t.Parallel()
	for set, want := range map[int]int{0: 2, 20: 1, 24: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := harness.New(t, devnet.Config{FillRate: 1, MaxZkapps: 24})
			w.Policy.BlockZkapps = set
			log := &journal{}
			w.Logger = slog.New(slog.NewTextHandler(log, nil))
			w.Worker(1, devworker.Options{})
			w.Start()
			for n, others := range []int{11, 12, 12, 20} { // and ours
				w.Flood(uint64(1000+100*n), others, 1e9)
				uid := string(rune('a' + n))
				w.Post("q", uid)
				w.Await(uid, tx.Done, time.Hour)
			}
			if n := log.count("SEQUENCER_BLOCK_ZKAPPS"); n != want {
				t.Errorf("with %d set it was said %d times, want %d", set, n, want)
			}
		})
	}
}
