"""Answers that are lost, cut short or refused: what is sent again, and what is told."""

import json
import unittest
from typing import Any, Callable, Dict, List, Optional

from tests.rig import Answer, Scripted
from sequencer_client import NotFound, Sequencer, SequencerError, UnansweredError

ITEM = {"queue": "q", "type": "COUNT", "data": {}}
LOST: Optional[Answer] = None


def said(value: Any, status: int = 200, **headers: str) -> Answer:
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def status(number: int, **headers: str) -> Answer:
    return said({"code": "X", "title": "No", "detail": "so", "status": number}, number, **headers)


class Case(unittest.TestCase):
    def scripted(self, answer: Callable[[str, bytes, int], Optional[Answer]]) -> Any:
        server = self.enterContext(Scripted(answer)) if hasattr(self, "enterContext") else self.entered(Scripted(answer))
        sequencer = Sequencer(server.url, timeout=20, tries=3)
        self.slept: List[float] = []
        sequencer._transport.sleep = self.slept.append
        return server, sequencer

    def entered(self, server: Scripted) -> Scripted:
        self.addCleanup(server.__exit__)
        return server

    def in_turn(self, *answers: Optional[Answer]) -> Any:
        """Answers with these, one after the other, and with the last from then on."""
        return self.scripted(lambda _, __, n: answers[min(n, len(answers)) - 1])


def items(number: int) -> List[Dict[str, Any]]:
    return [{"queue": "q", "type": "COUNT", "data": {"n": n}, "uid": f"u{n}"} for n in range(number)]


def uids_of(body: bytes) -> List[str]:
    return [json.loads(line)["uid"] for line in body.splitlines()]


class Repeats(Case):
    def test_a_post_is_sent_again_with_its_uid(self) -> None:
        for trouble in (LOST, status(429), status(502), status(503), status(504)):
            server, sequencer = self.in_turn(trouble, trouble, said({"uid": "u"}, 202))
            self.assertEqual(sequencer.post("q", "COUNT", {})["uid"], "u")
            bodies = [body for _, _, body in server.asked]
            self.assertEqual(len(bodies), 3)
            self.assertEqual(len(set(bodies)), 1)
            self.assertIn("uid", json.loads(bodies[0]))

    def test_a_command_is_sent_again_only_after_429(self) -> None:
        server, sequencer = self.in_turn(status(429), status(503))
        with self.assertRaises(SequencerError) as caught:
            sequencer.cancel_transaction("u")
        self.assertEqual((caught.exception.status, len(server.asked)), (503, 2))
        server, sequencer = self.in_turn(LOST)
        with self.assertRaises(UnansweredError):
            sequencer.pause_queue("q")
        self.assertEqual(len(server.asked), 1)

    def test_a_post_by_hand_is_sent_again_only_with_a_uid(self) -> None:
        for more, times in (({}, 1), ({"uid": "u"}, 3)):
            server, sequencer = self.in_turn(LOST)
            with self.assertRaises(UnansweredError):
                sequencer.post_transaction({**ITEM, **more})
            self.assertEqual(len(server.asked), times)

    def test_the_service_says_how_long_to_wait(self) -> None:
        _, sequencer = self.in_turn(status(503, **{"Retry-After": "7"}), status(429, **{"Retry-After": "9999"}), said({}))
        sequencer.get_fees()
        self.assertEqual(self.slept, [7, 30])

    def test_what_is_refused_is_not_sent_again(self) -> None:
        server, sequencer = self.in_turn(said({"code": "NOT_FOUND", "title": "No", "detail": "so"}, 404))
        with self.assertRaises(NotFound) as caught:
            sequencer.get_transaction("u")
        self.assertEqual(len(server.asked), 1)
        self.assertEqual(str(caught.exception), "so (NOT_FOUND HTTP 404)")
        server, sequencer = self.in_turn((500, {}, b"<html>"))
        with self.assertRaises(SequencerError) as other:
            sequencer.get_fees()
        self.assertEqual((other.exception.code, other.exception.title), ("", "HTTP 500"))

    def test_an_answer_that_breaks_off_is_asked_for_again(self) -> None:
        server, sequencer = self.in_turn(said({"uid": "u"}, cut="yes"), said({"uid": "u"}))
        self.assertEqual(sequencer.post(**ITEM)["uid"], "u")
        self.assertEqual(len(server.asked), 2)

    def test_errors_tell_the_uids(self) -> None:
        for trouble, kind in ((LOST, UnansweredError), (status(503), SequencerError), (status(400), SequencerError)):
            server, sequencer = self.in_turn(trouble)
            with self.assertRaises(kind) as caught:
                sequencer.post(**ITEM)
            self.assertEqual(caught.exception.uids, uids_of(server.asked[0][2]))
            del server.asked[:]
            with self.assertRaises(kind) as caught:
                sequencer.post_batch([ITEM, ITEM])
            self.assertEqual(caught.exception.uids, uids_of(server.asked[0][2]))

    def test_names_that_are_none_are_refused_here(self) -> None:
        _, sequencer = self.in_turn(LOST)
        for name in ("", ".", ".."):
            with self.assertRaises(ValueError):
                sequencer.get_queue(name)
        for url in ("ftp://x", "http://", "http://u:p@x", "http://x?y"):
            with self.assertRaises(ValueError):
                Sequencer(url)
        with self.assertRaises(ValueError):
            Sequencer("http://x", "a b")


class Batches(Case):
    def test_a_batch_goes_on_where_its_answer_ends(self) -> None:
        for cut in ({"cut": "yes"}, {}):
            accepted: List[str] = []

            def answer(_: str, body: bytes, n: int, cut: Any = cut, accepted: Any = accepted) -> Optional[Answer]:
                # Everything is accepted, and but two answers and a half arrive each time; now and then nothing.
                lines = [
                    json.dumps({"index": at, "status": 202, "transaction": {"uid": uid, "text": "é" * 9}}) + "\n"
                    for at, uid in enumerate(uids_of(body))
                ]
                accepted.extend(uid for uid in uids_of(body) if uid not in accepted)
                text = "" if n % 3 == 0 else "".join(lines[:2]) + (lines[2][:50] if len(lines) > 2 else "")
                return 200, cut, text.encode()

            server, sequencer = self.scripted(answer)
            results = sequencer.post_batch(items(7))
            self.assertEqual([(r["index"], r["uid"], r["status"]) for r in results], [(n, f"u{n}", 202) for n in range(7)])
            self.assertEqual((len(accepted), len(server.asked)), (7, 5))

    def test_a_batch_stops_at_what_cannot_be_taken_now(self) -> None:
        def answers(few: int, trouble: int) -> Callable[[bytes], Answer]:
            def answer(body: bytes) -> Answer:
                lines = [
                    {"index": at, "status": 202, "transaction": {"uid": uid}}
                    if at < few
                    else {"index": at, "status": trouble, "problem": {"code": "X", "title": "No", "detail": "so"}}
                    for at, uid in enumerate(uids_of(body))
                ]
                return 200, {}, "\n".join(map(json.dumps, lines)).encode() + b"\n"

            return answer

        turns = [answers(2, 503), answers(0, 503), answers(1, 503), answers(9, 0)]
        server, sequencer = self.scripted(lambda _, body, n: turns[n - 1](body))
        results = sequencer.post_batch(items(7))
        self.assertEqual([(r["index"], r["uid"], r["status"]) for r in results], [(n, f"u{n}", 202) for n in range(7)])
        self.assertEqual(len(server.asked), 4)
        for number, times in ((507, 1), (503, 3)):
            server, sequencer = self.scripted(lambda _, body, n, number=number: answers(0, number)(body))
            with self.assertRaises(SequencerError) as caught:
                sequencer.post_batch(items(2))
            self.assertEqual((caught.exception.status, len(server.asked)), (number, times))

    def test_nothing_of_a_batch_overtakes_what_was_refused(self) -> None:
        for refused in (429, 500):
            mixed = [{**item, "queue": queue} for item, queue in zip(items(5), ("full", "free", "full", "free", "full"))]
            problem = {"code": "TOO_MANY_WAITING", "title": "The queue is full", "detail": "so"}

            def answer(_: str, body: bytes, n: int, refused: int = refused, problem: Any = problem) -> Optional[Answer]:
                if n == 1:
                    first = json.dumps({"index": 0, "status": refused, "problem": problem})
                    rest = json.dumps({"index": 1, "status": 503, "problem": problem})
                    return 200, {}, f"{first}\n{rest}\n".encode()
                # There would be room for all now.
                lines = [
                    json.dumps({"index": at, "status": 202, "transaction": {"uid": uid}}) + "\n"
                    for at, uid in enumerate(uids_of(body))
                ]
                return 200, {}, "".join(lines).encode()

            server, sequencer = self.scripted(answer)
            results = sequencer.post_batch(mixed)
            self.assertEqual([uids_of(body) for _, _, body in server.asked[1:]], [["u1", "u3"]])
            self.assertEqual([r["status"] for r in results], [refused, 202, refused, 202, refused])
            self.assertEqual([r["index"] for r in results], [0, 1, 2, 3, 4])


class Waits(Case):
    def test_settled_outlasts_what_passes_once_it_has_found_its_transaction(self) -> None:
        def found(state: str) -> Answer:
            return said({"uid": "u", "state": state})

        trouble = [LOST, status(500), status(502), status(503), status(429), LOST]
        answers = [LOST, found("WAITING"), *trouble, found("WAITING"), *trouble, found("DONE")]
        server, sequencer = self.in_turn(*answers)
        self.assertEqual(sequencer.settled("u")["state"], "DONE")
        self.assertEqual(len(server.asked), len(answers))
        server, sequencer = self.in_turn(found("WAITING"), LOST, status(404))
        with self.assertRaises(SequencerError):
            sequencer.settled("u")
        server, sequencer = self.in_turn(LOST)
        with self.assertRaises(UnansweredError):
            sequencer.settled("u")
        self.assertEqual(len(server.asked), 3)
        server, sequencer = self.in_turn(found("WAITING"))
        with self.assertRaises(TimeoutError):
            sequencer.settled("u", timeout=0)
        self.assertEqual(len(server.asked), 1)


class Streams(Case):
    def test_a_stream_that_breaks_or_stutters_is_followed_without_a_gap(self) -> None:
        def event(n: int) -> bytes:
            return f'id: 1-{n}\nevent: transaction\ndata: {{"id":"1-{n}","code":"é"}}\n\n'.encode()

        turns = [
            (200, {}, b": hello\nid: 1-0\n\n" + event(1)),
            LOST,
            status(503),
            (200, {"cut": "yes"}, event(2) + event(3)[:30]),  # within a line
            (200, {}, b"retry: 1500\n\n" + event(3)),
            said({"code": "EVENTS_GONE", "title": "Gone", "detail": "so"}, 410),
        ]
        server, sequencer = self.in_turn(*turns)
        seen, began = [], []
        with self.assertRaises(SequencerError) as caught:
            for e in sequencer.events(queue="q", on_open=began.append):
                seen.append((e["id"], e["kind"], e["code"]))
        self.assertEqual(caught.exception.code, "EVENTS_GONE")
        self.assertEqual(seen, [(f"1-{n}", "transaction", "é") for n in (1, 2, 3)])
        self.assertEqual(began, ["1-0"])
        self.assertIn(1.5, self.slept)
        self.assertEqual(
            [headers.get("Last-Event-ID") for _, headers, _ in server.asked], [None, "1-1", "1-1", "1-1", "1-2", "1-3"]
        )
        self.assertIn("queue=q", server.asked[0][0])

    def test_what_the_caller_raises_is_the_callers(self) -> None:
        _, sequencer = self.in_turn((200, {}, b"id: 1-0\n\n"))

        def fails(_: str) -> None:
            raise ConnectionError("mine")

        with self.assertRaisesRegex(ConnectionError, "mine"):
            next(sequencer.events(on_open=fails))
