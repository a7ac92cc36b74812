"""Posts a claim and three votes on it, and follows them. SEQUENCER_URL says where to, SEQUENCER_KEY who asks."""

import os
import uuid

from sequencer_client import Sequencer

ELECTOR = "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS"

sequencer = Sequencer(os.environ.get("SEQUENCER_URL", "http://127.0.0.1:8080"), os.environ.get("SEQUENCER_KEY"))
claim = uuid.uuid4().hex
queue = f"claim-{claim}"
strategy = {"requiredVotes": 3, "requiredPositives": 2}
vote = {"planUid": "autumn", "batchUid": "north", "claimUid": claim, "electorAccountId": ELECTOR}


def post(begin: str) -> None:
    """Posts all, once the stream of events stands: so none is missed."""
    results = sequencer.post_batch(
        [
            {"queue": queue, "type": "CREATE_CLAIM_VOTING_ACCOUNT", "data": {"claimUid": claim, "strategy": strategy}},
            *(
                {"queue": queue, "type": "SEND_CLAIM_VOTE", "uid": f"{claim}-{n}", "data": {**vote, "index": n, "vote": 1}}
                for n in range(3)
            ),
        ]
    )
    for result in results:
        print(result["uid"], result["status"])


ended = 0
for event in sequencer.events(queue=queue, on_open=post):
    print(event["uid"], event["from"], event["to"], event["code"] or "")
    if event["to"] in ("DONE", "FAILED", "UNRESOLVED") and event["from"] != event["to"]:
        ended += 1
        if ended == 4:
            break
