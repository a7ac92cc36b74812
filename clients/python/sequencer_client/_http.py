"""Requests to one service, sent again where that is harmless."""

from __future__ import annotations

import contextlib
import http.client
import random
import ssl
import time
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Union
from urllib.parse import urlencode, urlsplit

from . import _api
from ._json import parse, stringify
from .errors import SequencerError, UnansweredError

#: What says that it will pass: too much at once, or the service is not able now.
PASSING = frozenset({429, 502, 503, 504})
#: As well what may be the service's own trouble, for who waits however long it takes.
OUTAGE = PASSING | {500}

MOST = 256 << 20  # bytes read of one answer


class Transport:
    """Where the service is, and how patient its client. Every request has a connection of its own."""

    def __init__(
        self,
        url: str,
        key: Optional[str],
        timeout: float,
        tries: int,
        pause: float,
        longest_pause: float,
        context: Optional[ssl.SSLContext],
    ) -> None:
        at = urlsplit(url)
        if at.scheme not in ("http", "https") or not at.hostname or at.query or at.fragment or at.username is not None:
            raise ValueError("the URL of a service is an http:// or https:// address without user, query and fragment")
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("the key holds characters that no HTTP header can carry")
        self.url = url.rstrip("/")
        self.at = at
        self.key = key
        self.timeout = timeout
        self.tries = tries
        self.pause = pause
        self.longest_pause = longest_pause
        self.context = context
        self.sleep: Callable[[float], None] = time.sleep

    @contextlib.contextmanager
    def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout: float,
    ) -> Iterator[http.client.HTTPResponse]:
        """One try. UnansweredError, also for what goes wrong while the answer is read."""
        target = self.at.path.rstrip("/") + path
        given = {name: _text(value) for name, value in query.items() if value is not None}
        if given:
            target += "?" + urlencode(given)
        host, port = self.at.hostname or "", self.at.port
        connection: http.client.HTTPConnection
        if self.at.scheme == "https":
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=self.context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        sent = {"Accept": "application/json, application/problem+json", "Connection": "close", **headers}
        if self.key is not None:
            sent["Authorization"] = f"Bearer {self.key}"
        try:
            connection.request(method, target, body, sent)
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as why:
            raise UnansweredError(self.url, why or type(why).__name__) from why
        finally:
            connection.close()

    def once(self, method: str, path: str, *, wait: float = 0, **more: Any) -> bytes:
        """The whole answer of one try. SequencerError: it is not 2xx."""
        with self.open(method, path, timeout=self.timeout + wait, **more) as response:
            raw = whole(response)
            if 200 <= response.status < 300:
                return raw
            raise error_of(response, raw)

    def ask(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        wait: float = 0,
        repeatable: bool = False,
        patient: bool = False,
        deadline: Optional[float] = None,
    ) -> bytes:
        """The answer, asked for again where the trouble passes and that is harmless.

        patient: for as long as it takes. deadline: of time.monotonic(); then the last error is raised.
        """
        given = {name: str(value) for name, value in (headers or {}).items() if value is not None}
        text = None
        if body is not None:
            text = stringify(body).encode()
            given["Content-Type"] = "application/json"
        passing = OUTAGE if patient else PASSING
        for tried in range(1 << 62):
            try:
                return self.once(method, path, wait=wait, query=query or {}, headers=given, body=text)
            except (SequencerError, UnansweredError) as why:
                refused = isinstance(why, SequencerError)
                if refused and why.status not in passing or not repeatable and not (refused and why.status == 429):
                    raise
                if not patient and tried + 1 >= self.tries:
                    raise
                delay = self.delay(tried, why)
                if deadline is not None and time.monotonic() + delay > deadline:
                    raise
            self.sleep(delay)
        raise AssertionError("unreachable")

    def delay(self, tried: int, why: object = None) -> float:
        """Seconds before the next try: what the service asks for, else doubling, up to half of it left to chance."""
        asked = why.retry_after if isinstance(why, SequencerError) else None
        if asked is not None:
            return min(asked, self.longest_pause)
        return min(self.pause * 2.0 ** min(tried, 20), self.longest_pause) * (1 - random.random() / 2)


def whole(response: http.client.HTTPResponse) -> bytes:
    """An answer to its end. IncompleteRead: it breaks off, or is too long."""
    parts = []
    size = 0
    while size < MOST:
        part = response.read(64 << 10)  # what is asked for at once is set aside at once
        if not part:
            break
        parts.append(part)
        size += len(part)
    raw = b"".join(parts)
    if response.length or size >= MOST:  # it promised more; in chunks that is seen by itself
        raise http.client.IncompleteRead(raw, response.length)
    return raw


def error_of(response: http.client.HTTPResponse, raw: bytes) -> SequencerError:
    """What an answer that is not 2xx says."""
    after: Optional[float] = None
    with contextlib.suppress(ValueError):
        after = max(0.0, float(int(response.headers.get("Retry-After", ""))))
    return problem_error(response.status, raw, after)


def problem_error(status: int, problem: Union[bytes, Dict[str, Any]], after: Optional[float] = None) -> SequencerError:
    """The error of a problem, by its code."""
    if isinstance(problem, bytes):
        try:
            problem = parse(problem)
        except ValueError:
            problem = {}
    if not isinstance(problem, dict):
        problem = {}
    return _api.BY_CODE.get(str(problem.get("code")), SequencerError)(status, problem, after)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
