package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// made is the time of all that the tests build.
var made = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// sh runs a shell command and returns what it printed.
func sh(t *testing.T, script string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-euo", "pipefail", "-c", script, "test"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// newKey makes an OpenPGP key, with which tests sign, and its armored secret.
func newKey(t *testing.T) (*openpgp.Entity, string) {
	t.Helper()
	key, err := openpgp.NewEntity("tests", "", "tests@example.org", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return made.Add(-time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PrivateKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(key.SerializePrivate(w, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	return key, out.String()
}

// hello is a program that takes a moment to build, where any will do.
func hello(t *testing.T) program {
	t.Helper()
	dir := t.TempDir()
	main := "package main\n\nfunc main() { println(\"hello\") }\n"
	for name, data := range map[string]string{"main.go": main, "go.mod": "module example.org/hello\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, `cd "$1" && go build -o hello .`, dir)
	path := filepath.Join(dir, "hello")
	sbom, err := listContents(path, "hello", "1.2.3", made)
	if err != nil {
		t.Fatal(err)
	}
	return program{path: path, sbom: sbom}
}

// newTestBuild is a build of this work tree with a program that is already there.
func newTestBuild(t *testing.T, p program, key *openpgp.Entity) *build {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &build{
		source:  source{dir: root, version: "1.2.3-rc.1", commit: strings.Repeat("ab", 20), time: made},
		targets: targets, tmp: t.TempDir(), out: t.TempDir(), key: key, stdout: io.Discard,
		programs: map[target]program{}, devworkers: map[target]program{}, images: map[string]string{},
		completion: map[string][]byte{"bash": []byte("# bash\n"), "zsh": []byte("# zsh\n"), "fish": []byte("# fish\n")},
	}
	for _, target := range targets {
		b.programs[target], b.devworkers[target] = p, p
	}
	for _, step := range []func(context.Context) error{
		b.archives, b.packages, b.makeImages, b.makeWorkersImage, b.chart, b.describe, b.sign,
	} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestSameBytes: neither folders, nor the time, nor the order of maps show.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	p := hello(t)
	key, _ := newKey(t)
	a, b := newTestBuild(t, p, key), newTestBuild(t, p, key)
	entries, err := os.ReadDir(a.out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 15 {
		t.Fatalf("only %d files: %v", len(entries), entries)
	}
	sh(t, `diff -r "$1" "$2"`, a.out, b.out)
	// What others check a release with, checks it.
	sh(t, `cd "$1" && sha256sum --check --quiet SHA256SUMS`, a.out)
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, sumsFile) {
			if list := read(t, filepath.Join(a.out, sumsFile)); !strings.Contains(list, "  "+name+"\n") {
				t.Errorf("%s has no checksum", name)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSignature: gpg, which others have, takes the signature, and that of nothing else.
func TestSignature(t *testing.T) {
	t.Parallel()
	key, secret := newKey(t)
	dir := t.TempDir()
	loaded, err := loadKey(func(name string) string { return map[string]string{keyVariable: secret}[name] })
	if err != nil {
		t.Fatal(err)
	}
	signature, err := detached(loaded, []byte("sums\n"), made)
	if err != nil {
		t.Fatal(err)
	}
	again, err := detached(key, []byte("sums\n"), made)
	if err != nil || !bytes.Equal(signature, again) {
		t.Errorf("another signature the second time (%v)", err)
	}
	for name, data := range map[string]string{
		"secret.asc": secret, "sums": "sums\n", "other": "other\n", "sums.asc": string(signature),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := sh(t, `export GNUPGHOME="$1/gnupg"; mkdir -m 700 "$GNUPGHOME"; cd "$1"
		gpg --batch --quiet --import secret.asc
		gpg --batch --status-fd 1 --verify sums.asc sums
		! gpg --batch --verify sums.asc other
		gpgconf --kill all`, dir)
	if of := fmt.Sprint(" 2026-02-03 ", made.Unix(), " "); !strings.Contains(out, of) {
		t.Errorf("no signature of%sin\n%s", of, out)
	}
}

// TestBadKeys: what is wrong is said, and nothing of the key.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	_, secret := newKey(t)
	public := filepath.Join(t.TempDir(), "missing")
	for name, env := range map[string]map[string]string{
		"RELEASE_KEY wants":        {keyVariable: "hunter2"},
		"both set":                 {keyVariable: secret, keyFileVariable: public},
		"RELEASE_KEY_FILE: open":   {keyFileVariable: public},
		"RELEASE_KEY wants one ar": {keyVariable: secret[:len(secret)/2] + "hunter2"},
	} {
		key, err := loadKey(func(name string) string { return env[name] })
		if key != nil || err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if key, err := loadKey(func(string) string { return "" }); key != nil || err != nil {
		t.Errorf("no key: %v %v", key, err)
	}
}

// TestSource: only the commit of a tag is released, and with nothing changed.
func TestSource(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	sh(t, `cd "$1" && git init -q && git config user.name t && git config user.email t@example.org
		echo 1 > a && ln -s a b && git add . && git commit -qm one && git tag v1.2.3
		echo 2 > a && git commit -qam two && git tag v1.2.4`, repo)
	take := func(version string) (source, error) { return takeSource(t.Context(), repo, version, t.TempDir()) }
	s, err := take("1.2.4")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(s.dir, "b")); got != "2\n" {
		t.Errorf("the source holds %q", got)
	}
	if s.time.Location() != time.UTC || time.Since(s.time) > time.Hour || len(s.commit) != 40 {
		t.Errorf("%+v", s)
	}
	for version, want := range map[string]string{
		"1.2.3": "is checked out", "1.2.5": "no tag", "v1.2.4": "semantic", "1.2": "semantic", "1.2.4+x": "semantic",
	} {
		if _, err := take(version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	sh(t, `echo 3 > "$1/c"`, repo)
	if _, err := take("1.2.4"); err == nil || !strings.Contains(err.Error(), "not clean") {
		t.Errorf("with a new file: %v", err)
	}
	s, err = take("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "c")); err == nil || s.version != "0.0.0-dev.g"+s.commit[:12] {
		t.Errorf("a snapshot holds what is not committed, or is called %s", s.version)
	}
}

// TestRoots: the certificates are those that programs will look for.
func TestRoots(t *testing.T) {
	t.Parallel()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(rootsPEM()) {
		t.Fatal("no certificate")
	}
	if n := strings.Count(string(rootsPEM()), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d certificates", n)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"", "other", "build", "build --version 1.2.3 --snapshot", "build --snapshot --only linux_386", "push", "push x.tar",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// TestChartArchive: the chart holds board and alerts themselves, for their links lead
// to nowhere elsewhere, and the version of the release.
func TestChartArchive(t *testing.T) {
	t.Parallel()
	b := newTestBuild(t, hello(t), nil)
	dir := t.TempDir()
	sh(t, `tar -xzf "$1" -C "$2"`, filepath.Join(b.out, product+"-"+b.version+".tgz"), dir)
	for _, name := range []string{"alerts.yml", "dashboard.json"} {
		path := filepath.Join(dir, product, "files", name)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Fatalf("%s: %v %v", name, info, err)
		}
		if read(t, path) != read(t, filepath.Join("../../docs/monitoring", name)) {
			t.Errorf("%s is not that of docs", name)
		}
	}
	about := read(t, filepath.Join(dir, product, "Chart.yaml"))
	if strings.Count(about, `ersion: "1.2.3-rc.1"`) != 2 {
		t.Error(about)
	}
}
