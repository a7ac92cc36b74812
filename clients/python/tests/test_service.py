"""The client against the built service."""

import datetime
import itertools
import os
import signal
import subprocess
import sys
import threading
import unittest
import uuid
from typing import Any, List

from tests.rig import PACKAGE, Rig, end, free_port
from sequencer_client import (
    EventsGone,
    Forbidden,
    InvalidData,
    KeyReused,
    NotCancellable,
    NotFound,
    Number,
    Sequencer,
    Unauthorized,
    UnknownType,
    stringify,
)

ELECTOR = "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS"
LIMIT = 120  # seconds after which a wait hangs for good


class Demo(unittest.TestCase):
    rig: Rig
    url: str
    sequencer: Sequencer

    @classmethod
    def setUpClass(cls) -> None:
        cls.rig = Rig()
        env = {"SEQUENCER_WORKER_TYPES": "COUNT", "SEQUENCER_MAX_WAITING": "100"}
        _, cls.url = cls.rig.sequencer(["demo", "--slot", "50ms"], env, free_port())
        cls.sequencer = Sequencer(cls.url)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.rig.stop()

    def test_the_example_runs(self) -> None:
        env = {**os.environ, "SEQUENCER_URL": self.url, "PYTHONPATH": str(PACKAGE)}
        ran = subprocess.run(
            [sys.executable, "examples/vote.py"], cwd=PACKAGE, env=env, stdout=subprocess.PIPE, timeout=LIMIT, check=True, text=True
        )
        self.assertEqual(ran.stdout.count(" DONE \n"), 4, ran.stdout)

    def test_data_stays_as_it_was_posted(self) -> None:
        claim = uuid.uuid4().hex
        queue = f"claim-{claim}"
        self.sequencer.post(queue, "COUNT", {}, uid=claim)
        self.sequencer.settled(claim, LIMIT)
        self.sequencer.pause_queue(queue, {"reason": "a test"})
        data = {"claimUid": claim, "strategy": {"requiredVotes": 2**70 + 1, "requiredPositives": 1},
                "more": [Number("1E400"), Number("0.10"), -0.5, '\u2028"é']}  # fmt: skip
        posted = self.sequencer.post(queue, "CREATE_CLAIM_VOTING_ACCOUNT", data, max_fee=200_000_000)
        read = self.sequencer.get_transaction(posted["uid"])
        self.assertEqual(stringify(read["data"]), stringify(data))
        self.assertEqual(read["maxFee"], "200000000")
        # And what was read can be posted again: the tokens are the same.
        again = self.sequencer.post(queue, read["type"], read["data"], uid=read["uid"], max_fee=read["maxFee"])
        self.assertEqual(again["sequence"], read["sequence"])
        with self.assertRaises(KeyReused) as caught:
            self.sequencer.post(queue, "COUNT", {}, uid=read["uid"])
        self.assertEqual(caught.exception.uids, [read["uid"]])
        self.assertEqual(self.sequencer.explain_transaction(read["uid"])["waitingFor"]["code"], "PAUSED")
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        late = self.sequencer.post(queue, "COUNT", {}, expires_at=soon, not_before="2026-01-01T00:00:00Z")
        self.assertEqual(late["expiresAt"][:19], soon.isoformat()[:19])
        with self.assertRaises(ValueError):
            self.sequencer.post(queue, "COUNT", {}, expires_at=datetime.datetime.now())
        self.sequencer.cancel_transaction(late["uid"])
        self.sequencer.resume_queue(queue)
        done = self.sequencer.settled(read["uid"], LIMIT)
        self.assertEqual(done["state"], "DONE", done["error"])

    def test_what_is_refused_says_why(self) -> None:
        with self.assertRaises(InvalidData) as caught:
            self.sequencer.post("a b", "SEND_CLAIM_VOTE", {})
        fields = [e["field"] for e in caught.exception.errors]
        self.assertIn("queue", fields)
        self.assertIn("data.vote", fields)
        self.assertEqual(caught.exception.status, 422)
        with self.assertRaises(UnknownType):
            self.sequencer.post("q", "NO_SUCH", {})
        with self.assertRaises(NotFound):
            self.sequencer.settled("none")
        with self.assertRaises(NotFound):
            Sequencer(self.url + "/nothing").get_fees()

    def test_a_batch_is_answered_item_by_item(self) -> None:
        queue = f"batch-{uuid.uuid4().hex}"
        results = self.sequencer.post_batch(
            [
                {"queue": queue, "type": "COUNT", "data": {"n": 2**64}},
                {"queue": "..", "type": "COUNT", "data": {}},
                {"queue": queue, "type": "COUNT", "data": {"text": "a\nb"}},
            ]
        )
        self.assertEqual([(r["index"], r["status"]) for r in results], [(0, 202), (1, 422), (2, 202)])
        self.assertEqual(results[0]["transaction"]["data"]["n"], 2**64)
        self.assertEqual(results[1]["problem"]["code"], "INVALID_DATA")

    def test_a_queue_is_paused_listed_cancelled_and_resumed(self) -> None:
        queue = f"plan-{uuid.uuid4().hex}"
        uids = [f"{queue}-{n}" for n in range(3)]
        self.sequencer.post(queue, "COUNT", {}, uid=uids[0])
        self.sequencer.settled(uids[0], LIMIT)
        self.assertEqual(self.sequencer.pause_queue(queue, {"reason": "a test"})["reason"], "a test")
        self.assertEqual(self.sequencer.widen_queue(queue, {"width": 6})["width"], 6)
        for uid in uids[1:]:
            self.sequencer.post(queue, "COUNT", {}, uid=uid)
        self.assertEqual(self.sequencer.cancel_transaction(uids[1])["state"], "FAILED")
        with self.assertRaises(NotCancellable):
            self.sequencer.cancel_transaction(uids[1])
        self.assertEqual([t["uid"] for t in self.sequencer.transactions(queue=queue, state="FAILED")], [uids[1]])
        self.assertIn(queue, [q["name"] for q in self.sequencer.queues(prefix=queue)])
        self.sequencer.delete_transaction(uids[1])
        with self.assertRaises(NotFound):
            self.sequencer.get_transaction(uids[1])
        self.sequencer.resume_queue(queue)
        self.assertEqual(self.sequencer.settled(uids[2], LIMIT)["state"], "DONE")

    def test_senders_are_listed_and_added(self) -> None:
        accounts = [s["accountId"] for s in self.sequencer.senders()]
        self.assertEqual(len([a for a in accounts if "/" not in a]), 4)
        self.assertEqual(self.sequencer.add_sender({"accountId": ELECTOR, "workerUrl": "http://127.0.0.1:9"})["accountId"], ELECTOR)
        self.sequencer.remove_sender(ELECTOR)
        self.assertIn("sequencer_build_info", self.sequencer.get_metrics())

    def test_the_events_of_a_transaction_come_in_order(self) -> None:
        uid = uuid.uuid4().hex
        before, states = None, []
        for event in self.sequencer.events(uid=uid, on_open=lambda _: self.sequencer.post("events", "COUNT", {}, uid=uid)):
            self.assertEqual((event["kind"], event["uid"], event["from"]), ("transaction", uid, before))
            before = event["to"]
            states.append(before)
            if before == "DONE":
                break
        self.assertEqual(states[0], "WAITING")


class Restarts(unittest.TestCase):
    def test_events_go_on_over_restarts(self) -> None:
        rig = Rig()
        self.addCleanup(rig.stop)
        port = free_port()
        env = {
            "SEQUENCER_REDIS_URL": rig.redis(),
            "SEQUENCER_MINA_URL": "http://127.0.0.1:9/graphql",  # nobody is there, so all that is posted waits
            "SEQUENCER_WORKER_TYPES": "COUNT",
            "SEQUENCER_API_KEYS": "ops:admin:0123456789abcdef,eye:read:fedcba9876543210",
            "SEQUENCER_SHUTDOWN_TIMEOUT": "1s",
        }
        child, url = rig.sequencer(["serve"], env, port)

        def client(key: str) -> Sequencer:
            return Sequencer(url, key, tries=1000, pause=0.02, longest_pause=0.2)

        sequencer = client("0123456789abcdef")

        def post(queue: str, uid: str) -> Any:
            return sequencer.post(queue, "COUNT", {}, uid=uid)

        begin: List[str] = []
        list(itertools.islice(sequencer.events(on_open=lambda at: [begin.append(at), post("restarts", "first")]), 1))
        events = sequencer.events(queue="restarts", after=begin[0])
        self.assertEqual(next(events)["uid"], "first")
        for number, how in enumerate((signal.SIGTERM, signal.SIGKILL)):
            uids = [f"restart-{number}-{n}" for n in range(4)]
            for uid in uids[:2]:
                post("restarts", uid)
            self.assertEqual([next(events)["uid"]], uids[:1])
            end(child, how)
            # What is posted while nobody answers arrives once somebody does.
            late = [threading.Thread(target=post, args=("restarts", uid)) for uid in uids[2:]]
            for thread in late:
                thread.start()
            child, _ = rig.sequencer(["serve"], env, port)
            for thread in late:
                thread.join()
            self.assertEqual(sorted(next(events)["uid"] for _ in range(3)), uids[1:])
        events.close()

        with self.assertRaises(EventsGone):
            next(sequencer.events(after="7-1"))
        with self.assertRaises(Unauthorized):
            next(client("wrong").events())
        with self.assertRaises(Forbidden):
            client("fedcba9876543210").post("q", "COUNT", {})
