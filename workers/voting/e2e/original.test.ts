import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Client from 'mina-signer';
import { ClaimState, Result, Tally } from '../src/claim-voting.js';
import { PlanState } from '../src/voting-batches.js';
import { landed, type Transaction } from './sequencer.js';
import { electorKeys, World } from './world.js';

// A voting round of the Socialcap original, moved here: what its client posts,
// letter by letter, to workers with handlers as its own are written.

const TIMEOUT = 10 * 60_000;
const PLAN = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
const CLAIM = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const elector = (place: number) => electorKeys[place]!.toPublicKey().toBase58();

let folder: string;
let world: World;
let passed = false;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'voting-original-'));
  world = new World(folder, false);
  await world.startChain(2);
  for (const account of await world.ledger.accounts()) await world.startWorker(account, {}, 'e2e/original.js');
  await world.startSequencer(world.workers.map(({ accountId, gate }) => [accountId, gate.url]));
});

after(async () => {
  await world.stop();
  if (passed) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

let posts = 0;

async function post(queue: string, txn: { type: string; data: object }): Promise<string> {
  const uid = `original-${++posts}`;
  await world.sequencer.post({ uid, queue, ...txn });
  return uid;
}

/** Ends with the transaction in a block, at its first attempt. */
async function done(uid: string): Promise<Transaction> {
  const transaction = await world.sequencer.done(uid);
  landed(transaction);
  assert.equal(transaction.retries, 0, JSON.stringify(transaction.attempts));
  return transaction;
}

test("a round of the original's client and handlers", { timeout: TIMEOUT }, async () => {
  const claim = await post(`claim-${CLAIM}`, {
    type: 'CREATE_CLAIM_VOTING_ACCOUNT',
    data: { claimUid: CLAIM, strategy: { requiredPositives: 2, requiredVotes: 4 } },
  });
  const plan = await post(`plan-${PLAN}`, {
    type: 'CREATE_VOTING_BATCHES_ACCOUNT',
    data: { planUid: PLAN, communityUid: 'gardeners' },
  });
  const votes: string[] = [];
  for (const [index, vote] of ['1', '-1', '0', '+1'].entries()) {
    const data = { planUid: PLAN, batchUid: 'north', claimUid: CLAIM, electorAccountId: elector(index), index, vote };
    votes.push(await post(`claim-${CLAIM}`, { type: 'SEND_CLAIM_VOTE', data }));
  }
  const { claimAddress } = (await done(claim)).data;
  const { planAddress } = (await done(plan)).data;

  const signed = JSON.stringify([
    { uid: 'task-1', claimUid: CLAIM, assigneeUid: 'e1', communityUid: 'gardeners', planUid: PLAN, result: '1' },
  ]);
  const batch = await post('batch-north', {
    type: 'RECEIVE_VOTES_BATCH',
    data: {
      batchUid: 'north',
      senderAccountId: elector(0),
      signedData: new Client({ network: 'testnet' }).signMessage(signed, electorKeys[0]!.toBase58()),
    },
  });
  await done(batch);
  const commit = await done(await post(`plan-${PLAN}`, { type: 'COMMIT_ALL_BATCHES', data: { planUid: PLAN } }));
  assert.equal(commit.type, 'COMMIT_ALL_VOTING_BATCHES');
  for (const uid of votes) await done(uid);

  const { tally, result } = ClaimState.fromFields(await world.ledger.state(claimAddress as string));
  assert.deepEqual(Tally.toJSON(Tally.unpack(tally)), { positives: '2', negatives: '1', ignored: '1' });
  assert.equal(result.toBigInt(), Result.approved.toBigInt());
  const { received, committed, sharesRoot } = PlanState.fromFields(await world.ledger.state(planAddress as string));
  assert.equal(received.toBigInt(), 1n);
  assert.equal(committed.toBigInt(), sharesRoot.toBigInt());
  passed = true;
});
