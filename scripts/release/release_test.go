package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const testVersion, archHere = "0.1.0-test.1", runtime.GOARCH

// A made is a release of the commit that is checked out.
type madeRelease struct {
	dir    string // where it is
	clone  string // of the repository
	key    string // armored and secret
	system string // linux_amd64
}

// makeRelease does what make release does, in a clone that has the tag.
func makeRelease(t *testing.T, secret string) madeRelease {
	t.Helper()
	r := madeRelease{clone: t.TempDir(), key: secret, system: "linux_" + runtime.GOARCH}
	sh(t, `git clone -q ../.. "$1" && cd "$1" && git tag "v$2"`, r.clone, testVersion)
	key := filepath.Join(t.TempDir(), "key.asc")
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	sh(t, `RELEASE_KEY_FILE="$1" go run . build --version "$2" --repo "$3" --out "$4" --only "$5"`,
		key, testVersion, r.clone, out, r.system)
	r.dir = filepath.Join(out, testVersion)
	return r
}

func (r madeRelease) file(suffix string) string {
	return filepath.Join(r.dir, product+"_"+testVersion+suffix)
}

// needsRoot ends a test that cannot be run here: what is not tried has not passed.
func needsRoot(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Fatal("this test installs packages and runs file systems: it needs Linux and root")
	}
}

// TestRelease goes the way of docs/production.md from the tag to running programs.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("not tried: it takes minutes")
	}
	needsRoot(t)
	_, secret := newKey(t)
	r := makeRelease(t, secret)
	t.Run("the same bytes from another clone", func(t *testing.T) {
		again := makeRelease(t, secret)
		sh(t, `diff -r "$1" "$2"`, r.dir, again.dir)
	})
	t.Run("checks", func(t *testing.T) { testChecks(t, r) })
	t.Run("archive", func(t *testing.T) { testArchive(t, r) })
	t.Run("image", func(t *testing.T) { testImage(t, r) })
	t.Run("deb", func(t *testing.T) { testDeb(t, r) })
	t.Run("service", func(t *testing.T) { testService(t, r) })
	t.Run("settings", func(t *testing.T) { testSettings(t, r) })
	t.Run("compose", func(t *testing.T) { testPlayed(t, r) })
	t.Run("rpm", func(t *testing.T) { testRPM(t, r) })
	t.Run("a stranger's program", func(t *testing.T) { testStrangerRuns(t, r) })
}

// publish writes the public key where who gets a release would have it.
func (r madeRelease) publish(t *testing.T) {
	t.Helper()
	sh(t, `export GNUPGHOME=$(mktemp -d); gpg --batch --quiet --import <<<"$1"
		gpg --batch --armor --export > "$2/release.asc"; gpgconf --kill all; rm -r "$GNUPGHOME"`, r.key, r.dir)
}

func testChecks(t *testing.T, r madeRelease) {
	r.publish(t)
	out := sh(t, `cd "$1"; export GNUPGHOME=$(mktemp -d)
		`+fromDocs(t, "check")+`
		gpgconf --kill all; rm -r "$GNUPGHOME"`, r.dir)
	if !strings.Contains(out, "Good signature") || strings.Count(out, ": OK") < 8 {
		t.Error(out)
	}
}

func testArchive(t *testing.T, r madeRelease) {
	dir := t.TempDir()
	script := `cd "$1" && tar -xzf "$2" && ./*/sequencer version --json && ls */completion`
	out := sh(t, script, dir, r.file("_"+r.system+".tar.gz"))
	var said struct{ Version, Commit string }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&said); err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(sh(t, `git -C "$1" rev-parse HEAD`, r.clone))
	if said.Version != testVersion || said.Commit != commit || strings.Count(out, "sequencer.") != 3 {
		t.Errorf("%s, want %s of %s", out, testVersion, commit)
	}
}

// testImage runs the files of the image as a container would: its own root that
// cannot be written, no other process, no network but loopback, and its user.
func testImage(t *testing.T, r madeRelease) {
	img, err := tarball.ImageFromPath(r.file("_docker_"+runtime.GOARCH+".tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	unpack(t, mutate.Extract(img), root)
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := file.Config
	script := `ip link set lo up
		mount --bind "$1" "$1"
		mount -o remount,bind,ro "$1"
		mount -t tmpfs tmpfs "$1/tmp"
		mount -t tmpfs -o uid=65532,mode=0700 tmpfs "$1/var/lib/mina-sequencer"
		run() {
			env -i ` + strings.Join(c.Env, " ") + ` "$(command -v chroot)" --userspec=` + c.User + ` \
				"$1" ` + c.Entrypoint[0] + ` "${@:2}"
		}
		run "$1" version
		run "$1" demo --once --slot 200ms
		! run "$1" serve`
	out := sh(t, `unshare --mount --net --ipc --uts --pid --fork bash -euo pipefail -c "$2" test "$1"`, root, script)
	for _, want := range []string{"sequencer " + testVersion, "All DONE", "SEQUENCER_MINA_URL"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// unpack puts files under a folder, with their owners.
func unpack(t *testing.T, in io.ReadCloser, root string) {
	t.Helper()
	defer in.Close()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name, mode := filepath.Join(root, filepath.Clean("/"+h.Name)), h.FileInfo().Mode()
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(name, mode.Perm())
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, name)
		default:
			err = writeFile(name, mode, r)
		}
		err = errors.Join(err, os.Lchown(name, h.Uid, h.Gid))
		if h.Typeflag != tar.TypeSymlink {
			err = errors.Join(err, os.Chmod(name, mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func writeFile(name string, mode os.FileMode, r io.Reader) error {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

// inCopy runs a script as root on a copy of this machine's files, which is gone
// afterwards, with the release in the folder that it starts in.
func inCopy(t *testing.T, r madeRelease, script string) string {
	t.Helper()
	set := `mkdir "$1/over"; mount -t tmpfs tmpfs "$1/over"
		cd "$1/over"; mkdir up work root
		mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root
		mount -t proc proc root/proc; mount --rbind /dev root/dev; mount -t tmpfs tmpfs root/run
		mkdir root/run/release; cp "$2"/* root/run/release
		chroot root env -i PATH="$PATH" HOME=/root VERSION="$3" ARCH="$4" bash -euo pipefail -c "cd /run/release; $5"`
	return sh(t, `unshare --mount --pid --net --fork bash -euo pipefail -c "$1" test "${@:2}"`,
		set, t.TempDir(), r.dir, testVersion, archHere, script)
}

func testDeb(t *testing.T, r madeRelease) {
	out := inCopy(t, r, fromDocs(t, "debian")+`
		stat -c 'settings %a %U' /etc/mina-sequencer/sequencer.env
		id mina-sequencer
		setpriv --reuid mina-sequencer --regid mina-sequencer --clear-groups sequencer version
		bash -c 'source /usr/share/bash-completion/completions/sequencer; complete -p sequencer'
		echo 'SEQUENCER_FEE=0.2' >> /etc/mina-sequencer/sequencer.env
		set +e; (set -a; . /etc/mina-sequencer/sequencer.env; sequencer doctor); echo "doctor ended with $?"; set -e
		dpkg --install mina-sequencer_${VERSION}_linux_${ARCH}.deb
		grep -q SEQUENCER_FEE=0.2 /etc/mina-sequencer/sequencer.env; echo settings kept
		dpkg --remove mina-sequencer; test ! -e /usr/bin/sequencer
		test -e /etc/mina-sequencer/sequencer.env; echo settings kept again
		dpkg --purge mina-sequencer
		test ! -e /etc/mina-sequencer; echo nothing left`)
	for _, want := range []string{
		"sequencer " + testVersion, "settings 600 root", "(mina-sequencer)", "complete -o", "doctor ended with 1",
		"SEQUENCER_MINA_URL", "settings kept\n", "settings kept again", "nothing left", "Overall exposure level",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, bad := range []string{"Unknown key", "Failed to", "dpkg: warning"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%s", bad, out)
		}
	}
}

// testRPM: rpm is there, but this machine's packages are not its own.
func testRPM(t *testing.T, r madeRelease) {
	r.publish(t)
	install := strings.ReplaceAll(fromDocs(t, "rpm"), "rpm --install", "rpm --install --nodeps")
	out := inCopy(t, r, `
		`+install+`
		rpm --verify --nodeps mina-sequencer; echo as packed
		sequencer version; id mina-sequencer
		rpm -e mina-sequencer; test ! -e /usr/bin/sequencer; echo removed`)
	for _, want := range []string{
		"digests signatures OK", "as packed", "sequencer " + testVersion, "(mina-sequencer)", "removed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
