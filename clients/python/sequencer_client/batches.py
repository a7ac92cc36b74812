"""Posting many transactions, in as many requests as it takes."""

from __future__ import annotations

import http.client
from typing import Any, Dict, List, Optional

from ._http import PASSING, Transport, error_of, problem_error
from ._json import parse, stringify
from .errors import SequencerError, UnansweredError

MOST_ITEMS = 10_000
MOST_BYTES = 16 << 20
WAIT = 120.0  # seconds that the service may take for one request, beside the timeout


class Batch:
    """A batch under way."""

    def __init__(self, transport: Transport, items: List[Dict[str, Any]]) -> None:
        self.transport = transport
        self.items = items
        self.lines = [stringify(item).encode() + b"\n" for item in items]
        self.results: List[Dict[str, Any]] = []
        #: What came of the first item that a queue had no room for, or that the service failed with.
        self.closed: Dict[str, Dict[str, Any]] = {}

    def post(self) -> List[Dict[str, Any]]:
        tried = 0
        while len(self.results) < len(self.items):
            before = len(self.results)
            try:
                self.ask()
                tried = 0
                continue
            except (SequencerError, UnansweredError) as why:
                tried = 1 if len(self.results) > before else tried + 1
                if tried >= self.transport.tries or isinstance(why, SequencerError) and why.status not in PASSING:
                    raise
                delay = self.transport.delay(tried - 1, why)
            self.transport.sleep(delay)
        return self.results

    def ask(self) -> None:
        """Posts what has no answer yet, but for what could overtake an item of its queue that was refused."""
        places: List[int] = []
        size = 0
        for place in range(len(self.results), len(self.items)):
            if self.items[place]["queue"] in self.closed:
                continue
            size += len(self.lines[place])
            if places and (len(places) >= MOST_ITEMS or size > MOST_BYTES):
                break
            places.append(place)
        headers = {"Content-Type": "application/x-ndjson", "Accept": "application/x-ndjson, application/problem+json"}
        body = b"".join(self.lines[place] for place in places)
        to = self.transport
        with to.open("POST", "/api/v1/transactions/batch", {}, headers, body, to.timeout + WAIT) as response:
            if response.status != 200:
                raise error_of(response, response.read(1 << 20))
            self.take(response, places)

    def take(self, response: http.client.HTTPResponse, places: List[int]) -> None:
        """Adds the results that arrive, up to an item that the service could not take: what stands behind it may not
        be posted before."""
        got = 0
        for place in places:
            result = line_of(response, got)
            if result is None:
                raise UnansweredError(self.transport.url, "the answer ended early")
            if result["status"] > 500:
                raise problem_error(result["status"], result.get("problem") or {})
            if result["status"] in (429, 500):
                self.closed[self.items[place]["queue"]] = result
            self.refuse(place)
            uid = result["transaction"]["uid"] if "transaction" in result else self.items[place]["uid"]
            self.add(result, uid)
            got += 1
        self.refuse(None)

    def refuse(self, end: Optional[int]) -> None:
        """Adds the results of what comes next, up to an item, as long as nothing more of its queue is posted."""
        while len(self.results) < (len(self.items) if end is None else end):
            item = self.items[len(self.results)]
            if item["queue"] not in self.closed:
                return
            self.add(self.closed[item["queue"]], item["uid"])

    def add(self, result: Dict[str, Any], uid: str) -> None:
        self.results.append({**result, "index": len(self.results), "uid": uid})


def line_of(response: http.client.HTTPResponse, index: int) -> Optional[Dict[str, Any]]:
    """The next result; None where the answer ended, or broke off within it."""
    while True:
        line = response.readline()
        if not line.endswith(b"\n"):
            return None
        if line.strip():
            break
    try:
        result = parse(line)
    except ValueError:
        return None
    return result if isinstance(result, dict) and result.get("index") == index else None
