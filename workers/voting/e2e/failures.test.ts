import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PrivateKey } from 'o1js';
import type { Account } from './ledger.js';
import { landed, pause, type Post } from './sequencer.js';
import { World } from './world.js';

// What a zkApp developer gets wrong first, each once on real processes: what it
// says, and that the sequencer goes on with whoever is in order.

/** Milliseconds; many times what a test takes on an idle machine. */
const TIMEOUT = 10 * 60_000;

const folder = await mkdtemp(join(tmpdir(), 'voting-failures-'));
const world = new World(folder, false);
const key = PrivateKey.random();
/** Nobody has paid anything to it. */
const poor: Account = { publicKey: key.toPublicKey().toBase58(), privateKey: key.toBase58() };
let good: Account;
let misled: Account;
let foreign: Account;

before(async () => {
  await world.startChain(3);
  [good, misled, foreign] = (await world.ledger.accounts()) as [Account, Account, Account];
  const { gate } = await world.startWorker(good);
  const workers = [await world.startWorker(foreign, { MINA_NETWORK: 'mainnet' }), await world.startWorker(poor)];
  await world.startSequencer(
    [
      [good.publicKey, gate.url],
      // Another account than the one whose key the worker has.
      [misled.publicKey, gate.url],
      ...workers.map((worker): [string, string] => [worker.accountId, worker.gate.url]),
    ],
    // Senders rest for some seconds, so that it can be seen why.
    {
      SEQUENCER_WORKER_TYPES: 'UNHEARD_OF',
      SEQUENCER_MAX_RETRIES: '0',
      SEQUENCER_RETRY_DELAY: '20s',
      SEQUENCER_RETRY_DELAY_MAX: '20s',
    },
  );
});

let passed = 0;
let tests = 0;

after(async () => {
  await world.stop();
  if (passed === tests) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

function step(name: string, body: () => Promise<void>): void {
  tests++;
  test(name, { timeout: TIMEOUT }, async () => {
    await body();
    passed++;
  });
}

const createPlan = (planUid: string): Post => ({
  uid: planUid,
  queue: `plan-${planUid}`,
  type: 'CREATE_VOTING_BATCHES_ACCOUNT',
  data: { planUid, communityUid: 'gardeners' },
});

step('senders that cannot send are told apart, and the one that can sends for all', async () => {
  const wrong: [account: Account, reason: string, detail: RegExp][] = [
    [misled, 'WRONG_ACCOUNT', new RegExp(`serves another account.*${good.publicKey}`)],
    [foreign, 'WRONG_NETWORK', /signs for the network "mina:mainnet", the Mina nodes are of "mina:testnet"/],
    [poor, 'LOW_BALANCE', /no node knows the account.* fund it/],
  ];
  const plans = ['spring', 'summer', 'autumn', 'winter'].map(createPlan);
  for (const plan of plans) await world.sequencer.post(plan);
  await Promise.all(
    wrong.map(async ([{ publicKey }, reason, detail]) => {
      const sender = await world.sequencer.untilSender(publicKey, (sender) => sender.reason === reason);
      assert.equal(sender.available, false);
      assert.match(sender.detail ?? '', detail);
    }),
  );
  for (const { uid } of plans) {
    const done = await world.sequencer.done(uid);
    assert.equal(landed(done).sender, good.publicKey);
    assert.equal(done.retries, 0);
  }
});

step('an account that was funded is used', async () => {
  await world.ledger.control('faucet', { publicKey: poor.publicKey, amount: 100 });
  while ((await world.ledger.balance(poor.publicKey)) === 0n) await pause();
  const { status, text } = await world.sequencer.call('POST', `/senders/${poor.publicKey}/resume`, {});
  assert.equal(status, 200, text);
  const plans = ['leap-year', 'second-leap-year'].map(createPlan);
  for (const plan of plans) await world.sequencer.post(plan);
  const senders = new Set<string>();
  for (const { uid } of plans) senders.add(landed(await world.sequencer.done(uid)).sender);
  assert.ok(senders.has(poor.publicKey), [...senders].join());
});

step('a type that nobody knows is refused, and one that the worker does not know is given up', async () => {
  const unknown = await world.sequencer.call('POST', '/transactions', { ...createPlan('x'), type: 'UNKNOWN' });
  assert.equal(unknown.status, 422, unknown.text);
  assert.match(unknown.text, /UNKNOWN_TYPE/);

  await world.sequencer.post({ uid: 'unheard', queue: 'unheard', type: 'UNHEARD_OF', data: {} });
  const { error } = await world.sequencer.until('unheard', 'became FAILED', ({ state }) => state === 'FAILED');
  assert.equal(error?.code, '404');
  assert.match(error.message, /this worker does not make UNHEARD_OF, only CREATE_CLAIM_VOTING_ACCOUNT,/);
});

step('a node that is away is waited for', async () => {
  await world.ledger.control('faults', { status: 503 });
  await world.sequencer.post(createPlan('patience'));
  await world.sequencer.untilExplained('patience', /too few Mina nodes are synced to start anything/);
  await world.ledger.control('heal');
  const done = await world.sequencer.done('patience');
  landed(done);
  assert.equal(done.retries, 0);
});
