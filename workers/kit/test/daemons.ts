import type { TestContext } from 'node:test';
import { PrivateKey } from 'o1js';
import type { Attempt, Dispatcher, NetworkOption } from '../src/index.js';
import { createWorker } from '../src/index.js';
import { Node } from './node.js';
import { collect, Counter, folder } from './world.js';

export const payer = PrivateKey.random();
export const payerKey = payer.toPublicKey().toBase58();
export const address = PrivateKey.random().toPublicKey();
export const counter = new Counter(address);

/** A daemon that knows the payer and a counter that stands at 5. */
export async function startNode(t: TestContext, values: Partial<Node> = {}): Promise<Node> {
  const node = Object.assign(new Node(), values);
  node.accounts.set(payerKey, null);
  node.accounts.set(address.toBase58(), ['5', '0', '0', '0', '0', '0', '0', '0']);
  t.after(await node.listen());
  return node;
}

/** A worker with one dispatcher, and what posts a transaction of that type to it. What it logs goes to lines. */
export async function startPosting(
  t: TestContext,
  network: NetworkOption,
  dispatcher: Dispatcher,
  lines: string[] = [],
) {
  const worker = await createWorker({
    payer,
    network,
    dispatchers: { ADD: dispatcher },
    port: 0,
    proofsEnabled: false,
    store: await folder(t),
    log: collect(lines),
  });
  const url = await worker.listen();
  t.after(() => worker.close());
  return (path: string, body: object) =>
    fetch(`${url}/${path}/ADD`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        txData: { uid: 'net', type: 'ADD', data: {} },
        sender: { accountId: payerKey, queue: 'q', retries: 0 },
        ...body,
      }),
    });
}

export function attemptOf(number: number, nonce: number): Attempt {
  return { number, nonce, fee: '100000000', validUntil: null, memo: 'm', previous: [] };
}

/** A worker, and what asks it for the next attempt. */
export async function startWorker(t: TestContext, network: NetworkOption, dispatcher: Dispatcher) {
  const post = await startPosting(t, network, dispatcher);
  let number = 0;
  return async (path = 'prove', nonce = 0) => {
    const response = await post(path, { attempt: attemptOf(++number, nonce) });
    return (await response.json()) as {
      hash: string;
      signed?: string;
      done?: unknown;
      error: { code: string; message: string; exception: string } | null;
      /** Of a worker that is to be asked again later. */
      code?: string;
      message?: string;
    };
  };
}
