package main

import (
	"archive/tar"
	"errors"
	"io"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImages: what is in an image, and as whom it runs, for both systems.
func TestImages(t *testing.T) {
	t.Parallel()
	b := newTestBuild(t, hello(t), nil)
	for _, called := range []string{product, product + "-devworker"} {
		dir := t.TempDir()
		sh(t, `tar -xf "$1" -C "$2"`, filepath.Join(b.out, called+"_"+b.version+"_oci.tar"), dir)
		list, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []target{{"linux", "amd64"}, {"linux", "arm64"}} {
			img, err := platformImage(list, target)
			if err != nil || img == nil {
				t.Fatalf("%s for %s: %v", called, target, err)
			}
			checkImage(t, b, called, target, img)
		}
	}
}

func checkImage(t *testing.T, b *build, called string, system target, img v1.Image) {
	t.Helper()
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	if c.User != "65532:65532" || file.Architecture != system.arch || file.OS != "linux" || !file.Created.Equal(b.time) {
		t.Errorf("%s: user %s, for %s/%s, of %s", called, c.User, file.OS, file.Architecture, file.Created)
	}
	label := func(name string) string { return c.Labels["org.opencontainers.image."+name] }
	if label("revision") != b.commit || label("version") != b.version || label("created") != "2026-02-03T04:05:06Z" {
		t.Errorf("%s: labels %v", called, c.Labels)
	}
	names := contents(t, img)
	program := strings.TrimPrefix(c.Entrypoint[0], "/")
	for _, want := range []string{program, "etc/ssl/certs/ca-certificates.crt", "etc/passwd", "tmp"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s has no %s: %v", called, want, names)
		}
	}
	// What docker load takes is the same image.
	loaded, err := tarball.ImageFromPath(filepath.Join(b.out, called+"_"+b.version+"_docker_"+system.arch+".tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := configOf(t, loaded), configOf(t, img); got != want {
		t.Errorf("%s for docker is %s, in the layout %s", called, got, want)
	}
}

func configOf(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	hash, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// contents are the names of an image's files.
func contents(t *testing.T, img v1.Image) []string {
	t.Helper()
	in := mutate.Extract(img)
	defer in.Close()
	var names []string
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimSuffix(h.Name, "/"))
	}
}

// TestPush brings an image to a registry of this process, and finds it there by
// its tag, with the lists of contents that refer to it.
func TestPush(t *testing.T) {
	t.Parallel()
	b := newTestBuild(t, hello(t), nil)
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	repo := strings.TrimPrefix(server.URL, "http://") + "/team/sequencer"
	var out strings.Builder
	args := []string{"push", "--to", repo, filepath.Join(b.out, product+"_"+b.version+"_oci.tar")}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(repo + ":" + b.version)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b.images[product] != digest.String() || !strings.Contains(out.String(), digest.String()) {
		t.Errorf("pushed %s, told %s, in release.json %s", digest, out.String(), b.images[product])
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Fatalf("%d systems", len(manifest.Manifests))
	}
	for _, d := range manifest.Manifests {
		referrers, err := remote.Referrers(ref.Digest(d.Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		found, err := referrers.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Manifests) != 1 || found.Manifests[0].ArtifactType != string(sbomType) {
			t.Errorf("%s has the referrers %v", d.Platform, found.Manifests)
		}
	}
}
