import { isDeepStrictEqual } from 'node:util';
import { setTimeout as after } from 'node:timers/promises';
import { asError, codes, Failure, nameByHost, unavailable, Unresolvable } from './errors.js';
import { Busy, retrySoon } from './line.js';
import type { Log } from './log.js';
import type { CallBody } from './protocol.js';

/** Where the payer's key is, if it is in no process of this worker. */
export interface SignerOption {
  /** Of `@mina-sequencer/signer`, or of whatever else serves `POST /sign/TYPE` as it does. */
  url: string;
  /** The Bearer token that it wants. Default: SIGNER_TOKEN of the environment, else none. */
  token?: string;
  /** The payer's public key, which has to be the signer's. */
  accountId: string;
}

/** How long one call may take. */
const callTimeout = 30_000;
/** How long a proof waits for a signer that is away before its call is put off. */
const patience = 300_000;
/** How long to wait before a signer that is away is asked again, doubled up to the longest. */
const shortestRest = 250;
const longestRest = 5000;
/** The longest that the sequencer is asked to leave a worker alone. */
const longestWait = 600;

/** The signer does not answer; nothing says what it has done. */
class Away extends Busy {
  override name = 'Away';
}

/** What a signer answers, as far as it is read. */
interface Answer {
  signed?: string;
  message?: string;
  error?: { message: string; scope: 'command' | 'day'; rule?: string; until?: string | null };
}

/** Who has the payer's key, and a policy of its own. */
export class Signer {
  /** What errors and /health name it by. */
  readonly name: string;
  private readonly url: string;
  private readonly token: string;
  private readonly closing = new AbortController();

  constructor(private readonly option: SignerOption) {
    if (!URL.canParse(option.url)) throw new Error('signer.url: it is no URL, such as http://127.0.0.1:3100');
    nameByHost(option.url);
    this.name = new URL(option.url).host;
    this.url = option.url.replace(/\/+$/, '');
    this.token = (option.token ?? process.env.SIGNER_TOKEN ?? '').trim();
  }

  /**
   * The command, signed; without one nothing, where the signer would sign. Throws Busy where it is away or
   * its day is full, Unresolvable for what its policy never allows of this command, and Failure.
   */
  async ask({ txData, sender, attempt }: CallBody, proved?: string): Promise<string | undefined> {
    const { uid, type } = txData;
    // It has no use for the payload.
    const body = JSON.stringify({ txData: { uid, type }, sender, attempt, proved });
    const { status, answer } = await this.call(`/sign/${encodeURIComponent(type)}`, body);
    if (status === 400)
      throw new Failure(codes.notSent, `the signer at ${this.name} takes no such call: ${answer.message}`);
    if (status !== 200)
      throw unavailable(`the signer at ${this.name} turns this worker away: ${status} ${answer.message}`);
    if (answer.error) throw refusalOf(answer.error);
    if (proved === undefined) return undefined;
    if (!isSame(proved, answer.signed, this.option.accountId))
      throw unavailable(`the signer at ${this.name} has answered another command than it was asked to sign`);
    return answer.signed;
  }

  /** Signs, and if it is `patient` asks again for some minutes where the signer is away. */
  async sign(body: CallBody, proved: string, log: Log, patient: boolean): Promise<string> {
    const end = Date.now() + (patient ? patience : 0);
    for (let rest = shortestRest; ; rest = Math.min(rest * 2, longestRest)) {
      try {
        return (await this.ask(body, proved))!;
      } catch (thrown) {
        if (!(thrown instanceof Away) || Date.now() >= end || this.closing.signal.aborted) throw thrown;
        if (rest === shortestRest) log.warn({}, `${thrown.message}: what is proved is kept, and it is asked again`);
        await after(rest, undefined, { signal: this.closing.signal }).catch(() => undefined);
      }
    }
  }

  /** Waits for it no more. */
  close(): void {
    this.closing.abort();
  }

  private async call(path: string, body: string): Promise<{ status: number; answer: Answer }> {
    let status: number;
    let text: string;
    try {
      const response = await fetch(this.url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...(this.token && { Authorization: `Bearer ${this.token}` }) },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(callTimeout),
      });
      status = response.status;
      text = await response.text();
    } catch (thrown) {
      const { message, cause } = asError(thrown);
      const code = (cause as NodeJS.ErrnoException | undefined)?.code;
      throw new Away(`the signer at ${this.name} does not answer (${code ?? message})`, retrySoon);
    }
    let answer: Answer;
    try {
      answer = JSON.parse(text) as Answer;
    } catch {
      answer = {};
    }
    if (status === 429 || status >= 500) {
      const why = answer.message ?? 'without a word';
      throw new Away(`the signer at ${this.name} signs nothing: ${status} ${why}`, retrySoon);
    }
    return { status, answer };
  }
}

/** Whom a policy's refusal concerns: the day, the fee that the sequencer gives, or the command. */
function refusalOf({ message, scope, rule, until }: NonNullable<Answer['error']>): Error {
  const why = `POLICY: the payer's signer does not sign this: ${message}`;
  if (scope === 'day') {
    const seconds = Math.ceil((Date.parse(until ?? '') - Date.now()) / 1000);
    return new Busy(why, Math.min(Math.max(seconds || longestWait, 1), longestWait));
  }
  if (rule === 'maxFee') return unavailable(`${why}; set SEQUENCER_FEE_MAX to no more than that`);
  return new Unresolvable(why);
}

/** Whether one is the other but for its payer's signatures. */
function isSame(proved: string, signed: string | undefined, payer: string): boolean {
  interface Part {
    body: { publicKey: string; authorizationKind?: { isSigned: boolean } };
    authorization: unknown;
  }
  const bare = (text: string) => {
    const { feePayer, accountUpdates, memo } = JSON.parse(text) as {
      feePayer: Part;
      accountUpdates: Part[];
      memo: string;
    };
    const updates = accountUpdates.map(({ body, authorization }) => {
      const isPayers = body.publicKey === payer && body.authorizationKind?.isSigned;
      return { body, authorization: isPayers ? null : authorization };
    });
    return { memo, feePayer: feePayer.body, updates };
  };
  try {
    return isDeepStrictEqual(bare(proved), bare(signed ?? ''));
  } catch {
    return false;
  }
}
