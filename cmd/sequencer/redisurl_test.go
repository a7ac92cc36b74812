package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRedisURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, shown, master string
		addrs               []string
		cluster             bool
	}{
		{"redis://h", "redis://h:6379", "", []string{"h:6379"}, false},
		{"redis://u:p%2Cq@h:1/3?read_timeout=2s", "redis://h:1/3", "", []string{"h:1"}, false},
		{"rediss://u:p@h:1, h2:2,rediss://h3", "rediss://h:1,h2:2,h3:6379", "", []string{"h:1", "h2:2", "h3:6379"}, true},
		{"redis://s1:26379,s2:26379/?master_name=main", "", "", nil, false},
		{"redis://s1:26379,s2:26379?master_name=main", "redis://s1:26379,s2:26379?master_name=main", "main", []string{"s1:26379", "s2:26379"}, false},
		{"unix:///run/redis.sock?db=2", "unix:///run/redis.sock/2", "", []string{"/run/redis.sock"}, false},
	} {
		var r redisURL
		err := r.EnvDecode(tc.text)
		if tc.addrs == nil {
			if err == nil {
				t.Errorf("%s was accepted", tc.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		o := r.Options()
		if diff := cmp.Diff(tc.addrs, o.Addrs); diff != "" || o.MasterName != tc.master || o.IsClusterMode != tc.cluster || r.String() != tc.shown {
			t.Errorf("%s: master %q, cluster %v, shown %s, %s", tc.text, o.MasterName, o.IsClusterMode, r, diff)
		}
		if strings.HasPrefix(tc.text, "rediss") != (o.TLSConfig != nil) {
			t.Errorf("%s: TLS %v", tc.text, o.TLSConfig)
		}
		if strings.Contains(tc.text, "%2C") && (o.Password != "p,q" || o.Username != "u" || o.DB != 3 || o.ReadTimeout != 2*time.Second) {
			t.Errorf("%s: options are lost", tc.text)
		}
	}
}
