import { isDeepStrictEqual } from 'node:util';
import { Joined } from './join.js';
import { toJSON } from './json.js';
import type { Line } from './line.js';
import type { Log } from './log.js';
import type { Maker, Proves } from './maker.js';
import type { CallBody } from './protocol.js';
import { Conflict, type CallKey, type Results } from './results.js';
import type { TxnResult } from './types.js';

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
  private readonly attempts = new Map<string, CallKey>();

  constructor(
    private readonly maker: Maker,
    private readonly lines: Lines,
    private readonly results: Results,
    private readonly log: Log,
  ) {}

  /** Builds, proves and signs. Throws Busy, Conflict. */
  async prove(body: CallBody): Promise<TxnResult> {
    const work = () => this.lines.proving.run((prover) => prover.prove(body));
    return upon(body, await this.once(body, () => this.maker.attempt(body, work)));
  }

  /** Signs bytes again that this worker has signed. Throws Busy, Conflict, NotResignable. */
  async resign(body: CallBody & { signed: string }): Promise<TxnResult> {
    const sign = async () => ({ ...(await this.maker.resign(body)), data: await this.dataOf(body) });
    const work = () => this.lines.signing.run(sign, { first: true });
    return upon(body, await this.once(body, () => this.maker.attempt(body, work)));
  }

  /** Proves, and sends. Throws Busy, Conflict. */
  dispatch(body: CallBody): Promise<TxnResult> {
    return this.sending.do(`${keyOf(body)} ${toJSON(body.attempt)}`, async () => {
      const { signed, ...result } = await this.prove(body);
      if (signed === undefined) return result;
      return this.maker.attempt(body, async () => {
        await this.maker.send(signed);
        return result;
      });
    });
  }

  /** Waits until what is made is kept and sent. */
  async idle(): Promise<void> {
    await Promise.all([this.making.idle(), this.sending.idle()]);
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

  /** What the dispatch has returned that has made these bytes: the youngest attempt may be another proof. */
  private async dataOf({ txData, attempt, signed }: CallBody): Promise<TxnResult['data']> {
    for (const { number } of [...attempt.previous].reverse()) {
      const result = await this.results.get(txData.uid, number);
      if (result?.signed === signed) return result!.data;
    }
    return null;
  }
}

const keyOf = ({ txData, attempt }: CallBody) => `${txData.uid} ${attempt.number}`;

/** What an answer was built upon is as the call has it: what is kept may be older. */
function upon({ ahead }: CallBody, result: TxnResult): TxnResult {
  const last = ahead?.at(-1);
  return last ? { ...result, on: last.hash } : result;
}
