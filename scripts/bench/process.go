package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// A bench is one run. It is used by one goroutine.
type bench struct {
	scale    scale
	dir      string // for all that is written, removed at the end
	profiles string // directory, "" for none
	progress io.Writer
	version  string // of Redis

	current string // figure
	redis   *redis.Client
	addr    string // of Redis
	ends    []func() error
	world   string // of the figure: its chain and workers, "" if they are not started
	pid     int    // of the process started last
	built   string // the service's program
}

// startTime is how long a process has to answer, stopTime to end by itself.
const (
	startTime = 30 * time.Second
	stopTime  = 20 * time.Second
)

// endAll ends what the figure started, the last first.
func (b *bench) endAll() error {
	var errs []error
	b.world = ""
	for len(b.ends) > 0 {
		end := b.ends[len(b.ends)-1]
		b.ends = b.ends[:len(b.ends)-1]
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// start runs a program until endAll, which interrupts it and, if that does not
// help, kills it. What it says goes to a file that is quoted if it fails.
func (b *bench) start(name string, env []string, stdout io.Writer, program string, args ...string) (ended <-chan struct{}, said func() string, err error) {
	file, err := os.CreateTemp(b.dir, name+"-*.log")
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(program, args...) //nolint:noctx // endAll ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), stdout, file
	if stdout == nil {
		cmd.Stdout = file
	}
	// A child of this program ends when its standard input does.
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, fmt.Errorf("starting %s: %w", name, err)
	}
	b.pid = cmd.Process.Pid
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	b.ends = append(b.ends, func() error {
		_ = input.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(stopTime):
			_ = cmd.Process.Kill()
			<-done
		}
		return file.Close()
	})
	return done, func() string {
		text, _ := os.ReadFile(file.Name())
		return string(text[max(0, len(text)-2000):])
	}, nil
}

// await asks until ok, the process has ended, or startTime is over.
func await(ctx context.Context, name string, ended <-chan struct{}, said func() string, ok func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !ok(ctx) {
		select {
		case <-ended:
			return fmt.Errorf("%s ended at once:\n%s", name, said())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer:\n%s", name, said())
		case <-again.C:
		}
	}
	return nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// startRedis starts an empty redis-server as one would be run for the service,
// but that the append-only file is not rewritten: that would fall on whatever
// is measured at the time.
func (b *bench) startRedis(ctx context.Context) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return errors.New("a real Redis is needed: install redis-server (Debian: apt-get install redis-server)")
	}
	if b.addr, err = freeAddr(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "redis-")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(b.addr)
	ended, said, err := b.start("redis-server", nil, nil, program, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0", "--maxmemory-policy", "noeviction")
	if err != nil {
		return err
	}
	b.redis = redis.NewClient(&redis.Options{Addr: b.addr, PoolSize: connections})
	b.ends = append(b.ends, b.redis.Close, func() error { return os.RemoveAll(dir) })
	if err := await(ctx, "redis-server", ended, said, func(ctx context.Context) bool { return b.redis.Ping(ctx).Err() == nil }); err != nil {
		return err
	}
	b.version = b.infoField(ctx, "server", "redis_version")
	return nil
}

func (b *bench) infoField(ctx context.Context, section, name string) string {
	for line := range strings.Lines(b.redis.Info(ctx, section).Val()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// profiling serves profiles of the service. It is compiled into it only for
// -cpuprofile: the service itself has no such door.
const profiling = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
)

func init() { go http.ListenAndServe(os.Getenv("BENCH_PPROF"), nil) }
`

// build compiles the service once.
func (b *bench) build(ctx context.Context) error {
	if b.built != "" {
		return nil
	}
	program := filepath.Join(b.dir, "sequencer")
	args := []string{"build", "-o", program}
	if b.profiles != "" {
		where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "mina-sequencer/cmd/sequencer").Output()
		if err != nil {
			return fmt.Errorf("looking for the service: %w", err)
		}
		source, overlay := filepath.Join(b.dir, "profiling.go"), filepath.Join(b.dir, "overlay.json")
		added := filepath.Join(strings.TrimSpace(string(where)), "bench_profiling.go")
		doc, err := json.Marshal(map[string]any{"Replace": map[string]string{added: source}})
		err = errors.Join(err, os.WriteFile(source, []byte(profiling), 0o600), os.WriteFile(overlay, doc, 0o600))
		if err != nil {
			return fmt.Errorf("writing the overlay: %w", err)
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "mina-sequencer/cmd/sequencer")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the service: %w\n%s", err, out)
	}
	b.built = program
	return nil
}

// A service is a running cmd/sequencer.
type service struct {
	addr  string
	pprof string
	pid   int
}

// chain is the address of the figure's chain and workers.
func (b *bench) chain(ctx context.Context) (_ string, err error) {
	if b.world == "" {
		b.world, err = b.startRole(ctx, roleWorld)
	}
	return b.world, err
}

// serve starts the service as startService does, and connects those who post to it.
func (b *bench) serve(ctx context.Context, queues int, settings ...string) (*service, *loader, error) {
	s, err := b.startService(ctx, settings...)
	if err != nil {
		return nil, nil, err
	}
	load, err := newLoader(ctx, s.addr, queues)
	if err == nil {
		b.ends = append(b.ends, func() error { load.close(); return nil })
	}
	return s, load, err
}

// startService starts the service on this figure's Redis and chain. Settings go beside,
// and win over, the address, the store and the node.
func (b *bench) startService(ctx context.Context, settings ...string) (*service, error) {
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	node, err := b.chain(ctx)
	if err != nil {
		return nil, err
	}
	var s service
	if s.addr, err = freeAddr(); err == nil {
		s.pprof, err = freeAddr()
	}
	if err != nil {
		return nil, err
	}
	env := append([]string{
		"SEQUENCER_ADDR=" + s.addr, "SEQUENCER_REDIS_URL=redis://" + b.addr, "SEQUENCER_MINA_URL=http://" + node + "/graphql",
		"SEQUENCER_LOG_LEVEL=warn", "BENCH_PPROF=" + s.pprof,
	}, settings...)
	ended, said, err := b.start("sequencer", env, nil, b.built, "serve")
	if err != nil {
		return nil, err
	}
	s.pid = b.pid
	return &s, await(ctx, "sequencer", ended, said, func(ctx context.Context) bool { return get(ctx, "http://"+s.addr+"/readyz", io.Discard) == nil })
}

// profile writes what the service does during work, and what Redis does, into
// the directory of -cpuprofile.
func (b *bench) profile(ctx context.Context, s *service, work func() error) error {
	if b.profiles == "" {
		return nil
	}
	b.redis.ConfigResetStat(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var profile bytes.Buffer
	taken := make(chan error, 1)
	const seconds = 5
	go func() {
		taken <- get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.pprof, seconds), &profile)
	}()
	for begin := time.Now(); time.Since(begin) < seconds*time.Second; {
		if err := work(); err != nil {
			return err
		}
	}
	if err := <-taken; err != nil {
		return err
	}
	name := filepath.Join(b.profiles, b.current)
	return errors.Join(os.WriteFile(name+".pprof", profile.Bytes(), 0o600),
		os.WriteFile(name+".redis", []byte(b.redis.Info(ctx, "commandstats").Val()), 0o600))
}

func get(ctx context.Context, url string, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	_, err = io.Copy(to, resp.Body)
	return err
}
