package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// booted is what happens on a machine that has just started: the package is
// installed, the unit run, killed, stopped, and used for a worker that is a command.
const booted = `
dpkg --install /run/release/mina-sequencer_${VERSION}_linux_${ARCH}.deb
systemctl is-enabled mina-sequencer || echo "not enabled"

systemctl start mina-sequencer || true
until systemctl is-failed mina-sequencer; do sleep 0.2; done
systemctl show --property=ExecMainStatus,NRestarts mina-sequencer

redis-server --port 6379 --save '' --daemonize yes --logfile /run/redis.log
setsid sequencer devnet --slot 200ms > /run/devnet.log 2>&1 &
export SEQUENCER_KEY=0123456789abcdef
cat >> /etc/mina-sequencer/sequencer.env <<END
SEQUENCER_MINA_URL='http://127.0.0.1:3085/graphql'
SEQUENCER_REDIS_URL='redis://127.0.0.1:6379/0?dial_timeout=3s&read_timeout=3s'
SEQUENCER_API_KEYS='shop:read@a-|b-:$SEQUENCER_KEY'
END
ready() { until sequencer queue list > /run/queues 2>&1; do sleep 0.2; done; }
systemctl restart mina-sequencer
ready; echo "it serves"
main() { systemctl show --property=MainPID --value mina-sequencer; }
ps -o user=,args= -p $(main)
grep -E 'NoNewPrivs|Seccomp:|CapEff' /proc/$(main)/status
(set -a; . /etc/mina-sequencer/sequencer.env; printenv SEQUENCER_REDIS_URL SEQUENCER_API_KEYS; sequencer doctor) || true

kill -9 $(main); sleep 1; ready; echo "it serves again"
systemctl show --property=NRestarts mina-sequencer
systemctl stop mina-sequencer
systemctl show --property=ActiveState,Result,ExecMainStatus mina-sequencer

command -v node || exit 0
mkdir -p /etc/systemd/system/mina-sequencer.service.d
cat > /etc/systemd/system/mina-sequencer.service.d/node.conf <<END
[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/usr/bin/env node -e "require('os').networkInterfaces(); let s = 0; for (let i = 0; i < 1e7; i++) s += i"
END
systemctl daemon-reload
systemctl start mina-sequencer || echo "Node needs more than the unit allows"
cp /usr/share/doc/mina-sequencer/examples/local-workers.conf /etc/systemd/system/mina-sequencer.service.d/
systemctl daemon-reload
systemctl start mina-sequencer && echo "which the example gives"
`

// boot starts systemd on a copy of this machine's files, in namespaces, with nothing
// but the script as its goal. A chroot would not do: systemd makes namespaces for
// users, which Linux refuses there.
const boot = `mkdir "$1/over"; mount -t tmpfs tmpfs "$1/over"
cd "$1/over"; mkdir up work root
mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root
mount -t proc proc root/proc; mount -t sysfs sysfs root/sys; mount -t cgroup2 cgroup2 root/sys/fs/cgroup
mount -t tmpfs tmpfs root/run; mount -t tmpfs tmpfs root/tmp; mount --rbind /dev root/dev
mkdir root/run/release root/run/out root/run/before
cp "$2"/* root/run/release; mount --bind "$1" root/run/out
ip link set lo up
printf '%s' "$5" > root/run/release/script
cat > root/etc/systemd/system/trial.service <<END
[Unit]
DefaultDependencies=no
After=sysinit.target
FailureAction=exit-force
SuccessAction=exit-force
[Service]
Type=oneshot
Environment=PATH=$PATH VERSION=$3 ARCH=$4 HOME=/root
StandardOutput=file:/run/out/log
StandardError=file:/run/out/log
ExecStart=/bin/bash -euo pipefail /run/release/script
ExecStopPost=/bin/bash -c 'journalctl --no-pager --unit mina-sequencer --lines 40 > /run/out/journal 2>&1'
TimeoutStartSec=120
END
cd root; pivot_root . run/before
exec env -i PATH="$PATH" container=other TERM=dumb sh -c 'umount -l /run/before && exec /lib/systemd/systemd --system \
	--unit=trial.service --log-target=console --show-status=no'`

// testService runs the unit under a systemd of its own.
func testService(t *testing.T, r madeRelease) {
	dir := t.TempDir()
	out := sh(t, `timeout --signal=KILL 180 unshare --mount --pid --net --cgroup --uts --ipc --fork --kill-child \
		bash -euo pipefail -c "$1" test "${@:2}" 2>&1 || true`, boot, dir, r.dir, testVersion, archHere, booted)
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatalf("systemd did not come up: %v\n%s", err, out)
	}
	t.Logf("%s", log)
	journal, _ := os.ReadFile(filepath.Join(dir, "journal"))
	for _, want := range []string{
		"not enabled", "ExecMainStatus=2\n", "NRestarts=0\n", // a bad setting is not tried again
		"it serves\n", "mina-se+ /usr/bin/sequencer serve", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
		"read_timeout=3s\nshop:read@a-|b-:0123456789abcdef\n", // the shell takes the file as systemd does
		"it serves again\n", "NRestarts=1\n", // what is killed comes back
		"ActiveState=inactive\n", "Result=success\n", "ExecMainStatus=0\n", // and it ends in order
	} {
		if !strings.Contains(string(log), want) {
			t.Errorf("no %q in\n%s\n%s\n%s", want, log, journal, out)
		}
	}
	if strings.Contains(string(log), "command not found") {
		t.Errorf("the shell takes a setting for a command:\n%s", log)
	}
	_, node, there := strings.Cut(string(log), "/node\n")
	if there && !(strings.Contains(node, "Node needs more") && strings.Contains(node, "which the example gives")) {
		t.Errorf("a worker in Node:\n%s\n%s", log, journal)
	}
}
