package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// product is how everything is called that is made.
const product = "mina-sequencer"

// A build makes a release out of a source.
type build struct {
	source
	targets     []target
	tmp, root   string
	workersBase string
	key         *openpgp.Entity // nil: nothing is signed
	stdout      io.Writer

	out        string // folder of this version, under root
	programs   map[target]program
	devworkers map[target]program
	completion map[string][]byte // by shell
	images     map[string]string // digest by name
}

func (b *build) run(ctx context.Context) error {
	b.out = filepath.Join(b.root, b.version)
	// What an earlier run has left is no part of this one.
	if err := os.RemoveAll(b.out); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	b.images = map[string]string{}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"programs", b.compileAll}, {"completion", b.complete}, {"archives", b.archives}, {"packages", b.packages},
		{"images", b.makeImages}, {"image of the workers", b.makeWorkersImage}, {"chart", b.chart},
		{"release.json", b.describe}, {"checksums", b.sign},
	}
	for _, step := range steps {
		fmt.Fprintln(b.stdout, step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	fmt.Fprintf(b.stdout, "%s of %.12s is in %s\n", b.version, b.commit, b.out)
	return nil
}

func (b *build) compileAll(ctx context.Context) error {
	b.programs, b.devworkers = map[target]program{}, map[target]program{}
	for _, t := range b.targets {
		p, err := b.compile(ctx, "cmd/sequencer", t)
		if err != nil {
			return err
		}
		b.programs[t] = p
		if err := b.write(b.name(t)+".cdx.json", p.sbom); err != nil {
			return err
		}
		if t.os != "linux" {
			continue
		}
		if b.devworkers[t], err = b.compile(ctx, "scripts/devworker", t); err != nil {
			return err
		}
	}
	return nil
}

// complete has the program write its own completion.
func (b *build) complete(ctx context.Context) error {
	here, built := b.programs[target{runtime.GOOS, runtime.GOARCH}]
	if !built {
		return fmt.Errorf("nothing is built for %s_%s, which would have to write it", runtime.GOOS, runtime.GOARCH)
	}
	b.completion = map[string][]byte{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := command(ctx, b.tmp, nil, here.path, "completion", shell)
		if err != nil {
			return err
		}
		b.completion[shell] = []byte(script + "\n")
	}
	return nil
}

// archives makes one archive per system, with one folder in it.
func (b *build) archives(context.Context) error {
	for _, t := range b.targets {
		dir := b.name(t)
		files := []file{
			{name: dir + "/sequencer", mode: 0o755, from: b.programs[t].path},
			text(dir+"/sbom.cdx.json", b.programs[t].sbom),
		}
		for _, doc := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
			files = append(files, file{name: dir + "/" + doc, mode: 0o644, from: filepath.Join(b.dir, doc)})
		}
		for shell, script := range b.completion {
			files = append(files, text(dir+"/completion/sequencer."+shell, script))
		}
		if err := writeTarGz(filepath.Join(b.out, dir+".tar.gz"), files, b.time); err != nil {
			return err
		}
	}
	return nil
}

// describe writes down what the release was made of, and its images' digests.
func (b *build) describe(ctx context.Context) error {
	version, err := command(ctx, b.dir, nil, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	about, err := json.MarshalIndent(struct {
		Version string            `json:"version"`
		Commit  string            `json:"commit"`
		Time    string            `json:"time"`
		Go      string            `json:"go"`
		Images  map[string]string `json:"images"`
	}{b.version, b.commit, b.stamp(), version, b.images}, "", "  ")
	if err != nil {
		return err
	}
	return b.write("release.json", append(about, '\n'))
}

// sign writes the checksums of all that is there, in the form of sha256sum, and
// the signature of that list.
func (b *build) sign(context.Context) error {
	entries, err := os.ReadDir(b.out)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, entry := range entries {
		if sums[entry.Name()], err = fileSum(filepath.Join(b.out, entry.Name())); err != nil {
			return err
		}
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	if err := b.write(sumsFile, []byte(list.String())); err != nil {
		return err
	}
	if b.key == nil {
		fmt.Fprintf(b.stdout, "NOT SIGNED: %s or %s holds no key\n", keyFileVariable, keyVariable)
		return nil
	}
	signature, err := detached(b.key, []byte(list.String()), b.time)
	if err != nil {
		return err
	}
	return b.write(sumsFile+".asc", signature)
}

const sumsFile = "SHA256SUMS"

func fileSum(name string) (sum string, err error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = cmp.Or(err, in.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (b *build) name(t target) string { return product + "_" + b.version + "_" + t.String() }

func (b *build) stamp() string { return b.time.Format("2006-01-02T15:04:05Z") }

func (b *build) write(name string, data []byte) error {
	if filepath.Base(name) != name {
		return errors.New("a release has no folders")
	}
	return os.WriteFile(filepath.Join(b.out, name), data, 0o644)
}
