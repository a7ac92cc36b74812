// Release builds everything that is given to others from one commit: programs,
// archives, packages, images, the Helm chart, their lists of contents, checksums
// and a signature. The same commit and the same Go give the same bytes.
//
//	release build --version 1.2.3   from the tag v1.2.3, which must be checked out and clean
//	release build --snapshot        from the commit that is checked out
//	release push --to HOST/NAME OCI.tar
//	                                an image to a registry
//	release roots                   print the certificates of the images, as PEM
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "release:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("wants build, push or roots")
	}
	switch name, args := args[0], args[1:]; name {
	case "build":
		return runBuild(ctx, args, stdout)
	case "push":
		return runPush(ctx, args, stdout)
	case "roots":
		_, err := stdout.Write(rootsPEM())
		return err
	default:
		return fmt.Errorf("there is no %q: it is build, push or roots", name)
	}
}

func runBuild(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	version := flags.String("version", "", "version to release, without v: its tag has to be checked out and clean")
	snapshot := flags.Bool("snapshot", false, "build the commit that is checked out, under a version made of it")
	repo := flags.String("repo", ".", "folder of the repository")
	out := flags.String("out", "dist", "folder for what is made, a folder per version")
	base := flags.String("workers-base", os.Getenv("WORKERS_BASE"),
		"image with Node that workers are put on: name@sha256:…, or the folder of an OCI layout")
	only := flags.String("only", "", "system_architecture,… to build for, linux_amd64 for one; all if not given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || (*version == "") != *snapshot {
		return errors.New("build wants either --version or --snapshot")
	}
	chosen, err := chooseTargets(*only)
	if err != nil {
		return err
	}
	key, err := loadKey(os.Getenv)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	src, err := takeSource(ctx, *repo, *version, tmp)
	if err != nil {
		return err
	}
	b := &build{source: src, targets: chosen, tmp: tmp, root: *out, workersBase: *base, key: key, stdout: stdout}
	return b.run(ctx)
}
