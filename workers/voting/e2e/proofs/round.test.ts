import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Result } from '../../src/claim-voting.js';
import { signBatch } from '../../src/signed-batch.js';
import { landed, type Post } from '../sequencer.js';
import { electorKeys, World } from '../world.js';

// The smallest round with real proofs that uses every voting type, for every
// change: one worker, three proofs, each verified by the node. `make e2e-proofs`
// is the whole of it.

/** Milliseconds. On two cores it takes minutes; a machine that is busy with more may need many. */
const TIMEOUT = 30 * 60_000;
const PLAN = 'autumn';
const CLAIM = 'c'.repeat(32);
const elector = electorKeys[0]!.toPublicKey().toBase58();

const began = Date.now();
const lap = (what: string) => console.log(`${what} after ${((Date.now() - began) / 1000).toFixed(0)} s`);

let folder: string;
let world: World;
let passed = false;

before(
  async () => {
    folder = await mkdtemp(join(tmpdir(), 'voting-proofs-'));
    world = new World(folder, true);
    await world.start(1);
    lap('contracts compiled');
  },
  { timeout: TIMEOUT },
);

after(async () => {
  await world.stop();
  if (passed) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

const signedData = signBatch(electorKeys[0]!, {
  planUid: PLAN,
  batchUid: 'north',
  votes: [{ claimUid: CLAIM, vote: 1 }],
});
const claim = {
  uid: 'claim',
  queue: `claim-${CLAIM}`,
  type: 'CREATE_CLAIM_VOTING_ACCOUNT',
  data: { claimUid: CLAIM, strategy: { requiredVotes: 1, requiredPositives: 1 } },
};
const vote = {
  uid: 'vote',
  queue: `claim-${CLAIM}`,
  type: 'SEND_CLAIM_VOTE',
  data: { planUid: PLAN, batchUid: 'north', claimUid: CLAIM, electorAccountId: elector, index: 0, vote: '1' },
};
const plan = {
  uid: 'plan',
  queue: `plan-${PLAN}`,
  type: 'CREATE_VOTING_BATCHES_ACCOUNT',
  data: { planUid: PLAN, communityUid: 'gardeners' },
};
const batch = {
  uid: 'batch',
  queue: 'batch-north',
  type: 'RECEIVE_VOTES_BATCH',
  data: { batchUid: 'north', senderAccountId: elector, signedData },
};
const commit = { uid: 'commit', queue: `plan-${PLAN}`, type: 'COMMIT_ALL_VOTING_BATCHES', data: { planUid: PLAN } };

test('a round with real proofs', { timeout: TIMEOUT }, async () => {
  const { sequencer, ledger } = world;
  const land = async (...posts: Post[]) => {
    for (const each of posts) await sequencer.post(each);
    for (const { uid } of posts) {
      const done = await sequencer.done(uid);
      landed(done);
      assert.equal(done.retries, 0, JSON.stringify(done.attempts));
      lap(`${uid} done`);
    }
  };
  await land(claim, vote, plan);
  await land(batch);
  await land(commit);

  assert.equal((await ledger.claim(CLAIM)).state.result.toBigInt(), Result.approved.toBigInt());
  const { state } = await ledger.plan(PLAN);
  assert.equal(state.received.toBigInt(), 1n);
  assert.equal(state.committed.toBigInt(), state.sharesRoot.toBigInt());

  const proved = [claim, vote, plan, batch, commit].flatMap(({ uid }) =>
    world.workers[0]!.logged('proved and signed', uid),
  );
  console.log(`proofs took ${proved.map(({ proveMs }) => `${String(proveMs)} ms`).join(', ')}`);
  passed = true;
});
