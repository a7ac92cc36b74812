export { effectsOf } from './effects.js';
export { Retry, Unresolvable } from './errors.js';
export { parseJSON } from './json.js';
export type { Log } from './log.js';
export type { PayerOption } from './payer.js';
export type { SignerOption } from './signer.js';
export type { NetworkOption } from './network.js';
export type {
  Answered,
  Attempt,
  Context,
  Dispatched,
  Dispatcher,
  Outcome,
  PreviousAttempt,
  Txn,
  TxnError,
  TxnResult,
  WorkerOptions,
} from './types.js';
export { preferNative, type Prover } from './prover.js';
export { proveNothing } from './transaction.js';
export { createWorker, type Worker } from './worker.js';
