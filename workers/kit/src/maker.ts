import type { PrivateKey } from 'o1js';
import { type Cover, Pending } from './ahead.js';
import { Held } from './held.js';
import { codes, Failure, failureOf, NotResignable, TokenGone, unavailable, Unreadable } from './errors.js';
import { Busy, retrySoon } from './line.js';
import { withFields, type Log } from './log.js';
import type { Network } from './network.js';
import { namedPayer, type Payer } from './payer.js';
import { digestOf, type BuildBody, type CallBody } from './protocol.js';
import type { Signer } from './signer.js';
import { type Simulated, tryOut } from './simulate.js';
import { currentTrace, traceId } from './trace.js';
import {
  assign,
  build,
  check,
  hashOf,
  prove,
  proveNothing,
  resign,
  send,
  sign,
  type Made,
  type Unsigned,
} from './transaction.js';
import type { Context, Dispatched, Dispatcher, Txn, TxnResult } from './types.js';

/** How many transactions' own signers are remembered. */
const mostRemembered = 1000;

/** Where transactions are built, proved and signed: here, or in a process of its own. */
export interface Proves {
  /** Throws whatever goes wrong, Busy among it; TokenGone where what the token stands for is not there any more. */
  prove(body: CallBody): Promise<TxnResult>;
  /** What it would prove, with a token; then it does nothing else before that is proved, or let go. Throws as prove. */
  build(body: BuildBody): Promise<TxnResult>;
  /** When nothing can be asked of it any more. */
  readonly ended?: Promise<unknown>;
  /** Throws Busy, and Failure where it is not the transaction's. */
  simulate(body: CallBody): Promise<Simulated>;
}

/** Makes transactions, one at a time, and signs them again. */
export class Maker implements Proves {
  private readonly signers = new Map<string, PrivateKey[]>(); // by uid, never on disk
  private held: Held | undefined;

  /**
   * Without a `payer` it is for any that a call names, and nothing is signed for those. `proves` is false where
   * others prove, so that nothing else here chooses a node.
   */
  constructor(
    private readonly dispatchers: Record<string, Dispatcher>,
    private readonly payer: Payer | undefined,
    private readonly network: Network,
    private readonly log: Log,
    private readonly proves = true,
    private readonly signer?: Signer,
  ) {}

  /** Builds, proves and signs. */
  async prove(body: CallBody): Promise<TxnResult> {
    const payer = this.payerOf(body).publicKey;
    if (body.token !== undefined) return this.proveBuilt(body);
    await this.letGo();
    const pending = body.ahead?.length ? await Pending.read(body.ahead, payer.toBase58()) : undefined;
    await this.network.open();
    if (!pending) {
      await this.network.checkPayer(payer, body.attempt.nonce);
      return this.proveUpon(body);
    }
    return this.network.covering(pending, payer, (cover) => this.proveUpon(body, cover));
  }

  async build(body: BuildBody): Promise<TxnResult> {
    const payer = this.payerOf(body).publicKey;
    await this.letGo();
    const pending = body.ahead?.length ? await Pending.read(body.ahead, payer.toBase58()) : undefined;
    await this.network.open();
    return new Promise((resolve, reject) => {
      const built = (cover?: Cover) => this.buildUpon(body, cover, resolve);
      const over = pending ? this.network.covering(pending, payer, built) : built();
      // What it proves later tells by itself how that ends.
      over.catch(reject);
    });
  }

  async letGo(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    await held?.letGo();
  }

  /**
   * Makes it without proofs, and has Mina's transaction logic apply it to the accounts as they are, or as what
   * is ahead leaves them.
   */
  async simulate(body: CallBody): Promise<Simulated> {
    const { publicKey: payer, key } = this.payerOf(body);
    await this.letGo();
    if (!key) {
      throw unavailable(
        'a simulation has to be signed, and this worker has no key of the payer: its signer signs nothing on trial',
      );
    }
    try {
      const pending = body.ahead?.length ? await Pending.read(body.ahead, payer.toBase58()) : undefined;
      await this.network.open();
      if (pending) {
        const { nonce } = body.attempt;
        return await this.network.covering(pending, payer, (cover) => this.simulateUpon(body, nonce, cover));
      }
      const { nonce } = await this.network.payerAccount(payer);
      return await this.simulateUpon(body, Number(nonce));
    } catch (thrown) {
      if (thrown instanceof Unreadable) throw new Busy(thrown.message, retrySoon);
      throw thrown;
    }
  }

  private async simulateUpon(body: CallBody, nonce: number, cover?: Cover): Promise<Simulated> {
    const begun = Date.now();
    const context = this.context(body, { ...body.attempt, nonce }, { cover });
    const simulated = await this.tryOut(txnOf(body), context, cover).catch((thrown: unknown) => {
      if (thrown instanceof Busy || thrown instanceof Failure) throw thrown;
      const { code, message } = failureOf(thrown, `making ${body.txData.type}`);
      return { ok: false, failure: { index: null, code, message }, weight: 0, touched: [] };
    });
    const said = { ahead: body.ahead?.length ?? 0, ok: simulated.ok, code: simulated.failure?.code };
    context.log.info({ ...said, ms: Date.now() - begun }, 'simulated');
    return simulated;
  }

  private async tryOut(txn: Txn, context: Context, cover?: Cover): Promise<Simulated> {
    const { tx, said } = await this.made(txn, context);
    if (isDone(said)) return { ok: true, failure: null, weight: 0, touched: [] };
    check(txn.type, context.payer, tx.transaction);
    await proveNothing(tx);
    const keys = [this.payer!.key!, ...((await this.dispatchers[txn.type]!.signers?.(txn, context)) ?? [])];
    return tryOut(this.network, tx, [...keys, ...(said.signers ?? [])], cover);
  }

  /** Signs bytes again that this worker has signed. Throws NotResignable. */
  async resign(body: CallBody & { signed: string }): Promise<TxnResult> {
    const { attempt } = body;
    const payer = this.payerOf(body);
    const context = this.context(body, attempt);
    const lap = stopwatch();
    const signers = () => this.keysFor(txnOf(body), context);
    const made = await resign(body.signed, payer, attempt, signers);
    if (payer.key) context.log.info({ hash: made.hash, signMs: lap() }, 'signed again');
    return success(made, null);
  }

  /** Whether what is proved is signed elsewhere: by a signer that is asked here, or of a prover by whoever asks. */
  get isSignedElsewhere(): boolean {
    return !this.payer?.key;
  }

  /** Whether it is for any payer that a call names. */
  get isProver(): boolean {
    return !this.payer;
  }

  /** Asks the signer, if there is one, whether it would sign, before a proof is made in vain. Throws Busy, Failure. */
  async mayBegin(body: CallBody): Promise<void> {
    this.payerOf(body);
    const { signer } = this;
    if (signer) await this.asking(body, () => signer.ask(body));
  }

  /** Has the signer sign what was proved; `patient`: it may be away for a while. Throws Busy, Failure. */
  async finish(body: CallBody, { proved, ...made }: TxnResult, patient: boolean): Promise<TxnResult> {
    const { log } = this.context(body, body.attempt);
    const lap = stopwatch();
    const signed = await this.asking(body, () => this.signer!.sign(body, proved!, log, patient));
    const hash = await hashOf(signed);
    log.info({ hash, signMs: lap() }, 'signed by the signer');
    return { ...made, hash, signed };
  }

  async send(signed: string): Promise<void> {
    if (!this.proves) await this.network.open();
    await send(signed);
  }

  /** Turns whatever work throws into a result, and logs it. Throws NotResignable, and Busy, also for Unreadable. */
  async attempt(body: CallBody | BuildBody, work: () => Promise<TxnResult>): Promise<TxnResult> {
    const { log } = this.context(body, 'nonce' in body.attempt ? body.attempt : undefined);
    const begun = Date.now();
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof NotResignable || thrown instanceof Busy || thrown instanceof TokenGone) throw thrown;
      const error = failureOf(thrown, `making ${body.txData.type}`);
      log.warn({ code: error.code, exception: error.exception, ms: Date.now() - begun }, error.message);
      if (thrown instanceof Unreadable) {
        const why = error.exception ? `${error.message}: ${error.exception}` : error.message;
        throw new Busy(why, retrySoon);
      }
      return { hash: '', done: null, error, data: null };
    }
  }

  /** With `making` it reads what the transaction is built on, and else beside whatever is being made. */
  context(
    body: Pick<CallBody, 'txData' | 'sender'>,
    attempt?: CallBody['attempt'],
    making?: { cover: Cover | undefined },
  ): Context {
    const { uid, type } = body.txData;
    const trace = currentTrace();
    const cover = making?.cover;
    return {
      ...(attempt && { attempt }),
      ...(trace && { traceparent: trace }),
      payer: (this.payer ?? namedPayer(body.sender.accountId)).publicKey,
      fetchAccount: (publicKey, tokenId) => this.network.fetchAccount(publicKey, tokenId, cover, !making),
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

  /** Keys that only a dispatch has known, to sign with again. */
  remember(uid: string, signers: PrivateKey[] | undefined): void {
    if (!signers?.length) return;
    this.signers.delete(uid);
    this.signers.set(uid, signers);
    for (const oldest of this.signers.keys()) {
      if (this.signers.size <= mostRemembered) break;
      this.signers.delete(oldest);
    }
  }

  remembered(uid: string): PrivateKey[] {
    return this.signers.get(uid) ?? [];
  }

  private async proveUpon(body: CallBody, cover?: Cover): Promise<TxnResult> {
    const { attempt } = body;
    const txn = txnOf(body);
    const context = this.context(body, attempt, { cover });
    const lap = stopwatch();
    const { tx, said } = await this.made(txn, context);
    const data = said.data ?? null;
    if (isDone(said)) return { hash: '', done: said.done!, error: null, data };
    check(txn.type, context.payer, tx.transaction);
    return this.finished(body, context, tx, said, lap);
  }

  /** Tells what a transaction does, and keeps it, on what it was built on, until it is proved or let go. */
  private async buildUpon(body: BuildBody, cover: Cover | undefined, tell: (result: TxnResult) => void): Promise<void> {
    const payer = cover?.payer ?? (await this.network.payerAccount(this.payerOf(body).publicKey));
    const nonce = Number(payer.nonce) + (cover?.pending.commands.length ?? 0);
    const attempt = { ...body.attempt, nonce, fee: '0', validUntil: null };
    const txn = txnOf(body);
    const context = this.context(body, attempt, { cover });
    const lap = stopwatch();
    const { tx, said } = await this.made(txn, context);
    const data = said.data ?? null;
    const result = { hash: '', done: null, error: null, data };
    if (isDone(said)) return tell({ ...result, done: said.done! });
    check(txn.type, context.payer, tx.transaction);
    const held = new Held(txn.uid, cover ? undefined : nonce, digestOf(body.ahead));
    this.held = held;
    const { token } = held;
    context.log.info({ ahead: body.ahead?.length ?? 0, buildMs: lap() }, 'built');
    tell({ ...result, built: tx.toJSON(), token });
    await held.waits(tx, said);
  }

  private async proveBuilt(body: CallBody): Promise<TxnResult> {
    const { held } = this;
    if (!held || held.token !== body.token || held.uid !== body.txData.uid)
      throw new TokenGone('it is to be built again');
    this.held = undefined;
    const { attempt } = body;
    if (held.nonce !== undefined && held.nonce < attempt.nonce) {
      await held.letGo();
      throw this.network.isBehind(held.nonce, attempt.nonce);
    }
    const made = await held.proved((tx, said) => {
      assign(tx, attempt);
      return this.finished(body, this.context(body, attempt), tx, said, stopwatch());
    });
    return { ...made, ...(held.on && { on: held.on }) };
  }

  /** Proves and signs what was built. */
  private async finished(
    body: CallBody,
    context: Context,
    tx: Unsigned,
    said: Dispatched,
    lap: () => number,
  ): Promise<TxnResult> {
    const txn = txnOf(body);
    const data = said.data ?? null;
    const buildMs = lap();
    await prove(txn.type, tx, this.network.proofs);
    const proveMs = lap();
    this.remember(txn.uid, said.signers);
    const made = await sign(tx, this.payerOf(body), await this.keysFor(txn, context));
    const ahead = body.ahead?.length ?? 0;
    const times = { ahead, buildMs, proveMs, signMs: lap() };
    if ('signed' in made) context.log.info({ hash: made.hash, ...times }, 'proved and signed');
    else context.log.info(times, 'proved');
    return success(made, data);
  }

  /** Runs the dispatch of the context's attempt. */
  private async made(txn: Txn, context: Context): Promise<{ tx: Unsigned; said: Dispatched }> {
    let said: Dispatched = {};
    const tx = await this.network.building((before) =>
      build(context.payer, context.attempt!, async () => {
        await before();
        said = (await this.dispatchers[txn.type]!.dispatch(txn, context)) ?? {};
      }),
    );
    return { tx, said };
  }

  /** Logs why a signer puts a call off, for who is answered is not told. */
  private async asking<T>(body: CallBody, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (thrown) {
      if (thrown instanceof Busy) this.context(body, body.attempt).log.warn({}, thrown.message);
      throw thrown;
    }
  }

  private payerOf({ sender }: Pick<CallBody, 'sender'>): Payer {
    if (!this.payer) return namedPayer(sender.accountId);
    const own = this.payer.publicKey.toBase58();
    if (sender.accountId !== own) {
      throw new Failure(
        codes.unavailable,
        `this worker signs for ${own}, not for ${sender.accountId}: correct the sender's worker URL`,
      );
    }
    return this.payer;
  }

  private async keysFor(txn: Txn, context: Context): Promise<PrivateKey[]> {
    return [...((await this.dispatchers[txn.type]!.signers?.(txn, context)) ?? []), ...this.remembered(txn.uid)];
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

const isDone = ({ done }: Dispatched) => done !== undefined && Object.keys(done).length > 0;

const success = (made: Made, data: TxnResult['data']): TxnResult => ({ done: null, error: null, data, ...made });

/** Milliseconds since the last lap. */
function stopwatch(): () => number {
  let last = Date.now();
  return () => {
    const ms = Date.now() - last;
    last += ms;
    return ms;
  };
}
