package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// renamed is a path under which a stranger could get the module.
const renamed = "example.org/team/mina-sequencer"

// ourModule is the path of the product's module today.
func ourModule(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(sh(t, `cd ../.. && go list -m`))
}

// stranger makes a module of its own out of the program in the docs.
func stranger(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	code := strings.ReplaceAll(fromDocs(t, "stranger"), "MODULE", path)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	sh(t, `cd "$1" && go mod init example.com/shop 2>&1`, dir)
	return dir
}

// TestReplaced is how a program gets the client today: from a copy, by replace.
func TestReplaced(t *testing.T) {
	t.Parallel()
	path := ourModule(t)
	dir := stranger(t, path)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sh(t, `cd "$1" && go mod edit -require="$2@v0.0.0" -replace="$2=$3" && go mod tidy 2>&1 && go vet .`, dir, path, root)
	checkNeeds(t, dir, path)
}

// checkNeeds: who uses the client needs the client, and nobody else's code.
func checkNeeds(t *testing.T, dir, path string) {
	t.Helper()
	list := `cd "$1" && go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' .`
	if got := strings.Fields(sh(t, list, dir)); strings.Join(got, " ") != path+"/api/client example.com/shop" {
		t.Errorf("needs %v", got)
	}
}

// serveModule puts the committed tree, under another path, where the go command
// finds modules: a file tree, as a proxy has it.
func serveModule(t *testing.T) (proxy string) {
	t.Helper()
	src, proxy := t.TempDir(), t.TempDir()
	sh(t, `git -C ../.. archive HEAD | tar -x -C "$1" && "$1/scripts/rename-module.sh" "$2"`, src, renamed)
	dir := filepath.Join(proxy, renamed, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "v0.1.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := zip.CreateFromDir(out, module.Version{Path: renamed, Version: "v0.1.0"}, src); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"v0.1.0.mod": read(t, filepath.Join(src, "go.mod")), "list": "v0.1.0\n",
		"v0.1.0.info": `{"Version": "v0.1.0", "Time": "2026-02-03T04:05:06Z"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}

// get builds the stranger's program after a go get by version.
func get(t *testing.T, proxy string) (program string) {
	t.Helper()
	dir := stranger(t, renamed)
	// Whatever else the module names is known on this machine, or to its proxy.
	sh(t, `cd "$1"; export GOPROXY="file://$2,$(go env GOPROXY)" GONOSUMDB=example.org GOFLAGS=-modcacherw
		go get "$3/api/client@v0.1.0" 2>&1 && go vet . && go build -o shop .`, dir, proxy, renamed)
	checkNeeds(t, dir, renamed)
	return filepath.Join(dir, "shop")
}

// TestGet is how a program will get the client, once the module has a host.
func TestGet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not tried: all packages are read anew under another path")
	}
	get(t, serveModule(t))
}

// testStrangerRuns: the stranger's program brings a transaction to its end through
// the released program.
func testStrangerRuns(t *testing.T, r madeRelease) {
	program := get(t, serveModule(t))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, r.program(t), "demo", "--addr", "127.0.0.1:0", "--slot", "200ms")
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = demo.Process.Kill(); _ = demo.Wait() })
	at := regexp.MustCompile(`curl -s (http://\S+)/api/v1/queues`)
	var url string
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		if m := at.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it must not wait for a reader
	if got := sh(t, `SEQUENCER_URL="$2" "$1"`, program, url); got != "DONE\n" {
		t.Errorf("the stranger's transaction: %s", got)
	}
}
