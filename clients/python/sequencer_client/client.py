"""A client of one sequencer."""

from __future__ import annotations

import datetime
import ssl
import time
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Union, cast

from . import _api, batches, events
from ._api import BatchResult, Event, Queue, Sender, State, Transaction
from ._http import OUTAGE, Transport
from ._json import parse
from .errors import SequencerError, UnansweredError

FINAL = ("DONE", "FAILED", "UNRESOLVED")
LONGEST_WAIT = 60  # seconds that the service waits for an end

When = Union[str, datetime.datetime]


class Sequencer(_api.Routes):
    """Posts transactions to a sequencer, and follows them.

    Beside what stands here it has a method for each route. Reads, post and post_batch are sent again where they may
    have been lost; that is harmless, for these two give every transaction a uid. All else is sent again only where the
    service said that it did nothing (429).

    What the service refuses is a SequencerError, of a class for each code. UnansweredError means that nothing, or not
    all, was answered. All methods may be called from several threads at a time.

    url: such as https://sequencer.example. key: an API key, if the service asks for one. timeout: seconds that one try
    may take, beside what the service is asked to wait. tries: how often a request is sent at most. pause: seconds
    before the second try, doubled each time up to longest_pause, which also bounds what the service asks for. context:
    for certificates of one's own. No proxy is used, and no redirect followed.
    """

    def __init__(
        self,
        url: str,
        key: Optional[str] = None,
        *,
        timeout: float = 30.0,
        tries: int = 5,
        pause: float = 0.5,
        longest_pause: float = 30.0,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._transport = Transport(url, key, timeout, tries, pause, longest_pause, context)

    def _ask(self, method: str, path: str, *, kind: str = "json", **more: Any) -> Any:
        body = more.get("body")
        keyed = (more.get("headers") or {}).get("Idempotency-Key") or isinstance(body, dict) and body.get("uid")
        posts = method == "POST" and path == "/api/v1/transactions" and bool(keyed)
        raw = self._transport.ask(method, path, repeatable=method == "GET" or posts, **more)
        if kind == "none":
            return None
        return raw.decode() if kind == "text" else _read(raw)

    def post(
        self,
        queue: str,
        type: str,
        data: Mapping[str, Any],
        *,
        uid: Optional[str] = None,
        not_before: Optional[When] = None,
        expires_at: Optional[When] = None,
        max_fee: Union[str, int, None] = None,
    ) -> Transaction:
        """Posts a transaction. The answer comes when it is stored; from then on it is seen to.

        uid: yours, so that whoever posts it again posts the same; made up if left out. not_before, expires_at: RFC
        3339, or a datetime with a zone. max_fee: in nanomina. Errors tell its uid.
        """
        item = _item(
            {
                "queue": queue,
                "type": type,
                "data": data,
                "uid": uid,
                "notBefore": _time(not_before),
                "expiresAt": _time(expires_at),
                "maxFee": None if max_fee is None else str(max_fee),
            }
        )
        try:
            return cast(Transaction, self._ask("POST", "/api/v1/transactions", body=item))
        except (SequencerError, UnansweredError) as why:
            why.uids = [item["uid"]]
            raise

    def post_batch(self, transactions: Iterable[Mapping[str, Any]]) -> List[BatchResult]:
        """Posts any number of transactions: {"queue", "type", "data"}, and as the document says more.

        Each stands for itself; the results come in order, each with its uid. Where an answer breaks off, or the store
        cannot take something, what has no answer yet is posted again: that repeats nothing, for each has its uid. What
        its queue has no room for is refused, with all of that queue behind it. Errors tell all uids.
        """
        items = [_item(dict(t)) for t in transactions]
        try:
            return cast(List[BatchResult], batches.Batch(self._transport, items).post())
        except (SequencerError, UnansweredError) as why:
            why.uids = [item["uid"] for item in items]
            raise

    def settled(self, uid: str, timeout: Optional[float] = None) -> Transaction:
        """Waits until a transaction is DONE, FAILED or UNRESOLVED.

        Once it was found the wait outlasts networks and services that fail. TimeoutError: it has no end after timeout
        seconds. A refusal, such as NotFound of what was removed, ends it too.
        """
        path = f"/api/v1/transactions/{_api._segment(uid)}"
        deadline = None if timeout is None else time.monotonic() + timeout
        found = False
        while True:
            wait = LONGEST_WAIT if deadline is None else max(0, min(LONGEST_WAIT, int(deadline - time.monotonic())))
            try:
                raw = self._transport.ask(
                    "GET",
                    path,
                    {"wait": f"{wait}s"},
                    wait=wait,
                    repeatable=True,
                    patient=found,
                    deadline=deadline,
                )
            except (SequencerError, UnansweredError) as why:
                if found and deadline is not None and _passes(why):
                    raise TimeoutError(f"{uid} has no end yet, and the service does not answer: {why}") from why
                raise
            t = cast(Transaction, _read(raw))
            if t["state"] in FINAL:
                return t
            found = True
            if deadline is not None and time.monotonic() + 1 > deadline:
                raise TimeoutError(f"{uid} is {t['state']} still")

    def transactions(
        self,
        *,
        queue: Optional[str] = None,
        state: Optional[State] = None,
        type: Optional[str] = None,
        sender: Optional[str] = None,
        **more: Any,
    ) -> Iterator[Transaction]:
        """All transactions that a filter chooses, in order of acceptance, read page by page."""
        return _pages(self.list_transactions, queue=queue, state=state, type=type, sender=sender, **more)

    def queues(self, *, prefix: Optional[str] = None) -> Iterator[Queue]:
        """All queues, read page by page."""
        return _pages(self.list_queues, prefix=prefix)

    def senders(self) -> Iterator[Sender]:
        """All senders, read page by page."""
        return _pages(self.list_senders)

    def events(
        self,
        *,
        queue: Optional[str] = None,
        uid: Optional[str] = None,
        type: Optional[str] = None,
        actor: Optional[str] = None,
        after: Optional[str] = None,
        on_open: Optional[Callable[[str], None]] = None,
        silence: float = events.SILENCE,
    ) -> Iterator[Event]:
        """Every change as it happens, each once and in order; kind says what of: transaction, queue or sender.

        It goes on by itself over broken connections and restarts of the service. Save event["id"] and pass it as after
        to go on in another process. on_open is called with the id where the stream begins: post after that, and nothing
        is missed. It ends by break, or with EventsGone when what lies between cannot be told any more, or what else the
        service refuses. silence: seconds without a byte after which a stream is opened anew.
        """
        query = {"queue": queue, "uid": uid, "type": type, "actor": actor}
        return events.follow(self._transport, query, after, on_open, silence)


def _read(raw: bytes) -> Any:
    try:
        return parse(raw)
    except ValueError as why:
        raise UnansweredError("the service", "the answer is cut short, or not a sequencer's") from why


def _item(item: Dict[str, Any]) -> Dict[str, Any]:
    """A transaction as it is posted, however often: its uid is made up once."""
    given = {name: value for name, value in item.items() if value is not None}
    given.setdefault("uid", uuid.uuid4().hex)
    return given


def _time(when: Optional[When]) -> Optional[str]:
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise ValueError("a time needs its zone")
        return when.isoformat()
    return when


def _passes(why: Exception) -> bool:
    return isinstance(why, UnansweredError) or cast(SequencerError, why).status in OUTAGE


def _pages(page: Callable[..., Any], **given: Any) -> Iterator[Any]:
    cursor = None
    while True:
        answer = page(limit=500, cursor=cursor, **given)
        yield from answer["items"]
        cursor = answer["nextCursor"]
        if cursor is None:
            return
