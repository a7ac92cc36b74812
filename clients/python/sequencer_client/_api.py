"""Types, errors and routes of the API."""
# Made by generate.py from the service's OpenAPI document: do not edit.
# 4efba2f1e36000f4b9c8de38f3eda87e1d58ac17cd3bd17180ced40af4daa6a3

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union
from urllib.parse import quote

from .errors import SequencerError


def _segment(text: str) -> str:
    """A part of a path. It is no name that paths give a meaning."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be a name")
    return quote(text, safe="")


__all__ = [
    "ErrorObject",
    "EstimateObject",
    "Account",
    "Attempt",
    "CallbackObject",
    "ClaimObject",
    "Transaction",
    "SimulationFailure",
    "SimulationTouchedItem",
    "Simulation",
    "Trial",
    "LedgerBatchTransactionsItem",
    "LedgerBatch",
    "BatchResult1",
    "ProblemErrorsItem",
    "Problem",
    "BatchResult2",
    "TransactionPage",
    "Resolution",
    "TransactionFilter",
    "BulkCommand",
    "QueueFilter",
    "PauseCommand",
    "ResumeCommand",
    "BulkResult",
    "ExplanationWaitingFor",
    "SeenAttempt",
    "ExplanationNext",
    "Explanation",
    "QueueCounts",
    "Queue",
    "QueuePage",
    "Pause",
    "Width",
    "Sender",
    "SenderPage",
    "NewSender",
    "Prover",
    "ProverPage",
    "NewProver",
    "Part",
    "Readiness",
    "FeesPoolRanksItem",
    "FeesPool",
    "FeesTypesItem",
    "FeesSpentItem",
    "Fees",
    "OverviewCounts",
    "OverviewRates",
    "OverviewSenders",
    "OverviewStopsItem",
    "OverviewTroublesItem",
    "OverviewChain",
    "OverviewLedgersItem",
    "Overview",
    "HistoryItemsItem",
    "History",
    "Session",
    "Login",
    "CreateClaimVotingAccountStrategy",
    "CreateClaimVotingAccount",
    "NewCreateClaimVotingAccount",
    "SendClaimVote",
    "NewSendClaimVote",
    "CreateVotingBatchesAccount",
    "NewCreateVotingBatchesAccount",
    "ReceiveVotesBatchSignedDataSignature",
    "ReceiveVotesBatchSignedData",
    "ReceiveVotesBatch",
    "NewReceiveVotesBatch",
    "CommitAllVotingBatches",
    "NewCommitAllVotingBatches",
    "SubmitBatch",
    "NewSubmitBatch",
    "NewOtherTransaction",
    "Webhook",
    "WebhookWithSecret",
    "WebhookPage",
    "NewWebhook",
    "WebhookEdit",
    "NewSecret",
    "Replay",
    "WebhookDeliveryPage",
    "Parked",
    "ParkedPage",
    "GetHealthAnswer",
    "GetDescriptionAnswer",
    "Uid",
    "UidOrNone",
    "ChosenUid",
    "Time",
    "NotBefore",
    "ExpiresAt",
    "Nanomina",
    "MaxFee",
    "QueueName",
    "TypeName",
    "AccountId",
    "SlotId",
    "SenderId",
    "Text",
    "Hash",
    "State",
    "QueueState",
    "Outcome",
    "Error",
    "Weight",
    "EstimateReason",
    "Estimate",
    "Callback",
    "Claim",
    "BatchResult",
    "QueuePrefix",
    "TenantKey",
    "ProverId",
    "Event",
    "ClaimUid",
    "ShortUid",
    "Element",
    "NewTransaction",
    "WebhookId",
    "WebhookDelivery",
    "WebhookEvent",
    "UnknownType",
    "InvalidData",
    "KeyReused",
    "NotFound",
    "NotCancellable",
    "NotRetryable",
    "MightStillLand",
    "Contradicted",
    "SenderBound",
    "SenderExists",
    "ProverExists",
    "WebhookExists",
    "WebhookConfigured",
    "TooManyWebhooks",
    "TooLarge",
    "BadCursor",
    "BadRequest",
    "StoreUnavailable",
    "StoreFull",
    "TooManyWaiting",
    "RateLimited",
    "TooSlow",
    "Unauthorized",
    "Forbidden",
    "EventsGone",
    "SimulatorsBusy",
    "BY_CODE",
]


class ErrorObject(TypedDict):
    code: str
    # For a key of some queues, addresses of the service's own network are hidden in it.
    message: str
    exception: Text


class EstimateObject(TypedDict):
    """What a fee was estimated from; null where SEQUENCER_FEE is a number. A fee that replaces another, or
    that follows one that expired, may be higher.
    """

    fee: Nanomina
    # What others made it pay for each unit of weight, nanomina; null if nothing.
    feePerWeight: Optional[Nanomina]
    # That it was supposed to have.
    weight: int
    why: EstimateReason


class Account(TypedDict):
    """An account of Mina."""

    publicKey: str
    # wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf is MINA.
    tokenId: str


class Attempt(TypedDict):
    """One try of a transaction. Signed bytes are never shown."""

    # Never starts anew.
    number: int
    sender: Text
    # null of a batch for a ledger, as is the fee.
    nonce: Optional[int]
    fee: Optional[Nanomina]
    # As it was signed.
    weight: Weight
    estimate: Estimate
    # The last slot since genesis in which a block may take it.
    validUntil: Optional[int]
    hash: Hash
    outcome: Outcome
    blockHeight: Optional[int]
    stateHash: Text
    confirmations: int
    # The accounts that its command reads or changes, as it was signed, its sender's left out; the first 16 of
    # them.
    touched: List[Account]
    error: Error
    startedAt: Time
    endedAt: Time


class CallbackObject(TypedDict):
    """What became of telling its worker how it ended: of the callback that is due, or else of the last
    one. Null while none is.
    """

    name: Literal["on-success", "on-failure"]
    # Whether it was answered; else it is told again.
    told: bool
    tries: int
    # What the worker answered, without success and signed: up to 4096 bytes, null for nothing. The next
    # callback of this transaction gets it as answered.
    answer: Optional[Dict[str, Any]]
    # Why it is told again, or its answer was not kept. For a key of some queues, addresses of the service's
    # own network are hidden in it, and in the answer.
    error: Text
    # When it was last tried.
    at: Time


class ClaimObject(TypedDict):
    # Its incarnation: another one after each start. GET /readyz and the log of a process name its own.
    process: str
    since: Time
    # When another process takes over, unless it is renewed, as it is while the process lives.
    expires: Time


class Transaction(TypedDict):
    uid: Uid
    queue: QueueName
    # One counter for all queues, in the order of acceptance.
    sequence: int
    type: TypeName
    # As posted, token for token; once it has landed, what the worker of the attempt that landed made of it,
    # if it made something.
    data: Any
    # As posted, token for token, where data is what its worker has made of it; null where data is as posted.
    posted: Any
    state: State
    # Of the attempt in the block; before that, of the latest.
    hash: Hash
    # Retry dispatches begun.
    retries: int
    # The sender that is bound, or the last one that was.
    sender: Text
    # {blockHeight, stateHash}, or what the worker answered when it finished it without a block.
    done: Optional[Dict[str, Any]]
    error: Error
    attempts: List[Attempt]
    # It is not dispatched before, and what stands behind it in its queue waits, too.
    notBefore: Time
    # Its deadline: it lands before, or never.
    expiresAt: Time
    # The most that an attempt of it may pay.
    maxFee: Optional[Nanomina]
    receivedAt: Time
    # The first time a node took it, or may have.
    submittedAt: Time
    retriedAt: Time
    # When it became final, in whatever state.
    doneAt: Time
    # When its block was deep enough to be watched no longer.
    finalAt: Time
    # Its block was orphaned, and it is being brought back.
    reopened: bool
    cancelRequested: bool
    callback: Callback
    # The process that drives it. Null while none does, and expires is null in a webhook.
    claim: Claim
    # Of a batch for a ledger, as Hyperledger Grid means it: the submitter has it and is doing something with
    # it, or is done with it. false while it waits for its turn or for another try, and where its ledger does
    # not know it. null of all else.
    submitted: Optional[bool]
    # Of a batch: the code of why it ended without a verdict of its ledger on what it does.
    submissionError: Optional[str]
    # The message that goes with submissionError.
    submissionErrorMessage: Optional[str]


class SimulationFailure(TypedDict):
    """Why it would fail; null where ok."""

    # Of the account update, from 1 on, 0 of the fee payer; null where it did not come to account updates.
    index: Optional[int]
    # Mina's name of it, or the worker's code.
    code: str
    # Of every account update that would fail.
    message: str


class SimulationTouchedItem(TypedDict):
    publicKey: str
    tokenId: str
    # It is not there before.
    creates: bool


class Simulation(TypedDict):
    """What a transaction would do by the accounts as they are, or as what is in flight of its queue leaves
    them: its type's worker has made it without proofs, and Mina's transaction logic has applied it.
    Nothing was signed that could be sent, and no sender was bound.
    """

    # How many in flight of its queue it was simulated behind, as they leave the accounts; 0 is by the
    # accounts as they are: nothing is in flight, or the worker that carries it has no time.
    ahead: int
    # It would do what it is meant to.
    ok: bool
    # Why it would fail; null where ok.
    failure: Optional[SimulationFailure]
    # 1 and one for each account update, by which Mina weighs its fee; null where it came to none.
    weight: Optional[int]
    # The accounts that it reads or changes.
    touched: List[SimulationTouchedItem]
    # That a proof of its type usually takes at that worker; null where it has made none since it began.
    seconds: Optional[float]
    # That its first attempt would pay now.
    fee: Nanomina


class Trial(TypedDict):
    """What posting a transaction would answer, and what the transaction would do."""

    dryRun: Literal[True]
    # It was accepted before, under the same uid; then it is not simulated.
    existed: bool
    # null where it was not simulated.
    simulation: Optional[Simulation]
    # Why it was not simulated, in words.
    notSimulated: Optional[str]
    uid: Uid
    queue: QueueName
    # The next one, where it did not exist: it gets its own when it is posted.
    sequence: int
    type: TypeName
    # As posted, token for token; once it has landed, what the worker of the attempt that landed made of it,
    # if it made something.
    data: Any
    # As posted, token for token, where data is what its worker has made of it; null where data is as posted.
    posted: Any
    state: State
    # Of the attempt in the block; before that, of the latest.
    hash: Hash
    # Retry dispatches begun.
    retries: int
    # The sender that is bound, or the last one that was.
    sender: Text
    # {blockHeight, stateHash}, or what the worker answered when it finished it without a block.
    done: Optional[Dict[str, Any]]
    error: Error
    attempts: List[Attempt]
    # It is not dispatched before, and what stands behind it in its queue waits, too.
    notBefore: Time
    # Its deadline: it lands before, or never.
    expiresAt: Time
    # The most that an attempt of it may pay.
    maxFee: Optional[Nanomina]
    receivedAt: Time
    # The first time a node took it, or may have.
    submittedAt: Time
    retriedAt: Time
    # When it became final, in whatever state.
    doneAt: Time
    # When its block was deep enough to be watched no longer.
    finalAt: Time
    # Its block was orphaned, and it is being brought back.
    reopened: bool
    cancelRequested: bool
    callback: Callback
    claim: Claim
    # Of a batch for a ledger, as Hyperledger Grid means it: the submitter has it and is doing something with
    # it, or is done with it. false while it waits for its turn or for another try, and where its ledger does
    # not know it. null of all else.
    submitted: Optional[bool]
    # Of a batch: the code of why it ended without a verdict of its ledger on what it does.
    submissionError: Optional[str]
    # The message that goes with submissionError.
    submissionErrorMessage: Optional[str]


class LedgerBatchTransactionsItem(TypedDict):
    id: str
    familyName: str
    familyVersion: str
    signerPublicKey: str
    # What came of executing it; null where that is not known.
    valid: Optional[bool]
    # Of what is not valid.
    errorMessage: Optional[str]
    # Of what is not valid, in base64.
    errorData: Optional[str]
    # As its ledger writes it, for the first 1,000; null where it keeps none, did not answer, or it is longer
    # than 256 KiB.
    receipt: Optional[Dict[str, Any]]


class LedgerBatch(TypedDict):
    """A batch for a ledger, in Hyperledger Grid's words."""

    uid: Uid
    # The name of the ledger.
    ledger: str
    # The header_signature.
    batchId: str
    state: State
    # The submitter has it and is doing something with it, or is done with it.
    submitted: bool
    # The code of why it ended without a verdict of its ledger on what it does.
    submissionError: Optional[str]
    # The message that goes with submissionError.
    submissionErrorMessage: Optional[str]
    # null: it was never submitted, or its ledger refused to take it. Unknown: its ledger does not know it.
    # Delayed: submitting it went wrong, and is tried again. Pending, Valid, Invalid, Committed: as its ledger
    # says.
    status: Optional[Literal["Unknown", "Delayed", "Pending", "Valid", "Invalid", "Committed"]]
    # When it was last begun to be posted.
    triedAt: Time
    # Nothing becomes of it any more by itself.
    settled: bool
    # Its transactions, once it is Invalid or Committed; before that none.
    transactions: List[LedgerBatchTransactionsItem]


class _BatchResult1(TypedDict):
    index: int
    # 202: accepted; 200: it had been accepted before.
    status: Literal[200, 202]
    transaction: Transaction


class BatchResult1(_BatchResult1, total=False):
    # It is what would be answered, and nothing is stored.
    dryRun: Literal[True]


class ProblemErrorsItem(TypedDict):
    # A path, such as data.strategy.requiredVotes.
    field: str
    message: str


class _Problem(TypedDict):
    code: Literal[
        "UNKNOWN_TYPE",
        "INVALID_DATA",
        "KEY_REUSED",
        "NOT_FOUND",
        "NOT_CANCELLABLE",
        "NOT_RETRYABLE",
        "MIGHT_STILL_LAND",
        "CONTRADICTED",
        "SENDER_BOUND",
        "SENDER_EXISTS",
        "PROVER_EXISTS",
        "WEBHOOK_EXISTS",
        "WEBHOOK_CONFIGURED",
        "TOO_MANY_WEBHOOKS",
        "TOO_LARGE",
        "BAD_CURSOR",
        "BAD_REQUEST",
        "STORE_UNAVAILABLE",
        "STORE_FULL",
        "TOO_MANY_WAITING",
        "RATE_LIMITED",
        "TOO_SLOW",
        "UNAUTHORIZED",
        "FORBIDDEN",
        "EVENTS_GONE",
        "SIMULATORS_BUSY",
    ]
    # Where the service explains the code, relative to its address: for people. Programs switch on code.
    type: str
    title: str
    status: int
    detail: str


class Problem(_Problem, total=False):
    """An error in the form of RFC 9457. Programs switch on code, which never changes its meaning; detail
    says what to do.
    """

    errors: List[ProblemErrorsItem]


class _BatchResult2(TypedDict):
    index: int
    status: int
    problem: Problem


class BatchResult2(_BatchResult2, total=False):
    dryRun: Literal[True]


class TransactionPage(TypedDict):
    items: List[Transaction]
    # null on the last page.
    nextCursor: Text


class _Resolution(TypedDict):
    # landed: its attempt took effect; dead: it cannot any more.
    outcome: Literal["landed", "dead"]


class Resolution(_Resolution, total=False):
    # Of the transaction that landed, or the id of the batch.
    hash: Optional[str]


class TransactionFilter(TypedDict, total=False):
    """Chooses transactions; what is left out chooses all."""

    queue: Optional[QueueName]
    type: Optional[TypeName]
    state: Optional[State]
    sender: Optional[SenderId]
    # The code that they ended with, or last failed with.
    error: Optional[str]
    # Received from this time on.
    since: Time
    # Received before this time.
    until: Time
    prefix: QueuePrefix
    key: TenantKey


class _BulkCommand(TypedDict):
    filter: TransactionFilter


class BulkCommand(_BulkCommand, total=False):
    # Only count.
    dryRun: Optional[bool]
    # The nextCursor of the request before.
    cursor: Optional[str]


class QueueFilter(TypedDict, total=False):
    """Chooses queues, by one of the two."""

    prefix: QueuePrefix
    key: TenantKey


class _PauseCommand(TypedDict):
    filter: QueueFilter


class PauseCommand(_PauseCommand, total=False):
    # For people; 200 characters without the white space around it.
    reason: Optional[str]
    # When they resume by themselves; else somebody has to resume them.
    until: Time
    # Only count.
    dryRun: Optional[bool]
    # The nextCursor of the request before.
    cursor: Optional[str]


class _ResumeCommand(TypedDict):
    filter: QueueFilter


class ResumeCommand(_ResumeCommand, total=False):
    # Only count.
    dryRun: Optional[bool]
    # The nextCursor of the request before.
    cursor: Optional[str]


class BulkResult(TypedDict):
    # Those that the filter chose and the command is for.
    matched: int
    # Of these; 0 in a dry run.
    done: int
    # Of these.
    refused: int
    # How many were refused, by code.
    refusals: Dict[str, int]
    # To go on with; null at the end.
    nextCursor: Text


class ExplanationWaitingFor(TypedDict):
    code: Literal[
        "QUEUE_HEAD",
        "BEHIND",
        "BARRIER",
        "BROKEN",
        "HELD",
        "PAUSED",
        "NOT_BEFORE",
        "FEE_LIMIT",
        "CALLBACK",
        "PROCESS",
        "RECOVERY",
        "STORE",
        "NODES",
        "FREE_SENDER",
        "WORKER",
        "LEDGER",
        "SENDING",
        "BLOCK",
        "CONFIRMATIONS",
        "SETTLEMENT",
        "EXPIRY",
        "RETRY_DELAY",
        "FINALITY",
        "PERSON",
        "NOTHING",
    ]
    # When the wait ends by itself, at the latest.
    until: Time
    detail: Text


class SeenAttempt(TypedDict):
    """An attempt with what the chain says of it now."""

    number: int
    sender: Text
    nonce: Optional[int]
    fee: Optional[Nanomina]
    # As it was signed.
    weight: Weight
    estimate: Estimate
    hash: Hash
    outcome: Outcome
    # It may still land.
    open: bool
    place: Literal["block", "pool", "nowhere", "unknown"]
    # Every synced node says so.
    agreed: bool
    blockHeight: Optional[int]
    stateHash: Text
    # Of its block, the tip being 1.
    depth: Optional[int]
    detail: Text
    startedAt: Time
    endedAt: Time


class ExplanationNext(TypedDict):
    action: Literal[
        "BIND",
        "ASK_WORKER",
        "SUBMIT",
        "SEND",
        "WATCH",
        "SEND_AGAIN",
        "RAISE_FEE",
        "WEIGH",
        "RETRY",
        "FINISH",
        "END",
        "FINAL",
        "REMOVE",
        "TELL",
        "RESUME",
        "DECIDE",
        "RESOLVE",
        "NONE",
    ]
    # When at the latest.
    at: Time


class Explanation(TypedDict):
    """Where a transaction stands, in words for people and in codes for programs."""

    state: State
    since: Time
    summary: str
    waitingFor: ExplanationWaitingFor
    attempts: List[SeenAttempt]
    next: ExplanationNext


class QueueCounts(TypedDict):
    """How many transactions it has of each state."""

    WAITING: int
    DISPATCHING: int
    REVISION: int
    RETRY: int
    DONE: int
    FAILED: int
    UNRESOLVED: int


class Queue(TypedDict):
    name: QueueName
    state: QueueState
    # The sender that is bound to it.
    sender: Text
    # The uid of the transaction under way.
    running: UidOrNone
    # The uids of all that are under way, in order; `running` is the first of them, and `state` is its.
    inFlight: List[Uid]
    # How many of it may be in flight and in no block: what a person has set, else SEQUENCER_WIDTH.
    width: int
    retries: int
    # How many transactions it has of each state.
    counts: QueueCounts
    paused: bool
    # Why it is paused.
    reason: Text
    # When it resumes by itself.
    pausedUntil: Time
    # When a delay or a wait for a callback ends.
    nextAt: Time
    # When the next of its waiting transactions was received.
    oldestWaitingAt: Time


class QueuePage(TypedDict):
    items: List[Queue]
    nextCursor: Text


class Pause(TypedDict, total=False):
    # For people; 200 characters without the white space around it.
    reason: Optional[str]
    # When it resumes by itself; else somebody has to resume it.
    until: Time


class Width(TypedDict):
    # How many of the queue may be in flight and in no block; null for SEQUENCER_WIDTH.
    width: Optional[int]


class Sender(TypedDict):
    accountId: SenderId
    # The ledger's of a slot; local for a worker that the service runs. Credentials are not shown.
    workerUrl: Text
    state: QueueState
    # The queue that it is bound to.
    queue: Text
    retries: int
    # The next one.
    nonce: Optional[int]
    # In nanomina, what it may spend (Mina's liquid balance), as last seen.
    balance: Optional[str]
    available: bool
    # Why it is not available: the gravest of what there may be. `NO_PROCESS`: it is free, and no process that
    # runs could bind it now; `detail` says why, and since when.
    reason: Optional[
        Literal[
            "OUTCOME_UNKNOWN",
            "STOPPED_NONCE",
            "WRONG_NETWORK",
            "WRONG_ACCOUNT",
            "LOW_BALANCE",
            "DRAINING",
            "RESTED",
            "NO_PROCESS",
        ],
    ]
    detail: Text
    # When it went out of use for that.
    since: Time
    until: Time
    # What ends that it is out of use.
    remedy: Text
    # The line of a shell that does so; null where none does.
    command: Text
    # The process that drives what it carries. Null while it is free.
    claim: Claim


class SenderPage(TypedDict):
    items: List[Sender]
    nextCursor: Text


class NewSender(TypedDict):
    accountId: AccountId
    # http:// or https://, without user, query and fragment: it is shown.
    workerUrl: str


class Prover(TypedDict):
    """A worker without a payer's key, as the process that answers sees it."""

    id: ProverId
    # Credentials are not shown.
    url: Text
    # Who registered it.
    source: Literal["api", "config"]
    # Whether this process has something proved by it.
    state: Literal["FREE", "PROVING"]
    # That it makes, by its health.
    types: List[str]
    # How many it proves at a time, by its health.
    atOnce: int
    # How many this process has proved by it now.
    load: int
    # Bytes that it takes up, by its health.
    memory: Optional[int]
    # By its health or, if that does not say, those that this process got from it.
    proofsLastHour: int
    available: bool
    # Why it is not available. `WRONG_ACCOUNT`: it has the key of a sender, and a prover has none.
    reason: Optional[Literal["DRAINING", "RESTED", "WRONG_ACCOUNT", "WRONG_NETWORK"]]
    detail: Text
    # When it went out of use for that.
    since: Time
    # When it is asked for its health again; null where a person has to see to it.
    until: Time


class ProverPage(TypedDict):
    items: List[Prover]
    nextCursor: Text


class _NewProver(TypedDict):
    # http:// or https://, without user, query and fragment: it is shown.
    url: str


class NewProver(_NewProver, total=False):
    # Of your own; without one it is host and port, and what the path says.
    id: Optional[str]


class _Part(TypedDict):
    ok: bool


class Part(_Part, total=False):
    detail: str


class Readiness(TypedDict):
    ready: bool
    store: Part
    chain: Part
    senders: Part
    ledgers: Part
    # The clock of the process that answers, beside that of the store.
    clock: Part
    # With full, how many a limit has paused until a person resumes them. It decides nothing: others go on.
    queues: Part


class FeesPoolRanksItem(TypedDict):
    blocks: int
    feePerWeight: Nanomina


class FeesPool(TypedDict):
    """The last look at the pool of a node; null if there was none in a day, as where SEQUENCER_FEE is a
    number.
    """

    at: Time
    # Commands of any kind.
    size: int
    # zkApp commands that a block takes.
    capacity: int
    # What others pay at the end of the next blocks, if nobody came any more; empty where all that waits fits
    # into one.
    ranks: List[FeesPoolRanksItem]


class FeesTypesItem(TypedDict):
    type: TypeName
    # As its workers signed last.
    weight: Weight
    fee: Nanomina
    # null where SEQUENCER_FEE is a number.
    why: Optional[EstimateReason]
    feePerWeight: Optional[Nanomina]


class FeesSpentItem(TypedDict):
    # UTC.
    day: str
    sender: Text
    # One of the two is null.
    queue: Text
    fee: Nanomina


class Fees(TypedDict):
    # The last look at the pool of a node; null if there was none in a day, as where SEQUENCER_FEE is a
    # number.
    pool: Optional[FeesPool]
    # What the first attempt of each type would pay now.
    types: List[FeesTypesItem]
    # What attempts that were begun on the last seven days cost, or may still cost, the latest day first: by
    # sender, and by the hundred queues of each day that cost most.
    spent: List[FeesSpentItem]


class OverviewCounts(TypedDict):
    """Transactions by state."""

    WAITING: int
    DISPATCHING: int
    REVISION: int
    RETRY: int
    DONE: int
    FAILED: int
    UNRESOLVED: int


class OverviewRates(TypedDict):
    """Transactions that passed within the last so many seconds: five minutes, or less where very much
    happened, or nothing before.
    """

    seconds: int
    accepted: int
    done: int
    retried: int
    # Or unresolved.
    failed: int


class OverviewSenders(TypedDict):
    """Of the first 500 senders. One that is drained is bound until it has finished."""

    free: int
    bound: int
    # Neither bound nor available.
    out: int
    # Those not available, bound ones too, by reason.
    reasons: Dict[str, int]


class OverviewStopsItem(TypedDict):
    prefix: str
    # Why they are paused; null: they run, though another one would hold them.
    reason: Text
    since: Time
    # null: until somebody resumes them.
    until: Time
    # The name of the API key by which it was said; null: nobody needs one.
    by: Text


class OverviewTroublesItem(TypedDict):
    # Of doctor's where it has one (QUEUE_PAUSED, SENDER_OUT, REDIS_FULL and others); CLOCK: the clocks of the
    # process and of Redis differ; SENDING: what is signed gets to no node; RACES: two queues require what the
    # other changes.
    code: str
    # What is so, since when where that is known, and what to do.
    detail: str
    # That it is about.
    queue: Text
    # That it is about.
    sender: Text
    # The line of a shell that ends it; null where none does.
    command: Text


class OverviewChain(TypedDict):
    """null without a Mina node."""

    # A quorum of nodes is synced.
    ok: bool
    synced: int
    nodes: int
    # Of the lowest tip.
    height: Optional[int]
    # Slot since genesis of that tip.
    tipSlot: Optional[int]
    # The current one by the clock, when the nodes were asked.
    slot: Optional[int]
    slotMillis: int
    network: Text
    # When the nodes were asked.
    at: Time
    # Why it is not ok, or why a node has no vote.
    detail: Text


class OverviewLedgersItem(TypedDict):
    name: str
    # It answers this process, and turns no batch away; null: this process has not asked it yet, or does not
    # know it.
    ok: Optional[bool]
    # Batches.
    waiting: int
    # Batches that have a slot.
    inFlight: int
    slots: int
    # Slots that are out of use.
    slotsOut: int
    # As above, of its batches.
    oldestAt: Time
    # When this process asked it last.
    at: Time
    # Why it is not ok.
    detail: Text


class Overview(TypedDict):
    # By the clock of the store.
    at: Time
    # Transactions by state.
    counts: OverviewCounts
    queues: int
    # When the oldest transaction was received that is bound or could be; paused queues are left out.
    oldestAt: Time
    # Transactions that passed within the last so many seconds: five minutes, or less where very much
    # happened, or nothing before.
    rates: OverviewRates
    # Of the first 500 senders. One that is drained is bound until it has finished.
    senders: OverviewSenders
    # What was said of all queues whose names begin alike, for those that come to be, in the order in which it
    # was said: of those that fit a queue the last holds.
    stops: List[OverviewStopsItem]
    # Why this process binds and sends nothing, after its start or a restart or failover of Redis; null: it
    # does.
    recovering: Text
    # What else a person has to see to: the first ten queues that a limit has paused and the first ten senders
    # that do not come back by themselves, with how many more there are, and what ails the process that is
    # asked.
    troubles: List[OverviewTroublesItem]
    # null without a Mina node.
    chain: Optional[OverviewChain]
    # Ledgers that take batches: those of this process, and those with slots or batches.
    ledgers: List[OverviewLedgersItem]
    # The last events, the newest first.
    recent: List[Event]


class HistoryItemsItem(TypedDict):
    # When it began.
    at: Time
    accepted: int
    done: int
    # Or unresolved.
    failed: int
    retried: int
    # That blocks have taken.
    fees: Nanomina
    # When a process last looked.
    waiting: int
    # That had a sender when a process last looked.
    bound: int
    # Within which half of the DONE became so since they were accepted, about; 0 if none did.
    medianMs: int
    # The same of 95 in a hundred.
    slowMs: int


class History(TypedDict):
    # How long each part is.
    seconds: int
    # How many there are of them at most; the last is the one under way.
    parts: int
    items: List[HistoryItemsItem]


class Session(TypedDict):
    # A key is needed; without any configured, everybody may do everything.
    required: bool
    # Of the key.
    name: Text
    scope: Optional[Literal["read", "submit", "admin"]]
    # How the names of the queues begin that the key is limited to; null: it is not.
    queues: Optional[List[str]]


class Login(TypedDict):
    # One of the keys configured.
    key: str


class CreateClaimVotingAccountStrategy(TypedDict):
    # Of any size, written in digits.
    requiredVotes: int
    # At most requiredVotes.
    requiredPositives: int


class CreateClaimVotingAccount(TypedDict):
    """Data of CREATE_CLAIM_VOTING_ACCOUNT."""

    claimUid: ClaimUid
    strategy: CreateClaimVotingAccountStrategy


class _NewCreateClaimVotingAccount(TypedDict):
    queue: QueueName
    type: Literal["CREATE_CLAIM_VOTING_ACCOUNT"]
    data: CreateClaimVotingAccount


class NewCreateClaimVotingAccount(_NewCreateClaimVotingAccount, total=False):
    """Deploys the account that counts the votes on one claim."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class SendClaimVote(TypedDict):
    """Data of SEND_CLAIM_VOTE."""

    planUid: ShortUid
    batchUid: ShortUid
    claimUid: ClaimUid
    electorAccountId: AccountId
    # The elector's place in the batch.
    index: int
    vote: Literal[1, -1, 0, "1", "+1", "-1", "0"]


class _NewSendClaimVote(TypedDict):
    queue: QueueName
    type: Literal["SEND_CLAIM_VOTE"]
    data: SendClaimVote


class NewSendClaimVote(_NewSendClaimVote, total=False):
    """Adds the vote of one elector to a claim's account."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class CreateVotingBatchesAccount(TypedDict):
    """Data of CREATE_VOTING_BATCHES_ACCOUNT."""

    planUid: ShortUid
    communityUid: ShortUid


class _NewCreateVotingBatchesAccount(TypedDict):
    queue: QueueName
    type: Literal["CREATE_VOTING_BATCHES_ACCOUNT"]
    data: CreateVotingBatchesAccount


class NewCreateVotingBatchesAccount(_NewCreateVotingBatchesAccount, total=False):
    """Deploys the account that collects a plan's batches of votes."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class ReceiveVotesBatchSignedDataSignature(TypedDict):
    field: Element
    scalar: Element


class ReceiveVotesBatchSignedData(TypedDict):
    publicKey: str
    # What was signed: an array or, as a wallet's signMessage gives it, a text that holds one. What is in it
    # and the signature are for the worker to check.
    data: Union[List[Any], str]
    signature: ReceiveVotesBatchSignedDataSignature


class ReceiveVotesBatch(TypedDict):
    """Data of RECEIVE_VOTES_BATCH."""

    batchUid: ShortUid
    senderAccountId: AccountId
    signedData: ReceiveVotesBatchSignedData


class _NewReceiveVotesBatch(TypedDict):
    queue: QueueName
    type: Literal["RECEIVE_VOTES_BATCH"]
    data: ReceiveVotesBatch


class NewReceiveVotesBatch(_NewReceiveVotesBatch, total=False):
    """Takes in the votes that one elector has signed."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class CommitAllVotingBatches(TypedDict):
    """Data of COMMIT_ALL_VOTING_BATCHES."""

    planUid: ShortUid


class _NewCommitAllVotingBatches(TypedDict):
    queue: QueueName
    # The second is another name of the first, which the transaction has in either case.
    type: Literal["COMMIT_ALL_VOTING_BATCHES", "COMMIT_ALL_BATCHES"]
    data: CommitAllVotingBatches


class NewCommitAllVotingBatches(_NewCommitAllVotingBatches, total=False):
    """Closes a plan with everything that its batches hold."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class _SubmitBatch(TypedDict):
    # The name of a configured ledger.
    ledger: str
    # The batch's header_signature.
    batchId: str
    # A protobuf BatchList of exactly one batch, at most 10 MiB.
    batchList: str


class SubmitBatch(_SubmitBatch, total=False):
    """Data of SUBMIT_BATCH. Form, structure, hashes and signatures are checked before it is accepted."""

    # That of the batch.
    trace: Optional[bool]
    # The client's own.
    dataChangeId: Optional[str]


class _NewSubmitBatch(TypedDict):
    queue: QueueName
    type: Literal["SUBMIT_BATCH"]
    data: SubmitBatch


class NewSubmitBatch(_NewSubmitBatch, total=False):
    """Hands a signed batch to a ledger, Sawtooth or Scabbard (SEQUENCER_LEDGERS). The ledger and the id of
    the batch are a key of their own: the same again in the same queue is answered with the first
    transaction, in another one with KEY_REUSED.
    """

    uid: ChosenUid


class _NewOtherTransaction(TypedDict):
    queue: QueueName
    type: str
    # Whatever the worker takes.
    data: Dict[str, Any]


class NewOtherTransaction(_NewOtherTransaction, total=False):
    """A transaction of a type that is done wholly by its worker (SEQUENCER_WORKER_TYPES)."""

    uid: ChosenUid
    maxFee: MaxFee
    notBefore: NotBefore
    expiresAt: ExpiresAt


class Webhook(TypedDict):
    id: WebhookId
    # Without its path and its query, in which secrets are often kept: an ellipsis stands for them.
    url: str
    # Only events of transactions of these types; null for all events.
    types: Optional[List[str]]
    # Only events of these queues; with a * behind it a name is how others begin.
    queues: Optional[List[str]]
    # Only events of transactions whose to is one of these.
    states: Optional[
        List[Literal["WAITING", "DISPATCHING", "REVISION", "RETRY", "DONE", "FAILED", "UNRESOLVED"]],
    ]
    # Who defined it; file: SEQUENCER_WEBHOOKS_FILE.
    source: Literal["api", "file"]
    enabled: bool
    # Why it is not: it answered 410, a person wants it so, or its file names it no longer.
    reason: Optional[Literal["GONE", "DISABLED", "UNCONFIGURED"]]
    disabledAt: Time
    createdAt: Time
    # Events of the log that it has not come to.
    behind: int
    # When the first of them happened.
    behindSince: Time
    # Events that were not delivered at the first try or waited too long, and those that wait behind them.
    parked: int
    parkedBytes: int
    # Transactions, queues and senders whose first parked event has used the schedule up: it is tried again
    # when a person asks for a replay.
    waiting: int
    # Events that were lost because there was no room to park them.
    dropped: int
    # Until when it has asked for nothing to be sent (429, Retry-After).
    restsUntil: Time
    # How it is, of several the first: nothing is sent; its address is not one that webhooks may go to; events
    # wait for a replay or were lost; it asked for patience, or the last try failed, or events are tried
    # again.
    health: Literal["DISABLED", "REFUSED_ADDRESS", "IN_TROUBLE", "RETRYING", "WELL"]


class WebhookWithSecret(TypedDict):
    id: WebhookId
    # Without its path and its query, in which secrets are often kept: an ellipsis stands for them.
    url: str
    # Only events of transactions of these types; null for all events.
    types: Optional[List[str]]
    # Only events of these queues; with a * behind it a name is how others begin.
    queues: Optional[List[str]]
    # Only events of transactions whose to is one of these.
    states: Optional[
        List[Literal["WAITING", "DISPATCHING", "REVISION", "RETRY", "DONE", "FAILED", "UNRESOLVED"]],
    ]
    # Who defined it; file: SEQUENCER_WEBHOOKS_FILE.
    source: Literal["api", "file"]
    enabled: bool
    # Why it is not: it answered 410, a person wants it so, or its file names it no longer.
    reason: Optional[Literal["GONE", "DISABLED", "UNCONFIGURED"]]
    disabledAt: Time
    createdAt: Time
    # Events of the log that it has not come to.
    behind: int
    # When the first of them happened.
    behindSince: Time
    # Events that were not delivered at the first try or waited too long, and those that wait behind them.
    parked: int
    parkedBytes: int
    # Transactions, queues and senders whose first parked event has used the schedule up: it is tried again
    # when a person asks for a replay.
    waiting: int
    # Events that were lost because there was no room to park them.
    dropped: int
    # Until when it has asked for nothing to be sent (429, Retry-After).
    restsUntil: Time
    # How it is, of several the first: nothing is sent; its address is not one that webhooks may go to; events
    # wait for a replay or were lost; it asked for patience, or the last try failed, or events are tried
    # again.
    health: Literal["DISABLED", "REFUSED_ADDRESS", "IN_TROUBLE", "RETRYING", "WELL"]
    # whsec_ and 24 to 64 bytes in base64.
    secret: str


class WebhookPage(TypedDict):
    items: List[Webhook]
    nextCursor: Text


class _NewWebhook(TypedDict):
    id: WebhookId
    # https://, and http:// in networks that SEQUENCER_WEBHOOKS_PRIVATE names.
    url: str


class NewWebhook(_NewWebhook, total=False):
    # whsec_ and 24 to 64 bytes in base64. Without it one is made.
    secret: Optional[str]
    # Only events of transactions of these types; null for all events.
    types: Optional[List[str]]
    # Only events of these queues; with a * behind it a name is how others begin.
    queues: Optional[List[str]]
    # Only events of transactions whose to is one of these.
    states: Optional[
        List[Literal["WAITING", "DISPATCHING", "REVISION", "RETRY", "DONE", "FAILED", "UNRESOLVED"]],
    ]


class WebhookEdit(TypedDict, total=False):
    """What is to be otherwise; what is left out stays as it is."""

    # https://, and http:// in networks that SEQUENCER_WEBHOOKS_PRIVATE names.
    url: str
    # Only events of transactions of these types; null for all events.
    types: Optional[List[str]]
    # Only events of these queues; with a * behind it a name is how others begin.
    queues: Optional[List[str]]
    # Only events of transactions whose to is one of these.
    states: Optional[
        List[Literal["WAITING", "DISPATCHING", "REVISION", "RETRY", "DONE", "FAILED", "UNRESOLVED"]],
    ]


class NewSecret(TypedDict, total=False):
    # whsec_ and 24 to 64 bytes in base64. Without it one is made.
    secret: Optional[str]


class Replay(TypedDict, total=False):
    # All events behind this one are delivered once more. Without it what is parked is tried at once, as for
    # the first time.
    after: Optional[str]


class WebhookDeliveryPage(TypedDict):
    items: List[WebhookDelivery]
    nextCursor: Text


class Parked(TypedDict):
    # What is delivered in order, as it is named to discard it.
    lane: str
    of: Literal["transaction", "queue", "sender"]
    name: str
    events: int
    # The event that the others wait for.
    first: str
    # When that happened.
    at: Time
    tries: int
    # null: when a person asks for a replay.
    nextAt: Time


class ParkedPage(TypedDict):
    items: List[Parked]
    nextCursor: Text


class GetHealthAnswer(TypedDict):
    status: Literal["ok"]


class GetDescriptionAnswer(TypedDict):
    openapi: Literal["3.1.0"]


# The uid of a transaction. A key that is limited to some queues has a space of uids of its own: what it posts
# as vote-17 is vote-17 to it, and name~vote-17 to all others, name being the key's.
Uid = str

UidOrNone = Optional[Uid]

# Chosen by the client so that it can repeat the post; made by the service if left out. Without a ~, also
# where the key has a space of its own.
ChosenUid = Optional[str]

Time = Optional[str]

# It is not dispatched before. A queue is a line: what stands behind it waits, too.
NotBefore = Time

# Its deadline, after notBefore: no attempt is valid beyond it, so that the chain itself refuses what comes
# later. Then it is FAILED, EXPIRED.
ExpiresAt = Time

# An amount in nanomina.
Nanomina = str

# The most that an attempt of it may pay: at least 1000000, which is the least that nodes take.
MaxFee = Optional[Nanomina]

QueueName = str

TypeName = str

# A Mina public key in base58.
AccountId = str

# A slot of a ledger, {ledger}/{n}. In a path its slash is written %2F.
SlotId = str

SenderId = Union[AccountId, SlotId]

Text = Optional[str]

# The hash of a transaction.
Hash = Optional[str]

# WAITING in its queue; DISPATCHING: its worker has it, or it is being sent; REVISION: it may be on its way
# into a block; RETRY: it failed and will be tried again; and final DONE, FAILED (retries used up, or
# cancelled), UNRESOLVED (no retry can mend it, or only a person can settle it).
State = Literal["WAITING", "DISPATCHING", "REVISION", "RETRY", "DONE", "FAILED", "UNRESOLVED"]

# FREE: no sender is bound; BLOCKED: dispatching; INCLUSION: dispatched; WAITING_INCLUSION: watched into a
# block; RETRY: failed, the delay not yet begun; DELAY: until the next try.
QueueState = Literal["FREE", "BLOCKED", "INCLUSION", "WAITING_INCLUSION", "RETRY", "DELAY"]

# prepared: planned; signed: its bytes are stored and may have been sent; sent: a node took it; pooled: seen
# in a pool; included: in a block, and succeeded; failed: in a block, and failed there; expired: a block lies
# past its validUntil; replaced: its nonce was spent by another command; refused: every node refused it;
# unknown: it may have been sent.
Outcome = Literal[
    "prepared",
    "signed",
    "sent",
    "pooled",
    "included",
    "failed",
    "expired",
    "replaced",
    "refused",
    "unknown",
]

Error = Optional[ErrorObject]

# One, and one more for each account update: pools rank commands by fee for each unit of it. null where no
# worker has signed any.
Weight = Optional[int]

# POOL: what others pay; FLOOR: they pay less than SEQUENCER_FEE_MIN; CAP: they pay more than
# SEQUENCER_FEE_MAX, or than its maxFee; UNKNOWN: no node has told lately what they pay.
EstimateReason = Literal["POOL", "FLOOR", "CAP", "UNKNOWN"]

# What a fee was estimated from; null where SEQUENCER_FEE is a number. A fee that replaces another, or that
# follows one that expired, may be higher.
Estimate = Optional[EstimateObject]

# What became of telling its worker how it ended: of the callback that is due, or else of the last one. Null
# while none is.
Callback = Optional[CallbackObject]

Claim = Optional[ClaimObject]

# What became of one item of a batch: a transaction or a problem.
BatchResult = Union[BatchResult1, BatchResult2]

# Queues whose names begin so; not beside key.
QueuePrefix = Optional[str]

# The queues that the API keys of this name are limited to. A name whose keys are for all queues is refused.
TenantKey = Optional[str]

ProverId = str

# One change. from and to are states of the transaction, equal where only its queue moved on or code says all;
# from is null for a new transaction, to for one that was removed. Events of queues and senders have a code
# and no states. queueFrom and queueTo are what the queue shows before and after it, as GET /queues does: the
# state of what is under way, of several that of the first. They are equal where it did not move, as in an
# event of one behind the first, and null for senders. Each queueFrom is the queueTo of the queue's event
# before: a follower misses no state that was stored.
Event = TypedDict(
    "Event",
    {
        # <epoch>-<number>. The epoch changes when the store has lost events.
        "id": str,
        "at": Time,
        "uid": UidOrNone,
        "queue": Text,
        "type": Text,
        "sender": Text,
        "from": Optional[State],
        "to": Optional[State],
        "queueFrom": Optional[QueueState],
        "queueTo": Optional[QueueState],
        "attempt": Optional[int],
        "code": Text,
        # Whose word it was: the name of the key by which a person, or a program for one, paused, cancelled,
        # retried, resolved, removed, drained … it. Null for what happened by itself, for posts, and where
        # nobody needs a key.
        "actor": Text,
    },
    total=True,
)

ClaimUid = str

ShortUid = str

# A field element or scalar: an integer of any size, or a string.
Element = Union[int, str]

# A transaction to accept. Its type says what its data has to be.
NewTransaction = Union[
    NewCreateClaimVotingAccount,
    NewSendClaimVote,
    NewCreateVotingBatchesAccount,
    NewReceiveVotesBatch,
    NewCommitAllVotingBatches,
    NewSubmitBatch,
    NewOtherTransaction,
]

WebhookId = str

WebhookDelivery = TypedDict(
    "WebhookDelivery",
    {
        # Its id.
        "event": str,
        "at": Time,
        "try": int,
        "delivered": bool,
        # What the endpoint answered. Its words are never shown.
        "status": Optional[int],
        # Why there was no answer. REFUSED_ADDRESS: it is in no public network, and in none of
        # SEQUENCER_WEBHOOKS_PRIVATE.
        "failure": Optional[Literal["TIMEOUT", "REFUSED_ADDRESS", "UNREACHABLE"]],
        "tookMs": int,
    },
    total=True,
)

# What an endpoint gets: an event as those who follow the events get it, with its transaction as it was when
# this was sent; null where it is about none, or that is gone.
WebhookEvent = TypedDict(
    "WebhookEvent",
    {
        # The same as webhook-id: <epoch>-<number>, or ping-<number> for a test.
        "id": str,
        "at": Time,
        "uid": UidOrNone,
        "queue": Text,
        "type": Text,
        "sender": Text,
        "from": Optional[State],
        "to": Optional[State],
        "queueFrom": Optional[QueueState],
        "queueTo": Optional[QueueState],
        "attempt": Optional[int],
        "code": Text,
        "actor": Text,
        "transaction": Optional[Transaction],
    },
    total=True,
)


class UnknownType(SequencerError):
    """UNKNOWN_TYPE"""


class InvalidData(SequencerError):
    """INVALID_DATA"""


class KeyReused(SequencerError):
    """KEY_REUSED"""


class NotFound(SequencerError):
    """NOT_FOUND"""


class NotCancellable(SequencerError):
    """NOT_CANCELLABLE"""


class NotRetryable(SequencerError):
    """NOT_RETRYABLE"""


class MightStillLand(SequencerError):
    """MIGHT_STILL_LAND"""


class Contradicted(SequencerError):
    """CONTRADICTED"""


class SenderBound(SequencerError):
    """SENDER_BOUND"""


class SenderExists(SequencerError):
    """SENDER_EXISTS"""


class ProverExists(SequencerError):
    """PROVER_EXISTS"""


class WebhookExists(SequencerError):
    """WEBHOOK_EXISTS"""


class WebhookConfigured(SequencerError):
    """WEBHOOK_CONFIGURED"""


class TooManyWebhooks(SequencerError):
    """TOO_MANY_WEBHOOKS"""


class TooLarge(SequencerError):
    """TOO_LARGE"""


class BadCursor(SequencerError):
    """BAD_CURSOR"""


class BadRequest(SequencerError):
    """BAD_REQUEST"""


class StoreUnavailable(SequencerError):
    """STORE_UNAVAILABLE"""


class StoreFull(SequencerError):
    """STORE_FULL"""


class TooManyWaiting(SequencerError):
    """TOO_MANY_WAITING"""


class RateLimited(SequencerError):
    """RATE_LIMITED"""


class TooSlow(SequencerError):
    """TOO_SLOW"""


class Unauthorized(SequencerError):
    """UNAUTHORIZED"""


class Forbidden(SequencerError):
    """FORBIDDEN"""


class EventsGone(SequencerError):
    """EVENTS_GONE"""


class SimulatorsBusy(SequencerError):
    """SIMULATORS_BUSY"""


#: The error of each code.
BY_CODE = {
    "UNKNOWN_TYPE": UnknownType,
    "INVALID_DATA": InvalidData,
    "KEY_REUSED": KeyReused,
    "NOT_FOUND": NotFound,
    "NOT_CANCELLABLE": NotCancellable,
    "NOT_RETRYABLE": NotRetryable,
    "MIGHT_STILL_LAND": MightStillLand,
    "CONTRADICTED": Contradicted,
    "SENDER_BOUND": SenderBound,
    "SENDER_EXISTS": SenderExists,
    "PROVER_EXISTS": ProverExists,
    "WEBHOOK_EXISTS": WebhookExists,
    "WEBHOOK_CONFIGURED": WebhookConfigured,
    "TOO_MANY_WEBHOOKS": TooManyWebhooks,
    "TOO_LARGE": TooLarge,
    "BAD_CURSOR": BadCursor,
    "BAD_REQUEST": BadRequest,
    "STORE_UNAVAILABLE": StoreUnavailable,
    "STORE_FULL": StoreFull,
    "TOO_MANY_WAITING": TooManyWaiting,
    "RATE_LIMITED": RateLimited,
    "TOO_SLOW": TooSlow,
    "UNAUTHORIZED": Unauthorized,
    "FORBIDDEN": Forbidden,
    "EVENTS_GONE": EventsGone,
    "SIMULATORS_BUSY": SimulatorsBusy,
}


class Routes:
    """A method for each route, as the document describes it."""

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        raise NotImplementedError

    def get_fees(self) -> Fees:
        """What others pay, what ours would pay, and what was spent. The pool is looked at only where
        SEQUENCER_FEE is auto: once a slot and at most once a minute, by one process for all, and only
        while there is work.
        """
        return self._ask("GET", "/api/v1/fees")

    def get_overview(self) -> Overview:
        """The whole in numbers. However many ask, the store is looked at twice a second at most."""
        return self._ask("GET", "/api/v1/overview")

    def get_history(self, *, over: Optional[Literal["hour", "day", "week"]] = None) -> History:
        """How it went over the last hour, day or week. As the processes have seen it: each tells once a
        minute, and one that is killed takes its last minute along.
        """
        return self._ask("GET", "/api/v1/history", query={"over": over})

    def get_session(self) -> Session:
        """Who asks."""
        return self._ask("GET", "/api/v1/session")

    def open_session(self, body: Login) -> Session:
        """Log a browser in. Sets a cookie that opens the same routes as the key, for twelve hours and as
        long as the key is known. No script can read it, and no other site can send it. A wrong key is
        told a second later, and only so many are looked at in a second, for each address and in sum:
        who waits longer than 20 seconds for that gets 429.
        """
        return self._ask("POST", "/api/v1/session", body=body)

    def close_session(self) -> None:
        """Log a browser out."""
        self._ask("DELETE", "/api/v1/session", kind="none")

    def list_provers(
        self,
        *,
        type: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> ProverPage:
        """List provers."""
        return self._ask("GET", "/api/v1/provers", query={"type": type, "limit": limit, "cursor": cursor})

    def add_prover(self, body: NewProver) -> Prover:
        """Register a prover."""
        return self._ask("POST", "/api/v1/provers", body=body)

    def get_prover(self, id: ProverId) -> Prover:
        """Read a prover."""
        return self._ask("GET", f"/api/v1/provers/{_segment(id)}")

    def remove_prover(self, id: ProverId) -> None:
        """Remove a prover. What it is at work on it may end; its answer is taken."""
        self._ask("DELETE", f"/api/v1/provers/{_segment(id)}", kind="none")

    def drain_prover(self, id: ProverId) -> Prover:
        """Take a prover out of use. What it is at work on it ends; it gets nothing new."""
        return self._ask("POST", f"/api/v1/provers/{_segment(id)}/drain")

    def resume_prover(self, id: ProverId) -> Prover:
        """Take a prover back into use."""
        return self._ask("POST", f"/api/v1/provers/{_segment(id)}/resume")

    def list_queues(
        self,
        *,
        prefix: Optional[str] = None,
        state: Optional[QueueState] = None,
        active: Optional[Literal["true", "false"]] = None,
        paused: Optional[Literal["true", "false"]] = None,
        order: Optional[Literal["oldest"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> QueuePage:
        """List queues. By name, all of them, unless it is asked for others. What changes its place while
        the pages are read may be missed, or come twice. A page looks at 10,000 at most, so it may be
        short, or empty, and not be the last.
        """
        return self._ask(
            "GET",
            "/api/v1/queues",
            query={
                "prefix": prefix,
                "state": state,
                "active": active,
                "paused": paused,
                "order": order,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def get_queue(self, name: QueueName) -> Queue:
        """Read a queue."""
        return self._ask("GET", f"/api/v1/queues/{_segment(name)}")

    def pause_queues(
        self,
        body: PauseCommand,
        *,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> BulkResult:
        """Pause all queues that a filter chooses. Those that there are, and by the beginnings of their
        names those that come to be later, until they are resumed by the same filter, or a wider one;
        GET /overview names these beginnings (stops). One request looks at and does some 10,000 at most:
        go on with nextCursor as cursor until it is null. To repeat a request is harmless.
        """
        return self._ask("POST", "/api/v1/queues/pause", query={"dryRun": dry_run}, body=body)

    def resume_queues(
        self,
        body: ResumeCommand,
        *,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> BulkResult:
        """Resume all queues that a filter chooses. Those that are paused, and those that come to be later:
        what was said of these beginnings of names, or of longer ones, is over; inside a wider one that
        is paused they are let run. One request looks at and does some 10,000 at most: go on with
        nextCursor as cursor until it is null. To repeat a request is harmless.
        """
        return self._ask("POST", "/api/v1/queues/resume", query={"dryRun": dry_run}, body=body)

    def pause_queue(self, name: QueueName, body: Optional[Pause] = None) -> Queue:
        """Pause a queue. What runs may finish; nothing further is begun."""
        return self._ask("POST", f"/api/v1/queues/{_segment(name)}/pause", body=body)

    def resume_queue(self, name: QueueName) -> Queue:
        """Resume a queue."""
        return self._ask("POST", f"/api/v1/queues/{_segment(name)}/resume")

    def widen_queue(self, name: QueueName, body: Width) -> Queue:
        """Set the width of a queue. From 2 on several transactions of it are in flight at successive
        nonces of its sender, and share blocks. A wider queue takes more at once; in one that is made
        narrower, what is in flight stays.
        """
        return self._ask("POST", f"/api/v1/queues/{_segment(name)}/width", body=body)

    def list_senders(
        self,
        *,
        state: Optional[QueueState] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> SenderPage:
        """List senders."""
        return self._ask("GET", "/api/v1/senders", query={"state": state, "limit": limit, "cursor": cursor})

    def add_sender(self, body: NewSender) -> Sender:
        """Register a sender."""
        return self._ask("POST", "/api/v1/senders", body=body)

    def get_sender(self, account_id: SenderId) -> Sender:
        """Read a sender."""
        return self._ask("GET", f"/api/v1/senders/{_segment(account_id)}")

    def remove_sender(self, account_id: SenderId) -> None:
        """Remove a sender. Not while it is bound to a queue: drain it first."""
        self._ask("DELETE", f"/api/v1/senders/{_segment(account_id)}", kind="none")

    def drain_sender(self, account_id: SenderId) -> Sender:
        """Take a sender out of use. It finishes its transaction, retries included."""
        return self._ask("POST", f"/api/v1/senders/{_segment(account_id)}/drain")

    def resume_sender(self, account_id: SenderId) -> Sender:
        """Take a sender back into use."""
        return self._ask("POST", f"/api/v1/senders/{_segment(account_id)}/resume")

    def get_health(self) -> GetHealthAnswer:
        """The process answers."""
        return self._ask("GET", "/healthz")

    def get_readiness(self, *, full: Optional[str] = None) -> Readiness:
        """The service works. Needs no key. Addresses of the service's own network stand in it only for a
        key that is for all queues, or where no keys are needed.
        """
        return self._ask("GET", "/readyz", query={"full": full})

    def get_metrics(self) -> str:
        """Figures for Prometheus."""
        return self._ask("GET", "/metrics", kind="text")

    def get_description(self) -> GetDescriptionAnswer:
        """This description."""
        return self._ask("GET", "/openapi.json")

    def get_codes(self) -> str:
        """What each code means, with cause and remedy. The page that type of a problem leads to."""
        return self._ask("GET", "/docs/codes", kind="text")

    def get_reference(self) -> str:
        """This description for people."""
        return self._ask("GET", "/docs", kind="text")

    def list_transactions(
        self,
        *,
        queue: Optional[QueueName] = None,
        state: Optional[State] = None,
        type: Optional[TypeName] = None,
        sender: Optional[SenderId] = None,
        error: Optional[str] = None,
        hash: Optional[str] = None,
        zk_app: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> TransactionPage:
        """List transactions. A page may be short and still have a nextCursor: no request looks at more
        than 10,000 entries, or goes on when a page holds 8 MiB of payloads.
        """
        return self._ask(
            "GET",
            "/api/v1/transactions",
            query={
                "queue": queue,
                "state": state,
                "type": type,
                "sender": sender,
                "error": error,
                "hash": hash,
                "zkApp": zk_app,
                "since": since,
                "until": until,
                "order": order,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def post_transaction(
        self,
        body: NewTransaction,
        *,
        idempotency_key: Optional[str] = None,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> Union[Transaction, Trial]:
        """Post a transaction. Answers when it is stored. With a uid it may be sent again as often as it
        takes: it is accepted once. The same uid with another queue, type, data (compared as JSON,
        numbers by their text), maxFee, notBefore or expiresAt: 409.
        """
        return self._ask(
            "POST",
            "/api/v1/transactions",
            query={"dryRun": dry_run},
            headers={"Idempotency-Key": idempotency_key},
            body=body,
        )

    def cancel_transactions(
        self,
        body: BulkCommand,
        *,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> BulkResult:
        """Cancel all that a filter chooses. Cancels what is not final and has not been asked to cancel
        yet. One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it
        is null. To repeat a request is harmless.
        """
        return self._ask("POST", "/api/v1/transactions/cancel", query={"dryRun": dry_run}, body=body)

    def retry_transactions(
        self,
        body: BulkCommand,
        *,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> BulkResult:
        """Retry all that a filter chooses. Retries what is FAILED or UNRESOLVED. One request looks at and
        does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request
        is harmless.
        """
        return self._ask("POST", "/api/v1/transactions/retry", query={"dryRun": dry_run}, body=body)

    def delete_transactions(
        self,
        body: BulkCommand,
        *,
        dry_run: Optional[Literal["", "true", "false"]] = None,
    ) -> BulkResult:
        """Remove all that a filter chooses. Removes what is FAILED or UNRESOLVED, or DONE past finality;
        what may still land is refused. One request looks at and does some 10,000 at most: go on with
        nextCursor as cursor until it is null. To repeat a request is harmless.
        """
        return self._ask("POST", "/api/v1/transactions/delete", query={"dryRun": dry_run}, body=body)

    def get_transaction(self, uid: Uid, *, wait: Optional[str] = None) -> Transaction:
        """Read a transaction."""
        return self._ask("GET", f"/api/v1/transactions/{_segment(uid)}", query={"wait": wait})

    def delete_transaction(self, uid: Uid) -> None:
        """Remove a transaction. FAILED, UNRESOLVED, or DONE past finality; with no attempt open."""
        self._ask("DELETE", f"/api/v1/transactions/{_segment(uid)}", kind="none")

    def explain_transaction(self, uid: Uid) -> Explanation:
        """Say what it waits for and what happens next. A key that is limited to some queues is told of
        senders how many are bound and out of use, and neither which nor why.
        """
        return self._ask("GET", f"/api/v1/transactions/{_segment(uid)}/explain")

    def get_ledger_batch(self, uid: Uid) -> LedgerBatch:
        """Say what a batch is to Hyperledger Grid. Of a transaction for a ledger that takes batches. The
        receipts of a committed one are asked of its ledger in each call.
        """
        return self._ask("GET", f"/api/v1/transactions/{_segment(uid)}/batch")

    def retry_transaction(self, uid: Uid) -> Transaction:
        """Retry a transaction. FAILED or UNRESOLVED goes back to WAITING, with fresh retries, at its old
        place in the queue.
        """
        return self._ask("POST", f"/api/v1/transactions/{_segment(uid)}/retry")

    def cancel_transaction(self, uid: Uid) -> Transaction:
        """Cancel a transaction."""
        return self._ask("POST", f"/api/v1/transactions/{_segment(uid)}/cancel")

    def resolve_transaction(self, uid: Uid, body: Resolution) -> Transaction:
        """Say what became of an attempt. Settles an attempt of unknown outcome. Refused where the chain
        contradicts it, and as MIGHT_STILL_LAND where it would leave its queue while others, made on it,
        are in flight.
        """
        return self._ask("POST", f"/api/v1/transactions/{_segment(uid)}/resolve", body=body)

    def list_webhooks(self) -> WebhookPage:
        """List webhook endpoints."""
        return self._ask("GET", "/api/v1/webhooks")

    def add_webhook(self, body: NewWebhook) -> WebhookWithSecret:
        """Add a webhook endpoint. Each event goes to the endpoint as a POST by Standard Webhooks 1.0: in
        order for each transaction, at least once. Its body is a WebhookEvent.
        """
        return self._ask("POST", "/api/v1/webhooks", body=body)

    def get_webhook(self, id: WebhookId) -> Webhook:
        """Read a webhook endpoint."""
        return self._ask("GET", f"/api/v1/webhooks/{_segment(id)}")

    def edit_webhook(self, id: WebhookId, body: WebhookEdit) -> Webhook:
        """Change a webhook endpoint. Where it is, or what it is told, from its next event on. Its secret
        stays, and so does what is parked of it. What is left out stays as it is; null for a list
        chooses everything.
        """
        return self._ask("PATCH", f"/api/v1/webhooks/{_segment(id)}", body=body)

    def remove_webhook(self, id: WebhookId) -> None:
        """Remove a webhook endpoint."""
        self._ask("DELETE", f"/api/v1/webhooks/{_segment(id)}", kind="none")

    def enable_webhook(self, id: WebhookId) -> Webhook:
        """Take a webhook endpoint back into use. It goes on from where it was."""
        return self._ask("POST", f"/api/v1/webhooks/{_segment(id)}/enable")

    def disable_webhook(self, id: WebhookId) -> Webhook:
        """Send nothing to a webhook endpoint. Its events are kept as those of an endpoint that does not
        answer.
        """
        return self._ask("POST", f"/api/v1/webhooks/{_segment(id)}/disable")

    def ping_webhook(self, id: WebhookId) -> WebhookDelivery:
        """Send a test event. Once, at once, and also to an endpoint that is disabled. Its code is PING,
        and its id no event's.
        """
        return self._ask("POST", f"/api/v1/webhooks/{_segment(id)}/ping")

    def rotate_webhook_secret(self, id: WebhookId, body: Optional[NewSecret] = None) -> WebhookWithSecret:
        """Give a webhook endpoint another secret."""
        return self._ask("POST", f"/api/v1/webhooks/{_segment(id)}/secret", body=body)

    def replay_webhook(self, id: WebhookId, body: Optional[Replay] = None) -> Webhook:
        """Try again what is parked, or deliver events once more."""
        return self._ask("POST", f"/api/v1/webhooks/{_segment(id)}/replay", body=body)

    def list_webhook_deliveries(self, id: WebhookId, *, limit: Optional[int] = None) -> WebhookDeliveryPage:
        """List the last tries."""
        return self._ask("GET", f"/api/v1/webhooks/{_segment(id)}/deliveries", query={"limit": limit})

    def list_parked_events(
        self,
        id: WebhookId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> ParkedPage:
        """List what is parked."""
        return self._ask(
            "GET",
            f"/api/v1/webhooks/{_segment(id)}/parked",
            query={"limit": limit, "cursor": cursor},
        )

    def discard_parked_events(self, id: WebhookId, *, lane: Optional[str] = None) -> None:
        """Forget what is parked."""
        self._ask("DELETE", f"/api/v1/webhooks/{_segment(id)}/parked", kind="none", query={"lane": lane})
