"""The stream of events, followed over broken connections and restarts."""

from __future__ import annotations

import contextlib
import http.client
from typing import Any, Callable, Dict, Generator, Iterator, Optional, Tuple, cast

from ._api import Event
from ._http import PASSING, Transport, error_of
from ._json import parse
from .errors import SequencerError, UnansweredError

#: Seconds without a byte after which a stream is taken for dead; it has a heartbeat every 15.
SILENCE = 45.0
MOST = 1 << 20  # bytes of one line


def frames(response: http.client.HTTPResponse) -> Iterator[Dict[str, str]]:
    """What stands between two empty lines, until the stream ends."""
    frame: Dict[str, str] = {}
    while True:
        line = response.readline(MOST)
        if not line.endswith(b"\n"):
            return  # it ends here, or within this line
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text == "":
            yield frame
            frame = {}
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        frame[name] = frame.get(name, "") + value if name == "data" else value


def follow(
    transport: Transport,
    query: Dict[str, Any],
    after: Optional[str],
    on_open: Optional[Callable[[str], None]],
    silence: float,
) -> Iterator[Event]:
    """Events, each once and in order. What no patience mends is raised."""
    opened = False
    with contextlib.closing(streams(transport, query, after, silence)) as all_of_them:
        for at, frame in all_of_them:
            if not opened and at is not None:
                opened = True
                if on_open is not None:
                    on_open(at)
            if "data" in frame:
                yield cast(Event, {**parse(frame["data"]), "kind": frame.get("event", "")})


def streams(
    transport: Transport, query: Dict[str, Any], at: Optional[str], silence: float
) -> Generator[Tuple[Optional[str], Dict[str, str]], None, None]:
    """The frames of one stream after the other, each with where it stands."""
    failures = 0
    while True:
        wait = transport.delay(failures)
        failures += 1
        headers = {"Accept": "text/event-stream", **({} if at is None else {"Last-Event-ID": at})}
        try:
            with transport.open("GET", "/api/v1/events", query, headers, None, silence) as response:
                if response.status != 200:
                    raise error_of(response, response.read(MOST))
                for frame in frames(response):
                    failures = 0
                    if frame.get("retry", "").isdigit():
                        wait = min(int(frame["retry"]) / 1000, transport.longest_pause)
                    at = frame.get("id") or at
                    yield at, frame
        except SequencerError as why:
            if why.status < 500 and why.status not in PASSING:
                raise
            wait = transport.delay(failures, why)
        except UnansweredError:
            pass
        transport.sleep(wait)
