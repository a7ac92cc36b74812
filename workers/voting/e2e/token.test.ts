import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fetchAccount, PrivateKey, PublicKey, TokenId } from 'o1js';
import { startExample } from './example.js';
import { landed, type Post } from './sequencer.js';
import { World } from './world.js';

// A contract that nobody here wrote, the standard token, by the example's worker: what it would do is
// told before, and then it does it.

/** Milliseconds; many times what a test takes on an idle machine. */
const TIMEOUT = 10 * 60_000;

const folder = await mkdtemp(join(tmpdir(), 'token-'));
const world = new World(folder, false);
let token: PublicKey;
let payer: PublicKey;
let done = false;

before(async () => {
  await world.startChain(1);
  const types = { SEQUENCER_WORKER_TYPES: 'MINT,TRANSFER,BURN' };
  const deployed = await startExample(world, folder, 'token', {}, types);
  payer = deployed.payer;
  token = PublicKey.fromBase58(deployed.said['TOKEN']!);
});

after(async () => {
  await world.stop();
  if (done) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

interface Trial {
  simulation: {
    ok: boolean;
    failure: { index: number | null; code: string; message: string } | null;
    weight: number;
    touched: { publicKey: string; tokenId: string; creates: boolean }[];
    seconds: number | null;
  } | null;
  notSimulated: string | null;
}

async function tried(type: string, data: object): Promise<NonNullable<Trial['simulation']>> {
  const { status, text } = await world.sequencer.call('POST', '/transactions?dryRun=true', {
    queue: 'token',
    type,
    data,
  });
  assert.equal(status, 200, text);
  const { simulation, notSimulated } = JSON.parse(text) as Trial;
  assert.ok(simulation, notSimulated ?? text);
  return simulation;
}

const balance = async (key: PublicKey) =>
  (await fetchAccount({ publicKey: key, tokenId: TokenId.derive(token) })).account?.balance.toString();

test('the standard token is minted, transferred and burned as was told before', { timeout: TIMEOUT }, async () => {
  const holder = PrivateKey.random().toPublicKey();
  const tokenId = TokenId.toBase58(TokenId.derive(token));
  const to = { to: payer.toBase58(), amount: '1000' };

  const burnt = await tried('BURN', { amount: '1' });
  assert.deepEqual([burnt.ok, burnt.failure?.code], [false, 'Overflow'], JSON.stringify(burnt));
  const minted = await tried('MINT', to);
  assert.deepEqual([minted.ok, minted.failure, minted.seconds], [true, null, null]);
  assert.deepEqual(
    minted.touched.filter(({ creates }) => creates),
    [{ publicKey: to.to, tokenId, creates: true }],
  );
  assert.equal((await tried('MINT', { ...to, to: 'nobody' })).failure?.code, '500');
  assert.equal(await balance(payer), undefined);

  const work: Post[] = [
    { uid: 'mint', queue: 'token', type: 'MINT', data: to },
    { uid: 'transfer', queue: 'token', type: 'TRANSFER', data: { to: holder.toBase58(), amount: '300' } },
    { uid: 'burn', queue: 'token', type: 'BURN', data: { amount: '100' } },
  ];
  for (const item of work) await world.sequencer.post(item);
  for (const { uid } of work) landed(await world.sequencer.done(uid));
  assert.deepEqual(await Promise.all([payer, holder, token].map(balance)), ['600', '300', '900']);

  const spent = await tried('TRANSFER', { to: holder.toBase58(), amount: '601' });
  assert.deepEqual([spent.ok, spent.failure?.code], [false, 'Overflow']);
  const sent = await tried('TRANSFER', { to: holder.toBase58(), amount: '600' });
  assert.deepEqual([sent.ok, sent.touched.filter(({ creates }) => creates)], [true, []]);
  assert.ok(sent.seconds! > 0 && sent.weight > 3);
  assert.deepEqual(await Promise.all([payer, holder].map(balance)), ['600', '300']);
  done = true;
});
