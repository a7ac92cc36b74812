package redistest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues/redistest"
)

func TestServerKeepsWhatItAccepted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendfsync always")
	for _, tc := range []struct {
		name string
		end  func()
	}{{"stop", s.Stop}, {"kill", s.Kill}} {
		if err := s.Client.Set(t.Context(), tc.name, "kept", 0).Err(); err != nil {
			t.Fatal(err)
		}
		before := s.Pid()
		tc.end()
		if s.Pid() != 0 {
			t.Errorf("after %s: pid %d is still there", tc.name, s.Pid())
		}
		s.Restart()
		if s.Pid() == before {
			t.Errorf("after %s: the same process %d", tc.name, before)
		}
		if got, err := s.Client.Get(t.Context(), tc.name).Result(); got != "kept" {
			t.Errorf("after %s: got %q, %v", tc.name, got, err)
		}
	}
	for name, want := range map[string]string{"appendfsync": "always", "maxmemory-policy": "noeviction", "save": ""} {
		if got := s.Client.ConfigGet(t.Context(), name).Val()[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestMiniFollowsTheBubble(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first", "second"} { // a second bubble finds nothing left of the first
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := redistest.Mini(t)
				if err := m.Client.Set(t.Context(), "k", "v", time.Hour).Err(); err != nil {
					t.Fatal(err)
				}
				before := m.Client.Time(t.Context()).Val()
				<-time.After(2 * time.Hour)
				if got := m.Client.Time(t.Context()).Val().Sub(before); got != 2*time.Hour {
					t.Errorf("%v have passed in Redis", got)
				}
				if n := m.Client.Exists(t.Context(), "k").Val(); n != 0 {
					t.Error("the key outlived its time")
				}
			})
		})
	}
}

// TestFailOver: another server, with what was there when the snapshot was taken.
func TestFailOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Mini(t)
		ctx, c := t.Context(), m.NewClient()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		run := func() string {
			t.Helper()
			info, err := c.InfoMap(ctx, "replication").Result()
			ok(err)
			return info["Replication"]["master_replid"]
		}
		ok(c.Set(ctx, "string", "a\x00\r\nb", 0).Err())
		ok(c.Set(ctx, "brief", "1", 2*time.Hour).Err())
		ok(c.RPush(ctx, "list", "z", "a", "z").Err())
		ok(c.HSet(ctx, "hash", "f", "1", "g", "").Err())
		ok(c.ZAdd(ctx, "zset", redis.Z{Score: 1.5, Member: "x"}).Err())
		ok(c.Do(ctx, "ZADD", "zset", "+inf", "never").Err())
		ok(c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "7-0", Values: []string{"e", "one"}}).Err())
		before, first := m.Server.Dump(), run()
		snapshot := m.Snapshot()
		<-time.After(time.Hour)
		ok(c.Set(ctx, "later", "lost", 0).Err())
		ok(c.Del(ctx, "list").Err())

		m.FailOver(snapshot)
		if after := m.Server.Dump(); after != before {
			t.Errorf("it holds\n%s\nand the snapshot\n%s", after, before)
		}
		second := run()
		if second == first || second == "" {
			t.Errorf("run ids %q and %q", first, second)
		}
		if left := c.PTTL(ctx, "brief").Val(); left > time.Hour || left < time.Hour-time.Minute {
			t.Errorf("the key lives for %v", left)
		}
		ok(c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "8-0", Values: []string{"e", "two"}}).Err())
		same := m.Server.Dump()
		m.Restart()
		if m.Server.Dump() != same || run() == second {
			t.Errorf("after a restart: run id %q, was %q, and it holds\n%s", run(), second, m.Server.Dump())
		}
		m.SetError("LOADING")
		if err := c.Get(ctx, "string").Err(); err == nil {
			t.Error("no error")
		}
		m.SetError("")
		ok(c.Get(ctx, "string").Err())
	})
}
