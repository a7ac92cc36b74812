//go:build unix

package processes

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
)

// rollingRestart: two replicas behind a proxy that asks for /readyz and tries nothing
// twice are restarted one after the other under a load of posts: no request fails, and
// who follows the events gets each once.
func rollingRestart(t *testing.T, bin binaries) {
	lane.All(t, `Drained and TakenOver, each by itself`)
	r := newRig(t, bin, "rolling", map[string]string{"SEQUENCER_SHUTDOWN_DELAY": "2s"})
	for n := range uint64(2) {
		r.worker(n+1, "--prove-time", "50ms")
	}
	replicas := []*serving{r.serve("replica 0", nil), r.serve("replica 1", nil)}
	proxy := r.haproxy(replicas[0].addr(), replicas[1].addr())
	for i := range replicas {
		proxy.awaitUp(i)
	}
	events := proxy.follow()
	load := r.pour(proxy.url, "", 500)
	for i, old := range replicas {
		load.goesOn()
		old.signal(syscall.SIGTERM)
		if code := r.exitCodeOf(old.program); code != command.ExitOK {
			t.Errorf("replica %d ended with %d: %s", i, code, old.out.lines(20))
		}
		r.serve(fmt.Sprintf("replica %d again", i), map[string]string{"SEQUENCER_ADDR": old.addr()})
		proxy.awaitUp(i)
	}
	load.goesOn()
	uids := load.end()
	for _, uid := range uids {
		if _, err := r.store.Get(t.Context(), uid); err != nil {
			t.Errorf("%s was accepted: %v", uid, err)
		}
	}
	r.eventually(patience, "all events have come", func() bool { return events.count() >= len(uids) })
	for uid, n := range events.end() {
		if n != 1 {
			t.Errorf("that %s was accepted was told %d times", uid, n)
		}
	}
}

// keysRotated: a key is replaced by another one under a load of posts, without a restart
// and without a refusal; the old one opens nothing then.
func keysRotated(t *testing.T, bin binaries) {
	file := filepath.Join(t.TempDir(), "keys")
	r := newRig(t, bin, "rotated", map[string]string{"SEQUENCER_API_KEYS_FILE": file})
	put := func(lines ...string) {
		// As a Secret of Kubernetes is changed: by another file in its place.
		r.ok(os.WriteFile(file+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		r.ok(os.Rename(file+".new", file))
	}
	const one, two = "the-first-key-of-the-shop", "the-second-key-of-the-shop"
	put("shop:submit:" + one)
	s := r.serve("serve", nil)
	allowed := func(key string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+"/queues", nil)
		r.ok(err)
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		r.ok(err)
		r.ok(resp.Body.Close())
		return resp.StatusCode
	}
	load := r.pour("http://"+s.addr(), one, 500)
	load.goesOn()
	put("shop:submit:"+one, "shop:submit:"+two)
	r.eventually(patience, "both keys are known", func() bool { return allowed(two) == http.StatusOK })
	load.goesOn()
	load.key.Store(new(two))
	load.goesOn()
	put("shop:submit:" + two)
	r.eventually(patience, "the old key is none any more", func() bool { return allowed(one) == http.StatusUnauthorized })
	load.goesOn()
	load.end()
}

func (s *serving) addr() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.api, "http://"), "/api/v1")
}

// A proxied is a HAProxy before replicas.
type proxied struct {
	*rig
	url, stats string
}

// haproxy starts a proxy that takes a replica out as soon as it has twice not been ready,
// keeps connections for others, and never repeats a request.
func (r *rig) haproxy(replicas ...string) *proxied {
	r.Helper()
	binary, err := exec.LookPath("haproxy")
	if err != nil {
		binary = "/usr/sbin/haproxy"
	}
	p := &proxied{rig: r, url: "http://" + redistest.FreeAddr(r, 1), stats: redistest.FreeAddr(r, 1)}
	var text strings.Builder
	fmt.Fprintf(&text, `global
    maxconn 4096
defaults
    mode http
    retries 0
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout check 5s
frontend api
    bind %s
    default_backend replicas
frontend stats
    bind %s
    stats enable
    stats uri /stats
backend replicas
    balance roundrobin
    http-reuse always
    option httpchk GET /readyz
    http-check expect status 200
    default-server check inter 100ms fall 2 rise 1
`, strings.TrimPrefix(p.url, "http://"), p.stats)
	for i, addr := range replicas {
		fmt.Fprintf(&text, "    server replica%d %s\n", i, addr)
	}
	file := filepath.Join(r.TempDir(), "haproxy.cfg")
	r.ok(os.WriteFile(file, []byte(text.String()), 0o600))
	r.run("haproxy", binary, nil, "-db", "-f", file)
	return p
}

// awaitUp waits until the proxy sends to a replica.
func (p *proxied) awaitUp(replica int) {
	p.Helper()
	p.eventually(patience, fmt.Sprintf("replica %d is ready", replica), func() bool {
		status, text, err := exchange(http.MethodGet, "http://"+p.stats+"/stats;csv", "")
		if err != nil || status != http.StatusOK {
			return false
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		p.ok(err)
		for _, row := range rows {
			if row[1] == fmt.Sprintf("replica%d", replica) {
				return row[17] == "UP"
			}
		}
		return false
	})
}

// A pour is a load of posts, each of which must be accepted.
type pour struct {
	*rig
	url   string
	key   atomic.Pointer[string] // that is shown, "" for none
	stop  context.CancelFunc
	done  sync.WaitGroup
	began time.Time

	mu     sync.Mutex
	uids   []string
	failed []string
}

// pour posts so many transactions a second, as far as the machine has time for them.
func (r *rig) pour(url, key string, rate int) *pour {
	ctx, stop := context.WithCancel(r.Context())
	l := &pour{rig: r, url: url, stop: stop, began: time.Now()}
	l.key.Store(&key)
	due := make(chan string, rate)
	l.done.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		defer close(due)
		for i := 0; ctx.Err() == nil; i++ {
			due <- fmt.Sprintf("p%d", i)
			<-tick.C
		}
	})
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: patience}
	for range 16 {
		l.done.Go(func() {
			for uid := range due {
				l.one(web, uid)
			}
		})
	}
	r.Cleanup(func() { stop(); l.done.Wait(); web.CloseIdleConnections() })
	return l
}

func (l *pour) one(web *http.Client, uid string) {
	body := fmt.Sprintf(`{"queue":"q%s","type":"MINT","data":{},"uid":%q}`, uid[len(uid)-1:], uid)
	failed := ""
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, l.url+"/api/v1/transactions", strings.NewReader(body))
	l.ok(err)
	req.Header.Set("Content-Type", "application/json")
	if key := *l.key.Load(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := web.Do(req)
	if err != nil {
		failed = err.Error()
	} else {
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusAccepted {
			failed = fmt.Sprintf("%s %s %v", resp.Status, text, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if failed != "" {
		l.failed = append(l.failed, failed)
		return
	}
	l.uids = append(l.uids, uid)
}

func (l *pour) posted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.uids) + len(l.failed)
}

// goesOn waits until five hundred more are posted.
func (l *pour) goesOn() {
	l.Helper()
	from := l.posted()
	l.eventually(patience, "the load goes on", func() bool { return l.posted() >= from+500 })
}

// end ends the load and returns what was accepted.
func (l *pour) end() []string {
	l.stop()
	l.done.Wait()
	if n := len(l.failed); n > 0 {
		l.Errorf("%d of %d posts failed, such as %s", n, n+len(l.uids), l.failed[0])
	}
	l.Logf("%d posts accepted, %.0f a second", len(l.uids), float64(len(l.uids))/time.Since(l.began).Seconds())
	return l.uids
}

// A watched counts how often each transaction was told to be accepted.
type watched struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu  sync.Mutex
	got map[string]int
}

// follow follows the events through the proxy, from now on.
func (p *proxied) follow() *watched {
	p.Helper()
	c, err := client.New(client.Options{URL: p.url})
	p.ok(err)
	ctx, stop := context.WithCancel(p.Context())
	w := &watched{stop: stop, got: map[string]int{}}
	w.done.Go(func() {
		for e, err := range c.Events(ctx, "", client.EventFilter{}) {
			if err != nil {
				if ctx.Err() == nil {
					p.Errorf("following the events: %v", err)
				}
				return
			}
			if e.UID != "" && e.From == "" && e.To == client.Waiting {
				w.mu.Lock()
				w.got[e.UID]++
				w.mu.Unlock()
			}
		}
	})
	p.Cleanup(func() { stop(); w.done.Wait(); c.Close() })
	began := regexp.MustCompile(`sequencer_event_clients 1`)
	p.eventually(patience, "the events are followed", func() bool {
		_, text, err := exchange(http.MethodGet, p.url+"/metrics", "")
		return err == nil && began.Match(text)
	})
	return w
}

func (w *watched) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.got)
}

func (w *watched) end() map[string]int {
	w.stop()
	w.done.Wait()
	return w.got
}
