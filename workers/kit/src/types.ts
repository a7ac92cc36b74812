import type { Account, Field, PrivateKey, PublicKey, SmartContract } from 'o1js';
import type { Log } from './log.js';
import type { NetworkOption } from './network.js';
import type { PayerOption } from './payer.js';
import type { SignerOption } from './signer.js';

/** What a worker is made of. */
export interface WorkerOptions {
  /** The key of the fee payer whose transactions this worker makes, one payer per worker. Or there is a {@link signer}. */
  payer?: PayerOption;
  /** Who has the payer's key instead, so that no process of this worker has it. */
  signer?: SignerOption;
  /**
   * True for a prover of the sequencer's pool, in the place of both: it has no payer's key, takes calls for
   * any sender, and answers what is proved, which that sender's signer signs.
   */
  prover?: boolean;
  network: NetworkOption;
  /** By type, as the sequencer names it. */
  dispatchers: Record<string, Dispatcher>;
  /** Default: the environment's PORT, else 3000. 0 takes any free port. */
  port?: number;
  /** Default 127.0.0.1. Any other than loopback needs a token. */
  host?: string;
  /** The Bearer token that callers must bring. Default: WORKER_TOKEN of the environment, else none. */
  token?: string;
  /**
   * Folder of the results that are kept for repeated calls; several workers may
   * share it. It holds no secrets. Default: `.worker-store`.
   */
  store?: string;
  /** Folder of compiled contracts; several workers may share it. Default: o1js's own. */
  cache?: string;
  /** false makes dummy proofs, for networks that do not check them. Default true. */
  proofsEnabled?: boolean;
  /** Default: JSON lines on the standard output. */
  log?: Log;
  /**
   * How many transactions are proved at a time, 1 to 32. More than one are proved in as many
   * processes of their own, each of which runs this program again. Default 1, in this process.
   */
  provers?: number;
  /** How many calls wait while as many as can be are proved; further ones get 503. Default 8, and 0 of a prover. */
  maxWaiting?: number;
  /**
   * How many seconds a transaction may be in the making; then it is answered with an error. Of
   * several provers the one at work is ended; a single one is held up until it is restarted, and
   * says so. Default 1800.
   */
  callSeconds?: number;
  /**
   * How many seconds who asks for a transaction again that is being made waits for it; then it is
   * answered with 202, to be asked again. Below the time limit of whatever is between. Default 25.
   */
  joinSeconds?: number;
  /** How many seconds a callback may take; then it is answered with an error, and runs afresh when it is told again. Default 300. */
  callbackSeconds?: number;
  /** How many results are kept in the store, the youngest. Default 1000. */
  maxResults?: number;
}

/**
 * How transactions of one type are made. Calls come one at a time, for o1js
 * builds and proves one transaction at a time; only the callbacks may run
 * beside them. With several provers each has its own copy of the dispatcher,
 * and callbacks and signing again have one more.
 */
export interface Dispatcher {
  /** Compiled once, when the worker starts. */
  contracts?: ContractClass[];
  /**
   * Makes the account updates, inside `Mina.transaction`: it calls the
   * contracts. Fee payer, fee, nonce, memo and validUntil are not its business.
   * o1js runs it at least twice for one transaction, so it must have no other
   * effects.
   *
   * It throws {@link Unresolvable} only for what no later try can mend, for that
   * ends the transaction for good; all else that it throws is tried again.
   */

  dispatch(txn: Txn, context: Context): Promise<Dispatched | void>;
  /**
   * The keys, besides the payer's, that sign this transaction. Asked when it is
   * signed, and when it is signed again. Kept nowhere.
   */
  signers?(txn: Txn, context: Context): PrivateKey[] | Promise<PrivateKey[]>;
  /**
   * The transaction is in a block as deep as the sequencer wants it. May be
   * called more than once for the same one; if it throws, it is called again.
   * It must not build transactions. What it returns, up to 4 KB of JSON, is shown with the transaction and
   * given to its next callback as {@link Outcome.answered}.
   */
  onSuccess?(txn: Txn, outcome: Outcome, context: Context): Promise<Answered | void> | Answered | void;
  /** The transaction was given up; otherwise as onSuccess. */
  onFailure?(txn: Txn, outcome: Outcome, context: Context): Promise<Answered | void> | Answered | void;
  /** Retries after the first try. Default: the sequencer's. */
  maxRetries?: number;
}

/** A contract, or a ZkProgram that one verifies; in an order in which they compile. */
export type ContractClass = typeof SmartContract | Compilable;

/** What `ZkProgram()` returns, as far as it matters here. */
export interface Compilable {
  name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- o1js's options differ between its versions
  compile(options?: any): Promise<unknown>;
}

/** What a dispatch may say besides its account updates. */
export interface Dispatched {
  /**
   * Kept with the attempt. That of the attempt that landed is what callbacks get
   * as the transaction's data, and what the sequencer shows, in place of what was
   * posted: repeat in it what they need of that. Empty counts as none.
   */
  data?: Record<string, unknown>;
  /** Keys that sign, for keys that only the dispatch knows. See {@link Dispatcher.signers}. */
  signers?: PrivateKey[];
  /** Not empty: the transaction is finished without a block, nothing is signed. */
  done?: Record<string, unknown>;
}

/** A transaction of the sequencer. */
export interface Txn<Data = Payload> {
  /** Unique, but not secret. */
  uid: string;
  type: string;
  /**
   * For dispatch and signers: as it was posted. For callbacks: what the dispatch
   * of the attempt that landed returned as data, or what was posted where it
   * returned none. Integers beyond 2^53 are bigints, so that no field element
   * loses digits.
   */
  data: Data;
  queue: string;
  /** Retry dispatches begun so far. */
  retries: number;
  /** Its deadline: the chain takes nothing of it after that, for no validUntil lies beyond. Absent if it has none. */
  expiresAt?: Date;
}

/** Any JSON object. Nothing in it has been checked but what the sequencer's type checks. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- it is the dispatcher that knows its fields
export type Payload = Record<string, any>;

/** One try to bring a transaction into a block. Fees are decimal strings in nanomina. */
export interface Attempt {
  number: number;
  nonce: number;
  fee: string;
  /** The last global slot since genesis that may include it; null: no end. */
  validUntil: number | null;
  memo: string;
  previous: PreviousAttempt[];
  /** A digest of what it is built upon, where that is not the chain alone. */
  base?: string;
}

export interface PreviousAttempt {
  number: number;
  hash: string;
  nonce: number;
  fee: string;
}

/** What a dispatcher is told beside the transaction. */
export interface Context {
  /** The attempt that is being made; undefined in callbacks. */
  attempt?: Attempt;
  /** The fee payer's public key. */
  payer: PublicKey;
  /**
   * Reads an account from the node that this transaction is built on; undefined
   * if it does not exist. Throws if no node answers. Where commands of the queue
   * are in flight before this transaction, it is the account as they leave it.
   * In callbacks, and to sign again, it is what a synced node has now.
   */
  fetchAccount: (publicKey: PublicKey | string, tokenId?: Field) => Promise<Account | undefined>;
  /**
   * What the commands in flight before this transaction emit of an account, oldest
   * first: an event is its fields in decimals. An archive may have the first of them.
   */
  pendingEvents: (publicKey: PublicKey | string, tokenId?: Field) => string[][];
  /** What they dispatch to it: the actions of each account update that has any. */
  pendingActions: (publicKey: PublicKey | string, tokenId?: Field) => string[][][];
  /** The trace context (W3C traceparent) that the sequencer has sent, for calls of your own; undefined if it is not traced. */
  traceparent?: string;
  /** Carries the uid, type and attempt, and the trace_id of what is traced. */
  log: Log;
}

/** How a transaction ended, for callbacks. */
export interface Outcome {
  /** Of the attempt in the block; empty if there is none. */
  hash: string;
  /** The worker's own `done`, if it finished without a block. */
  done: unknown;
  error: TxnError | null;
  /** What the deciding attempt's dispatch returned as data, if anything. */
  data: Payload | null;
  /** What the callback before this one returned, of a transaction that had ended and was put back. */
  answered?: Payload;
}

/** What a callback may return. */
export type Answered = Record<string, unknown>;

export interface TxnError {
  code: string;
  message: string;
  exception: string | null;
}

/** The answer to prove, resign and dispatch. */
export interface TxnResult {
  hash: string;
  done: Record<string, unknown> | null;
  error: TxnError | null;
  data: Record<string, unknown> | null;
  /** The zkappCommand in JSON, proved and signed. */
  signed?: string;
  /** The same without its payer's signature, in what is kept until a signer has signed. Never answered. */
  proved?: string;
  /** The digest of the last command in flight before it, if there was one: see effectsOf. */
  on?: string;
  /** Of a build: what would be proved, a zkappCommand without authorizations, and what it is to be proved with. */
  built?: string;
  token?: string;
  /** Until when the token is good, if nothing happens to its process. */
  expires?: string;
}
