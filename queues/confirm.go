package queues

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis answers a write before any replica has it. What lets bytes leave for the chain, for a
// worker that sends, or for a ledger is therefore confirmed first: by so many replicas as
// Options.Replicas says or, of AllReplicas, by each one that is online, for any of them may be
// promoted. Where the namespace ever had a replica, one at least must be online: the one that is
// gone may come back as the primary. That is so for replicaGrace after the last one was seen, by a
// mark in Redis that a promotion does not clear. Where there never was one, nobody confirms.

// AllReplicas has all replicas that are online confirm.
const AllReplicas = -1

const (
	// confirmTimeout is how long replicas have to confirm a write. It is less than the
	// readTimeout of a Cluster, and the 5 s after which go-redis gives up other answers.
	confirmTimeout = 2 * time.Second
	// replicaWaits is how many wait for replicas at a time. Each holds a connection for as long as
	// that takes: where no replica answers, more would leave none to heartbeats and posts.
	replicaWaits = 4
	// replicaGrace is for how long a namespace that had a replica sends nothing without one.
	replicaGrace = time.Hour
	// replicaMark is how old the mark of a replica may become while there is one.
	replicaMark = time.Minute
)

// ErrUnconfirmed: the write is made, but too few replicas have it.
var ErrUnconfirmed = errors.New("too few replicas confirmed the write")

// A confirmer knows who has to confirm a write, and whether they do.
type confirmer struct {
	turn  chan struct{}             // one for each that waits
	since atomic.Pointer[time.Time] // since when they do not confirm, nil if they do

	mu     sync.Mutex
	server string    // the history that this is of
	online int       // replicas, as the server said last
	seen   time.Time // when there was one last, by the clock of Redis; zero: never
	now    time.Time // of that clock, as the server said last
}

// wanted is how many replicas have to confirm a write that is made now.
func (s *Store) wanted() int {
	if s.Replicas != AllReplicas {
		return s.Replicas
	}
	c := &s.confirmer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.online == 0 && !c.seen.IsZero() && c.now.Sub(c.seen) < replicaGrace {
		return 1
	}
	return c.online
}

// Confirms reports whether replicas have to confirm what lets something leave.
func (s *Store) Confirms() bool { return s.wanted() > 0 }

// Unconfirmed is since when no write was confirmed by as many replicas as are wanted; zero if the
// last one was, or none are wanted any more.
func (s *Store) Unconfirmed() time.Time {
	if at := s.confirmer.since.Load(); at != nil && s.Confirms() {
		return *at
	}
	return time.Time{}
}

// noted keeps what a server says of its replicas.
func (c *confirmer) noted(online int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.online = online
	if now.After(c.now) {
		c.now = now
	}
	if online > 0 {
		c.seen = c.now
	}
}

// follow notes which Redis answers. One that was promoted has fewer replicas than the one before it, one
// perhaps: more would be waited for in vain, a confirmTimeout long. If it has more it says so at the write.
func (c *confirmer) follow(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != "" && c.server != server {
		c.online = min(c.online, 1)
	}
	c.server = server
}

// onlineReplicas counts those that have caught up, by the section replication of INFO.
func onlineReplicas(info map[string]string) (n int) {
	for i := 0; ; i++ {
		of, listed := info["slave"+strconv.Itoa(i)]
		if !listed {
			return n
		}
		if strings.Contains(of, "state=online") {
			n++
		}
	}
}

// serverTime is the clock of a server, by the section server of INFO; zero where it does not say.
func serverTime(info map[string]string) time.Time {
	us, err := strconv.ParseInt(info["server_time_usec"], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(us)
}

// lookForReplicas notes how many there are, by INFO, and in Redis that there was one.
func (s *Store) lookForReplicas(ctx context.Context, info map[string]string) error {
	now, online := serverTime(info), onlineReplicas(info)
	ms, err := s.client.Get(ctx, s.key("is:replicas")).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return storeError("reading whether there were replicas", err)
	}
	c := &s.confirmer
	c.mu.Lock()
	if at := fromMillis(ms); at.After(c.seen) {
		c.seen = at
	}
	c.mu.Unlock()
	c.noted(online, now)
	if online == 0 || now.Sub(fromMillis(ms)) < replicaMark {
		return nil
	}
	err = s.client.Set(ctx, s.key("is:replicas"), millis(now), 0).Err()
	if err != nil && !redis.HasErrorPrefix(err, "OOM") {
		return storeError("noting that there are replicas", err)
	}
	return nil
}

// replicaFault is about too few replicas, nil where there are as many as are wanted.
func (s *Store) replicaFault() *Fault {
	c := &s.confirmer
	want := s.wanted()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.online >= want:
		return nil
	case s.Replicas == AllReplicas:
		return &Fault{"REDIS_REPLICAS", false,
			fmt.Sprintf("has no replica since %s, and had one: nothing is sent, for that one may be promoted",
				c.seen.UTC().Format(time.RFC3339)),
			fmt.Sprintf("connect one; or, if none will be promoted, set SEQUENCER_REDIS_WAIT=0, or wait until %s",
				c.seen.Add(replicaGrace).UTC().Format(time.RFC3339))}
	}
	return &Fault{"REDIS_REPLICAS", false,
		fmt.Sprintf("has %d replica(s), and %d must confirm before anything is sent", c.online, want),
		"connect the replicas, or set SEQUENCER_REDIS_WAIT to less"}
}

// runConfirmed runs a script and waits until as many replicas as are wanted have what it wrote.
// Redis counts for WAIT what the same connection wrote before, and answers at once behind a
// script that wrote nothing: advance writes its record again also where that is stored as it is.
// ErrUnconfirmed if too few answer: the script has run, but a failover might forget it.
func (s *Store) runConfirmed(ctx context.Context, script *Script, args ...any) (any, error) {
	want := s.wanted()
	if want == 0 {
		return s.Run(ctx, script, args...)
	}
	select {
	case s.confirmer.turn <- struct{}{}:
		defer func() { <-s.confirmer.turn }()
	case <-ctx.Done():
		return nil, storeError(script.name, ctx.Err())
	}
	s.calls.Add(1)
	c := scriptCall{script, args, make(chan scriptAnswer, 1)}
	r := runs([]scriptCall{c})[0]
	defer s.observe([]*run{r}, time.Now())
	confirmed, err := s.runWaiting(ctx, r, want)
	if err != nil {
		return nil, err
	}
	a := <-c.done
	if a.err != nil {
		return nil, a.err
	}
	n, err := confirmed()
	if now := s.wanted(); err == nil && s.Replicas == AllReplicas { // as the server has said meanwhile
		want = max(now, min(want, 1))
	}
	switch {
	case err != nil:
		return nil, storeError("waiting for replicas", err)
	case n < want:
		s.confirmer.since.CompareAndSwap(nil, new(time.Now()))
		return a.value, fmt.Errorf("%w: %d of %d", ErrUnconfirmed, n, want)
	}
	s.confirmer.since.Store(nil)
	return a.value, nil
}

// runWaiting runs one script and WAIT on one connection to the server that has the
// namespace: a Cluster's client splits a pipeline by key, and WAIT has none. It returns how many
// have confirmed; of AllReplicas the server says beside it how many there are.
func (s *Store) runWaiting(ctx context.Context, r *run, want int) (confirmed func() (int, error), err error) {
	for again := 3; ; again-- { // to another server, and there it is unknown
		node, err := s.node(ctx)
		if err != nil {
			return nil, err
		}
		pipe := node.Pipeline()
		answer := r.script.EvalSha(ctx, pipe, s.keys, r.args...)
		wait := pipe.Do(ctx, "WAIT", want, confirmTimeout.Milliseconds())
		var info *redis.StringCmd
		if s.Replicas == AllReplicas {
			info = pipe.Info(ctx, "server", "replication")
		}
		_, _ = pipe.Exec(ctx) // each command keeps its own error
		switch err := answer.Err(); {
		case again > 0 && redis.HasErrorPrefix(err, "NOSCRIPT"):
			if err := r.script.Load(ctx, node).Err(); err != nil {
				return nil, storeError(r.script.name, err)
			}
		case again > 0 && s.moved(ctx, err):
		default:
			r.answer(answer.Result())
			return func() (int, error) {
				if info != nil && info.Err() == nil {
					fields := infoOf(info.Val())
					s.confirmer.noted(onlineReplicas(fields), serverTime(fields))
				}
				return wait.Int()
			}, nil
		}
	}
}
