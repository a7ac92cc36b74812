//go:build unix

package processes

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// redisKilled: Redis is killed with -9 under load, again and again, and comes
// back with what it had written to its file before it answered: all of it.
// With everysec that is so as long as no flush is under way (see
// docs/redis.md), so it is killed between two flushes then.
func redisKilled(appendfsync string) func(*testing.T, binaries) {
	return func(t *testing.T, bin binaries) {
		if appendfsync != "always" {
			lane.All(t, "RedisKilledAlways")
		}
		r, l, services := redisUnderLoad(t, bin, "redis-"+appendfsync, "appendfsync "+appendfsync)
		rng := rand.New(rand.NewPCG(2, 0))
		for round := range 4 {
			l.work(time.Duration(500+rng.IntN(1000)) * time.Millisecond)
			if round == 1 {
				r.fault(1, workerError)
				inBlocks(r)
			}
			r.flushed()
			r.redis.Kill()
			r.redis.Restart()
			if lost := r.missing(l, time.Now()); len(lost) > 0 {
				t.Errorf("accepted and lost: %q", lost)
			}
		}
		l.finish()
		r.outlived(services)
	}
}

func redisUnderLoad(t *testing.T, bin binaries, namespace string, directives ...string) (*rig, *load, []*program) {
	t.Helper()
	r := newRig(t, bin, namespace, unhurried, directives...)
	for n := range uint64(4) {
		r.worker(n+1, "--prove-time", "50ms")
	}
	l := r.load(1)
	return r, l, []*program{r.place(l, 0), r.place(l, 1)}
}

// flushed waits until Redis has no flush to its disk under way and begins none
// for a while: with everysec it does that when a second is over.
func (r *rig) flushed() {
	r.Helper()
	r.eventually(patience, "Redis has flushed its file", func() bool {
		if part := time.Since(time.Now().Truncate(time.Second)); part < 300*time.Millisecond || part > 700*time.Millisecond {
			return false
		}
		info, err := r.redis.Client.Info(r.Context(), "persistence").Result()
		r.ok(err)
		return strings.Contains(info, "aof_pending_bio_fsync:0\r\n")
	})
}

// missing lists what was accepted before a moment and is not stored.
func (r *rig) missing(l *load, before time.Time) (lost []string) {
	r.Helper()
	l.mu.Lock()
	accepted := slices.Clone(l.accepted)
	l.mu.Unlock()
	for _, a := range accepted {
		if a.at.After(before) {
			continue
		}
		if _, err := r.store.Get(r.Context(), a.uid); errors.Is(err, queues.ErrNotFound) {
			lost = append(lost, a.uid)
		} else {
			r.ok(err)
		}
	}
	return lost
}

// outlived: no sequencer ended with Redis.
func (r *rig) outlived(services []*program) {
	r.Helper()
	for _, s := range services {
		select {
		case <-s.ended:
			r.Errorf("%s ended with Redis", s.name)
		default:
		}
	}
}

// unhurried are the settings where no process dies: one that is slow on a busy
// machine is not to be taken for dead, and what it knows is to be waited for.
var unhurried = map[string]string{"SEQUENCER_CLAIM_TTL": "10s"}

// powerLost: the machine of Redis loses power under load, and with it what was
// not flushed to its disk yet. At most the last two seconds of what was accepted
// are gone. What was accepted and lost is posted again, under the same key, as a
// client does who misses it; and all is done once.
func powerLost(t *testing.T, bin binaries) {
	lane.All(t, `RedisKilledAlways; a second of writes that is lost is TestFailOver`)
	r := newRig(t, bin, "power", map[string]string{"SEQUENCER_DISPATCH_TIMEOUT": "10s", "SEQUENCER_CLAIM_TTL": "10s"}, "aof-timestamp-enabled yes")
	for n := range uint64(6) {
		r.worker(n+1, "--prove-time", "2500ms")
	}
	l := r.load(1)
	services := []*program{r.place(l, 0), r.place(l, 1)}
	lost := 0
	for range 2 {
		l.work(6 * time.Second)
		before := time.Now()
		since := r.redis.LosePower()
		if age := before.Sub(since); age > 2*time.Second {
			t.Errorf("%v are lost", age)
		}
		r.redis.Restart()
		if gone := r.missing(l, since.Add(-50*time.Millisecond)); len(gone) > 0 {
			t.Errorf("accepted before what was lost, and gone: %q", gone)
		}
		for _, uid := range r.missing(l, time.Now()) {
			lost++
			l.postAgain(uid)
		}
	}
	t.Logf("%d of %d transactions accepted were lost with the power", lost, len(l.accepted))
	l.finish()
	r.outlived(services)
}

// postAgain posts what was accepted and lost.
func (l *load) postAgain(uid string) {
	l.mu.Lock()
	i := slices.IndexFunc(l.accepted, func(a acceptance) bool { return a.uid == uid })
	p := l.accepted[i].posting
	l.mu.Unlock()
	sequence, ok := l.post(p, rand.New(rand.NewPCG(l.seed, 99)), http.StatusAccepted, http.StatusOK)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted[i].sequence, l.accepted[i].at = sequence, time.Now()
	l.under[uid] = true
}

// replicaPromoted: Redis dies, and its replica takes its place, which was cut off
// a while before. What was bound, sent and done since is forgotten, and is done
// once all the same. What was accepted since is lost, and is posted again.
func replicaPromoted(t *testing.T, bin binaries) {
	lane.All(t, `TestFailOver in simulated time`)
	r := newRig(t, bin, "promoted", map[string]string{"SEQUENCER_REDIS_WAIT": "0"})
	for n := range uint64(4) {
		r.worker(n+1, "--prove-time", "50ms")
	}
	replica := r.redis.Replica()
	first, second := r.serve("first", nil), r.serve("second", nil)
	for i := range 48 {
		r.post(first, fmt.Sprintf("q%d", i%6), fmt.Sprintf("before-%02d", i))
	}
	r.post(first, "held", "before-held")
	r.ok(r.store.Pause(t.Context(), "held", "until the failover"))
	states := func() (at map[string]*tx.Transaction, done int) {
		at = map[string]*tx.Transaction{}
		for _, p := range r.posted {
			x := r.get(p.uid)
			if at[p.uid] = x; x.State() == tx.Done {
				done++
			}
		}
		return at, done
	}
	r.eventually(patience, "the first are DONE", func() bool { _, done := states(); return done >= 4 })
	r.redis.CutOff(replica)
	_, before := states()
	held := []posting{{"held", "held-0"}, {"held", "held-1"}}
	for _, p := range held {
		r.post(second, p.queue, p.uid)
	}
	r.eventually(patience, "more are DONE than the replica knows of", func() bool { _, done := states(); return done >= before+20 })
	last, _ := states()
	r.redis.FailOver(replica)

	forgotten := 0
	for uid, x := range last {
		now, err := r.store.Get(t.Context(), uid)
		switch lost := strings.HasPrefix(uid, "held-"); {
		case lost != errors.Is(err, queues.ErrNotFound):
			t.Errorf("%s, accepted after the replica was cut off: %v; read: %v", uid, lost, err)
		case err == nil && now.Revision < x.Revision:
			forgotten++
		}
	}
	// Those that were at work may have written something back by now.
	t.Logf("%d transactions were further than the replica knows, a moment after it was promoted", forgotten)
	r.posted = slices.DeleteFunc(r.posted, func(p posting) bool { return slices.Contains(held, p) })
	for _, p := range held {
		r.post(first, p.queue, p.uid)
	}
	r.ok(r.store.Resume(t.Context(), "held"))
	r.allDone()
	r.outlived([]*program{first.program, second.program})
	r.audit()
}

// redisAway: what the client of Redis says by itself is a line of the log as any other, and
// commands that have none keep it to themselves.
func redisAway(t *testing.T, bin binaries) {
	for command, logs := range map[string]bool{"serve": true, "doctor": false, "audit": false} {
		cmd := exec.CommandContext(t.Context(), bin.sequencer, command)
		cmd.Env = []string{
			"SEQUENCER_ADDR=127.0.0.1:0", "SEQUENCER_REDIS_URL=redis://127.0.0.1:1", "SEQUENCER_MINA_URL=http://127.0.0.1:1",
			"SEQUENCER_STATE_DIR=" + t.TempDir(), "SEQUENCER_LOG_FORMAT=json",
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil {
			t.Errorf("%s ended well", command)
		}
		told := 0
		for line := range strings.Lines(stderr.String()) {
			var entry struct{ Level, Msg, Err string }
			switch err := json.Unmarshal([]byte(line), &entry); {
			case err == nil && entry.Level == "WARN" && entry.Msg == "redis client" && strings.Contains(entry.Err, "refused"):
				told++
			case err != nil && !strings.HasPrefix(line, "sequencer: "): // the error of the command
				t.Errorf("%s says %s", command, line)
			}
		}
		if logs != (told > 0) {
			t.Errorf("%s logs %d line(s) of the client:\n%s", command, told, &stderr)
		}
	}
}
