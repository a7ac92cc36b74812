package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRoot is the user of all images, by number: Kubernetes can tell that it is
// not root, and no image has to know names.
const nonRoot = 65532

const sbomType types.MediaType = "application/vnd.cyclonedx+json"

// A variant is an image for one system, with the list of what is in it.
type variant struct {
	target
	image v1.Image
	sbom  []byte
}

// makeImages makes the images of the service and of the simulated worker.
func (b *build) makeImages(context.Context) error {
	service, worker := []variant{}, []variant{}
	for _, t := range b.targets {
		if t.os != "linux" {
			continue
		}
		p := b.programs[t]
		img, err := b.scratch(t, v1.Config{
			Entrypoint: []string{"/usr/bin/sequencer"}, Cmd: []string{"serve"},
			Env:          []string{"PATH=/usr/bin", "HOME=/tmp", "SEQUENCER_STATE_DIR=/var/lib/mina-sequencer"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		}, "Brings zkApp transactions into Mina blocks, once and in order", []file{
			{name: "usr/bin/sequencer", mode: 0o755, from: p.path},
			text("usr/share/doc/mina-sequencer/sbom.cdx.json", p.sbom),
			{name: "usr/share/doc/mina-sequencer/LICENSE", mode: 0o644, from: filepath.Join(b.dir, "LICENSE")},
		})
		if err != nil {
			return err
		}
		service = append(service, variant{t, img, p.sbom})

		p = b.devworkers[t]
		img, err = b.scratch(t, v1.Config{Entrypoint: []string{"/usr/bin/devworker"}, Env: []string{"PATH=/usr/bin"}},
			"Simulated workers, to try the sequencer with", []file{{name: "usr/bin/devworker", mode: 0o755, from: p.path}})
		if err != nil {
			return err
		}
		worker = append(worker, variant{t, img, p.sbom})
	}
	if err := b.writeImage(product, service); err != nil {
		return err
	}
	return b.writeImage(product+"-devworker", worker)
}

// scratch makes an image of nothing but what is given, the certificates that
// HTTPS needs, and the few files that programs look for.
func (b *build) scratch(t target, c v1.Config, about string, files []file) (v1.Image, error) {
	system := []file{
		text("etc/passwd", fmt.Appendf(nil, "root:x:0:0::/:/none\nnonroot:x:%d:%[1]d::/tmp:/none\n", nonRoot)),
		text("etc/group", fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonRoot)),
		text("etc/ssl/certs/ca-certificates.crt", rootsPEM()),
		{name: "tmp", mode: 0o777 | fs.ModeSticky | fs.ModeDir},
		{name: "var/lib/mina-sequencer", mode: 0o700 | fs.ModeDir, uid: nonRoot},
	}
	return b.assemble(empty.Image, t, c, about, system, files)
}

// assemble puts layers of files on an image.
func (b *build) assemble(img v1.Image, t target, c v1.Config, about string, layers ...[]file) (v1.Image, error) {
	img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
	for i, files := range layers {
		data, err := tarBytes(files, b.time)
		if err != nil {
			return nil, err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
			Created: v1.Time{Time: b.time}, CreatedBy: fmt.Sprintf("release build, layer %d", i+1),
		}})
		if err != nil {
			return nil, err
		}
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Author, file.Container = t.os, t.arch, v1.Time{Time: b.time}, "", ""
	file.Config = c
	file.Config.User = fmt.Sprintf("%d:%[1]d", nonRoot)
	file.Config.WorkingDir = orRoot(c.WorkingDir)
	file.Config.StopSignal = "SIGTERM"
	file.Config.Labels = b.labels(about)
	return mutate.ConfigFile(img, file)
}

func orRoot(dir string) string {
	if dir == "" {
		return "/"
	}
	return dir
}

// labels are those of the OCI image specification that can be known here.
func (b *build) labels(about string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": product, "org.opencontainers.image.description": about,
		"org.opencontainers.image.version": b.version, "org.opencontainers.image.revision": b.commit,
		"org.opencontainers.image.created": b.stamp(), "org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// writeImage writes an image for several systems twice: as an OCI layout with the
// lists of contents as referrers, for registries, and one by one for docker load.
func (b *build) writeImage(called string, variants []variant) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	list := index
	for _, v := range variants {
		platform := &v1.Platform{OS: v.os, Architecture: v.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: v.image, Descriptor: v1.Descriptor{Platform: platform},
		})
		sbom, err := referrer(v)
		if err != nil {
			return err
		}
		list = mutate.AppendManifests(list, mutate.IndexAddendum{
			Add: sbom, Descriptor: v1.Descriptor{ArtifactType: string(sbomType)},
		})
		tag, err := name.NewTag(called + ":" + b.version)
		if err != nil {
			return err
		}
		docker := filepath.Join(b.out, called+"_"+b.version+"_docker_"+v.arch+".tar")
		if err := tarball.WriteToFile(docker, tag, v.image); err != nil {
			return err
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	b.images[called] = digest.String()
	list = mutate.AppendManifests(list, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{"org.opencontainers.image.ref.name": b.version},
	}})
	dir, err := os.MkdirTemp(b.tmp, "oci-")
	if err != nil {
		return err
	}
	if _, err := layout.Write(dir, list); err != nil {
		return err
	}
	files, err := tree(dir, "")
	if err != nil {
		return err
	}
	data, err := tarBytes(files, b.time)
	if err != nil {
		return err
	}
	return b.write(called+"_"+b.version+"_oci.tar", data)
}

// referrer is the list of contents of an image as an artifact that refers to it.
func referrer(v variant) (v1.Image, error) {
	digest, err := v.image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := v.image.Size()
	if err != nil {
		return nil, err
	}
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	artifact, err = mutate.Append(artifact, mutate.Addendum{Layer: static.NewLayer(v.sbom, sbomType), MediaType: sbomType})
	if err != nil {
		return nil, err
	}
	of := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size}
	return mutate.Subject(artifact, of).(v1.Image), nil
}
