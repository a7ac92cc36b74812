import assert from 'node:assert/strict';

/** A transaction as the HTTP API shows it, as far as the tests look at it. */
export interface Transaction {
  uid: string;
  type: string;
  data: Record<string, unknown>;
  state: string;
  sender: string | null;
  retries: number;
  error: { code: string; message: string; exception: string | null } | null;
  attempts: Attempt[];
}

export interface Attempt {
  number: number;
  sender: string;
  nonce: number;
  fee: string;
  hash: string | null;
  blockHeight: number | null;
  outcome: string;
  error: { code: string; message: string; exception: string | null } | null;
}

/** A sender, likewise. */
export interface Sender {
  available: boolean;
  reason: string | null;
  detail: string | null;
}

/** What is posted. */
export interface Post {
  uid: string;
  queue: string;
  type: string;
  data: object;
}

/** The sequencer's HTTP API. */
export class Sequencer {
  readonly #base: string;

  constructor(address: string) {
    this.#base = `http://${address}/api/v1`;
  }

  async post(item: Post): Promise<void> {
    const { status, text } = await this.call('POST', '/transactions', item);
    assert.equal(status, 202, `${item.uid}: ${text}`);
  }

  /** Any call of the API. */
  async call(method: 'GET' | 'POST', path: string, body?: object): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Waits until the transaction looks as it should; a final state ends the wait. */
  async until(uid: string, what: string, holds: (transaction: Transaction) => boolean): Promise<Transaction> {
    for (;;) {
      const transaction = await this.get(uid);
      if (holds(transaction)) return transaction;
      if (['DONE', 'FAILED', 'UNRESOLVED'].includes(transaction.state))
        assert.fail(`${uid} never ${what}: ${JSON.stringify(transaction, null, 1)}`);
      await pause();
    }
  }

  /** Waits for the end, which must be DONE. */
  done(uid: string): Promise<Transaction> {
    return this.until(uid, 'became DONE', ({ state }) => state === 'DONE');
  }

  get(uid: string): Promise<Transaction> {
    return this.#read<Transaction>(`/transactions/${uid}`);
  }

  /** Waits until a sender looks as it should. */
  async untilSender(accountId: string, holds: (sender: Sender) => boolean): Promise<Sender> {
    for (;;) {
      const sender = await this.#read<Sender>(`/senders/${accountId}`);
      if (holds(sender)) return sender;
      await pause();
    }
  }

  /** Waits until the sequencer says this of what it waits for. */
  async untilExplained(uid: string, says: RegExp): Promise<void> {
    while (!says.test((await this.#read<{ summary: string }>(`/transactions/${uid}/explain`)).summary)) await pause();
  }

  async #read<T>(path: string): Promise<T> {
    const { status, text } = await this.call('GET', path);
    assert.equal(status, 200, text);
    return JSON.parse(text) as T;
  }
}

/** Between two looks at something that is waited for. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

/** The attempt in a block; there must be one. */
export function landed({ uid, attempts }: Transaction): Attempt {
  const included = attempts.filter(({ outcome }) => outcome === 'included');
  assert.equal(included.length, 1, `${uid}: ${JSON.stringify(attempts)}`);
  return included[0]!;
}
