package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// worker is one sender's worker through all its processes.
type worker struct {
	Command
	of   *Workers
	log  *slog.Logger
	last record // of the last process, until nothing of it is left; for run alone

	mu    sync.Mutex
	state State
	end   context.CancelCauseFunc // of the process that runs
}

// run keeps the worker running until ctx ends.
func (w *worker) run(ctx context.Context) {
	for tries := 0; ; tries++ {
		served, err := w.live(ctx)
		if ctx.Err() != nil {
			w.log.Info("worker stopped")
			return
		}
		if served > w.of.o.BackoffMax {
			tries = 0
		}
		wait := w.backoff(tries)
		w.set(State{Next: time.Now().Add(wait)})
		w.log.Warn("worker ended", "err", err, "again", wait.Round(time.Millisecond))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// backoff is exponential with jitter: workers that die together do not start
// together.
func (w *worker) backoff(tries int) time.Duration {
	d := float64(w.of.o.Backoff) * math.Pow(2, float64(min(tries, 30)))
	return time.Duration(min(d, float64(w.of.o.BackoffMax)) * (0.5 + 0.5*rand.Float64()))
}

func (w *worker) set(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
}

// live is one process from its start until nothing of it is left. It returns for
// how long it took calls, and why it ended.
func (w *worker) live(ctx context.Context) (served time.Duration, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err := w.clear(ctx); err != nil {
		return 0, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return 0, err
	}
	url := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p, err := w.start(port)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.state, w.end = State{PID: p.pid}, end
	w.mu.Unlock()
	w.log.Info("worker started", "program", filepath.Base(w.Args[0]), "pid", p.pid, "url", url)

	var parts sync.WaitGroup
	parts.Go(func() {
		err := p.cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		w.set(State{}) // at once: no further call goes there
		end(err)
		close(p.gone)
	})
	var since time.Time
	parts.Go(func() { since = w.watch(ctx, p.pid, url, end) })
	<-ctx.Done()
	w.set(State{})
	p.terminate(w.grace(context.Cause(ctx)))
	parts.Wait()
	if err := w.clear(context.WithoutCancel(ctx)); err != nil {
		w.log.Error("a worker has left something over", "err", err)
	}
	p.output.close()
	if !since.IsZero() {
		served = time.Since(since)
	}
	return served, context.Cause(ctx)
}

// clear ends what is left of the last process outside of its group, and only then
// forgets it.
func (w *worker) clear(ctx context.Context) error {
	if w.last.Mark == "" {
		return nil
	}
	if err := w.last.end(ctx, w.of.o.Log); err != nil {
		return err
	}
	w.of.records.remove(w.Account)
	w.last = record{}
	return nil
}

// grace is how long a process may take to end by itself: none where it hangs,
// or is gone and has left others behind.
func (w *worker) grace(cause error) time.Duration {
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return w.of.o.Grace
	}
	return 0
}

// watch asks the worker whether it is there: quickly until it takes calls, and
// then now and again. It ends one that is silent for too long. It returns when
// the worker began to take calls.
func (w *worker) watch(ctx context.Context, pid int, url string, end context.CancelCauseFunc) (since time.Time) {
	const quickest, slowest = 20 * time.Millisecond, 10 * time.Second
	patience := w.of.o.Patience
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	pause, heard := quickest, time.Now()
	for {
		answered, ready := w.ask(ctx, client, url, min(patience, 30*time.Second))
		switch {
		case ctx.Err() != nil:
			return since
		case answered && (ready || !since.IsZero()):
			heard = time.Now()
			pause = min(slowest, patience/4)
		case time.Since(heard) < patience:
		case since.IsZero():
			end(fmt.Errorf("it takes no calls %v after its start", patience))
			return since
		default:
			end(fmt.Errorf("%w for %v", errHung, patience))
			return since
		}
		if since.IsZero() && !ready {
			pause = min(2*pause, time.Second)
		}
		if ready && since.IsZero() {
			since = heard
			w.ready(ctx, pid, url)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return since
		case <-timer.C:
		}
	}
}

// ready offers the worker to the sender's calls.
func (w *worker) ready(ctx context.Context, pid int, url string) {
	w.mu.Lock()
	if ctx.Err() != nil { // its end takes the lock, too, and has the last word
		w.mu.Unlock()
		return
	}
	w.state = State{PID: pid, URL: url}
	w.mu.Unlock()
	w.log.Info("worker ready", "pid", pid, "url", url)
	if w.of.o.Changed != nil {
		w.of.o.Changed()
	}
}

// ask reports whether the worker answers at all, and whether it takes calls. A
// worker need not know /health: that it says so is an answer. One that says 503
// is still getting ready.
func (w *worker) ask(ctx context.Context, client *http.Client, url string,
	patience time.Duration) (answered, ready bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return false, false
	}
	if w.of.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+w.of.o.Token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, false
	}
	_ = resp.Body.Close()
	return true, resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusTooManyRequests
}

// A process is a worker that runs.
type process struct {
	cmd    *exec.Cmd
	pid    int
	output *output
	gone   chan struct{} // closed when the process itself has ended
}

// start starts the worker's process and records it.
func (w *worker) start(port int) (*process, error) {
	mark, err := w.of.records.announce(w.Account)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(w.Args[0], w.Args[1:]...) //nolint:noctx // it is ended by its group, see Stop
	cmd.Env = w.environment(port, mark)
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, gone: make(chan struct{})}
	if p.output, err = newOutput(cmd, w.log, w.secrets()); err != nil {
		return nil, err
	}
	err = w.of.starter.start(cmd)
	p.output.begin(err == nil)
	if err != nil {
		w.of.records.remove(w.Account)
		return nil, fmt.Errorf("not started: %w", err)
	}
	p.pid = cmd.Process.Pid
	w.last = record{Account: w.Account, Mark: mark, Worker: identity{PID: p.pid}}
	if err := w.of.records.note(w.Account, mark, p.pid); err != nil {
		w.log.Warn("worker not recorded: if this process is killed, the next one may not find it", "err", err)
	}
	return p, nil
}

// environment is what the worker gets: what this process has without its own
// settings, which hold secrets, and what the command adds.
func (w *worker) environment(port int, mark string) []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "SEQUENCER_") })
	for name, value := range w.Env {
		env = append(env, name+"="+value)
	}
	env = append(env, "PORT="+strconv.Itoa(port), "HOST=127.0.0.1", markVariable+"="+mark)
	if w.of.o.Token != "" {
		env = append(env, "WORKER_TOKEN="+w.of.o.Token)
	}
	return env
}

// secrets are the texts that must not get into the log.
func (w *worker) secrets() []string {
	return append(slices.Collect(maps.Values(w.Env)), w.of.o.Token)
}

// terminate ends the process and all that it has started, and returns when
// nothing of its group is left.
func (p *process) terminate(grace time.Duration) {
	if grace > 0 {
		terminateGroup(p.pid)
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for end := time.Now().Add(grace); groupAlive(p.pid) && time.Now().Before(end); {
			<-again.C
		}
	}
	killGroup(p.pid)
	<-p.gone
}

// freePort is a loopback port that nothing listens on at the moment.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
