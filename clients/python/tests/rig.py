"""Programs and servers of the tests, in a folder of their own."""

from __future__ import annotations

import http.server
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from typing import Any, Callable, Dict, List, Optional, Tuple

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
LIMIT = 60.0  # seconds after which a program that does not answer hangs for good

sys.path.insert(0, str(PACKAGE))


class Rig:
    """Programs of a test. stop ends them all."""

    def __init__(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="sequencer-client-")
        self.running: List[subprocess.Popen[bytes]] = []
        given = os.environ.get("SEQUENCER_BINARY")
        self.binary = given or os.path.join(self.dir, "sequencer")
        if not given:
            subprocess.run(["go", "build", "-o", self.binary, "./cmd/sequencer"], cwd=ROOT, check=True)

    def sequencer(self, command: List[str], env: Dict[str, str], port: int) -> Tuple[subprocess.Popen[bytes], str]:
        """Starts a sequencer; it answers at the URL before this returns."""
        child = self.start([self.binary, *command], {**env, "SEQUENCER_ADDR": f"127.0.0.1:{port}"})
        url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            with urllib.request.urlopen(url + "/readyz", timeout=5) as response:
                return bool(response.status == 200)

        self.until(command[0], child, answers)
        return child, url

    def redis(self) -> str:
        """Starts a Redis of its own, and returns its URL."""
        path = os.path.join(self.dir, "redis.sock")
        child = self.start(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.dir], {}
        )
        self.until("redis", child, lambda: os.path.exists(path))
        return f"unix://{path}"

    def start(self, command: List[str], env: Dict[str, str]) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        with open(os.path.join(self.dir, "log"), "ab") as log:
            child = subprocess.Popen(
                command,
                cwd=self.dir,
                env={**kept, "XDG_CACHE_HOME": os.path.join(self.dir, "cache"), **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.running.append(child)
        return child

    def until(self, what: str, child: subprocess.Popen[bytes], ask: Callable[[], bool]) -> None:
        """Asks until it is so."""
        hangs = time.monotonic() + LIMIT
        while True:
            try:
                if ask():
                    return
            except OSError:
                pass
            if child.poll() is not None or time.monotonic() > hangs:
                log = pathlib.Path(self.dir, "log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"{what} does not answer:\n{log[-5000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        for child in self.running:
            end(child, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)


def end(child: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ends a program, and waits until it is gone."""
    if child.poll() is None:
        child.send_signal(how)
    child.wait()


def free_port() -> int:
    """A port that nobody has, and that is given to nobody who does not ask for it."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as server:
            try:
                server.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


Answer = Tuple[int, Dict[str, str], bytes]


class Scripted:
    """A service that answers by a function of the request and its number; None breaks the connection. An answer that
    says "cut" in its headers promises more than it sends."""

    def __init__(self, answer: Callable[[str, bytes, int], Optional[Answer]]) -> None:
        self.asked: List[Tuple[str, Dict[str, str], bytes]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                line = f"{self.command} {self.path}"
                outer.asked.append((line, dict(self.headers), body))
                answered = answer(line, body, len(outer.asked))
                self.close_connection = True
                if answered is None:
                    return
                status, headers, text = answered
                self.send_response(status)
                cut = len(text) + 10 if "cut" in headers else len(text)
                for name, value in {"Content-Length": str(cut), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_DELETE = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
