package settings

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
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
		{"redis://s?sentinel_password=x", "", "", nil, false},
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

// TestRedisOptions: whatever go-redis takes from an address is kept.
func TestRedisOptions(t *testing.T) {
	t.Parallel()
	const text = "rediss://u:p@h:1/3?protocol=2&client_name=c&max_retries=4&min_retry_backoff=5s&max_retry_backoff=6s" +
		"&dial_timeout=7s&read_timeout=8s&write_timeout=9s&pool_fifo=true&pool_size=10&pool_timeout=11s&min_idle_conns=12" +
		"&max_idle_conns=13&max_active_conns=14&max_concurrent_dials=15" +
		"&conn_max_idle_time=19s&conn_max_lifetime=20s&conn_max_lifetime_jitter=2s&skip_verify=true"
	var r redisURL
	if err := r.EnvDecode(text); err != nil {
		t.Fatal(err)
	}
	tls := r.Options().TLSConfig
	if tls == nil || !tls.InsecureSkipVerify {
		t.Error("skip_verify is lost")
	}
	want := redis.UniversalOptions{
		Addrs: []string{"h:1"}, Username: "u", Password: "p", DB: 3, Protocol: 2, ClientName: "c", TLSConfig: tls,
		MaxRetries: 4, MinRetryBackoff: 5 * time.Second, MaxRetryBackoff: 6 * time.Second,
		DialTimeout: 7 * time.Second, ReadTimeout: 8 * time.Second, WriteTimeout: 9 * time.Second,
		PoolFIFO: true, PoolSize: 10, PoolTimeout: 11 * time.Second, MinIdleConns: 12, MaxIdleConns: 13, MaxActiveConns: 14,
		MaxConcurrentDials: 15,
		ConnMaxIdleTime:    19 * time.Second, ConnMaxLifetime: 20 * time.Second, ConnMaxLifetimeJitter: 2 * time.Second,
	}
	got := *r.Options()
	got.TLSConfig = tls
	if !reflect.DeepEqual(want, got) {
		t.Errorf("got %+v", got)
	}
	if keep(new(redis.UniversalOptions), &redis.Options{DialerRetryBackoff: redis.DialRetryBackoffConstant(1)}) {
		t.Error("an option that has no place was taken")
	}
}

// TestSentinelWithPassword: Sentinels have a user and password of their own.
func TestSentinelWithPassword(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	host, port, _ := net.SplitHostPort(master.Addr)
	sentinel := redistest.Start(t, "sentinel monitor main "+host+" "+port+" 1")
	for _, rules := range [][]string{{"watcher", "on", ">p&+", "allchannels", "allcommands"}, {"default", "off"}} {
		if err := sentinel.Client.ACLSetUser(t.Context(), rules[0], rules[1:]...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for query, ok := range map[string]bool{"": false, "&sentinel_username=watcher&sentinel_password=p%26%2B": true} {
		var r redisURL
		if err := r.EnvDecode("redis://" + sentinel.Addr + "?master_name=main" + query); err != nil {
			t.Fatal(err)
		}
		client := queues.NewClient(r.Options())
		if err := client.Ping(t.Context()).Err(); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
		_ = client.Close()
	}
}

// TestRedisNames: over TLS a server is held to the address that it is dialled by, not to
// that of the first one.
func TestRedisNames(t *testing.T) {
	t.Parallel()
	known := httptest.NewTLSServer(nil) // for its certificate, which names 127.0.0.1
	t.Cleanup(known.Close)
	server, err := miniredis.RunTLS(&tls.Config{Certificates: known.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(known.Certificate())
	for _, first := range []string{"127.0.0.2:1,", ""} {
		var r redisURL
		if err := r.EnvDecode("rediss://" + first + server.Addr()); err != nil {
			t.Fatal(err)
		}
		options := r.Options()
		options.TLSConfig.RootCAs = roots
		client := queues.NewClient(options)
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %v", r, err)
		}
		_ = client.Close()
		if r.Options().TLSConfig.RootCAs != nil {
			t.Error("the options are shared")
		}
	}
}

// TestRedisClientName: connections are named as the address says, or after the program.
func TestRedisClientName(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for query, want := range map[string]string{"": "sequencer", "?client_name=shop": "shop"} {
		var cfg Config
		if err := cfg.Redis.URL.EnvDecode("redis://" + server.Addr + query); err != nil {
			t.Fatal(err)
		}
		client := cfg.Redis.Client()
		if got, err := client.ClientGetName(t.Context()).Result(); err != nil || got != want {
			t.Errorf("%q: named %q, %v", query, got, err)
		}
		_ = client.Close()
	}
}
