//go:build unix

package processes

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// TestProcesses runs the programs as they run in service, a real Redis among
// them, and ends them in every way that a process can end.
func TestProcesses(t *testing.T) {
	t.Parallel()
	bin := build(t)
	tests := map[string]func(*testing.T, binaries){
		"KilledInEveryPhase":       killedInEveryPhase,
		"KilledAtRandom":           killedAtRandom,
		"PoolKilled":               poolKilled,
		"TakenOver":                takenOver,
		"LegacyWorkerDies":         legacyWorkerDies,
		"Drained":                  drained,
		"RedisAway":                redisAway,
		"RedisKilledAlways":        redisKilled("always"),
		"RedisKilledEverysec":      redisKilled("everysec"),
		"PowerLost":                powerLost,
		"ReplicaPromoted":          replicaPromoted,
		"LocalWorkers":             localWorkers,
		"NodeHangs":                nodeHangs,
		"Batches":                  batches,
		"BatchRetriedAndCancelled": batchRetriedAndCancelled,
		"BatchesKilled":            batchesKilled,
		"BatchesDrained":           batchesDrained,
		"RollingRestart":           rollingRestart,
		"KeysRotated":              keysRotated,
		"Traced":                   traced,
		"Incidents":                incidents,
		"RestoredAOF":              restored("aof"),
		"RestoredRDB":              restored("rdb"),
	}
	maps.Copy(tests, processesOfLinux)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, bin)
		})
	}
}

// A moment is when a sequencer is killed: before or after a write reaches Redis.
type moment struct {
	name  string
	phase tx.Phase // that is on disk then
	after bool
	match func(write) bool
	// trouble is made beforehand, so that there is such a write.
	trouble func(*rig)
}

func to(p tx.Phase) func(write) bool { return func(w write) bool { return w.to == p } }

func toWith(p tx.Phase, has func(write) bool) func(write) bool {
	return func(w write) bool { return w.to == p && has(w) }
}

// What a write stores for the first time.
func plans(w write) bool     { return w.last() == tx.Planned && !slices.Contains(w.names, "bytes") }
func signs(w write) bool     { return slices.Contains(w.names, "bytes") && w.last() == tx.Signed }
func lands(w write) bool     { return w.Landed > 0 && w.Final == 0 }
func finalises(w write) bool { return w.Final > 0 }
func beginsRetry(w write) bool {
	return w.Retries > 0 && w.last() != tx.Planned
}
func failsIn(w write) bool { return w.last() == tx.FailedIn }

func atWorkers(fault string) func(*rig) {
	return func(r *rig) {
		for n := range r.workers {
			r.fault(n, fault)
		}
	}
}

func inBlocks(r *rig) {
	r.control("fail-next", `{"count":3,"reasons":["Account_app_state_0_precondition_unsatisfied"]}`)
}

const (
	workerError = `{"on":"prove","kind":"error","code":"30001","message":"no luck"}`
	workerBusy  = `{"on":"prove","kind":"busy"}`
)

func moments() []moment {
	return []moment{
		{"bound, nothing planned", tx.PhaseDispatching, false, toWith(tx.PhaseDispatching, plans), nil},
		{"attempt planned", tx.PhaseDispatching, true, toWith(tx.PhaseDispatching, plans), nil},
		{"worker answered, bytes not stored", tx.PhaseDispatching, false, toWith(tx.PhaseSent, signs), nil},
		{"bytes stored", tx.PhaseSent, true, toWith(tx.PhaseSent, signs), nil},
		{"sent, not noted", tx.PhaseSent, false, to(tx.PhaseWatching), nil},
		{"sent, wait begun", tx.PhaseWatching, true, to(tx.PhaseWatching), nil},
		{"in a block, not noted", tx.PhaseWatching, false, toWith(tx.PhaseDone, lands), nil},
		{"failed in a block, not noted", tx.PhaseWatching, false, toWith(tx.PhaseFailing, failsIn), inBlocks},
		{"failed in a block", tx.PhaseFailing, true, toWith(tx.PhaseFailing, failsIn), inBlocks},
		{"worker's error", tx.PhaseFailing, true, to(tx.PhaseFailing), atWorkers(workerError)},
		{"error, delay not begun", tx.PhaseFailing, false, to(tx.PhaseDelayed), atWorkers(workerError)},
		{"delay begun", tx.PhaseDelayed, true, to(tx.PhaseDelayed), atWorkers(workerError)},
		{"delay over", tx.PhaseDelayed, false, toWith(tx.PhaseDispatching, beginsRetry), atWorkers(workerError)},
		{"retry begun", tx.PhaseDispatching, true, toWith(tx.PhaseDispatching, beginsRetry), atWorkers(workerError)},
		{"worker busy", tx.PhaseDispatching, false, to(tx.PhaseWaiting), atWorkers(workerBusy)},
		{"back in the queue", tx.PhaseWaiting, true, to(tx.PhaseWaiting), atWorkers(workerBusy)},
		{"done, callback not told", tx.PhaseDone, true, toWith(tx.PhaseDone, lands), nil},
		{"done, not final", tx.PhaseDone, false, toWith(tx.PhaseDone, finalises), nil},
	}
}

// legacyMoments are those of a worker that sends by itself: only there is a
// transaction sent for a while before anything is watched for.
func legacyMoments() []moment {
	return []moment{
		{"legacy: answered, not noted", tx.PhaseDispatching, false, to(tx.PhaseSent), nil},
		{"legacy: sent", tx.PhaseSent, true, to(tx.PhaseSent), nil},
		{"legacy: sent, wait not begun", tx.PhaseSent, false, to(tx.PhaseWatching), nil},
		{"legacy: wait begun", tx.PhaseWatching, true, to(tx.PhaseWatching), nil},
	}
}

// killedInEveryPhase: killed with -9 in every phase, and started again each
// time, everything is done once and in order.
func killedInEveryPhase(t *testing.T, bin binaries) {
	lane.All(t, `KilledAtRandom and TestCrashPoints kill at these writes, too`)
	k := &killing{t: t, counts: map[tx.Phase]int{}}

	r := newRig(t, bin, "killed", nil)
	for n := range uint64(3) {
		r.worker(n+1, "--prove-time", "30ms")
	}
	// Accepted, and killed before anything else could happen.
	s := r.serve("serve 0", r.throughGate())
	for i := range 4 {
		r.post(s, fmt.Sprintf("q%d", i%2), fmt.Sprintf("first-%d", i))
	}
	s.kill()
	k.note("accepted", r.get("first-3").Phase, tx.PhaseWaiting)
	k.at(r, moments())

	r = newRig(t, bin, "killed-legacy", nil)
	r.worker(4, "--prove-time", "30ms", "--legacy")
	k.at(r, legacyMoments())

	for _, p := range []tx.Phase{tx.PhaseWaiting, tx.PhaseDispatching, tx.PhaseSent, tx.PhaseWatching,
		tx.PhaseFailing, tx.PhaseDelayed, tx.PhaseDone} {
		if k.counts[p] == 0 {
			t.Errorf("never killed in %s", p)
		}
		fmt.Fprintf(&k.table, "\n%8d× %s, %s", k.counts[p], p.State(), p.Queue())
	}
	t.Logf("killed with -9 at %d moments:%s", k.kills, &k.table)
}

// A killing counts what was on disk when a process was killed.
type killing struct {
	t      *testing.T
	kills  int
	counts map[tx.Phase]int
	table  strings.Builder
}

func (k *killing) note(name string, p, want tx.Phase) {
	if p != want {
		k.t.Errorf("killed at %q: %s is on disk, want %s", name, p, want)
	}
	k.kills++
	k.counts[p]++
	fmt.Fprintf(&k.table, "\n%8d  %-35s %s, %s", k.kills, name, p.State(), p.Queue())
}

// at kills a process at each moment, and lets the last one finish.
func (k *killing) at(r *rig, moments []moment) {
	for i, m := range moments {
		r.gate.open()
		s := r.serve(fmt.Sprintf("serve %d", i+1), r.throughGate())
		for j := range 2 {
			r.post(s, fmt.Sprintf("q%d", (2*i+j)%4), fmt.Sprintf("txn-%02d-%d", i, j))
		}
		if m.trouble != nil {
			m.trouble(r)
		}
		// What an earlier kill left behind may get there from another phase.
		hit := r.gate.shutAt(func(w write) bool { return m.match(w) && (m.after || r.phase(w.uid) == m.phase) }, m.after)
		select {
		case w := <-hit:
			s.kill()
			k.note(m.name, r.get(w.uid).Phase, m.phase)
		case <-time.After(patience):
			k.t.Fatalf("no moment like %q", m.name)
		}
	}
	r.gate.open()
	r.serve("the last serve", nil)
	r.allDone()
}

// takenOver: of two processes on one Redis one is killed, and then one is
// stopped for longer than its claims live and goes on.
func takenOver(t *testing.T, bin binaries) {
	const ttl = 2 * time.Second
	r := newRig(t, bin, "taken", map[string]string{"SEQUENCER_CLAIM_TTL": ttl.String()})
	for n := range uint64(3) {
		r.worker(n+1, "--prove-time", "50ms")
	}
	first := r.serve("first", nil)
	for i := range 9 {
		r.post(first, fmt.Sprintf("q%d", i%3), fmt.Sprintf("kill-%d", i))
	}
	var one string
	r.eventually(patience, "the first process works on all queues", func() bool {
		all := r.processes()
		if len(all) == 1 {
			one = all[0]
		}
		return one != "" && len(r.claimed(one)) >= 3
	})
	second := r.serve("second", nil)
	r.eventually(patience, "the second process beats", func() bool { return len(r.processes()) == 2 })
	two := r.processes()[0]
	if two == one {
		two = r.processes()[1]
	}
	first.kill()
	killed, held := r.now(), len(r.claimed(one))
	r.eventually(2*ttl, "the second process has taken over", func() bool { return len(r.claimed(one)) == 0 })
	t.Logf("%d claims of a process killed with -9 taken over in %v, with claims that live %v", held, r.now().Sub(killed), ttl)

	// Stopped with a worker's call in hand: a legacy worker that sends by
	// itself, and others whose answers are there when the process wakes up.
	r.allDone()
	account := devnet.Key(9)
	r.worker(9, "--prove-time", "500ms", "--legacy")
	if status := r.call(http.MethodPost, second.api+"/senders", fmt.Sprintf(`{"accountId":%q,"workerUrl":%q}`, account, r.urls[9]), nil); status >= 300 {
		t.Fatalf("registering: %d", status)
	}
	for n := range uint64(3) {
		// Long enough to be met together on a machine that is busy, and over when the process wakes up.
		r.fault(n+1, `{"on":"prove","kind":"hang","wait":"1500ms","after":true,"times":2}`)
	}
	for i := range 12 {
		r.post(second, fmt.Sprintf("s%d", i%4), fmt.Sprintf("stop-%02d", i))
	}
	var began time.Time
	r.eventually(patience, "four workers are at work", func() bool {
		calls := 0
		for _, uid := range r.claimed(two) {
			a := r.get(uid).Last()
			if a != nil && (a.State == tx.Called || a.State == tx.Planned && a.Sender != account) {
				calls++
			}
		}
		switch {
		case calls < 4:
			began = time.Time{}
		case began.IsZero():
			began = r.now()
		}
		return calls >= 4 && r.now().Sub(began) > 100*time.Millisecond
	})
	second.signal(syscall.SIGSTOP)
	stopped := r.now()
	third := r.serve("third", nil)
	r.eventually(patience, "three lives of a claim are over", func() bool { return r.now().Sub(stopped) > 3*ttl })
	if n := len(r.claimed(two)); n > 0 {
		t.Errorf("%d claims are still with a process stopped for %v", n, 3*ttl)
	}
	second.signal(syscall.SIGCONT)
	for i := range 4 {
		r.post(third, fmt.Sprintf("s%d", i%4), fmt.Sprintf("cont-%d", i))
	}
	r.allDone()
	select {
	case <-second.ended:
		t.Error("the stopped process did not go on")
	default:
	}
}

// legacyWorkerDies: of a worker that dies right after it sent, the transaction
// is found on the chain. Of one that dies right before, a person has to say so.
// A sequencer that dies before it has noted what such a worker sent is no reason
// to ask a person.
func legacyWorkerDies(t *testing.T, bin binaries) {
	r := newRig(t, bin, "legacy", map[string]string{"SEQUENCER_DISPATCH_TIMEOUT": "2s"})
	sent := r.worker(1, "--legacy", "--exit-after-send")
	s := r.serve("serve", nil)
	r.post(s, "after", "after")
	if code := r.exitCodeOf(sent); code != 1 {
		t.Errorf("the worker ended with %d", code)
	}
	r.worker(1, "--legacy") // which would do it again, were it asked to
	r.allDone()             // with the hash that the dead one never told
	if x := r.get("after"); len(x.Attempts) != 1 || x.Retries != 0 {
		t.Errorf("dispatched again: %d retries, %+v", x.Retries, x.Attempts)
	}

	if status := r.call(http.MethodPost, s.api+"/senders/"+devnet.Key(1)+"/drain", "", nil); status >= 300 {
		t.Fatalf("draining: %d", status)
	}
	unsent := r.worker(2, "--legacy", "--exit-before-send")
	if status := r.call(http.MethodPost, s.api+"/senders", fmt.Sprintf(`{"accountId":%q,"workerUrl":%q}`, devnet.Key(2), r.urls[2]), nil); status >= 300 {
		t.Fatalf("registering: %d", status)
	}
	r.post(s, "before", "before")
	if code := r.exitCodeOf(unsent); code != 1 {
		t.Errorf("the worker ended with %d", code)
	}
	r.worker(2, "--legacy")
	r.eventually(patience, "nobody knows", func() bool { return r.get("before").State() == tx.Unresolved })
	if x := r.get("before"); x.Error == nil || x.Error.Code != "OUTCOME_UNKNOWN" || len(x.Attempts) != 1 || x.Retries != 0 {
		t.Errorf("error %v, %d retries, %+v", x.Error, x.Retries, x.Attempts)
	}
	if x, err := r.pool.Get(t.Context(), devnet.Key(2)); err != nil || x.Reason != tx.OutcomeUnknown {
		t.Errorf("its sender: %+v, %v", x, err)
	}
	var problem struct{ Code string }
	at := s.api + "/transactions/before"
	if status := r.call(http.MethodPost, at+"/retry", "", &problem); status != http.StatusConflict || problem.Code != "MIGHT_STILL_LAND" {
		t.Errorf("retry before it is settled: %d %s", status, problem.Code)
	}
	if status := r.call(http.MethodPost, at+"/resolve", `{"outcome":"dead"}`, nil); status != http.StatusOK {
		t.Errorf("resolve: %d", status)
	}
	if x, err := r.pool.Get(t.Context(), devnet.Key(2)); err != nil || !x.Available() || x.State() != tx.QueueFree {
		t.Errorf("its sender: %+v, %v", x, err)
	}
	if status := r.call(http.MethodPost, at+"/retry", "", nil); status >= 300 {
		t.Errorf("retry: %d", status)
	}
	if status := r.call(http.MethodPost, s.api+"/senders/"+devnet.Key(1)+"/resume", "", nil); status >= 300 {
		t.Fatalf("resuming: %d", status)
	}
	r.allDone()

	// The sequencer dies with the worker's answer in hand.
	s.kill()
	s = r.serve("killed", map[string]string{"SEQUENCER_REDIS_URL": "redis://" + r.gate.addr})
	hit := r.gate.shutAt(to(tx.PhaseSent), false)
	r.post(s, "answered", "answered")
	r.post(s, "answered", "behind")
	select {
	case w := <-hit:
		s.kill()
		if x := r.get(w.uid); x.Hash() != "" || x.Phase != tx.PhaseDispatching {
			t.Errorf("killed too late: %s is %s, hash %s", w.uid, x.Phase, x.Hash())
		}
	case <-time.After(patience):
		t.Fatal("the worker has not answered")
	}
	r.serve("again", nil)
	r.allDone()
	if x := r.get("answered"); len(x.Attempts) != 1 || x.Retries != 0 {
		t.Errorf("dispatched again: %d retries, %+v", x.Retries, x.Attempts)
	}
}
