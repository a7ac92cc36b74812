import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { NotResignable, TokenGone } from './errors.js';
import { Joined } from './join.js';
import { toJSON } from './json.js';
import type { Line } from './line.js';
import type { Log } from './log.js';
import type { Maker, Proves } from './maker.js';
import { digestOf, type BuildBody, type CallBody } from './protocol.js';
import { Conflict, type CallKey, type Results } from './results.js';
import type { Simulated } from './simulate.js';
import type { TxnResult } from './types.js';
import { endsWithin } from './within.js';

type Work = (prover: Proves) => Promise<void>;

/** How many seconds a prover is kept for being asked to prove what it has built. */
const keptSeconds = 10;
/** How many errors are remembered for callers who were told to ask again. */
const mostOwed = 1000;

/** Thrown where an attempt is asked for again and is not made soon: ask once more. */
export class Working extends Error {
  override name = 'Working';
  constructor(
    readonly since: Date,
    readonly uid: string,
    readonly number: number,
  ) {
    super(`attempt ${number} of ${uid} is being made`);
  }
}

/** An attempt that is being made. */
interface Making {
  call: CallKey;
  since: Date;
  /** Whether who asked last was told to come back. */
  isOwed: boolean;
}

/** The answer to /simulate. */
export interface Simulation extends Simulated {
  /** How long a transaction of its type usually takes to be made here; null where none was made yet. */
  seconds: number | null;
}

export interface Lines {
  /** Where transactions are proved. */
  proving: Line<Proves>;
  /** Where they are signed again; the same one where this process does both. */
  signing: Line<unknown>;
}

/** Answers calls: each attempt is made once, however often it is asked for. */
export class Calls {
  private readonly making = new Joined<TxnResult>();
  private readonly sending = new Joined<TxnResult>();
  private readonly attempts = new Map<string, Making>();
  /** Errors that nobody may have heard: made anew, they would take as long again. */
  private readonly owed = new Map<string, { call: CallKey; result: TxnResult }>();
  /** When those of the last hour were made, in milliseconds. */
  private proofs: number[] = [];
  /** How many seconds it usually takes to make one of a type. */
  private readonly usual = new Map<string, number>();
  /** What was built, by its token; `go` has its prover, which does nothing else until then, do the work. */
  private readonly built = new Map<string, { answer: TxnResult; go: (work?: Work) => void }>();
  /** What who has found it again was told that it is built upon, by its token: those may have landed since. */
  private readonly told = new Map<string, string | undefined>();
  /** What is being proved of what was built, by its attempt. */
  private readonly proving = new Map<string, { base: string | undefined; answer: TxnResult }>();

  constructor(
    private readonly maker: Maker,
    private readonly lines: Lines,
    private readonly results: Results,
    private readonly log: Log,
    /** For how long who asks for an attempt again waits with the first caller. */
    private readonly joinSeconds: number,
  ) {}

  /** Builds, proves and signs. Throws Busy, Conflict, and Working where it is asked for again. */
  async prove(body: CallBody): Promise<TxnResult> {
    const known = this.attempts.get(this.keyOf(body));
    const made = this.made(body);
    if (!known) return made;
    return endsWithin(this.joinSeconds, made, () => {
      known.isOwed = true;
      return new Working(known.since, known.call.uid, known.call.attempt.number);
    });
  }

  /** Tells what would be proved, with a token for that. Nothing of it is kept. Throws Busy. */
  async build(body: BuildBody): Promise<TxnResult> {
    const before = await this.builtBefore(body);
    if (before) return before;
    return new Promise((resolve, reject) => {
      const build = async (prover: Proves) => {
        const result = await prover.build(body);
        const { token } = result;
        const on = digestOf(body.ahead);
        const answer = on === undefined ? result : { ...result, on };
        if (token === undefined) return resolve(answer);
        const asked = new Promise<Work | undefined>((go) => {
          this.built.set(token, { answer, go });
          setTimeout(() => this.built.get(token)?.go(), keptSeconds * 1000).unref();
          void prover.ended?.then(() => this.built.get(token)?.go());
        });
        resolve({ ...answer, expires: new Date(Date.now() + keptSeconds * 1000).toISOString() });
        const work = await asked;
        this.built.delete(token);
        await work?.(prover);
      };
      this.lines.proving.run(build).catch(reject);
    });
  }

  /** Signs bytes again that this worker has signed. Throws Busy, Conflict, NotResignable. */
  async resign(body: CallBody & { signed: string }): Promise<TxnResult> {
    const sign = async () => {
      const before = await this.before(body);
      // Who has the payer's key knows the policy alone; keys that are here sign nothing that was not made here.
      if (!before && this.maker.isSignedElsewhere)
        throw new NotResignable('signed is not what this worker has made, or it is not kept any more');
      return { ...(await this.maker.resign(body)), data: before?.data ?? null };
    };
    const work = () => this.lines.signing.run(sign, { first: true });
    return upon(body, await this.once(body, () => this.maker.attempt(body, work)));
  }

  /** Proves, and sends. Throws Busy, Conflict. */
  dispatch(body: CallBody): Promise<TxnResult> {
    return this.sending.do(`${this.keyOf(body)} ${toJSON(body.attempt)}`, async () => {
      const { signed, ...result } = await this.made(body);
      if (signed === undefined) return result;
      return this.maker.attempt(body, async () => {
        await this.maker.send(signed);
        return result;
      });
    });
  }

  /** Tells what a transaction would do, where a prover is idle. It takes none from a transaction. Throws Busy, Failure. */
  async simulate(body: CallBody): Promise<Simulation> {
    const simulated = await this.lines.proving.run((prover) => prover.simulate(body), { idle: true });
    return { ...simulated, seconds: this.usual.get(body.txData.type) ?? null };
  }

  /** How many were made in the last hour. */
  get proofsLastHour(): number {
    this.proofs = this.proofs.filter((at) => at > Date.now() - 3_600_000);
    return this.proofs.length;
  }

  /** Waits until what is made is kept and sent. */
  async idle(): Promise<void> {
    await Promise.all([this.making.idle(), this.sending.idle()]);
  }

  private async made(body: CallBody): Promise<TxnResult> {
    const work = () => this.lines.proving.run((prover) => this.timed(body.txData.type, prover.prove(body)));
    const begin = async () => {
      await this.maker.mayBegin(body);
      return body.token === undefined ? work() : this.proveBuilt(body, body.token);
    };
    const { on, ...result } = upon(body, await this.once(body, () => this.maker.attempt(body, begin), true));
    const { token = '' } = body;
    const base = this.told.has(token) ? this.told.get(token) : on;
    this.told.delete(token);
    return { ...result, ...(base !== undefined && { on: base }) };
  }

  /**
   * What was built of an attempt that is being proved, or whose proof is kept, upon the same: whoever takes it over
   * from a sequencer that has ended builds it again, and is to find that proof.
   */
  private async builtBefore(body: BuildBody): Promise<TxnResult | undefined> {
    const { number, base } = body.attempt;
    const making = this.proving.get(this.keyOf(body));
    const token = making?.answer.token ?? randomUUID();
    const tell = (result: TxnResult) => {
      const { on, ...rest } = upon(body, { ...result, on: digestOf(body.ahead) });
      this.told.set(token, on);
      return { ...rest, token, ...(on !== undefined && { on }) };
    };
    if (making && making.base === base) return tell(making.answer);
    const kept = await this.results.get(this.nameOf(body), number, base);
    if (kept?.proved === undefined) return undefined;
    const { proved, ...rest } = kept;
    return tell({ ...rest, built: proved });
  }

  /** Throws TokenGone where its prover has ended, or does something else by now. */
  private async proveBuilt(body: CallBody, token: string): Promise<TxnResult> {
    const built = this.built.get(token);
    this.built.delete(token);
    if (!built) {
      await this.results.forget(this.nameOf(body), body.attempt.number); // it is of another fee or nonce: see builtBefore
      throw new TokenGone('what was built is not there any more: it is to be built again');
    }
    this.proving.set(this.keyOf(body), { base: body.attempt.base, answer: built.answer });
    return new Promise((resolve, reject) =>
      built.go((prover) => this.timed(body.txData.type, prover.prove(body)).then(resolve, reject)),
    );
  }

  private async timed(type: string, proving: Promise<TxnResult>): Promise<TxnResult> {
    const begun = Date.now();
    const result = await proving;
    const seconds = (Date.now() - begun) / 1000;
    if (!(result.signed ?? result.proved)) return result;
    this.proofs.push(Date.now());
    this.usual.set(type, (seconds + (this.usual.get(type) ?? seconds)) / 2);
    return result;
  }

  /** Answers from what is kept or is being made, before it makes anything. Errors are told, not kept. */
  private async once(body: CallBody, make: () => Promise<TxnResult>, patient = false): Promise<TxnResult> {
    const call: CallKey = { uid: this.nameOf(body), attempt: body.attempt };
    const key = this.keyOf(body);
    const known = this.attempts.get(key);
    if (known && !isDeepStrictEqual(known.call.attempt, call.attempt)) throw new Conflict(call);
    if (known) known.isOwed = false;
    const making = known ?? { call, since: new Date(), isOwed: false };
    this.attempts.set(key, making);
    return this.making.do(key, async () => {
      try {
        const kept = this.paid(key, call) ?? (await this.results.find(call));
        let result = kept ?? (await make());
        if (!kept && !result.error) await this.keep(call, result);
        if (result.proved !== undefined && !this.maker.isProver) {
          const proved = result;
          // A proof outlives a signer that is away, and this process.
          result = await this.maker.attempt(body, () => this.maker.finish(body, proved, patient));
          if (!result.error) await this.keep(call, result);
        }
        if (result.error && result !== kept && making.isOwed) this.owe(key, call, result);
        return result;
      } finally {
        this.attempts.delete(key);
        this.proving.delete(key);
      }
    });
  }

  private owe(key: string, call: CallKey, result: TxnResult): void {
    this.owed.set(key, { call, result });
    if (this.owed.size > mostOwed) this.owed.delete(this.owed.keys().next().value!);
  }

  /** The error that the caller has waited for, once. */
  private paid(key: string, call: CallKey): TxnResult | undefined {
    const owed = this.owed.get(key);
    this.owed.delete(key);
    return owed && isDeepStrictEqual(owed.call.attempt, call.attempt) ? owed.result : undefined;
  }

  /** A result that cannot be kept is still a result: the sequencer stores it too. */
  private async keep(call: CallKey, result: TxnResult): Promise<void> {
    try {
      await this.results.keep(call, result);
    } catch (error) {
      this.log.error({ uid: call.uid, err: error }, 'cannot keep a result: a repeated call would be proved again');
    }
  }

  /** The result with these bytes, of an earlier attempt: the youngest may be another proof. */
  private async before(body: CallBody): Promise<TxnResult | undefined> {
    const { attempt, signed = '' } = body;
    for (const { number } of [...attempt.previous].reverse()) {
      const result = await this.results.get(this.nameOf(body), number);
      if (!result) continue;
      if (this.maker.isProver ? result.proved && doesSame(result.proved, signed) : result.signed === signed)
        return result;
    }
    return undefined;
  }

  /** What a transaction is known by here: a prover has those of all senders. */
  private nameOf({ txData, sender }: Pick<CallBody, 'txData' | 'sender'>): string {
    return this.maker.isProver ? `${sender.accountId} ${txData.uid}` : txData.uid;
  }

  private keyOf(body: CallBody | BuildBody): string {
    return `${this.nameOf(body)} ${body.attempt.number}`;
  }
}

/** Whether two commands have the same account updates, whoever has authorized them. */
function doesSame(one: string, other: string): boolean {
  const bodies = (text: string) =>
    (JSON.parse(text) as { accountUpdates: { body: unknown }[] }).accountUpdates.map(({ body }) => body);
  try {
    return isDeepStrictEqual(bodies(one), bodies(other));
  } catch {
    return false;
  }
}

/**
 * What an answer was built upon is as the call has it, by hash where there is one, or as it was built: what is
 * kept may be older.
 */
function upon({ ahead }: Pick<CallBody, 'ahead'>, { on: built, ...result }: TxnResult): TxnResult {
  const last = ahead?.at(-1);
  const on = (last && 'hash' in last ? last.hash : digestOf(ahead)) ?? built;
  return on === undefined ? result : { ...result, on };
}
