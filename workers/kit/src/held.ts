import { randomUUID } from 'node:crypto';
import type { Unsigned } from './transaction.js';
import type { Dispatched, TxnResult } from './types.js';

type Job = (tx: Unsigned, said: Dispatched) => Promise<TxnResult>;

/**
 * What was built, and waits for being proved or let go. It is proved on what it was built on, for o1js
 * reads the accounts again as it proves.
 */
export class Held {
  readonly token = randomUUID();
  private go!: (job?: Job) => void;
  private readonly asked = new Promise<Job | undefined>((resolve) => (this.go = resolve));
  private tell!: { resolve(result: TxnResult): void; reject(error: unknown): void };
  private readonly told = new Promise<TxnResult>((resolve, reject) => (this.tell = { resolve, reject }));
  private end!: () => void;
  private readonly over = new Promise<void>((resolve) => (this.end = resolve));

  constructor(
    readonly uid: string,
    /** The nonce of the payer as it was built; undefined where others were ahead. */
    readonly nonce: number | undefined,
    readonly on: string | undefined,
  ) {}

  /** Returns when it was proved, or let go. */
  async waits(tx: Unsigned, said: Dispatched): Promise<void> {
    const job = await this.asked;
    if (job) {
      const { tell } = this;
      await job(tx, said).then(
        (result) => tell.resolve(result),
        (error: unknown) => tell.reject(error),
      );
    }
    this.end();
  }

  /** What its proving comes to, when nothing of it is under way any more. */
  async proved(job: Job): Promise<TxnResult> {
    this.go(job);
    await this.over;
    return this.told;
  }

  /** Returns when nothing of it is under way any more. */
  async letGo(): Promise<void> {
    this.go();
    await this.over;
  }
}
