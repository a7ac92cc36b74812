//go:build unix

package processes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"mina-sequencer/sequencer/tx"
)

// A load posts transactions over HTTP without a break, to whichever sequencer
// lives. A client that gets no answer posts the same again until it gets one,
// and sometimes though it got one.
type load struct {
	r      *rig
	seed   uint64
	prefix string // of the uids
	queues int
	most   int // transactions that may be under way before the clients wait
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	apis     map[int]string // of those that live, by place
	accepted []acceptance
	under    map[string]bool // uids that are not known to be over
	repeats  int
	problems []string
}

type acceptance struct {
	posting
	sequence int64
	at       time.Time // when the first answer came
}

const clients = 3

func (r *rig) load(seed uint64) *load { return r.loadOf(seed, "c", 10, 24) }

// loadOf posts to so many queues, with at most so many transactions under way.
func (r *rig) loadOf(seed uint64, prefix string, queues, most int) *load {
	ctx, stop := context.WithCancel(r.Context())
	l := &load{r: r, seed: seed, prefix: prefix, queues: queues, most: most, stop: stop, apis: map[int]string{}, under: map[string]bool{}}
	for i := range clients {
		l.done.Go(func() { l.client(ctx, i) })
	}
	r.Cleanup(func() { stop(); l.done.Wait() })
	return l
}

// gone tells that the sequencer in a place is dead.
func (l *load) gone(place int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.apis, place)
}

func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) < 20 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

func (l *load) client(ctx context.Context, number int) {
	rng := rand.New(rand.NewPCG(l.seed, uint64(number)))
	for i := 0; ctx.Err() == nil; i++ {
		l.mu.Lock()
		full := len(l.under) >= l.most
		l.mu.Unlock()
		if full {
			rest(ctx, 20*time.Millisecond)
			continue
		}
		p := posting{fmt.Sprintf("q%d", rng.IntN(l.queues)), fmt.Sprintf("%s%d-%d", l.prefix, number, i)}
		sequence, ok := l.post(p, rng, http.StatusAccepted, http.StatusOK)
		if !ok {
			return
		}
		l.mu.Lock()
		l.accepted = append(l.accepted, acceptance{p, sequence, time.Now()})
		l.under[p.uid] = true
		l.mu.Unlock()
		if rng.IntN(4) == 0 {
			if again, ok := l.post(p, rng, http.StatusOK); ok && again != sequence {
				l.problem("%s has the sequences %d and %d", p.uid, sequence, again)
			}
			l.mu.Lock()
			l.repeats++
			l.mu.Unlock()
		}
	}
}

// post posts until it gets an answer, which must be one of those wanted. Not ok
// says that there was none in all the time that anybody would wait.
func (l *load) post(p posting, rng *rand.Rand, wanted ...int) (sequence int64, ok bool) {
	body := fmt.Sprintf(`{"queue":%q,"type":"MINT","data":{},"uid":%q}`, p.queue, p.uid)
	for end := time.Now().Add(patience); time.Now().Before(end); rest(context.Background(), 10*time.Millisecond) {
		l.mu.Lock()
		var api string
		for _, api = range l.apis {
			if rng.IntN(2) == 0 {
				break
			}
		}
		l.mu.Unlock()
		if api == "" {
			continue
		}
		status, text, err := exchange(http.MethodPost, api+"/transactions", body)
		switch {
		case err != nil, status == http.StatusServiceUnavailable:
		case !slices.Contains(wanted, status):
			l.problem("posting %s: %d %s", p.uid, status, text)
			return 0, false
		default:
			var t struct{ Sequence int64 }
			if err := json.Unmarshal(text, &t); err != nil || t.Sequence == 0 {
				l.problem("posting %s: %d %s: %v", p.uid, status, text, err)
			}
			return t.Sequence, true
		}
	}
	l.problem("posting %s: no answer within %v", p.uid, patience)
	return 0, false
}

// impatient is a client that does not wait for a process which is stopped.
var impatient = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func exchange(method, url, body string) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := impatient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// work lets the clients post for a while.
func (l *load) work(d time.Duration) {
	l.r.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); rest(l.r.Context(), min(50*time.Millisecond, time.Until(end))) {
		l.look()
	}
}

// look counts what is under way by its phase, and makes room for more. What
// asks for a person gets one.
func (l *load) look() map[tx.Phase]int {
	l.r.Helper()
	l.mu.Lock()
	var uids []string
	for uid := range l.under {
		uids = append(uids, uid)
	}
	l.mu.Unlock()
	ts, err := l.r.store.GetMany(l.r.Context(), uids)
	if err != nil {
		return nil
	}
	counts := map[tx.Phase]int{}
	for _, t := range ts {
		counts[t.Phase]++
		switch t.State() {
		case tx.Done:
			l.mu.Lock()
			delete(l.under, t.UID)
			l.mu.Unlock()
		case tx.Unresolved:
			l.attend(t)
		}
	}
	return counts
}

// attend is a person who is asked for the outcome of what a legacy worker may
// have sent, looks at the chain, and has it made again if it is not there.
func (l *load) attend(t *tx.Transaction) {
	if t.Error == nil || t.Error.Code != "OUTCOME_UNKNOWN" || !l.r.legacy[t.Sender] {
		l.problem("%s is %s: %v", t.UID, t.State(), t.Error)
		return
	}
	for _, e := range l.r.effects() {
		if e.Payer == t.Sender && e.Nonce == t.Last().Nonce {
			l.problem("%s is %s, and %s has taken its nonce", t.UID, t.Error.Code, e.Hash)
		}
	}
	l.mu.Lock()
	api := ""
	for _, api = range l.apis {
	}
	l.mu.Unlock()
	if api == "" {
		return
	}
	for _, step := range []struct{ path, body string }{
		{"/queues/" + t.Queue + "/pause", ""}, {"/transactions/" + t.UID + "/resolve", `{"outcome":"dead"}`},
		{"/transactions/" + t.UID + "/retry", ""}, {"/queues/" + t.Queue + "/resume", ""},
	} {
		_, _, _ = exchange(http.MethodPost, api+step.path, step.body) // if it fails, the next look asks again
	}
	l.r.strayed[t.UID] = true
}

// finish ends the load, and waits until everything is over. From then on the rig
// knows what was posted.
func (l *load) finish() {
	l.r.Helper()
	l.stop()
	l.done.Wait()
	slices.SortFunc(l.accepted, func(a, b acceptance) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, a := range l.accepted {
		l.r.posted = append(l.r.posted, a.posting)
	}
	l.r.eventually(2*patience, "the last ones are DONE", func() bool {
		l.look()
		l.resume()
		return len(l.under) == 0 || len(l.problems) > 0
	})
	for _, p := range l.problems {
		l.r.Error(p)
	}
	l.r.allDone()
	l.r.audit()
}

// resume is a person who has seen why the service put a queue or a sender aside:
// what this person was asked for came thrice in a row.
func (l *load) resume() {
	ctx := l.r.Context()
	all, _, err := l.r.store.Queues(ctx, 100, "")
	if err != nil {
		return
	}
	for _, q := range all {
		if q.Paused != "" {
			_ = l.r.store.Resume(ctx, q.Name)
		}
	}
	accounts, _, err := l.r.pool.List(ctx, 100, "")
	if err != nil {
		return
	}
	for _, s := range accounts {
		if s.Reason == tx.Rested && s.Until.IsZero() {
			_ = l.r.pool.Resume(ctx, s.AccountID)
		}
	}
}
