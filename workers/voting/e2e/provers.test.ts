import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Account } from './ledger.js';
import { landed, type Post } from './sequencer.js';
import { electorKeys, World, type VotingWorker } from './world.js';

// A sender whose worker only signs, and two provers without a key, on real processes: a claim and votes to
// DONE, and a prover that is killed while it proves.

/** Milliseconds; many times what a step takes on an idle machine. */
const TIMEOUT = 10 * 60_000;
const CLAIM = 'd'.repeat(32);

const folder = await mkdtemp(join(tmpdir(), 'provers-e2e-'));
const world = new World(folder, false);
let payer: Account;
let provers: VotingWorker[];
let passed = 0;
let tests = 0;

before(async () => {
  payer = await world.startPool(2);
  provers = world.workers;
});

after(async () => {
  await world.stop();
  if (passed === tests) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

function step(name: string, body: () => Promise<void>): void {
  tests++;
  test(name, { timeout: TIMEOUT }, async () => {
    world.hook({});
    await body();
    passed++;
  });
}

const vote = (uid: string, elector: number): Post => ({
  uid,
  queue: 'claim',
  type: 'SEND_CLAIM_VOTE',
  data: {
    planUid: 'autumn',
    batchUid: 'north',
    claimUid: CLAIM,
    electorAccountId: electorKeys[elector]!.toPublicKey().toBase58(),
    index: elector,
    vote: 1,
  },
});

const tally = async () => (await world.ledger.claim(CLAIM)).state.tally.toBigInt();

/** How many proofs were made of a transaction by the provers that run. */
const proofs = (uid: string) => provers.reduce((sum, prover) => sum + prover.logged('proved', uid).length, 0);

step('a claim and votes are proved without a key, signed by the signer, and DONE', async () => {
  const data = { claimUid: CLAIM, strategy: { requiredVotes: 9, requiredPositives: 9 } };
  await world.sequencer.post({ uid: 'claim', queue: 'claim', type: 'CREATE_CLAIM_VOTING_ACCOUNT', data });
  for (const i of [0, 1, 2]) await world.sequencer.post(vote(`vote-${i}`, i));
  for (const uid of ['claim', 'vote-0', 'vote-1', 'vote-2']) {
    const done = await world.sequencer.done(uid);
    assert.equal(done.retries, 0, JSON.stringify(done));
    landed(done);
    assert.equal(proofs(uid), 1, uid);
  }
  assert.equal(await tally(), 3n);
  for (const { pid } of provers) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    assert.ok(!environment.includes(payer.privateKey), 'a prover has the key');
  }
});

step('a prover that is killed while it proves costs its proof, and no retry', async () => {
  let killed: VotingWorker | undefined;
  let gone: Promise<void> | undefined;
  for (const prover of provers) {
    prover.gate.hook = {
      sent: ({ uid, path }) => {
        if (killed || uid !== 'killed' || !path.startsWith('/prove/')) return;
        killed = prover;
        gone = prover.kill();
      },
    };
  }
  await world.sequencer.post(vote('killed', 3));
  const done = await world.sequencer.done('killed');
  assert.ok(killed, 'no prover was killed');
  await gone;
  assert.equal(done.retries, 0, JSON.stringify(done));
  landed(done);
  assert.equal(proofs('killed'), 1);
  assert.equal(await tally(), 4n);

  // The other one goes on alone, and the first is back in use by itself.
  world.hook({});
  await world.sequencer.post(vote('alone', 4));
  assert.equal((await world.sequencer.done('alone')).retries, 0);
  await killed.restart();
  await world.sequencer.post(vote('after', 5));
  assert.equal((await world.sequencer.done('after')).retries, 0);
  assert.equal(await tally(), 6n);
});
