"""Posts zkApp transactions to a sequencer, and follows them.

    from sequencer_client import Sequencer

    sequencer = Sequencer("https://sequencer.example", key)
    uid = sequencer.post("claim-1", "SEND_CLAIM_VOTE", data, uid="vote-17")["uid"]
    done = sequencer.settled(uid)
"""

from . import _api
from ._api import *  # types, and the errors by code
from ._json import Number, parse, stringify
from .client import Sequencer
from .errors import SequencerError, UnansweredError

__all__ = ["Number", "Sequencer", "SequencerError", "UnansweredError", "parse", "stringify", *_api.__all__]
