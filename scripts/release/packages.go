package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes a deb and an rpm for each Linux.
func (b *build) packages(context.Context) error {
	made := []struct {
		packager nfpm.Packager
		suffix   string
	}{{deb.Default, ".deb"}, {rpm.DefaultRPM, ".rpm"}}
	for _, t := range b.targets {
		if t.os != "linux" {
			continue
		}
		for _, m := range made {
			info, err := b.packageInfo(t, m.suffix)
			if err != nil {
				return err
			}
			if err := b.writePackage(m.packager, info, b.name(t)+m.suffix); err != nil {
				return fmt.Errorf("%s: %w", m.suffix, err)
			}
		}
	}
	return nil
}

func (b *build) writePackage(p nfpm.Packager, info *nfpm.Info, name string) (err error) {
	if err := nfpm.PrepareForPackager(info, filepath.Ext(name)[1:]); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(b.out, name))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	return p.Package(info, out)
}

func (b *build) packageInfo(t target, suffix string) (*nfpm.Info, error) {
	contents, err := b.packageContents(t)
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(b.dir, "scripts/release/package", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: product, Arch: t.arch, Platform: t.os, Version: b.version, Release: "1", Section: "net", Priority: "optional",
		Maintainer: "The mina-sequencer authors <noreply@mina-sequencer.invalid>", License: "Apache-2.0", MTime: b.time,
		Description: "Mina zkApp transaction sequencer\n" +
			"Brings zkApp transactions into Mina blocks, each once, in the order of its queue.",
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"}, Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: in("postinstall" + suffix + ".sh"), PreRemove: in("preremove" + suffix + ".sh"),
				PostRemove: in("postremove" + suffix + ".sh"),
			},
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Mina zkApp transaction sequencer", Compression: "gzip"},
			Deb: nfpm.Deb{Compression: "gzip"},
		},
	})
	if b.key != nil {
		info.RPM.Signature.SignFn = func(data io.Reader) ([]byte, error) {
			whole, err := io.ReadAll(data)
			if err != nil {
				return nil, err
			}
			return detachedBinary(b.key, whole, b.time)
		}
	}
	return info, nil
}

// packageContents are the files of a package. What is made here is written under
// tmp first, for the packager reads files.
func (b *build) packageContents(t target) (files.Contents, error) {
	dir := filepath.Join(b.tmp, "package", t.String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	made := map[string][]byte{"sbom.cdx.json": b.programs[t].sbom}
	for shell, script := range b.completion {
		made["sequencer."+shell] = script
	}
	for name, data := range made {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	const doc, in = "/usr/share/doc/mina-sequencer/", "scripts/release/package/"
	entries := []struct {
		from, to, kind string
		mode           fs.FileMode
	}{
		{b.programs[t].path, "/usr/bin/sequencer", "", 0o755},
		{filepath.Join(b.dir, in+"mina-sequencer.service"), "/usr/lib/systemd/system/mina-sequencer.service", "", 0o644},
		{filepath.Join(b.dir, in+"sysusers.conf"), "/usr/lib/sysusers.d/mina-sequencer.conf", "", 0o644},
		// Secrets may stand in it, and systemd reads it as root.
		{filepath.Join(b.dir, in+"sequencer.env"), "/etc/mina-sequencer/sequencer.env", files.TypeConfigNoReplace, 0o600},
		{filepath.Join(b.dir, in+"local-workers.conf"), doc + "examples/local-workers.conf", "", 0o644},
		{filepath.Join(b.dir, "docs/monitoring/alerts.yml"), doc + "monitoring/alerts.yml", "", 0o644},
		{filepath.Join(b.dir, "docs/monitoring/dashboard.json"), doc + "monitoring/dashboard.json", "", 0o644},
		{filepath.Join(b.dir, "README.md"), doc + "README.md", "", 0o644},
		{filepath.Join(b.dir, "CHANGELOG.md"), doc + "CHANGELOG.md", "", 0o644},
		{filepath.Join(b.dir, "LICENSE"), doc + "copyright", "", 0o644},
		{filepath.Join(dir, "sbom.cdx.json"), doc + "sbom.cdx.json", "", 0o644},
		{filepath.Join(dir, "sequencer.bash"), "/usr/share/bash-completion/completions/sequencer", "", 0o644},
		{filepath.Join(dir, "sequencer.zsh"), "/usr/share/zsh/site-functions/_sequencer", "", 0o644},
		{filepath.Join(dir, "sequencer.fish"), "/usr/share/fish/vendor_completions.d/sequencer.fish", "", 0o644},
	}
	contents := files.Contents{}
	for _, e := range entries {
		contents = append(contents, &files.Content{
			Source: e.from, Destination: e.to, Type: e.kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: e.mode, MTime: b.time},
		})
	}
	return contents, nil
}
