import { isDeepStrictEqual } from 'node:util';
import type { PrivateKey } from 'o1js';
import { type Cover, Pending } from './ahead.js';
import { codes, Failure, failureOf, NotResignable } from './errors.js';
import { Joined } from './join.js';
import { toJSON } from './json.js';
import { Busy, type Line } from './line.js';
import { withFields, type Log } from './log.js';
import type { Network } from './network.js';
import type { CallBody } from './protocol.js';
import { Conflict, type CallKey, type Results } from './results.js';
import { currentTrace, traceId } from './trace.js';
import { build, check, prove, resign, send, sign, type Signed } from './transaction.js';
import type { Context, Dispatched, Dispatcher, Txn, TxnResult } from './types.js';

/** How many transactions' own signers are remembered. */
const mostRemembered = 1000;

/** Makes transactions: each attempt once, however often it is asked for. */
export class Maker {
  private readonly making = new Joined<TxnResult>();
  private readonly sending = new Joined<TxnResult>();
  private readonly attempts = new Map<string, CallKey>();
  private readonly signers = new Map<string, PrivateKey[]>(); // by uid, never on disk

  constructor(
    private readonly payer: PrivateKey,
    private readonly network: Network,
    private readonly results: Results,
    private readonly line: Line,
    private readonly log: Log,
  ) {}

  /** Builds, proves and signs. Throws Busy, Conflict. */
  async prove(dispatcher: Dispatcher, body: CallBody): Promise<TxnResult> {
    const work = () => this.line.run(() => this.attempt(body, () => this.make(dispatcher, body)));
    return upon(body, await this.once(body, work));
  }

  /** Signs bytes again that this worker has signed. Throws Busy, Conflict, NotResignable. */
  async resign(dispatcher: Dispatcher, body: CallBody & { signed: string }): Promise<TxnResult> {
    const work = () => this.attempt(body, () => this.signAgain(dispatcher, body));
    return upon(body, await this.once(body, () => this.line.run(work, { first: true })));
  }

  /** Proves, and sends. Throws Busy, Conflict. */
  dispatch(dispatcher: Dispatcher, body: CallBody): Promise<TxnResult> {
    return this.sending.do(`${keyOf(body)} ${toJSON(body.attempt)}`, async () => {
      const { signed, ...result } = await this.prove(dispatcher, body);
      if (signed === undefined) return result;
      return this.attempt(body, async () => {
        await send(signed);
        return result;
      });
    });
  }

  context(body: Pick<CallBody, 'txData' | 'sender'>, attempt?: CallBody['attempt'], cover?: Cover): Context {
    const { uid, type } = body.txData;
    const trace = currentTrace();
    return {
      ...(attempt && { attempt }),
      ...(trace && { traceparent: trace }),
      payer: this.payer.toPublicKey(),
      fetchAccount: (publicKey, tokenId) => this.network.fetchAccount(publicKey, tokenId, cover),
      pendingEvents: (publicKey, tokenId) => cover?.pending.events(publicKey, tokenId) ?? [],
      pendingActions: (publicKey, tokenId) => cover?.pending.actions(publicKey, tokenId) ?? [],
      log: withFields(this.log, {
        uid,
        type,
        ...(attempt && { attempt: attempt.number }),
        ...(trace && { trace_id: traceId(trace) }),
      }),
    };
  }

  /** Answers from what is kept or is being made, before it makes anything. Errors are not kept. */
  private async once(body: CallBody, make: () => Promise<TxnResult>): Promise<TxnResult> {
    const call: CallKey = { uid: body.txData.uid, attempt: body.attempt };
    const key = keyOf(body);
    const known = this.attempts.get(key);
    if (known && !isDeepStrictEqual(known.attempt, call.attempt)) throw new Conflict(call);
    this.attempts.set(key, call);
    return this.making.do(key, async () => {
      try {
        const kept = await this.results.find(call);
        if (kept) return kept;
        const result = await make();
        if (!result.error) await this.keep(call, result);
        return result;
      } finally {
        this.attempts.delete(key);
      }
    });
  }

  /** A result that cannot be kept is still a result: the sequencer stores it too. */
  private async keep(call: CallKey, result: TxnResult): Promise<void> {
    try {
      await this.results.keep(call, result);
    } catch (error) {
      this.log.error({ uid: call.uid, err: error }, 'cannot keep a result: a repeated call would be proved again');
    }
  }

  /** Turns whatever is thrown into a result, and logs how it went. */
  private async attempt(body: CallBody, work: () => Promise<TxnResult>): Promise<TxnResult> {
    const { log } = this.context(body, body.attempt);
    const begun = Date.now();
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof NotResignable || thrown instanceof Busy) throw thrown;
      const error = failureOf(thrown, `making ${body.txData.type}`);
      log.warn({ code: error.code, exception: error.exception, ms: Date.now() - begun }, error.message);
      return { hash: '', done: null, error, data: null };
    }
  }

  private async make(dispatcher: Dispatcher, body: CallBody): Promise<TxnResult> {
    this.checkSender(body);
    const payer = this.payer.toPublicKey();
    const pending = body.ahead?.length ? await Pending.read(body.ahead, payer.toBase58()) : undefined;
    await this.network.open();
    if (!pending) return this.makeUpon(dispatcher, body);
    return this.network.covering(pending, payer, body.attempt.nonce, (cover) => this.makeUpon(dispatcher, body, cover));
  }

  private async makeUpon(dispatcher: Dispatcher, body: CallBody, cover?: Cover): Promise<TxnResult> {
    const { attempt } = body;
    const txn = txnOf(body);
    const context = this.context(body, attempt, cover);
    const payer = context.payer;
    const lap = stopwatch();
    let said: Dispatched = {};
    const tx = await build(payer, attempt, async () => {
      said = (await dispatcher.dispatch(txn, context)) ?? {};
    });
    const data = said.data ?? null;
    if (said.done && Object.keys(said.done).length > 0) return { hash: '', done: said.done, error: null, data };
    check(txn.type, payer, tx.transaction);
    const buildMs = lap();
    await prove(txn.type, tx, this.network.proofs);
    const proveMs = lap();
    this.remember(txn.uid, said.signers);
    const signed = await sign(tx, [this.payer, ...(await this.keysFor(dispatcher, txn, context))]);
    const ahead = body.ahead?.length ?? 0;
    context.log.info({ hash: signed.hash, ahead, buildMs, proveMs, signMs: lap() }, 'proved and signed');
    return success(signed, data);
  }

  private async signAgain(dispatcher: Dispatcher, body: CallBody & { signed: string }): Promise<TxnResult> {
    const { attempt } = body;
    const context = this.context(body, attempt);
    this.checkSender(body);
    const lap = stopwatch();
    const signers = () => this.keysFor(dispatcher, txnOf(body), context);
    const signed = await resign(body.signed, this.payer, attempt, signers);
    context.log.info({ hash: signed.hash, signMs: lap() }, 'signed again');
    return success(signed, await this.dataOf(body));
  }

  /** What the dispatch of the attempt that was proved has returned as data. */
  private async dataOf({ txData, attempt }: CallBody): Promise<TxnResult['data']> {
    for (const { number } of [...attempt.previous].reverse()) {
      const result = await this.results.get(txData.uid, number);
      if (result) return result.data;
    }
    return null;
  }

  private checkSender({ sender }: CallBody): void {
    const own = this.payer.toPublicKey().toBase58();
    if (sender.accountId !== own) {
      throw new Failure(
        codes.unavailable,
        `this worker signs for ${own}, not for ${sender.accountId}: correct the sender's worker URL`,
      );
    }
  }

  private async keysFor(dispatcher: Dispatcher, txn: Txn, context: Context): Promise<PrivateKey[]> {
    return [...((await dispatcher.signers?.(txn, context)) ?? []), ...(this.signers.get(txn.uid) ?? [])];
  }

  private remember(uid: string, signers: PrivateKey[] | undefined): void {
    if (!signers?.length) return;
    this.signers.delete(uid);
    this.signers.set(uid, signers);
    for (const oldest of this.signers.keys()) {
      if (this.signers.size <= mostRemembered) break;
      this.signers.delete(oldest);
    }
  }
}

export function txnOf({ txData, sender }: Pick<CallBody, 'txData' | 'sender'>): Txn {
  const { expiresAt, ...rest } = txData;
  return {
    ...rest,
    queue: sender.queue,
    retries: sender.retries,
    ...(expiresAt && { expiresAt: new Date(expiresAt) }),
  };
}

const keyOf = ({ txData, attempt }: CallBody) => `${txData.uid} ${attempt.number}`;

/** What an answer was built upon is as the call has it: what is kept may be older. */
function upon({ ahead }: CallBody, result: TxnResult): TxnResult {
  const last = ahead?.at(-1);
  return last ? { ...result, on: last.hash } : result;
}

const success = ({ signed, hash }: Signed, data: TxnResult['data']): TxnResult => ({
  hash,
  done: null,
  error: null,
  data,
  signed,
});

/** Milliseconds since the last lap. */
function stopwatch(): () => number {
  let last = Date.now();
  return () => {
    const ms = Date.now() - last;
    last += ms;
    return ms;
  };
}
