// Package redistest starts Redis servers for tests: a real one as a child
// process, and an embedded one that follows the clock of a testing/synctest
// bubble.
package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTimeout is how long a server has to answer, stopTimeout to end by itself.
const (
	startTimeout = 20 * time.Second
	stopTimeout  = 20 * time.Second
)

// A Server is a real Redis on a loopback port. Its data lives in a temporary
// directory and ends with the test. Its methods are for one goroutine; the
// client may be used by many, and connects again after a restart.
type Server struct {
	// Client talks to the server; it is closed with the test.
	Client *redis.Client
	// Addr is host:port, the same for the life of the test.
	Addr string

	tb         testing.TB
	binary     string
	dir        string
	directives []string
	running    *process
	controls   *redis.Client
	configured string // the file and address for which there is a configuration
}

// process is one run of the server's program.
type process struct {
	cmd    *exec.Cmd
	output *output
	ended  chan struct{} // closed when it has been waited for
	paused bool
}

// Start runs a redis-server that appends every write to a file and flushes it
// each second, never evicts, and takes no snapshots. Directives, written as in
// redis.conf ("appendfsync always"), stand behind these defaults and win.
// Where redis-server is not installed the test fails.
func Start(tb testing.TB, directives ...string) *Server {
	tb.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("this test needs a real Redis: install redis-server (Debian: apt-get install redis-server): %v", err)
	}
	s := &Server{tb: tb, binary: binary, dir: tb.TempDir(), directives: directives}
	tb.Cleanup(s.Kill)
	// Another process may take the port between the look and the start.
	for range 5 {
		s.Addr = FreeAddr(tb, 1)
		if err = s.start(); err == nil {
			break
		}
	}
	if err != nil {
		tb.Fatalf("starting redis-server: %v", err)
	}
	s.Client = redis.NewClient(&redis.Options{Addr: s.Addr})
	tb.Cleanup(func() { _ = s.Client.Close() })
	return s
}

// Pid is the process id of the running server, 0 if none runs.
func (s *Server) Pid() int {
	if s.running == nil {
		return 0
	}
	return s.running.cmd.Process.Pid
}

// Stop ends the server in order, as an administrator would: what it accepted is
// on disk.
func (s *Server) Stop() {
	s.tb.Helper()
	if s.running == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	again := time.NewTicker(time.Second) // a replica that writes its first file refuses to stop
	defer again.Stop()
	for {
		_ = s.running.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.running.ended:
			s.running = nil
			return
		case <-again.C:
		case <-ctx.Done():
			s.Kill()
			s.tb.Errorf("redis-server did not stop within %v", stopTimeout)
			return
		}
	}
}

// Kill ends the server at once, as a crash of its process would: what it handed
// to the operating system is kept.
func (s *Server) Kill() {
	if s.running == nil {
		return
	}
	_ = s.running.cmd.Process.Kill()
	<-s.running.ended
	s.running = nil
}

// Replica starts a server that follows s, and waits until it has all that s has.
func (s *Server) Replica() *Server {
	s.tb.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		s.tb.Fatalf("following %s: %v", s.Addr, err)
	}
	r := Start(s.tb, "replicaof "+host+" "+port)
	s.replicated()
	return r
}

// replicated waits until a replica has all that s has been told so far. A write
// of its own is what it waits for, for WAIT asks after those of its connection.
func (s *Server) replicated() {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn := s.Client.Conn()
	defer func() { _ = conn.Close() }()
	err := conn.Set(ctx, "redistest:replicated", 1, time.Minute).Err()
	for err == nil {
		var n int64
		if n, err = conn.Wait(ctx, 1, 100*time.Millisecond).Result(); n > 0 {
			return
		}
	}
	s.tb.Fatalf("waiting for the replica of %s: %v", s.Addr, err)
}

// CutOff has a replica of s follow nobody from now on. It has all that s has been
// told up to now, and lacks what s is told after that.
func (s *Server) CutOff(replica *Server) {
	s.tb.Helper()
	s.replicated()
	if err := replica.Client.ReplicaOf(context.Background(), "NO", "ONE").Err(); err != nil {
		s.tb.Fatalf("cutting off %s: %v", replica.Addr, err)
	}
}

// FailOver ends s at once, and has a replica that was cut off take its place, at
// its address, as behind an address that moves. From then on s is what was the
// replica; that one is not to be used any more.
func (s *Server) FailOver(replica *Server) {
	s.tb.Helper()
	s.Kill()
	_, port, err := net.SplitHostPort(s.Addr)
	if err == nil {
		err = replica.Client.ConfigSet(context.Background(), "port", port).Err()
	}
	if err != nil {
		s.tb.Fatalf("taking the place of %s: %v", s.Addr, err)
	}
	s.running, replica.running = replica.running, nil
	s.dir = replica.dir
}

// LosePower ends the server at once and takes from its file what a power cut may
// take with "appendfsync everysec": everything from the second before on. It
// returns the beginning of what is lost, between one and two seconds ago. The
// server has to be started with "aof-timestamp-enabled yes".
func (s *Server) LosePower() time.Time {
	s.tb.Helper()
	s.Kill()
	since := time.Now().Truncate(time.Second).Add(-time.Second)
	files, err := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		s.tb.Fatalf("looking for the file of the last writes: %q, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		s.tb.Fatalf("reading the last writes: %v", err)
	}
	for _, mark := range timeMark.FindAllSubmatchIndex(content, -1) {
		at, err := strconv.ParseInt(string(content[mark[2]:mark[3]]), 10, 64)
		if err == nil && at >= since.Unix() {
			if err := os.Truncate(files[0], int64(mark[0])); err != nil {
				s.tb.Fatalf("taking the last writes away: %v", err)
			}
			break
		}
	}
	return since
}

// timeMark is how Redis notes the time of what follows in its file.
var timeMark = regexp.MustCompile(`#TS:(\d+)\r\n`)

// Restart starts the server again, on the same port with the same data, after
// it was stopped or killed; a running one is stopped first.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.tb.Fatalf("starting redis-server again: %v", err)
	}
}

func (s *Server) start() error {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	config := append([]string{
		"bind " + host, "port " + port, "dir " + strconv.Quote(s.dir), "daemonize no",
		`save ""`, "appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction",
	}, s.directives...)
	file := filepath.Join(s.dir, "redis.conf")
	// A Sentinel has a server write down who its master is now.
	if s.configured != file+s.Addr {
		if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		s.configured = file + s.Addr
	}
	args := []string{file}
	if strings.Contains(strings.Join(s.directives, "\n"), "sentinel monitor ") {
		args = append(args, "--sentinel")
	}
	cmd := exec.CommandContext(context.Background(), s.binary, args...)
	p := &process{cmd: cmd, output: new(output), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = endWithParent()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	s.running = p
	if err := p.answers(s.Addr); err != nil {
		s.Kill()
		return fmt.Errorf("%w\n%s", err, p.output)
	}
	return nil
}

// answers waits until the server at addr has loaded its data.
func (p *process) answers(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		// Who answers must be this process, not another that has the port.
		info, err := client.Info(ctx, "server").Result()
		if err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid)) {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("it ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", errors.Join(ctx.Err(), err))
		case <-again.C:
		}
	}
}

// FreeAddr returns the first of n addresses in a row that nobody listens on: below the ports
// that systems give to whoever asks for any (from 32768 on Linux, from 49152 elsewhere), so
// that no server or connection of another test takes one before its server has started, or
// while that is stopped.
func FreeAddr(tb testing.TB, n int) string {
	tb.Helper()
	const lowest, highest = 20000, 32000
	for range 1000 {
		port := lowest + rand.IntN(highest-lowest) //nolint:gosec // keeps tests apart, no secret
		if allFree(port, n) {
			return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		}
	}
	tb.Fatal("no free ports")
	return ""
}

func allFree(port, n int) bool {
	for i := range n {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// output keeps the beginning of what the server says, for a failing test.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	const most = 64 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.b.Len() < most {
		o.b.Write(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
