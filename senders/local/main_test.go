//go:build unix

package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the worker, what a worker starts, and the process
// that has workers: a variable says which.
const role = "LOCAL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		_ = os.Setenv("SEQUENCER_API_KEYS", "not for workers")
		os.Exit(m.Run())
	case "worker":
		actWorker()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("pid", os.Getpid())
		select {}
	case "parent":
		actParent()
	}
}

// actWorker is a worker that tells its environment, and does what WORKER_TEST
// says.
func actWorker() {
	does := os.Getenv("WORKER_TEST")
	if does == "die" {
		os.Exit(3)
	}
	if does == "family" || does == "detached" {
		child := exec.CommandContext(context.Background(), os.Args[0])
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: does == "detached"}
		child.Env = append(os.Environ(), role+"=stubborn")
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			panic(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print("child ", line)
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		fmt.Println("good bye")
		os.Exit(0)
	}()
	var asked atomic.Int32
	answer := func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+os.Getenv("WORKER_TOKEN"):
			w.WriteHeader(http.StatusUnauthorized)
		case does == "compiles" && n < 4, does == "never ready":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/env":
			_ = json.NewEncoder(w).Encode(os.Environ())
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	err := http.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), http.HandlerFunc(answer))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// actParent has workers until it is killed.
func actParent() {
	o := options(os.Getenv("LOCAL_TEST_DIR"), slog.New(slog.NewTextHandler(os.Stdout, nil)), "family")
	if err := New(o).Run(context.Background()); err != nil {
		panic(err)
	}
}

func command(account, does string) Command {
	return Command{Account: account, Args: []string{os.Args[0]},
		Env: map[string]string{role: "worker", "WORKER_TEST": does, "KEY": "hush-hush", "GORACE": "atexit_sleep_ms=0"}}
}

func options(dir string, log *slog.Logger, does string) Options {
	return Options{
		Commands: []Command{command("B62a", does)}, Token: "the-token", Dir: filepath.Join(dir, "workers"), Log: log,
		Patience: time.Minute, Backoff: 10 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Grace: time.Minute,
	}
}

// A crew is running workers with their log.
type crew struct {
	*Workers
	t    *testing.T
	log  logged
	stop func()
}

// logged is a log that can be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// runs starts workers that end with the test.
func runs(t *testing.T, does string, change func(*Options)) *crew {
	t.Helper()
	c := &crew{t: t}
	o := options(t.TempDir(), slog.New(slog.NewTextHandler(&c.log, nil)), does)
	if change != nil {
		change(&o)
	}
	c.Workers = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(c.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.log.String())
		}
	})
	return c
}

// eventually waits for a condition; the limit is for what hangs.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-again.C {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// ready waits until a worker takes calls that is not the process before.
func (c *crew) ready(before int) State {
	c.t.Helper()
	var s State
	eventually(c.t, "the worker is ready", func() bool {
		s, _ = c.State("B62a")
		return s.URL != "" && s.PID != before
	})
	return s
}

func (c *crew) says(text string) {
	c.t.Helper()
	eventually(c.t, "the log says "+text, func() bool { return strings.Contains(c.log.String(), text) })
}

// childIn waits for the pid of what a worker has started, as it tells it.
func childIn(t *testing.T, log fmt.Stringer) identity {
	t.Helper()
	var pid int
	eventually(t, "the worker's child tells its pid", func() bool {
		_, after, found := strings.Cut(log.String(), "child pid ")
		n := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if found && n > 0 {
			pid, _ = strconv.Atoi(after[:n])
		}
		return pid > 0
	})
	return identityOf(pid)
}

func gone(t *testing.T, who string, i identity) {
	t.Helper()
	if i.Start == "" {
		t.Fatalf("%s was not there", who)
	}
	eventually(t, who+" is gone", func() bool { return !i.alive() })
}
