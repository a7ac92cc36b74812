import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Client from 'mina-signer';
import { Result, Tally } from '../src/claim-voting.js';
import { signBatch } from '../src/signed-batch.js';
import { landed, pause, type Attempt, type Post } from './sequencer.js';
import { electorKeys, World, type VotingWorker } from './world.js';

// The voting types through the sequencer's HTTP API, on real processes and
// Mina's transaction logic; then the contracts' state, read from the ledger.
// The tests build on each other and run in order, in one world.

const proofs = process.env['E2E_PROOFS'] === 'on';
/** Milliseconds; many times what a step takes on an idle machine. */
const STEP_TIMEOUT = (proofs ? 60 : 10) * 60_000;
const PLAN = 'autumn';
const claimUid = (n: number) => n.toString(16).padStart(32, 'c');
/** A claim that is never decided, for votes that something happens to. */
const OPEN = claimUid(0);

let folder: string;
let world: World;
let passed = 0;
/** Everything that was posted and has to be in a block once. */
const posted: string[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'voting-e2e-'));
  world = new World(folder, proofs);
  await world.start(2);
});

after(async () => {
  await world.stop();
  // What the programs have written is kept where something has failed.
  if (passed === tests) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

let tests = 0;

/** A test of this world; it begins with no hook. */
function step(name: string, body: () => Promise<void>): void {
  tests++;
  test(name, { timeout: STEP_TIMEOUT }, async () => {
    world.hook({});
    await body();
    passed++;
  });
}

async function post(item: Post): Promise<string> {
  await world.sequencer.post(item);
  posted.push(item.uid);
  return item.uid;
}

const createClaim = (uid: string, requiredVotes: number, requiredPositives: number): Post => ({
  uid: `create-${uid}`,
  queue: `claim-${uid}`,
  type: 'CREATE_CLAIM_VOTING_ACCOUNT',
  data: { claimUid: uid, strategy: { requiredVotes, requiredPositives } },
});

const vote = (uid: string, claim: string, elector: number, value: number): Post => ({
  uid,
  queue: `claim-${claim}`,
  type: 'SEND_CLAIM_VOTE',
  data: {
    planUid: PLAN,
    batchUid: 'north',
    claimUid: claim,
    electorAccountId: electorKeys[elector]!.toPublicKey().toBase58(),
    index: elector,
    // As a number and as a text, for clients post both.
    vote: elector % 2 === 0 ? value : `${value}`,
  },
});

/** Votes that a wallet has signed, as a text. */
const signedText = (elector: number, votes: object[]) =>
  new Client({ network: 'testnet' }).signMessage(JSON.stringify(votes), electorKeys[elector]!.toBase58());

const batch = (batchUid: string, elector: number): Post => ({
  uid: `batch-${batchUid}-${elector}`,
  queue: `batch-${batchUid}`,
  type: 'RECEIVE_VOTES_BATCH',
  data: {
    batchUid,
    senderAccountId: electorKeys[elector]!.toPublicKey().toBase58(),
    signedData:
      batchUid === 'south'
        ? signedText(elector, [{ claimUid: claimUid(1), planUid: PLAN, result: '1' }])
        : signBatch(electorKeys[elector]!, { planUid: PLAN, batchUid, votes: [{ claimUid: claimUid(1), vote: 1 }] }),
  },
});

/** The claims of the round, the votes on each, and what comes of them. With proofs each vote takes its time. */
const claims = [
  { uid: claimUid(1), required: [3, 2], votes: [1, -1, 1], result: Result.approved },
  { uid: claimUid(2), required: [3, 2], votes: [1, 0, -1], result: Result.rejected },
  { uid: claimUid(3), required: [4, 1], votes: [0, 1], result: Result.voting },
].slice(proofs ? 1 : 0);

step('a voting round', async () => {
  const uids = [
    await post({
      uid: 'plan',
      queue: `plan-${PLAN}`,
      type: 'CREATE_VOTING_BATCHES_ACCOUNT',
      data: { planUid: PLAN, communityUid: 'gardeners' },
    }),
    await post(createClaim(OPEN, 100, 1)),
  ];
  for (const { uid, required, votes } of claims) {
    uids.push(await post(createClaim(uid, required[0]!, required[1]!)));
    for (const [elector, value] of votes.entries())
      uids.push(await post(vote(`vote-${uid.slice(-2)}-${elector}`, uid, elector, value)));
  }
  for (const item of [batch('north', 0), batch('south', 1)]) uids.push(await post(item));
  for (const uid of uids) landed(await world.sequencer.done(uid));

  for (const { uid, votes, result } of claims) {
    const { address, state } = await world.ledger.claim(uid);
    const count = (value: number) => `${votes.filter((each) => each === value).length}`;
    assert.deepEqual(Tally.toJSON(Tally.unpack(state.tally)), {
      positives: count(1),
      negatives: count(-1),
      ignored: count(0),
    });
    assert.equal(state.result.toBigInt(), result.toBigInt());
    assert.equal((await world.ledger.events(address)).length, 1 + votes.length);
  }
  assert.equal((await world.ledger.plan(PLAN)).state.received.toBigInt(), 2n);
});

step('a second vote of an elector is not counted', async () => {
  await world.sequencer.post(vote('again', claimUid(3), 1, 1));
  const { error } = await world.sequencer.until('again', 'became UNRESOLVED', ({ state }) => state === 'UNRESOLVED');
  assert.match(error?.message ?? '', /has voted on claim .* already/);
  const { state } = await world.ledger.claim(claimUid(3));
  assert.deepEqual(Tally.toJSON(Tally.unpack(state.tally)), { positives: '1', negatives: '0', ignored: '1' });
});

step('two batches proved on one state: one fails in a block, is proved again, and lands', async () => {
  const items = [batch('east', 2), batch('west', 3)];
  const uids = items.map(({ uid }) => uid);
  // Neither is sent before both are proved.
  const proved = new Set<string>();
  let bothProved!: () => void;
  const both = new Promise<void>((resolve) => (bothProved = resolve));
  world.hook({
    async answered({ path, uid }, answer) {
      if (!path.startsWith('/prove/') || !uids.includes(uid)) return answer;
      if (proved.add(uid).size === items.length) bothProved();
      await both;
      return answer;
    },
  });
  for (const item of items) await post(item);
  const done = [await world.sequencer.done(uids[0]!), await world.sequencer.done(uids[1]!)];
  done.forEach(landed);
  const failed = done.flatMap(({ attempts }) => attempts).filter(({ outcome }) => outcome === 'failed');
  assert.equal(failed.length, 1, JSON.stringify(done));
  assert.match(JSON.stringify(failed[0]!.error), /Account_app_state_\d_precondition_unsatisfied/);
  assert.equal((await world.ledger.plan(PLAN)).state.received.toBigInt(), 4n);
});

/** Restarts the worker that is first asked for this transaction, when it is dead. Returns it when it is back. */
function restarting(uid: string, how: 'restart' | 'restartHeld', begun?: (worker: VotingWorker) => void) {
  let restarted: Promise<VotingWorker> | undefined;
  world.hook({
    sent({ path, uid: sent }, gate) {
      if (restarted || sent !== uid || !path.startsWith('/prove/')) return;
      const worker = world.workerBehind(gate);
      begun?.(worker);
      restarted = worker[how]().then(() => worker);
    },
  });
  return async () => {
    assert.ok(restarted, 'nothing was killed');
    return restarted;
  };
}

step('a worker killed while it proves', async () => {
  const uid = 'killed-proving';
  // With proofs, some seconds into the proof; without, for it would take no time, while it builds.
  if (!proofs) await world.crash({ at: 'asking', uid });
  const restarted = restarting(uid, 'restart', (worker) => {
    if (proofs) setTimeout(() => void worker.kill(), 3000);
  });
  await post(vote(uid, OPEN, 0, 1));
  landed(await world.sequencer.done(uid));
  await restarted();
});

step('a worker killed after it has signed, before it has kept the result', async () => {
  const uid = 'killed-unkept';
  await world.crash({ at: 'signed', uid });
  const restarted = restarting(uid, 'restartHeld');
  await post(vote(uid, OPEN, 5, 1));
  landed(await world.sequencer.done(uid));
  // Nobody had the first result.
  assert.equal((await restarted()).logged('proved and signed', uid).length, 1);
});

step('a worker killed after it has kept the result, before it is answered', async () => {
  const uid = 'killed-kept';
  let restarted: Promise<VotingWorker> | undefined;
  const hashes: string[] = [];
  world.hook({
    answered({ path, uid: answered }, answer, gate) {
      if (answered !== uid || !path.startsWith('/prove/')) return answer;
      hashes.push((JSON.parse(answer) as { hash: string }).hash);
      if (restarted) return answer;
      const worker = world.workerBehind(gate);
      restarted = worker.restartHeld().then(() => worker);
      void worker.kill();
      return undefined;
    },
  });
  await post(vote(uid, OPEN, 1, 1));
  const { hash } = landed(await world.sequencer.done(uid));
  assert.deepEqual(hashes, [hash, hash]);
  // The worker that started again had the result on its disk.
  assert.equal((await restarted!).logged('proved and signed', uid).length, 0);
});

step('the fee of a proved transaction is raised by signing again', async () => {
  const { sequencer, ledger } = world;
  await untilTipIsEmpty();
  world.hook({
    async answered({ path, uid }, answer) {
      if (uid === 'raised' && path.startsWith('/prove/')) await ledger.control('pause');
      return answer;
    },
  });
  await post(vote('raised', OPEN, 2, 1));
  let before: Attempt | undefined;
  while (!(before = await pooled('raised', 1))) await pause();
  // The chain goes on, with blocks that take nothing.
  let slot = await ledger.slot();
  while (!(await pooled('raised', before.number + 1))) {
    await pause();
    const now = await ledger.slot();
    if (now === slot) continue;
    slot = now;
    await ledger.control('reorg', { depth: 1, empty: true });
  }
  await ledger.control('resume');

  const done = await sequencer.done('raised');
  const after = landed(done);
  assert.ok(after.number > before.number && BigInt(after.fee) > BigInt(before.fee), JSON.stringify(done));
  assert.equal(after.nonce, before.nonce);
  assert.equal(done.retries, 0);
  const worker = world.workers.find(({ accountId }) => accountId === after.sender)!;
  const [proved, resigned] = [worker.logged('proved and signed', 'raised'), worker.logged('signed again', 'raised')];
  assert.equal(proved.length, 1, 'proved more than once');
  assert.ok(resigned.length >= 1);
  const { buildMs, proveMs, signMs } = proved[0]!;
  console.log(`built in ${String(buildMs)} ms, proved in ${String(proveMs)} ms, signed in ${String(signMs)} ms;`);
  console.log(`signed again in ${String(resigned[0]!['signMs'])} ms, fee ${before.fee} -> ${after.fee} nanomina`);
});

/** The attempt that is in the node's pool, if its number is at least so high. */
async function pooled(uid: string, least: number): Promise<Attempt | undefined> {
  const { attempts } = await world.sequencer.get(uid);
  const hashes = await world.ledger.pooled();
  return attempts.find(({ number, hash }) => number >= least && hash !== null && hashes.includes(hash));
}

/** So that a reorg of one block takes nothing back. */
async function untilTipIsEmpty(): Promise<void> {
  while (!(await world.ledger.isTipEmpty())) await pause();
}

if (proofs)
  step('a proof of another vote is refused, and the vote proved again', async () => {
    const proofIn = (command: { accountUpdates: { authorization: { proof?: string | null } }[] }) =>
      command.accountUpdates.find(({ authorization }) => authorization.proof)!.authorization;
    let other: string | undefined;
    let tampered = 0;
    world.hook({
      answered({ path, uid }, answer) {
        if (!path.startsWith('/prove/')) return answer;
        const result = JSON.parse(answer) as { signed?: string };
        if (!result.signed) return answer;
        const command = JSON.parse(result.signed) as Parameters<typeof proofIn>[0];
        const authorization = proofIn(command);
        if (uid === 'tampered' && other && tampered === 0) {
          tampered++;
          authorization.proof = other;
          return JSON.stringify({ ...result, signed: JSON.stringify(command) });
        }
        other = authorization.proof!;
        return answer;
      },
    });
    await post(vote('honest', OPEN, 3, 1));
    landed(await world.sequencer.done('honest'));
    await post(vote('tampered', OPEN, 4, 1));
    const done = await world.sequencer.done('tampered');
    assert.equal(tampered, 1);
    const [refused] = done.attempts;
    assert.equal(refused!.outcome, 'refused');
    assert.match(JSON.stringify(refused!.error), /Invalid_proof/);
    assert.notEqual(landed(done).number, refused!.number);
  });

step('everything is committed, and every vote is on the chain once', async () => {
  const open = posted.filter((uid) =>
    ['killed-proving', 'killed-unkept', 'killed-kept', 'raised', 'honest', 'tampered'].includes(uid),
  );
  const { state } = await world.ledger.claim(OPEN);
  assert.deepEqual(Tally.toJSON(Tally.unpack(state.tally)), {
    positives: `${open.length}`,
    negatives: '0',
    ignored: '0',
  });

  await post({
    uid: 'commit',
    queue: `plan-${PLAN}`,
    type: 'COMMIT_ALL_BATCHES',
    data: { planUid: PLAN },
  });
  await world.sequencer.done('commit');
  const plan = (await world.ledger.plan(PLAN)).state;
  assert.equal(plan.received.toBigInt(), 4n);
  assert.equal(plan.committed.toBigInt(), plan.sharesRoot.toBigInt());

  // A command in a block spends a nonce of its payer, whether it fails or not:
  // there are no more of them than the sequencer knows of, and one has taken
  // effect for each transaction.
  const attempts = (await Promise.all(posted.map((uid) => world.sequencer.get(uid)))).flatMap((transaction) => {
    landed(transaction);
    return transaction.attempts.filter(({ outcome }) => outcome === 'included' || outcome === 'failed');
  });
  for (const { accountId } of world.workers) {
    const spent = attempts.filter(({ sender }) => sender === accountId).map(({ nonce }) => nonce);
    assert.deepEqual(
      spent.sort((a, b) => a - b),
      Array.from({ length: await world.ledger.nonce(accountId) }, (_, nonce) => nonce),
    );
  }
});
