package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A target is a system that programs are built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// chooseTargets picks some by their names, all for an empty text.
func chooseTargets(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	var chosen []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("--only %q: there are %v", name, targets)
		}
		if !slices.Contains(chosen, targets[i]) {
			chosen = append(chosen, targets[i])
		}
	}
	return chosen, nil
}

// A program is one executable and the list of what it is made of.
type program struct {
	path string
	sbom []byte // CycloneDX, JSON
}

// compile builds a package of the source: static, without paths of this machine.
func (b *build) compile(ctx context.Context, pkg string, t target) (program, error) {
	name := filepath.Base(pkg)
	path := filepath.Join(b.tmp, "bin", t.String(), name)
	// What may be set on this machine and would change the bytes is set back.
	env := []string{
		"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off",
	}
	flags := "-s -w -buildid= -X main.version=" + b.version + " -X main.commit=" + b.commit
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path, "./" + pkg}
	if _, err := command(ctx, b.dir, env, "go", args...); err != nil {
		return program{}, err
	}
	sbom, err := listContents(path, name, b.version, b.time)
	if err != nil {
		return program{}, err
	}
	return program{path: path, sbom: sbom}, nil
}

// listContents writes down the modules that the Go tool recorded in a program.
func listContents(path, name, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what %s is made of: %w", path, err)
	}
	parts := []part{{"golang", "std", strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, part{"golang", m.Path, m.Version})
	}
	return listParts(name, version, at, parts)
}

// A part is a package of a registry that something is made of.
type part struct{ registry, name, version string }

func listParts(name, version string, at time.Time, parts []part) ([]byte, error) {
	own := "pkg:generic/" + name + "@" + url.PathEscape(version)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: name, Version: version, PackageURL: own,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	var components []cdx.Component
	var refs []string
	for _, p := range parts {
		ref := "pkg:" + p.registry + "/" + strings.ReplaceAll(p.name, "@", "%40") + "@" + p.version
		refs = append(refs, ref)
		components = append(components, cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: ref,
		})
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
