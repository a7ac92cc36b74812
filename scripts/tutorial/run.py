"""Runs docs/tutorial.md: writes its files and runs its commands, as they stand there, in a new folder.

    python3 scripts/tutorial/run.py [--keep] [--without-proofs]

What stands below "With proofs" begins again, with no shell open. What stands before a block says what it is for: "run", "run until WORDS" (in a shell of its own, until it has printed
them), "run expect WORDS" (it prints them), "file PATH", "yours" (said by whoever reads). Ports that somebody has are
changed, each wherever it stands.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
HANGS = 900.0  # seconds after which a command hangs for good


def blocks(text):
    """What each block is for, and what it says."""
    for match in re.finditer(r"<!-- ((?:run|file|yours)[^\n]*?) -->\n(```.*?\n.*?\n```|(?:    [^\n]*\n)+)", text, re.S):
        what, block = match.groups()
        if block.startswith("```"):
            yield what, block.split("\n", 1)[1].rsplit("\n", 1)[0] + "\n"
        else:
            yield what, re.sub(r"^    ", "", block, flags=re.M)


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def taken(port):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("127.0.0.1", port))
            return False
        except OSError:
            return True


class Reader:
    """Whoever follows the page: its folder, its shells."""

    def __init__(self, folder):
        self.home = folder  # where shells open
        self.folder = folder  # where commands run: they may change it
        self.log = pathlib.Path(tempfile.mkdtemp(prefix="tutorial-log-"))
        self.env = {**os.environ, "SEQUENCER": str(ROOT)}
        self.ports = {}
        for port, variable in ((8181, None), (3000, "PORT"), (8080, None)):
            if taken(port):
                self.ports[port] = free_port()
                if variable:
                    self.env[variable] = str(self.ports[port])
        if 8080 in self.ports:
            self.env["SEQUENCER_ADDR"] = f"127.0.0.1:{self.ports[8080]}"
            self.env["SEQUENCER_URL"] = f"http://127.0.0.1:{self.ports[8080]}"
        self.shells = []

    def said(self, text):
        text = text.replace("~/mina-sequencer", str(ROOT))
        for port, other in self.ports.items():
            text = text.replace(f":{port}", f":{other}")
        if 8181 in self.ports:
            text = text.replace("npx ledger-node ", f"npx ledger-node --port {self.ports[8181]} ")
        return text

    def file(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.said(text), encoding="utf-8")

    def run(self, command, expect):
        """Runs a block; it ends with exit code 0, and prints what is expected."""
        script = f"set -euo pipefail\n{self.said(command)}\npwd >{self.log}/folder\n"
        ran = subprocess.run(
            ["bash", "-c", script], cwd=self.folder, env=self.env, timeout=HANGS, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        print(ran.stdout, end="")
        if ran.returncode != 0:
            raise SystemExit(f"it ended with {ran.returncode}")
        if expect not in ran.stdout:
            raise SystemExit(f"it did not print {expect!r}")
        self.folder = pathlib.Path((self.log / "folder").read_text().strip())

    def begin(self, command, until):
        """Runs a block in a shell of its own, until it has printed some words."""
        path = self.log / until.replace(" ", "-")
        with path.open("w") as out:
            shell = subprocess.Popen(
                ["bash", "-c", f"set -e\n{self.said(command)}"], cwd=self.home, env=self.env, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self.shells.append((shell, path))
        hangs = time.monotonic() + HANGS
        while until not in path.read_text():
            if shell.poll() is not None or time.monotonic() > hangs:
                raise SystemExit(f"it ended before it printed {until!r}:\n{path.read_text()}")
            time.sleep(0.1)
        print(f"… {until}")

    def end(self, failed):
        for shell, path in reversed(self.shells):
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGTERM)
                try:
                    shell.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(shell.pid, signal.SIGKILL)
                    shell.wait()
            if failed:
                print(f"== {path.name}:\n{path.read_text()[-5000:]}", file=sys.stderr)
        self.shells.clear()


def main():
    text = PAGE.read_text(encoding="utf-8")
    all_of_them = list(blocks(text))
    if len(all_of_them) != len(re.findall(r"^<!-- ", text, re.M)) or len(all_of_them) < 10:
        raise SystemExit(f"{len(all_of_them)} blocks were read: a comment does not stand before one")
    apart = [list(blocks(part)) for part in text.split("\n## With proofs\n")]
    if len(apart) != 2:
        raise SystemExit("the part with proofs was not found")
    if "--without-proofs" in sys.argv[1:]:
        apart.pop()
    home = tempfile.mkdtemp(prefix="tutorial-")
    reader, failed, begun = Reader(pathlib.Path(home)), True, time.monotonic()
    try:
        for part in apart:
            reader.end(False)
            for what, block in part:
                kind, _, rest = what.partition(" ")
                print(f"== {what} ({time.monotonic() - begun:.0f} s)", flush=True)
                if kind == "file":
                    reader.file(rest, block)
                elif rest.startswith("until "):
                    reader.begin(block, rest[len("until ") :])
                elif kind == "run":
                    reader.run(block, rest[len("expect ") :] if rest.startswith("expect ") else "")
        failed = False
        print(f"the tutorial took {time.monotonic() - begun:.0f} s")
    finally:
        reader.end(failed)
        shutil.rmtree(reader.log, ignore_errors=True)
        if "--keep" not in sys.argv[1:]:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
