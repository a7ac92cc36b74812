import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fetchAccount, PublicKey, TokenId } from 'o1js';
import { startExample, type Deployed } from './example.js';
import { landed, type Post } from './sequencer.js';
import { World } from './world.js';

// Programs from npm that nobody here wrote, by the workers in workers/examples: with a width or without,
// with one prover or two, they leave the same, and each fee buys one effect. With proofs
// there is one round of each, with a width.

/** Milliseconds; many times what a test takes on an idle machine. */
const TIMEOUT = 60 * 60_000;
const PROOFS = process.env['E2E_PROOFS'] === 'on';
/** Seconds. A node is given one command of a sender every five, so three take a quarter of a minute. */
const SLOTS: Record<number, number> = PROOFS ? { 1: 5, 3: 60 } : { 1: 3, 3: 30 };

interface Program {
  name: string;
  env: Record<string, string>;
  /** What is to be done, in order. */
  work(deployed: Deployed): Post[];
  /** What is to be the same in the end. */
  left(deployed: Deployed, world: World): Promise<unknown>;
}

const post = (uid: string, type: string, data: object): Post => ({ uid, queue: 'all', type, data });

const airdrop: Program = {
  name: 'airdrop',
  // A claim signs for the payer's tokens with the nonce of their account: each requires what the one before it makes.
  env: { SEQUENCER_WORKER_TYPES: 'CLAIM,OFFER', SEQUENCER_OVERLAP: 'CLAIM=chained' },
  work: () => [
    ...Array.from({ length: PROOFS ? 2 : 6 }, (_, i) => post(`claim-${i}`, 'CLAIM', { amount: `${100 + i}` })),
    post('offer', 'OFFER', { amount: '50' }),
    post('claim-last', 'CLAIM', { amount: '7' }),
  ],
  left: async ({ payer, said }) => {
    const tokenId = TokenId.derive(PublicKey.fromBase58(said['TOKEN']!));
    const held = [payer, PublicKey.fromBase58(said['AIRDROP']!)].map((publicKey) =>
      fetchAccount({ publicKey, tokenId }),
    );
    return (await Promise.all(held)).map(({ account }) => [account!.balance.toString(), account!.nonce.toString()]);
  },
};

const attestation: Program = {
  name: 'attestation',
  env: { SEQUENCER_WORKER_TYPES: 'VERIFY', SEQUENCER_OVERLAP: 'VERIFY=chained' },
  work: ({ said }) => {
    const presentation = Buffer.from(said['PRESENTATION']!, 'base64').toString();
    return Array.from({ length: PROOFS ? 2 : 5 }, (_, i) => post(`verify-${i}`, 'VERIFY', { presentation }));
  },
  left: async ({ said }, world) => (await world.ledger.state(said['VERIFIER']!))[1]!.toString(),
};

async function round(program: Program, width: number, provers: number): Promise<{ left: unknown; heights: number[] }> {
  const folder = await mkdtemp(join(tmpdir(), `${program.name}-`));
  const world = new World(folder, PROOFS, { slot: SLOTS[width]! });
  let done = false;
  try {
    await world.startChain(1);
    const env = { ...program.env, SEQUENCER_WIDTH: `${width}` };
    const deployed = await startExample(world, folder, program.name, { PROVERS: `${provers}` }, env);
    const payer = deployed.payer.toBase58();
    const before = await world.ledger.balance(payer);
    const work = program.work(deployed);
    for (const each of work) await world.sequencer.post(each);
    let fees = 0n;
    const heights: number[] = [];
    let behind = 0;
    for (const { uid } of work) {
      const transaction = await world.sequencer.done(uid);
      assert.equal(transaction.retries, 0, JSON.stringify(transaction));
      const proved = world.workers[0]!.logged('proved and signed', uid);
      assert.equal(proved.length, 1, JSON.stringify(transaction));
      if (Number(proved[0]!['ahead']) > 0) behind++;
      const { fee, blockHeight } = landed(transaction);
      fees += BigInt(fee);
      heights.push(blockHeight!);
    }
    assert.equal(before - (await world.ledger.balance(payer)), fees, 'a fee was paid for nothing');
    const blocks = new Set(heights).size;
    const how = `${work.length} in ${blocks} blocks, ${behind} made behind others in flight`;
    console.log(`${program.name}, width ${width}, provers ${provers}: ${how}`);
    const left = await program.left(deployed, world);
    done = true;
    return { left, heights };
  } finally {
    await world.stop();
    if (done) await rm(folder, { recursive: true });
    else console.error(`the programs' output is in ${folder}`);
  }
}

for (const program of [airdrop, attestation]) {
  test(`${program.name}: as with one at a time, so with a width`, { timeout: TIMEOUT }, async () => {
    const wide = await round(program, 3, 2);
    if (PROOFS) return;
    const narrow = await round(program, 1, 1);
    assert.deepEqual(wide.left, narrow.left);
    assert.equal(new Set(narrow.heights).size, narrow.heights.length);
  });
}
