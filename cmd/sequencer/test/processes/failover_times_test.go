//go:build unix

package processes

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

var (
	failovers   = flag.Int("failovers", 1, "how often Redis dies in each of the set-ups that are timed")
	failoverTTL = flag.String("failovers.ttl", "1s", "SEQUENCER_CLAIM_TTL meanwhile")
)

// TestFailOverTimes: how long after Redis dies the next attempt is planned, and sent, and what the
// service says meanwhile. All is printed, and nothing is judged by it but that everything is done once.
func TestFailOverTimes(t *testing.T) {
	lane.Nightly(t, "it measures; ReplicaPromoted and PowerLost show that nothing is lost")
	bin := build(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, binaries)
	}{
		{"two replicas", twoReplicas}, {"one replica", oneReplica}, {"alone, restarted", aloneRestarted},
		{"alone, power lost", alonePowerLost},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, bin) })
	}
}

// A timing is one set-up whose Redis dies again and again.
type timing struct {
	*rig
	service       *serving
	planned, sent []time.Duration
	online        []time.Time // when there was a replica again, where it is waited for
	posts         int

	first []string // what the service said the first time

	mu    sync.Mutex
	said  []string // what it has said since Redis died, each once
	heard map[string]struct{}
}

// timed starts it all. url is where Redis is found, by client.
func timed(t *testing.T, bin binaries, namespace, url string, client redis.UniversalClient,
	directives ...string) *timing {
	t.Helper()
	r := newRig(t, bin, namespace, map[string]string{"SEQUENCER_CLAIM_TTL": *failoverTTL}, directives...)
	if url != "" {
		r.env["SEQUENCER_REDIS_URL"] = url
		var err error
		r.store, err = queues.Open(client, queues.Options{Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
		r.ok(err)
	}
	for n := range uint64(2) {
		r.worker(n+1, "--prove-time", "500ms")
	}
	m := &timing{rig: r, service: r.serve("first", nil)}
	r.serve("second", nil)
	return m
}

// fails has Redis die while work is under way, and notes how long after that the next attempt was
// planned, and bytes of such a one were sent. back makes it answer again.
func (m *timing) fails(die, back func()) {
	m.Helper()
	for range 20 {
		m.post(m.service, fmt.Sprintf("q%d", m.posts%4), fmt.Sprintf("t-%03d", m.posts))
		m.posts++
	}
	m.eventually(patience, "the first are DONE", func() bool {
		return m.phase(fmt.Sprintf("t-%03d", m.posts-14)) == tx.PhaseDone // older than what is lost with the power
	})
	m.said, m.heard = nil, map[string]struct{}{}
	ctx, stop := context.WithCancel(m.Context())
	var asking sync.WaitGroup
	die()
	died := time.Now()
	asking.Go(func() { m.listen(ctx, died) })
	back()
	planned, sent := time.Duration(0), time.Duration(0)
	m.eventually(patience, "something new is sent", func() bool {
		page, _, err := m.store.List(m.Context(), queues.Filter{}, 500, "")
		if err != nil {
			return false
		}
		for _, t := range page {
			if a := t.Last(); a != nil && a.StartedAt.After(died) {
				if at := a.StartedAt.Sub(died); planned == 0 || at < planned {
					planned = at
				}
				if t.Phase == tx.PhaseWatching || t.Phase == tx.PhaseDone {
					sent = time.Since(died)
				}
			}
		}
		return sent > 0
	})
	stop()
	asking.Wait()
	if m.first == nil {
		m.first = m.said
	}
	if len(m.online) > 0 { // nothing can be sent before
		sent = time.Since(m.online[len(m.online)-1])
	}
	m.planned, m.sent = append(m.planned, planned), append(m.sent, sent)
}

// listen asks the service what it says of itself, of one that is bound, and of one that waits.
func (m *timing) listen(ctx context.Context, since time.Time) {
	base := m.service.api
	for ctx.Err() == nil {
		asked := map[string]string{"readyz": strings.TrimSuffix(base, "/api/v1") + "/readyz?full=true"}
		page, _, _ := m.store.List(ctx, queues.Filter{}, 500, "")
		for _, t := range page {
			if name := "explain " + string(t.State()); !t.Phase.Final() {
				asked[name] = base + "/transactions/" + t.UID + "/explain"
			}
		}
		for name, url := range asked {
			if status, text, err := exchange(http.MethodGet, url, ""); err == nil {
				m.note(fmt.Sprintf("%s %d %s", name, status, wordsOf(text)), since)
			}
		}
		rest(ctx, 50*time.Millisecond)
	}
}

var anyNumber = regexp.MustCompile(`[0-9]+`)

// note keeps what is said, once but for the numbers in it.
func (m *timing) note(said string, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	alike := anyNumber.ReplaceAllString(said, "N")
	if _, known := m.heard[alike]; !known {
		m.heard[alike] = struct{}{}
		m.said = append(m.said, fmt.Sprintf("after %4.1f s: %s", time.Since(since).Seconds(), said))
	}
}

// wordsOf is what is said of Redis and of senders, or of why a transaction does not go on.
func wordsOf(text []byte) string {
	var answer struct {
		Summary, Detail string
		Store, Senders  struct{ Detail string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return string(text)
	}
	return strings.TrimSpace(answer.Summary + answer.Detail + " " + answer.Store.Detail + "; " + answer.Senders.Detail)
}

// done waits until all is done, and prints what was measured.
func (m *timing) done() {
	m.Helper()
	m.allDone()
	for _, list := range [][]time.Duration{m.planned, m.sent} {
		slices.Sort(list)
	}
	n := len(m.planned)
	m.Logf("%d times; CLAIM_TTL %s; next attempt planned after %.2f s (%.2f to %.2f), sent after %.2f s (%.2f to %.2f)", n,
		*failoverTTL, m.planned[n/2].Seconds(), m.planned[0].Seconds(), m.planned[n-1].Seconds(), m.sent[n/2].Seconds(),
		m.sent[0].Seconds(), m.sent[n-1].Seconds())
	m.Log("said meanwhile:\n" + strings.Join(m.first, "\n"))
}

// watchedTimes is one on a master and two replicas under Sentinels.
func watchedTimes(t *testing.T, bin binaries, namespace string) (*timing, *redistest.Watched) {
	t.Helper()
	w := redistest.StartWatched(t)
	client := queues.NewClient(&redis.UniversalOptions{Addrs: w.Sentinels(), MasterName: redistest.MasterName})
	t.Cleanup(func() { _ = client.Close() })
	url := "redis://" + strings.Join(w.Sentinels(), ",") + "?master_name=" + redistest.MasterName
	return timed(t, bin, namespace, url, client), w
}

func twoReplicas(t *testing.T, bin binaries) {
	m, w := watchedTimes(t, bin, "two-replicas")
	for range *failovers {
		master := w.Master()
		m.fails(master.Kill, func() { w.Succeed(master) })
		master.Restart()
		w.Replicated()
	}
	m.done()
}

// oneReplica: the replica that is promoted has none, so that nothing is sent until the former master
// follows it.
func oneReplica(t *testing.T, bin binaries) {
	m, w := watchedTimes(t, bin, "one-replica")
	for _, n := range w.Nodes {
		m.ok(n.Client.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	}
	for range *failovers {
		master := w.Master()
		spare := w.Nodes[slices.IndexFunc(w.Nodes, func(n *redistest.Server) bool { return n != master })]
		spare.Kill()
		m.fails(master.Kill, func() {
			w.Succeed(master)
			m.eventually(patience, "a transaction says that it waits for replicas", func() bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				return slices.ContainsFunc(m.said, func(s string) bool { return strings.Contains(s, "too few do since") })
			})
			spare.Restart()
			m.follow(spare, w.Master()) // or a Sentinel would say so, ten seconds later
		})
		master.Restart()
		w.Replicated()
		for _, n := range w.Nodes {
			m.ok(n.Client.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
		}
	}
	m.done()
}

// follow has a server follow a primary, and waits until it does.
func (m *timing) follow(replica, primary *redistest.Server) {
	m.Helper()
	host, port, err := net.SplitHostPort(primary.Addr)
	m.ok(err)
	m.ok(replica.Client.ReplicaOf(m.Context(), host, port).Err())
	m.eventually(patience, "a replica is online", func() bool {
		info, err := primary.Client.Info(m.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "state=online")
	})
	m.online = append(m.online, time.Now())
}

func aloneRestarted(t *testing.T, bin binaries) {
	m := timed(t, bin, "alone", "", nil)
	for range *failovers {
		m.fails(m.redis.Stop, m.redis.Restart)
	}
	m.done()
}

func alonePowerLost(t *testing.T, bin binaries) {
	m := timed(t, bin, "power-times", "", nil, "aof-timestamp-enabled yes")
	for range *failovers {
		m.fails(func() { m.redis.LosePower() }, m.redis.Restart)
		for _, p := range m.posted { // what was accepted and is lost is posted again
			body := fmt.Sprintf(`{"queue":%q,"type":"MINT","data":{},"uid":%q}`, p.queue, p.uid)
			m.call(http.MethodPost, m.service.api+"/transactions", body, nil)
		}
	}
	m.done()
}
