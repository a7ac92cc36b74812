package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// runPush brings an image, with what refers to it, to a registry, under the tag
// of its version. Who asks is in the settings that docker login writes.
func runPush(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	to := flags.String("to", "", "host/name of the image, without a tag")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *to == "" {
		return errors.New("push wants --to and one OCI archive")
	}
	repo, err := name.NewRepository(*to, name.StrictValidation)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "push-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := command(ctx, ".", nil, "tar", "-xf", flags.Arg(0), "-C", dir); err != nil {
		return err
	}
	list, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return err
	}
	manifest, err := list.IndexManifest()
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	// What refers to an image must find it there.
	for _, indexes := range []bool{true, false} {
		for _, d := range manifest.Manifests {
			if d.MediaType.IsIndex() != indexes {
				continue
			}
			if err := push(repo, list, d, stdout, options); err != nil {
				return err
			}
		}
	}
	return nil
}

func push(repo name.Repository, list v1.ImageIndex, d v1.Descriptor, stdout io.Writer, options []remote.Option) error {
	if !d.MediaType.IsIndex() {
		img, err := list.Image(d.Digest)
		if err != nil {
			return err
		}
		return remote.Write(repo.Digest(d.Digest.String()), img, options...)
	}
	index, err := list.ImageIndex(d.Digest)
	if err != nil {
		return err
	}
	tag := repo.Tag(d.Annotations["org.opencontainers.image.ref.name"])
	if err := remote.WriteIndex(tag, index, options...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s@%s\n", tag, d.Digest)
	return err
}
