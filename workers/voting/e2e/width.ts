import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrivateKey } from 'o1js';
import { Tally } from '../src/claim-voting.js';
import { signBatch } from '../src/signed-batch.js';
import { landed, type Post } from './sequencer.js';
import { World } from './world.js';

// How many blocks a queue takes, through the sequencer, on real contracts and Mina's ledger:
// the votes of one claim in one queue, and a plan with its shares in another, once with each
// of WIDTHS. What they leave has to be the same.
//
//     node dist/e2e/width.js       VOTES=48 SHARES=4 WIDTHS=12,1 SLOT=65 PROVERS=1 E2E_PROOFS=off
//
// With POOL=2 the sender's worker only signs, and two provers without a key prove. With SHARES=0 there is no plan.
//
// A node is given one command every five seconds, so a slot that is to take twelve lasts a minute.

const VOTES = Number(process.env['VOTES'] ?? 48);
const WIDTHS = (process.env['WIDTHS'] ?? '12,1').split(',').map(Number);
const SLOT = Number(process.env['SLOT'] ?? 65);
const SHARES = Number(process.env['SHARES'] ?? 4);
const POOL = Number(process.env['POOL'] ?? 0);
const PROOFS = process.env['E2E_PROOFS'] === 'on';

const electors = Array.from({ length: Math.max(VOTES, SHARES) }, (_, i) => PrivateKey.fromBigInt(5000n + BigInt(i)));
const folder = await mkdtemp(join(tmpdir(), 'voting-width-'));
const world = new World(folder, PROOFS, { slot: SLOT, electors });

/** Milliseconds that each proof took, by uid. */
const proving = new Map<string, number>();

function votesOf(claimUid: string): Post[] {
  return electors.slice(0, VOTES).map((key, index) => ({
    uid: `vote-${claimUid}-${index}`,
    queue: `claim-${claimUid}`,
    type: 'SEND_CLAIM_VOTE',
    data: {
      planUid: 'plan',
      batchUid: 'north',
      claimUid,
      electorAccountId: key.toPublicKey().toBase58(),
      index,
      vote: [1, -1, 0, 1][index % 4],
    },
  }));
}

function sharesOf(planUid: string): Post[] {
  const queue = `plan-${planUid}`;
  const shares = electors.slice(0, SHARES).map((key, i) => ({
    uid: `share-${planUid}-${i}`,
    queue,
    type: 'RECEIVE_VOTES_BATCH',
    data: {
      batchUid: 'north',
      senderAccountId: key.toPublicKey().toBase58(),
      signedData: signBatch(key, { planUid, batchUid: 'north', votes: [{ claimUid: 'c'.repeat(32), vote: 1 }] }),
    },
  }));
  return [...shares, { uid: `commit-${planUid}`, queue, type: 'COMMIT_ALL_VOTING_BATCHES', data: { planUid } }];
}

/** Posts all, and returns the heights at which they landed: in order, each once. */
async function heightsOf(posts: Post[]): Promise<number[]> {
  for (const item of posts) await world.sequencer.post(item);
  const attempts = [];
  for (const { uid } of posts) attempts.push(landed(await world.sequencer.done(uid)));
  for (const [i, { nonce }] of attempts.entries())
    if (i > 0) assert.ok(nonce > attempts[i - 1]!.nonce, `${posts[i]!.uid} landed before the one ahead of it`);
  return attempts.map(({ blockHeight }) => blockHeight!);
}

/** Creates what a queue is about, and has so many of the queue in flight. */
async function create(type: string, queue: string, data: object, width: number): Promise<void> {
  await world.sequencer.post({ uid: `create-${queue}`, queue, type, data });
  await world.sequencer.done(`create-${queue}`);
  const { status, text } = await world.sequencer.call('POST', `/queues/${queue}/width`, { width });
  assert.equal(status, 200, text);
}

async function round(n: number, width: number): Promise<object> {
  const [claimUid, planUid] = [String(n).repeat(32), `plan-${n}`];
  const strategy = { requiredVotes: VOTES, requiredPositives: 1 };
  await create('CREATE_CLAIM_VOTING_ACCOUNT', `claim-${claimUid}`, { claimUid, strategy }, width);
  const votes = votesOf(claimUid);
  const began = Date.now();
  const heights = await heightsOf(votes);
  const took = (Date.now() - began) / 1000;
  for (const { uid } of votes) {
    const proofs = world.workers.flatMap((worker) => worker.logged(POOL ? 'proved' : 'proved and signed', uid));
    assert.equal(proofs.length, 1, `${uid} was proved ${proofs.length} times`);
  }
  const [first, last] = [Math.min(...heights), Math.max(...heights)];
  const inBlock = Array.from({ length: last - first + 1 }, (_, i) => heights.filter((h) => h === first + i).length);
  const seconds = votes.reduce((sum, { uid }) => sum + (proving.get(uid) ?? 0), 0) / 1000;
  // The first block and the last are of slots that were not all theirs.
  const full = inBlock.slice(1, -1);
  const mean = full.reduce((sum, n) => sum + n, 0) / Math.max(full.length, 1);
  const limit = Math.min(width, 12, SLOT / (seconds / VOTES));
  console.log(
    `width ${width}, slots of ${SLOT} s: ${VOTES} votes in ${inBlock.length} blocks (${inBlock.join(' ')}) and ${took.toFixed(0)} s, one proof each,`,
    `${seconds.toFixed(0)} s of work for all, at most ${limit.toFixed(2)} in a slot;`,
    `between the first and the last ${mean.toFixed(2)} in each, ${(mean / limit).toFixed(2)} of that`,
  );
  const { state } = await world.ledger.claim(claimUid);
  const claim = { tally: Tally.toJSON(Tally.unpack(state.tally)), result: state.result.toString() };
  if (SHARES === 0) return claim;
  await create('CREATE_VOTING_BATCHES_ACCOUNT', `plan-${planUid}`, { planUid, communityUid: 'gardeners' }, width);
  const plan = await heightsOf(sharesOf(planUid));
  console.log(`width ${width}: ${SHARES} shares and their commit in ${plan.at(-1)! - plan[0]! + 1} blocks`);
  const { state: batches } = await world.ledger.plan(planUid);
  assert.equal(batches.committed.toString(), batches.sharesRoot.toString());
  return { ...claim, received: batches.received.toString(), shares: batches.sharesRoot.toString() };
}

try {
  await (POOL ? world.startPool(POOL) : world.start(1));
  const began = new Map<string, number>();
  world.hook({
    sent: ({ path, uid }) => {
      if (path.startsWith('/prove')) began.set(uid, Date.now());
    },
    answered: ({ path, uid }, answer) => {
      if (path.startsWith('/prove')) proving.set(uid, Date.now() - began.get(uid)!);
      return answer;
    },
  });
  const states: object[] = [];
  for (const [n, width] of WIDTHS.entries()) states.push(await round(n, width));
  for (const state of states) assert.deepEqual(state, states[0]);
  console.log(`what they left: ${JSON.stringify(states[0])}`);
  await world.stop();
  await rm(folder, { recursive: true });
  process.exit(0);
} catch (error) {
  console.error(error, `the programs' output is in ${folder}`);
  process.exit(1);
}
