//go:build unix

package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
)

var webhookEvents = flag.Int("webhooks", 4000, "events that are delivered to an endpoint in trouble")

// TestWebhookProcesses delivers events to an endpoint, a process of its own that checks
// them with the standard's library, and that fails, hangs, asks for patience and dies.
// Meanwhile sequencers are killed with -9, and Redis fails over to a replica. What the
// endpoint has written down is held against the event log: of each transaction everything,
// in order.
func TestWebhookProcesses(t *testing.T) {
	lane.All(t, `sequencer/webhooks shows whole lives of endpoints in simulated time`)
	t.Parallel()
	bin := build(t)
	r := newRig(t, bin, "webhooks", map[string]string{
		"SEQUENCER_WEBHOOKS_PRIVATE": "127.0.0.1/32", "SEQUENCER_CLAIM_TTL": "2s", "SEQUENCER_REDIS_WAIT": "0",
	})
	e := r.endpoint()
	services := []*serving{r.serveAt("first"), r.serveAt("second")}
	e.add(services[0])
	replica := r.redis.Replica()

	ctx, cancel := context.WithCancel(t.Context())
	var chaos sync.WaitGroup
	chaos.Go(func() { e.keepAlive(ctx) })
	var killed int
	chaos.Go(func() { killed = r.killAndServe(ctx, services) })
	d := &webhookLoad{rig: r, clients: []*client.Client{r.clientOf(services[0]), r.clientOf(services[1])}}
	const round = 4 * 500 // events
	for n := 0; n < *webhookEvents; n += round {
		d.round(n/round, 500)
		if n/round == *webhookEvents/round/2 {
			r.redis.CutOff(replica)
			d.round(-1, 100)
			r.redis.FailOver(replica)
			d.again() // what the replica lacked
		}
	}
	e.delivered(d)
	cancel()
	chaos.Wait()
	d.again()
	e.delivered(d)
	e.compare(d, killed)
}

// serveAt is a sequencer with an address that it keeps over restarts.
func (r *rig) serveAt(name string) *serving {
	r.Helper()
	s := r.serve(name, nil)
	addr := strings.TrimSuffix(strings.TrimPrefix(s.api, "http://"), "/api/v1")
	return &serving{program: s.program, api: addr}
}

func (r *rig) clientOf(s *serving) *client.Client {
	r.Helper()
	c, err := client.New(client.Options{URL: "http://" + s.api, Retries: 3, Backoff: 50 * time.Millisecond})
	r.ok(err)
	return c
}

// killAndServe kills one of the sequencers and starts it again, until ctx ends.
func (r *rig) killAndServe(ctx context.Context, services []*serving) (killed int) {
	rng := rand.New(rand.NewPCG(7, 0))
	running := []*program{services[0].program, services[1].program}
	for {
		select {
		case <-ctx.Done():
			return killed
		case <-time.After(time.Duration(1+rng.IntN(3)) * time.Second):
		}
		i := rng.IntN(2)
		running[i].kill()
		killed++
		all := r.settings(map[string]string{"SEQUENCER_ADDR": services[i].api})
		running[i] = r.run(fmt.Sprintf("%s %d", services[i].name, killed), r.bin.sequencer, all, "serve")
	}
}

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// An endpoint is the receiver, started again whenever it dies.
type endpoint struct {
	*rig
	bin, addr, record string
	secret            string
	deaths            int
	running           *program
}

func (r *rig) endpoint() *endpoint {
	r.Helper()
	dir := r.TempDir()
	e := &endpoint{rig: r, bin: filepath.Join(dir, "receiver"), addr: redistest.FreeAddr(r, 1), record: filepath.Join(dir, "record.txt"), secret: webhookSecret}
	if text, err := exec.CommandContext(r.Context(), "go", "build", "-o", e.bin, "../../../../scripts/webhook-receiver").CombinedOutput(); err != nil {
		r.Fatalf("building the receiver: %v\n%s", err, text)
	}
	e.start(1)
	return e
}

func (e *endpoint) start(seed int) {
	e.running = e.run(fmt.Sprintf("receiver %d", seed), e.bin, map[string]string{"WEBHOOK_SECRET": e.secret},
		"--addr", e.addr, "--record", e.record, "--trouble", fmt.Sprint(seed))
	e.await(e.running, regexp.MustCompile(`listening on (\S+)\n`))
}

func (e *endpoint) add(s *serving) {
	e.Helper()
	body := fmt.Sprintf(`{"id":"e","url":"http://%s/","secret":%q}`, e.addr, e.secret)
	if status := e.call(http.MethodPost, "http://"+s.api+"/api/v1/webhooks", body, nil); status != http.StatusCreated {
		e.Fatalf("the endpoint is not added: %d", status)
	}
}

func (e *endpoint) keepAlive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.running.ended:
			e.deaths++
			e.start(1 + e.deaths)
		}
	}
}

// webhookLoad makes events: transactions that no sender takes are posted, cancelled, tried
// again and cancelled.
type webhookLoad struct {
	*rig
	clients []*client.Client
	uids    []string
}

// until asks one process after the other until one has done it.
func (d *webhookLoad) until(what string, do func(*client.Client) error) {
	d.Helper()
	for i, end := 0, time.Now().Add(patience); ; i++ {
		err := do(d.clients[i%len(d.clients)])
		if err == nil {
			return
		}
		if time.Now().After(end) || d.Context().Err() != nil {
			d.Fatalf("%s: %v", what, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (d *webhookLoad) post(uids []string) {
	d.Helper()
	var items []client.Item
	for i, uid := range uids {
		items = append(items, client.Item{Queue: fmt.Sprint("w", i%20), Type: "MINT", UID: uid, Data: json.RawMessage(`{}`)})
	}
	d.until("posting", func(c *client.Client) error {
		for result, err := range c.PostBatch(d.Context(), items) {
			if err != nil {
				return err
			}
			if result.Err != nil {
				return result.Err
			}
		}
		return nil
	})
}

func (d *webhookLoad) round(n, size int) {
	d.Helper()
	uids := make([]string, size)
	for i := range uids {
		uids[i] = fmt.Sprintf("w-%d-%d", n, i)
	}
	d.post(uids)
	d.uids = append(d.uids, uids...)
	all := func(what string, bulk func(*client.Client) error) { d.until(what, bulk) }
	cancelled := func(c *client.Client) error {
		for _, err := range c.CancelAll(d.Context(), client.Filter{Type: "MINT", State: client.Waiting}, false) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	all("cancelling", cancelled)
	all("trying again", func(c *client.Client) error {
		for _, uid := range uids {
			if _, err := c.Retry(d.Context(), uid); err != nil && !errors.Is(err, client.NotRetryable) && !errors.Is(err, client.NotFound) {
				return err
			}
		}
		return nil
	})
	all("cancelling again", cancelled)
}

// again posts what a failover has forgotten.
func (d *webhookLoad) again() {
	d.Helper()
	var lost []string
	for _, uid := range d.uids {
		if _, err := d.store.Get(d.Context(), uid); errors.Is(err, queues.ErrNotFound) {
			lost = append(lost, uid)
		} else {
			d.ok(err)
		}
	}
	d.Logf("%d of %d were forgotten", len(lost), len(d.uids))
	if len(lost) > 0 {
		d.post(lost)
	}
}

// delivered waits until everything is, and has what failed tried again without the hours
// that the schedule leaves.
func (e *endpoint) delivered(d *webhookLoad) {
	e.Helper()
	replay := time.Now()
	for end := time.Now().Add(20 * time.Minute); ; <-time.After(100 * time.Millisecond) {
		var w *client.Webhook
		d.until("reading the endpoint", func(c *client.Client) (err error) { w, err = c.Webhook(e.Context(), "e"); return err })
		if w.Behind == 0 && w.Parked == 0 {
			return
		}
		if time.Now().After(end) || !w.Enabled {
			e.Fatalf("not delivered: %s", w.Raw)
		}
		if w.Parked > 0 && time.Since(replay) > 2*time.Second {
			d.until("replaying", func(c *client.Client) error { _, err := c.ReplayWebhook(e.Context(), "e", ""); return err })
			replay = time.Now()
		}
	}
}

// compare holds what the endpoint has written down against the log.
func (e *endpoint) compare(d *webhookLoad, killed int) {
	e.Helper()
	file, err := os.Open(e.record)
	e.ok(err)
	defer file.Close()
	got, seen, taken := map[string][]string{}, map[string]bool{}, 0
	last := map[string]int64{} // number of the latest event of a transaction, by epoch
	for lines := bufio.NewScanner(file); lines.Scan(); taken++ {
		w := strings.Fields(lines.Text())
		if len(w) != 5 || seen[w[0]] {
			continue
		}
		seen[w[0]] = true
		epoch, number, _ := strings.Cut(w[0], "-")
		var n int64
		_, err := fmt.Sscan(number, &n)
		e.ok(err)
		if key := epoch + " " + w[1] + " " + w[2]; w[1] != "-" && n <= last[key] {
			e.Errorf("%s came behind %d of %s", w[0], last[key], w[1])
		} else {
			last[key] = n
		}
		got[w[1]] = append(got[w[1]], w[3]+">"+w[4])
	}
	events := 0
	for at := int64(0); ; {
		p, err := e.store.ReadLog(e.Context(), at, queues.MaxBatch)
		e.ok(err)
		if len(p.Entries) == 0 {
			break
		}
		for _, x := range p.Entries {
			at = x.Number
			if x.Kind != queues.OfTransaction {
				continue
			}
			events++
			if !next(got, x.ID, dash(string(x.From.State()))+">"+dash(string(x.To.State()))) {
				e.Errorf("event %d of %s, %s to %s, was not delivered, or not in order", x.Number, x.ID, x.From, x.To)
			}
		}
	}
	if events < len(d.uids)*4*9/10 || len(d.uids)*4 < *webhookEvents || killed == 0 {
		e.Errorf("%d events of %d transactions, %d kills", events, len(d.uids), killed)
	}
	e.Logf("%d events, taken %d times, %d of them again; %d sequencers killed, the endpoint died %d times",
		events, taken, taken-len(seen), killed, e.deaths)
}

// next takes the next change of a transaction out of what was got, with those before it.
func next(got map[string][]string, uid, change string) bool {
	for i, c := range got[uid] {
		if c == change {
			got[uid] = got[uid][i+1:]
			return true
		}
	}
	return false
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
