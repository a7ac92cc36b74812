package redistest_test

import (
	"testing"
	"testing/synctest"
	"time"

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
