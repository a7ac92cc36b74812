package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A source is the tree of one commit, and what it is called.
type source struct {
	dir     string // the tree, without a repository
	version string // semantic, without v
	commit  string
	time    time.Time // of the commit, in UTC: the time of all that is made
}

// semver is a semantic version without build metadata, which neither tags of
// images nor Go modules can have.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// takeSource puts the tree of the commit that is checked out in repo under tmp.
// What is built is a commit and never the work tree; with a version its tag
// must be that commit, and nothing may be changed beside it.
func takeSource(ctx context.Context, repo, version, tmp string) (source, error) {
	commit, err := git(ctx, repo, "rev-parse", "HEAD")
	if err != nil {
		return source{}, err
	}
	if version == "" {
		version = "0.0.0-dev.g" + commit[:12]
	} else if err := checkTag(ctx, repo, version, commit); err != nil {
		return source{}, err
	}
	seconds, err := git(ctx, repo, "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("time of the commit: %w", err)
	}
	dir := filepath.Join(tmp, "source")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return source{}, err
	}
	archive := filepath.Join(tmp, "source.tar")
	if _, err := git(ctx, repo, "archive", "--format=tar", "--output", archive, commit); err != nil {
		return source{}, err
	}
	if _, err := command(ctx, dir, nil, "tar", "-xf", archive); err != nil {
		return source{}, err
	}
	return source{dir: dir, version: version, commit: commit, time: time.Unix(unix, 0).UTC()}, nil
}

func checkTag(ctx context.Context, repo, version, commit string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("version %q: wants a semantic version without v and +, 1.2.3 or 1.2.3-rc.1", version)
	}
	tagged, err := git(ctx, repo, "rev-parse", "--verify", "--quiet", "refs/tags/v"+version+"^{commit}")
	if err != nil {
		return fmt.Errorf("there is no tag v%s: git tag -a v%s", version, version)
	}
	if tagged != commit {
		return fmt.Errorf("the tag v%s is %.12s and %.12s is checked out: git checkout v%s", version, tagged, commit, version)
	}
	changed, err := git(ctx, repo, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the work tree is not clean:\n%s", changed)
	}
	return nil
}

func git(ctx context.Context, repo string, args ...string) (string, error) {
	// The archive's bytes must not hang on somebody's settings.
	args = append([]string{"-c", "core.autocrlf=false", "-c", "tar.umask=0022"}, args...)
	return command(ctx, repo, nil, "git", args...)
}

// command runs a program in dir and returns what it printed, trimmed. env is
// added to that of this process.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		text := strings.TrimSpace(string(out))
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			text = strings.TrimSpace(string(exit.Stderr) + "\n" + text)
		}
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(out)), nil
}
