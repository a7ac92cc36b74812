import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWorker, type TxnResult, type Worker } from '@mina-sequencer/worker-kit';
import { Mina, PublicKey, Transaction } from 'o1js';
import type { Archive } from '../src/archive.js';
import { votingDispatchers } from '../src/dispatchers.js';
import { History } from '../src/history.js';
import { signBatch } from '../src/signed-batch.js';
import { CLAIM, electorKeys, electors, keys, localArchive, startLedger, type Payer } from './local.js';

// A worker over HTTP, on the kit, on a local ledger, and calls of it.

export const elector = (place: number) => electorKeys[place]!.toPublicKey().toBase58();

let payer: Payer;
let store: string;
export let nonce = 0;
let running: { worker: Worker; url: string };

export async function start(archive: Archive, sets = [electors]) {
  const worker = await createWorker({
    payer: payer.key,
    network: { instance: Mina.activeInstance },
    dispatchers: votingDispatchers({ keys, electors: sets, history: new History(archive, 0) }),
    port: 0,
    store: join(store, String(Math.random())),
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  return { worker, url: await worker.listen() };
}

/** Starts a ledger and a worker on it. */
export async function open(): Promise<void> {
  [payer] = (await startLedger()) as [Payer];
  store = await mkdtemp(join(tmpdir(), 'voting-'));
  running = await start(localArchive);
}

export async function close(): Promise<void> {
  await running.worker.close();
  await rm(store, { recursive: true });
}

export interface Ahead {
  uid: string;
  nonce: number;
  hash: string;
  signed: string;
}

export interface Call {
  ahead?: Ahead[];
  uid?: string;
  number?: number;
  previous?: object[];
  url?: string;
}

let calls = 0;

/** Asks for a transaction; data may be JSON already. */
export async function prove(type: string, data: object | string, call: Call = {}): Promise<TxnResult> {
  const { uid = `uid-${++calls}`, number = 1, previous = [], url = running.url, ahead = [] } = call;
  const response = await fetch(`${url}/prove/${type}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: `{
      "txData": { "uid": "${uid}", "type": "${type}", "data": ${typeof data === 'string' ? data : JSON.stringify(data)} },
      "sender": { "accountId": "${payer.toBase58()}", "queue": "q", "retries": 0 },
      "attempt": { "number": ${number}, "nonce": ${nonce + ahead.length}, "fee": "100000000", "validUntil": null, "memo": "m",
                   "previous": ${JSON.stringify(previous)} },
      "ahead": ${JSON.stringify(ahead)}
    }`,
  });
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as TxnResult;
}

export const payerKey = (): PublicKey => payer;

/** Has the next call take the nonce after the next. */
export function skipNonce(): void {
  nonce++;
}

/** Takes signed bytes to the ledger. */
export async function send(signed: string): Promise<void> {
  await Transaction.fromJSON(signed).send();
  nonce++;
}

/** Proves, takes the bytes to the ledger, and returns the account they are about. */
export async function land(type: string, data: object | string, call: Call = {}): Promise<PublicKey> {
  const { error, signed, data: said } = await prove(type, data, call);
  assert.equal(error, null);
  await send(signed!);
  return PublicKey.fromBase58(said!['accountId'] as string);
}

export const ballot = (claimUid: string, place: number, vote: unknown) => ({
  planUid: 'autumn',
  batchUid: 'north',
  claimUid,
  electorAccountId: elector(place),
  index: 0,
  vote,
});
export const claimUid = (n: number) => CLAIM.slice(0, 31) + n.toString(16);

export const batch = (place: number, batchUid: string, plan = 'autumn') => ({
  batchUid,
  senderAccountId: elector(place),
  signedData: signBatch(electorKeys[place]!, {
    planUid: plan,
    batchUid,
    votes: [
      { claimUid: CLAIM, vote: 1 },
      { claimUid: claimUid(1), vote: -1 },
    ],
  }),
});
