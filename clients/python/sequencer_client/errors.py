"""What goes wrong, in two kinds: the service refused, or nothing was answered."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class SequencerError(Exception):
    """The service refused. There is a class for each code, such as KeyReused and EventsGone."""

    def __init__(self, status: int, problem: Dict[str, Any], retry_after: Optional[float] = None) -> None:
        #: Of HTTP.
        self.status = status
        #: The stable name of the problem; "" where something in front of the service answered.
        self.code: str = str(problem.get("code") or "")
        self.title: str = str(problem.get("title") or f"HTTP {status}")
        self.detail: str = str(problem.get("detail") or "")
        #: Where the service explains the code, in HTML, below its address; "" if it did not say.
        self.type: str = str(problem.get("type") or "")
        #: What is wrong with a body, field by field: {"field", "message"}.
        self.errors: List[Dict[str, str]] = list(problem.get("errors") or [])
        #: Seconds after which asking again makes sense; None if the service did not say.
        self.retry_after = retry_after
        #: Of what was posted: with these it can be posted again, and nothing twice.
        self.uids: List[str] = []
        fields = "".join(f"\n  {e.get('field')}: {e.get('message')}" for e in self.errors)
        super().__init__(f"{self.detail or self.title} ({(self.code + ' HTTP ' + str(status)).strip()}){fields}")


class UnansweredError(Exception):
    """Nothing, or not all, was answered: what was asked for may have been done. __cause__ says why."""

    def __init__(self, url: str, why: object) -> None:
        super().__init__(f"no answer from {url}: {why}")
        #: Of what was posted: with these it can be posted again, and nothing twice.
        self.uids: List[str] = []
