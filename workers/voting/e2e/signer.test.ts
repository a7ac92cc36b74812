import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PrivateKey } from 'o1js';
import { Gate } from './gate.js';
import type { Account } from './ledger.js';
import { freePort, start, type Program } from './processes.js';
import { landed, pause, type Attempt, type Post } from './sequencer.js';
import { electorKeys, World, type VotingWorker } from './world.js';

// A worker that proves, and a signer that has its payer's key, on real processes: what they do together, what
// becomes of a proof where the signer is killed, and that the key is nowhere but where it should be.

/** Milliseconds; many times what a step takes on an idle machine. */
const TIMEOUT = 10 * 60_000;
const SIGNER = fileURLToPath(new URL('../../../signer/bin/signer.js', import.meta.url));
const CLAIM = 'c'.repeat(32);

const folder = await mkdtemp(join(tmpdir(), 'signer-e2e-'));
const world = new World(folder, false);
let payer: Account;
let worker: VotingWorker;
let gate: Gate;
let signer: Program;
let run: () => Promise<Program>;
let passed = 0;
let tests = 0;

before(async () => {
  await world.startChain(1);
  [payer] = (await world.ledger.accounts()) as [Account];
  const port = await freePort();
  const [key, policy, token] = [join(folder, 'payer.key'), join(folder, 'policy.json'), 'a-token-of-the-signer'];
  await writeFile(key, payer.privateKey, { mode: 0o600 });
  const limits = { maxFee: '5', maxFeesPerDay: '100', maxOutflow: '2', maxOutflowPerDay: '2', zkApps: 'any' };
  const types = ['CREATE_CLAIM_VOTING_ACCOUNT', 'SEND_CLAIM_VOTE'];
  await writeFile(policy, JSON.stringify({ ...limits, types }));
  const env = {
    PORT: `${port}`,
    SIGNER_KEY_FILE: key,
    SIGNER_POLICY: policy,
    SIGNER_STATE: join(folder, 'signer'),
    SIGNER_TOKEN: token,
  };
  run = () => start('signer', [process.execPath, SIGNER], { env, logs: folder, ready: /"listening"/ });
  signer = await run();
  gate = new Gate(port);
  await gate.open();
  const more = { PAYER_KEY: undefined, SIGNER_URL: gate.url, SIGNER_ACCOUNT: payer.publicKey, SIGNER_TOKEN: token };
  worker = await world.startWorker(payer, more);
  await world.startSequencer([[payer.publicKey, worker.gate.url]]);
});

after(async () => {
  await world.stop();
  await Promise.all([signer.stop(), gate.close()]);
  if (passed === tests) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

function step(name: string, body: () => Promise<void>): void {
  tests++;
  test(name, { timeout: TIMEOUT }, async () => {
    world.hook({});
    gate.hook = {};
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

/** It took effect once, by one proof, without a retry. */
async function landedOnce(uid: string): Promise<Attempt> {
  const done = await world.sequencer.done(uid);
  assert.equal(done.retries, 0, JSON.stringify(done));
  assert.equal(worker.logged('proved', uid).length, 1, uid);
  return landed(done);
}

async function restart(): Promise<void> {
  await signer.kill();
  signer = await run();
}

step('a transaction is made by a prover without a key and a signer without contracts', async () => {
  const strategy = { requiredVotes: 9, requiredPositives: 9 };
  const data = { claimUid: CLAIM, strategy };
  await world.sequencer.post({ uid: 'claim', queue: 'claim', type: 'CREATE_CLAIM_VOTING_ACCOUNT', data });
  await landedOnce('claim');
  await world.sequencer.post(vote('first', 0));
  await landedOnce('first');
  assert.equal((await world.ledger.claim(CLAIM)).state.tally.toBigInt(), 1n);
});

step('the signer is killed: no proof is thrown away, and nothing is doubled', async () => {
  const moments = ['unasked', 'asked', 'signed'] as const;
  for (const [i, moment] of [...moments, ...moments].entries()) {
    const uid = `${moment}-${i}`;
    let calls = 0;
    let back: Promise<void> | undefined;
    if (moment === 'unasked') {
      await signer.kill();
      const refused = new Promise<void>((resolve) =>
        world.hook({
          answered: (call, answer) => {
            if (call.uid === uid && answer.includes('does not answer')) resolve();
            return answer;
          },
        }),
      );
      back = refused.then(async () => {
        signer = await run();
      });
    }
    gate.hook = {
      // Asked first whether it would sign, then to sign.
      sent: (call) => {
        if (call.uid === uid && ++calls === 2 && moment === 'asked') back = restart();
      },
      answered: async (call, answer) => {
        if (call.uid !== uid || moment !== 'signed' || back || !answer.includes('"signed"')) return answer;
        back = restart();
        await back;
        return undefined;
      },
    };
    await world.sequencer.post(vote(uid, i + 1));
    const { fee } = await landedOnce(uid);
    assert.ok(back, `${uid}: the signer was not killed`);
    await back;
    assert.equal(await spent(), (BigInt(i) + 3n) * BigInt(fee), 'each is counted once');
  }
  assert.equal((await world.ledger.claim(CLAIM)).state.tally.toBigInt(), 7n);
});

/** What the signer has counted in nanomina of fees. */
async function spent(): Promise<bigint> {
  const file = join(folder, 'signer', `${payer.publicKey}-devnet.json`);
  return BigInt((JSON.parse(await readFile(file, 'utf8')) as { fees: string }).fees);
}

step('a fee is raised without a second proof', async () => {
  const { sequencer, ledger } = world;
  while (!(await ledger.isTipEmpty())) await pause();
  const counted = await spent();
  world.hook({
    async answered({ path, uid }, answer) {
      if (uid === 'raised' && path.startsWith('/prove/')) await ledger.control('pause');
      return answer;
    },
  });
  await sequencer.post(vote('raised', 7));
  const pooled = async (least: number) => {
    const [{ attempts }, hashes] = [await sequencer.get('raised'), await ledger.pooled()];
    return attempts.find(({ number, hash }) => number >= least && hash !== null && hashes.includes(hash));
  };
  let first: Attempt | undefined;
  while (!(first = await pooled(1))) await pause();
  // The chain goes on, with blocks that take nothing.
  let slot = await ledger.slot();
  while (!(await pooled(first.number + 1))) {
    await pause();
    const now = await ledger.slot();
    if (now === slot) continue;
    slot = now;
    await ledger.control('reorg', { depth: 1, empty: true });
  }
  await ledger.control('resume');
  const raised = await landedOnce('raised');
  assert.ok(raised.number > first.number && BigInt(raised.fee) > BigInt(first.fee));
  assert.equal(raised.nonce, first.nonce);
  const { attempts } = await sequencer.get('raised');
  const dearest = attempts.reduce((most, { fee }) => (BigInt(fee) > most ? BigInt(fee) : most), 0n);
  assert.equal(await spent(), counted + dearest, 'a raise counts its difference');
});

step('what the policy does not allow ends with its words', async () => {
  const data = { planUid: 'autumn', communityUid: 'gardeners' };
  await world.sequencer.post({ uid: 'plan', queue: 'plan', type: 'CREATE_VOTING_BATCHES_ACCOUNT', data });
  const { error, attempts } = await world.sequencer.until('plan', 'was refused', ({ state }) => state === 'UNRESOLVED');
  const words = /^POLICY: the payer's signer does not sign this: it signs no CREATE_VOTING_BATCHES_ACCOUNT, only/;
  assert.match(error!.message, words);
  assert.equal(attempts.length, 1);
});

step('the key is in the signer alone, and no log has it or a command', async () => {
  const scalar = PrivateKey.fromBase58(payer.privateKey).toBigInt().toString(16).padStart(64, '0');
  const bytes = Buffer.from(scalar, 'hex');
  const forms = {
    text: Buffer.from(payer.privateKey, 'latin1'),
    'wide text': Buffer.from(payer.privateKey, 'utf16le'),
    'bytes, highest first': bytes,
    'bytes, lowest first': Buffer.from(bytes).reverse(),
    'words of 64 bits': Buffer.concat([24, 16, 8, 0].map((at) => Buffer.from(bytes.subarray(at, at + 8)).reverse())),
  };
  if (process.platform === 'linux') {
    assert.ok((await found(signer.pid, forms)).includes('text'), 'the search finds nothing where the key is');
    assert.deepEqual(await found(worker.pid, forms), []);
  }
  for (const name of ['signer', 'worker-1', 'sequencer']) {
    const log = await readFile(join(folder, `${name}.log`), 'utf8');
    for (const hidden of [payer.privateKey, scalar, 'a-token-of-the-signer', 'accountUpdates":['])
      assert.ok(!log.includes(hidden), `${name}: ${hidden}`);
  }
});

/** Which of the patterns are in a process's memory. */
async function found(pid: number, patterns: Record<string, Buffer>): Promise<string[]> {
  const names = new Set<string>();
  const longest = 128;
  const chunk = Buffer.alloc((16 << 20) + longest);
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  const memory = await open(`/proc/${pid}/mem`, 'r');
  let bytes = 0;
  try {
    for (const [, from, to] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
      const end = parseInt(to!, 16);
      for (let at = parseInt(from!, 16); at < end; at += chunk.length - longest) {
        const length = Math.min(end - at, chunk.length);
        const read = await memory.read(chunk, 0, length, at).catch(() => ({ bytesRead: 0 })); // not all can be read
        bytes += read.bytesRead;
        const part = chunk.subarray(0, read.bytesRead);
        for (const [name, pattern] of Object.entries(patterns)) if (part.includes(pattern)) names.add(name);
      }
    }
  } finally {
    await memory.close();
  }
  assert.ok(bytes > 10 << 20, `only ${bytes} bytes were read`);
  return [...names];
}
