// Codes of errors and reasons in plain words. What is not here is said by the API itself.

const errors = [
  [/^CANCELLED$/, 'It was cancelled by request.'],
  [/^OUTCOME_UNKNOWN$/, 'It may have been sent, and nothing shows what became of it: a person has to say.'],
  [/^EXPIRED$/, 'No block took it before it expired, or its deadline came. A higher fee often helps.'],
  [/^DEADLINE_UNKEPT$/, 'Its worker sends by itself, so that nothing would keep its deadline.'],
  [/^NONCE_TAKEN$/, 'Something else signed for the same account and used its nonce.'],
  [/^NONCE_IGNORED$/, 'Its worker used another nonce than it was given.'],
  [/^NONCE_BEHIND$|^CHAIN_UNAVAILABLE$/, 'The nodes lag behind, or too few of them are synced.'],
  [/^OVERTAKEN$/, 'An earlier transaction of its queue came back while it was proved.'],
  [/^REPRICED$/, 'It weighs other than was supposed, so it was signed again for another fee, and never left.'],
  [/^NOT_RAISED$/, 'Its fee could not be raised; the earlier attempt goes on waiting.'],
  [/^WORKER_UNAVAILABLE$|^502$/, 'Its worker, or what the worker needs, could not be reached.'],
  [/^TYPE_NOT_SERVED$/, 'Its worker proves other types, and not this one.'],
  [/^LOST$/, 'Its worker died, or its answer was lost on the way: a gateway may wait for less than a proof takes.'],
  [/^WORKER_MISMATCH$/, 'Its worker signed something else than it was asked for.'],
  [/^NOT_TOGETHER$/, 'It may not be in flight along with others of its queue, so it is made again as the first of them.'],
  [/^500$/, 'Its worker says that no retry can mend this.'],
  [/app_state_\d+_precondition_unsatisfied/i, 'The state of the contract was no longer what the proof was made for.'],
  [/nonce_precondition_unsatisfied/i, 'The nonce of an account was no longer what the proof was made for.'],
  [/balance_precondition_unsatisfied/i, 'The balance of an account was not what the proof was made for.'],
  [/precondition_unsatisfied/i, 'Something that the proof was made for had changed on the chain.'],
  [/insufficient_(fund|balance|fee|replace)/i, 'The fee, or the funds of the account, were too small.'],
  [/invalid_(proof|signature)/i, 'The proof or the signature was not valid.'],
];

/** What an error means, "" if its own message has to do. */
export function meaning(error) {
  if (!error) return '';
  return errors.find(([pattern]) => pattern.test(error.code))?.[1] ?? '';
}

const reasons = {
  NO_PROCESS: 'Free, and no process that runs can bind it now',
  RESTED: 'Rests: its worker could not be reached, or asked for time',
  DRAINING: 'Drained: it takes no new work',
  STOPPED_NONCE: 'Stopped: something else used its account',
  LOW_BALANCE: 'Its balance is too low for fees',
  WRONG_ACCOUNT: 'Its worker signs for another account',
  WRONG_NETWORK: 'Its worker signs for another network',
  OUTCOME_UNKNOWN: 'A person must say what became of what its worker sent',
};

export const why = (reason) => reasons[reason] ?? reason;

const outcomes = {
  prepared: ['DISPATCHING', 'Planned; its worker proves and signs'],
  signed: ['DISPATCHING', 'Signed, on its way to the nodes'],
  sent: ['REVISION', 'A node took it'],
  pooled: ['REVISION', 'In the pool, waiting for a block'],
  included: ['DONE', 'In a block, and it took effect'],
  failed: ['FAILED', 'In a block, and it failed there'],
  expired: ['RETRY', 'Expired: no block took it in time'],
  replaced: ['RETRY', 'Replaced: its nonce was used by another one'],
  refused: ['FAILED', 'Refused by every node: it is nowhere'],
  unknown: ['UNRESOLVED', 'Unknown: it may have been sent'],
};

/** What became of an attempt: a mark and words. */
export function outcome(attempt) {
  if (attempt.outcome === 'prepared' && attempt.error) return ['FAILED', 'Its worker could not make it'];
  return outcomes[attempt.outcome] ?? ['WAITING', attempt.outcome];
}

const estimates = {
  POOL: 'what others pay', FLOOR: 'others pay less than the least fee', CAP: 'others pay more than the highest fee',
  UNKNOWN: 'no node has told lately what others pay',
};

/** Why a fee was estimated as it was. */
export const estimated = (code) => estimates[code] ?? 'SEQUENCER_FEE is a number';

const actions = {
  BIND: 'A free sender is bound to its queue', ASK_WORKER: 'Its worker is asked to prove and sign', SEND: 'It is given to the nodes',
  SUBMIT: 'It is posted to its ledger',
  WATCH: 'Its chain or ledger is asked again', SEND_AGAIN: 'The same bytes are sent again', RAISE_FEE: 'It is sent again with a higher fee',
  WEIGH: 'It is decided whether to try again', RETRY: 'It is tried again', FINISH: 'It becomes done', END: 'It ends',
  FINAL: 'It is watched no longer', REMOVE: 'Its record is removed', TELL: 'Its worker is told how it ended',
  RESUME: 'Somebody has to resume its queue', DECIDE: 'Somebody may retry or delete it', RESOLVE: 'Somebody has to say what became of it', NONE: '',
};

export const action = (code) => actions[code] ?? code;
