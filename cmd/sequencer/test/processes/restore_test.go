//go:build unix

package processes

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// restored: Redis is backed up under load, by the commands of docs/production.md. Later
// its machine is lost, and what the back-up holds is restored, by those commands, too:
// what has landed since is found on the chain, and made no second time.
func restored(kind string) func(*testing.T, binaries) {
	return func(t *testing.T, bin binaries) {
		lane.All(t, "a Redis that comes back older is what TestFailOver promotes")
		r := newRig(t, bin, "restored-"+kind, nil)
		for n := range uint64(4) {
			r.worker(n+1, "--prove-time", "300ms")
		}
		s := r.serve("before", nil)
		for i := range 120 {
			r.post(s, fmt.Sprintf("q%d", i%6), fmt.Sprintf("t%03d", i))
		}
		done := func() (n int) {
			for _, p := range r.posted {
				if x, err := r.store.Get(t.Context(), p.uid); err == nil && x.State() == tx.Done {
					n++
				}
			}
			return n
		}
		r.eventually(patience, "some are DONE", func() bool { return done() >= 8 })
		backup, dir := t.TempDir(), t.TempDir()
		r.administer("backup-"+kind, backup, dir)
		kept := done()
		r.eventually(patience, "more are DONE", func() bool { return done() >= kept+12 })
		s.kill()
		r.redis.Kill()

		if kind == "rdb" {
			r.administer("restore-rdb", backup, dir)
			r.store = r.from(dir, "appendonly no")
			r.administer("restore-rdb-file", backup, dir)
			r.redis.Kill()
		} else {
			r.administer("restore-aof", backup, dir)
		}
		r.store = r.from(dir)
		if n := done(); n < 8 || n > kept {
			t.Errorf("of %d that were DONE at the back-up %d are", kept, n)
		}
		r.serve("after", nil)
		r.allDone()
		r.audit()
	}
}

// from starts a Redis on the files of a folder, which takes the place of the one before.
func (r *rig) from(dir string, directives ...string) *queues.Store {
	r.Helper()
	r.redis = redistest.Start(r.T, append(directives, "dir "+strconv.Quote(dir))...)
	r.env["SEQUENCER_REDIS_URL"] = "redis://" + r.redis.Addr
	store, err := queues.Open(r.redis.Client, queues.Options{Namespace: r.namespace, Log: slog.New(slog.DiscardHandler)})
	r.ok(err)
	r.pool = senders.New(store, r.redis.Client)
	return store
}

// administer runs a block of docs/production.md against the Redis of the rig.
func (r *rig) administer(block, backup, dir string) {
	r.Helper()
	page, err := os.ReadFile("../../../../docs/production.md")
	r.ok(err)
	_, after, found := strings.Cut(string(page), "<!-- tested: "+block+" -->\n")
	var script strings.Builder
	for line := range strings.Lines(after) {
		code, indented := strings.CutPrefix(line, "    ")
		if !indented {
			break
		}
		script.WriteString(code)
	}
	if !found || script.Len() == 0 {
		r.Fatalf("docs/production.md has no block %q", block)
	}
	_, port, err := net.SplitHostPort(r.redis.Addr)
	r.ok(err)
	cmd := exec.CommandContext(r.Context(), "bash", "-euo", "pipefail", "-c",
		`redis-cli() { command redis-cli -p "$PORT" "$@"; }`+"\n"+script.String())
	cmd.Env = append(cmd.Environ(), "PORT="+port, "BACKUP="+filepath.Clean(backup), "DIR="+filepath.Clean(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("%s: %v\n%s", block, err, out)
	}
}
