package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

var withWorkers = flag.Bool("workers", false, "make the image of the workers too, which installs them with npm")

// nodeBase is an image with this machine's Node and the libraries that it needs.
func nodeBase(t *testing.T, b *build, system target) string {
	t.Helper()
	node := strings.TrimSpace(sh(t, `readlink -f "$(command -v node)"`))
	files := []file{{name: "usr/bin/node", mode: 0o755, from: node}, folder("tmp", 0o777)}
	for _, lib := range strings.Fields(sh(t, `ldd "$1" | grep -o '/[^ ]*'`, node)) {
		real, err := filepath.EvalSymlinks(lib)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{name: strings.TrimPrefix(lib, "/"), mode: 0o755, from: real})
	}
	img, err := b.assemble(empty.Image, system, v1.Config{}, "Node", files)
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system.os, Architecture: system.arch}},
	})
	dir := t.TempDir()
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWorkersImage makes the image of the workers twice, on a base of this machine,
// and runs what is in it.
func TestWorkersImage(t *testing.T) {
	if !*withWorkers {
		t.Skip("not tried: -workers is not given")
	}
	needsRoot(t)
	system := target{"linux", runtime.GOARCH}
	src := t.TempDir()
	sh(t, `git -C ../.. archive HEAD | tar -x -C "$1"`, src)
	var digests []string
	var last *build
	for range 2 {
		last = &build{
			source:  source{dir: src, version: "1.2.3", commit: strings.Repeat("ab", 20), time: made},
			targets: []target{system}, tmp: t.TempDir(), out: t.TempDir(), stdout: io.Discard, images: map[string]string{},
		}
		last.workersBase = nodeBase(t, last, system)
		if err := last.makeWorkersImage(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, last.images[product+"-workers"])
	}
	if digests[0] != digests[1] {
		t.Errorf("the same commit gave %s and %s", digests[0], digests[1])
	}
	dir, root := t.TempDir(), t.TempDir()
	sh(t, `tar -xf "$1" -C "$2"`, filepath.Join(last.out, product+"-workers_1.2.3_oci.tar"), dir)
	list, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	img, err := platformImage(list, system)
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, mutate.Extract(img), root)
	// Without settings a worker says what it needs, which takes all of its modules.
	out := sh(t, `cd /; run() { env -i HOME=/tmp HOST=0.0.0.0 "$@"; }
		chroot=$(command -v chroot)
		run "$chroot" --userspec=65532:65532 "$1" /usr/bin/node /workers/voting/dist/src/worker.js 2>&1 || true
		find "$1/workers" -name '*.test.js' -not -path '*/node_modules/*' -printf 'a test: %P\n'
		du -sh "$1/workers"`, root)
	contents := read(t, filepath.Join(root, "workers", "sbom.cdx.json"))
	if !strings.Contains(out, "voting-worker: MINA_URL") || !strings.Contains(contents, "pkg:npm/o1js@") ||
		strings.Contains(contents, "pkg:npm/typescript@") || strings.Contains(out, "a test:") {
		t.Error(out)
	}
	t.Log(out)
}
