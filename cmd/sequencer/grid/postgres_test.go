//go:build unix

package grid

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startPostgres starts a PostgreSQL of the test's own, which listens on a socket in its
// folder alone, and returns its address.
func startPostgres(t *testing.T) string {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	ok(err)
	dir := ""
	if len(found) > 0 {
		dir = slices.Max(found)
	} else if path, err := exec.LookPath("initdb"); err == nil {
		dir = filepath.Dir(path)
	} else {
		t.Fatal("postgresql is needed: scripts/setup.sh installs it")
	}
	home, err := os.MkdirTemp("", "grid-postgres-") //nolint:usetesting // others may not enter what a test is given
	ok(err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	as := servant(t, home)
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(dir, name), args...)
		cmd.Dir, cmd.SysProcAttr = home, as
		return cmd
	}
	data := filepath.Join(home, "data")
	if out, err := program("initdb", "-D", data, "-U", "grid", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := program("postgres", "-D", data, "-k", home, "-c", "listen_addresses=", "-c", "fsync=off")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	ok(server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // a fast shutdown
		_ = server.Wait()
	})
	at := "postgresql:///postgres?user=grid&host=" + home
	for until := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		db, err := open(at)
		ok(err)
		_, err = db.query(t.Context(), "SELECT 1 AS n")
		if err == nil {
			return at
		}
		if time.Now().After(until) {
			t.Fatalf("PostgreSQL does not answer: %v\n%s", err, &said)
		}
	}
}

// servant is who a server runs as, which must not be root, and is given its home.
func servant(t *testing.T, home string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
