import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fetchAccount, PrivateKey, PublicKey, TokenId } from 'o1js';
import { startExample } from './example.js';
import { landed, type Post, type Transaction } from './sequencer.js';
import { World } from './world.js';

// The standard token with a width: mints to new holders and transfers share blocks, and leave what they
// leave one by one, at no other price. And where several are made at the same time that find one new holder
// absent, all take effect.

const PROOFS = process.env['E2E_PROOFS'] === 'on';
const MINTS = Number(process.env['E2E_MINTS'] ?? (PROOFS ? 4 : 12));
const TRANSFERS = Number(process.env['E2E_TRANSFERS'] ?? (PROOFS ? 6 : 24));
/** Milliseconds: an hour, and five minutes for each; many times what a test takes on an idle machine. */
const TIMEOUT = (60 + 5 * (MINTS + TRANSFERS)) * 60_000;
/** Seconds. A node is given one command of a sender every five, so six take more than half a minute. */
const SLOTS: Record<number, number> = PROOFS ? { 1: 5, 6: 65 } : { 1: 3, 6: 36 };
/** What an account costs, in nanomina. */
const CREATION = 1_000_000_000n;

const newcomer = PrivateKey.fromBigInt(6999n).toPublicKey();
const holders = Array.from({ length: MINTS }, (_, i) => PrivateKey.fromBigInt(7000n + BigInt(i)).toPublicKey());
const work: Post[] = [
  ...holders.map((to, i) => item(`mint-${i}`, 'MINT', to, 100 + i)),
  ...Array.from({ length: TRANSFERS }, (_, i) => item(`transfer-${i}`, 'TRANSFER', holders[i % MINTS]!, 10 + i)),
];

function item(uid: string, type: string, to: PublicKey, amount: number): Post {
  return { uid, queue: 'token', type, data: { to: to.toBase58(), amount: `${amount}` } };
}

/**
 * Has all of posts done, each in one block at the price of its fee and of the accounts that they create, and
 * returns the heights.
 */
async function carry(
  world: World,
  payer: PublicKey,
  posts: Post[],
  creates: number,
  look: (transaction: Transaction) => void,
): Promise<number[]> {
  const before = await world.ledger.balance(payer.toBase58());
  for (const post of posts) await world.sequencer.post(post);
  let price = BigInt(creates) * CREATION;
  const heights: number[] = [];
  for (const { uid } of posts) {
    const transaction = await world.sequencer.done(uid);
    const { fee, blockHeight } = landed(transaction);
    price += BigInt(fee);
    heights.push(blockHeight!);
    assert.equal(transaction.retries, 0, JSON.stringify(transaction));
    look(transaction);
  }
  const spent = before - (await world.ledger.balance(payer.toBase58()));
  assert.equal(spent, price, 'a fee was paid for nothing');
  return heights;
}

/** Does all the work, and returns what it leaves and the blocks that it took. */
async function round(width: number, provers: number): Promise<{ left: unknown[]; heights: number[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'token-width-'));
  const world = new World(folder, PROOFS, { slot: SLOTS[width]! });
  let done = false;
  try {
    await world.startChain(1);
    const { payer, said } = await startExample(
      world,
      folder,
      'token',
      { PROVERS: `${provers}` },
      {
        SEQUENCER_WORKER_TYPES: 'MINT,TRANSFER',
        SEQUENCER_OVERLAP: 'MINT=commuting,TRANSFER=commuting',
        SEQUENCER_WIDTH: `${width}`,
      },
    );
    const token = PublicKey.fromBase58(said['TOKEN']!);
    const balance = async (key: PublicKey) =>
      (await fetchAccount({ publicKey: key, tokenId: TokenId.derive(token) })).account?.balance.toBigInt();
    await world.sequencer.post(item('stock', 'MINT', payer, 1_000_000));
    await world.sequencer.done('stock');
    const heights = await carry(world, payer, work, MINTS, (transaction) => {
      assert.equal(
        world.workers[0]!.logged('proved and signed', transaction.uid).length,
        1,
        JSON.stringify(transaction),
      );
    });
    const blocks = [...new Set(heights)].map((height) => heights.filter((each) => each === height).length);
    console.log(`width ${width}, provers ${provers}: ${work.length} in ${blocks.length} blocks (${blocks.join(' ')})`);
    // What the second pays for is there by then: that costs a proof, and no fee.
    const twins = ['MINT', 'TRANSFER', 'TRANSFER'].map((type, i) => item(`twin-${i}`, type, newcomer, 5));
    for (const twin of twins) await world.sequencer.post(twin);
    for (const { uid } of twins) {
      const { attempts } = await world.sequencer.done(uid);
      const outcomes = attempts.map(({ outcome, error }) => error?.code ?? outcome).join(', ');
      console.log(`${uid}: ${outcomes}`);
      assert.ok(
        attempts.every(({ outcome }) => outcome !== 'failed'),
        outcomes,
      );
    }
    const left = await Promise.all([payer, token, newcomer, ...holders].map(balance));
    done = true;
    return { left, heights };
  } finally {
    await world.stop();
    if (done) await rm(folder, { recursive: true });
    else console.error(`the programs' output is in ${folder}`);
  }
}

test('mints and transfers of the standard token share blocks, at no other price', { timeout: TIMEOUT }, async () => {
  const wide = await round(6, 2);
  assert.ok(new Set(wide.heights).size < work.length, 'none shared a block');
  if (PROOFS) return; // one round of them takes long enough
  const narrow = await round(1, 1);
  assert.deepEqual(wide.left, narrow.left);
  assert.equal(new Set(narrow.heights).size, work.length);
});
