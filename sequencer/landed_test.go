package sequencer_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/harness"
	"mina-sequencer/sequencer/lifecycle"
)

// TestLandedWhileStored: what the chain shows while it is being stored that a node has taken it
// is acted on, without another block, also where the node's hash is the first that is known.
func TestLandedWhileStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.NewWith(t, devnet.Config{BlockOnSend: true, SlotTime: 24 * time.Hour}, harness.Policy())
		worker := devworker.New(devworker.Options{Account: devnet.Key(1), ProveTime: time.Minute})
		hash := regexp.MustCompile(`"hash":"[^"]*"`)
		w.Web.Serve(w, "hashless", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			made := httptest.NewRecorder()
			worker.ServeHTTP(made, r)
			rw.Header().Set("Content-Type", made.Header().Get("Content-Type"))
			rw.WriteHeader(made.Code)
			_, _ = rw.Write(bytes.TrimSpace(hash.ReplaceAll(made.Body.Bytes(), []byte(`"hash":""`))))
		}))
		w.OK(w.Pool.Register(w.Ctx, devnet.Key(1), "http://hashless"))
		client := w.Redis.NewClient()
		slow := &slowOnce{word: "nodeHash", by: 3 * harness.Policy().InclusionInterval / 2}
		client.AddHook(slow)
		w.Launch(harness.Links{Dial: w.Web.Dial, Redis: client, Ended: func(error) {}})
		w.Post("q", "a")
		w.Await("a", lifecycle.Done, time.Hour)
		if !slow.used.Load() || w.Get("a").Attempts[0].Hash != "" {
			t.Errorf("slow: %t, its worker told %q", slow.used.Load(), w.Get("a").Attempts[0].Hash)
		}
	})
}

// slowOnce answers late, once, to the first command with a word in its arguments, from when
// it is armed on if it is to be, and tells when it has.
type slowOnce struct {
	word  string
	by    time.Duration
	armed func() bool
	after func()
	used  atomic.Bool
}

func (s *slowOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slowOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.look(cmd)
		return err
	}
}

func (s *slowOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			s.look(cmd)
		}
		return err
	}
}

func (s *slowOnce) look(cmd redis.Cmder) {
	if s.armed != nil && !s.armed() || !strings.Contains(fmt.Sprint(cmd.Args()...), s.word) {
		return
	}
	if s.used.CompareAndSwap(false, true) {
		<-time.After(s.by)
		if s.after != nil {
			s.after()
		}
	}
}
