package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// workspaces are those of workers that are of use in production, or to try it.
var workspaces = []string{"kit", "signer", "voting", "ledger-node", "examples"}

// makeWorkersImage puts the built workers on an image that brings Node. There is
// no Node without a C library, so this one is not from scratch: the base is given,
// and by its digest, without which the same commit would not give the same bytes.
func (b *build) makeWorkersImage(ctx context.Context) error {
	if b.workersBase == "" {
		fmt.Fprintln(b.stdout, "NOT MADE: the image of the workers, for WORKERS_BASE names no image with Node")
		return nil
	}
	base, err := openBase(ctx, b.workersBase)
	if err != nil {
		return fmt.Errorf("WORKERS_BASE: %w", err)
	}
	var variants []variant
	for _, t := range b.targets {
		img, err := platformImage(base, t)
		if err != nil {
			return err
		}
		if img == nil {
			continue
		}
		dir, err := b.installWorkers(ctx, t)
		if err != nil {
			return err
		}
		files, err := workerFiles(dir)
		if err != nil {
			return err
		}
		contents, err := b.listModules(dir)
		if err != nil {
			return err
		}
		img, err = b.assemble(img, t, v1.Config{
			Entrypoint: []string{"node"}, Cmd: []string{"voting/dist/src/worker.js"}, WorkingDir: "/workers",
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "HOST=0.0.0.0"},
			ExposedPorts: map[string]struct{}{"3000/tcp": {}},
		}, "Workers that prove and sign for the sequencer", append(files, text("workers/sbom.cdx.json", contents)))
		if err != nil {
			return err
		}
		variants = append(variants, variant{t, img, contents})
	}
	if len(variants) == 0 {
		return errors.New("WORKERS_BASE has no image for linux on amd64 or arm64")
	}
	return b.writeImage(product+"-workers", variants)
}

// openBase finds an image by its digest in a registry, or in a folder.
func openBase(ctx context.Context, where string) (v1.ImageIndex, error) {
	if info, err := os.Stat(where); err == nil && info.IsDir() {
		return layout.ImageIndexFromPath(where)
	}
	ref, err := name.NewDigest(where)
	if err != nil {
		return nil, fmt.Errorf("%s: wants name@sha256:…, or a folder: %w", where, err)
	}
	return remote.Index(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// platformImage is the image for a system, nil if there is none.
func platformImage(index v1.ImageIndex, t target) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		if d.MediaType.IsIndex() {
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			if img, err := platformImage(inner, t); img != nil || err != nil {
				return img, err
			}
		} else if p := d.Platform; p != nil && p.OS == t.os && p.Architecture == t.arch {
			return index.Image(d.Digest)
		}
	}
	return nil, nil
}

// installWorkers builds the workers, and leaves them with what they need to run
// on t and nothing else.
func (b *build) installWorkers(ctx context.Context, t target) (string, error) {
	dir := filepath.Join(b.tmp, "workers", t.String())
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(b.dir, "workers"))); err != nil {
		return "", err
	}
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[t.arch]
	steps := [][]string{
		{"ci", "--ignore-scripts"}, {"run", "build"},
		{"ci", "--ignore-scripts", "--omit=dev", "--os=" + t.os, "--cpu=" + cpu},
	}
	for _, args := range steps {
		if _, err := command(ctx, dir, nil, "npm", append(args, "--no-audit", "--no-fund")...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// workerFiles are what runs: no sources, no tests, no notes of the tools.
func workerFiles(dir string) ([]file, error) {
	all, err := tree(dir, "workers")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(f file) bool {
		parts := strings.Split(f.name, "/")
		if len(parts) == 1 || parts[1] == "package.json" || parts[1] == "node_modules" {
			return strings.HasSuffix(f.name, "/.package-lock.json")
		}
		if !slices.Contains(workspaces, parts[1]) {
			return true
		}
		if len(parts) == 2 {
			return false
		}
		kept := []string{"dist", "node_modules", "package.json", "bin", "src", "schema"}
		source := strings.HasSuffix(f.name, ".ts") || strings.HasSuffix(f.name, ".tsbuildinfo")
		tests := len(parts) > 3 && (parts[3] == "test" || parts[3] == "e2e")
		return source || tests || !slices.Contains(kept, parts[2])
	}), nil
}

// listModules writes down what npm has installed. npm's own list wants what is left
// out to be there.
func (b *build) listModules(dir string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	found := map[part]bool{}
	for path, p := range lock.Packages {
		i := strings.LastIndex(path, "node_modules/")
		if i < 0 || p.Version == "" { // a workspace
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
			found[part{"npm", path[i+len("node_modules/"):], p.Version}] = true
		}
	}
	parts := slices.SortedFunc(maps.Keys(found), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return listParts(product+"-workers", b.version, b.time, parts)
}
