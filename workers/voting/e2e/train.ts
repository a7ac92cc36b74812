import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preferNative, type TxnResult } from '@mina-sequencer/worker-kit';
import { PrivateKey } from 'o1js';
import { Tally } from '../src/claim-voting.js';
import { Keys } from '../src/keys.js';
import { signBatch } from '../src/signed-batch.js';
import { Ledger } from './ledger.js';
import { freePort, start, type Program } from './processes.js';

// Trains on a ledger node and a voting worker, without the sequencer: the votes of one claim,
// each made on top of those that are in no block yet, and a plan; once with a width of WIDTH,
// once one by one. What they leave has to be the same. It prints blocks and times.
//
//     node dist/e2e/train.js            VOTES=48 WIDTH=12 E2E_PROOFS=off

const VOTES = Number(process.env['VOTES'] ?? 48);
const WIDTH = Number(process.env['WIDTH'] ?? 12);
const PROOFS = process.env['E2E_PROOFS'] === 'on' ? 'on' : 'off';
const WORKERS = new URL('../../..', import.meta.url).pathname;

const electorKeys = Array.from({ length: VOTES }, (_, i) => PrivateKey.fromBigInt(5000n + BigInt(i)));
const electors = electorKeys.map((key) => key.toPublicKey().toBase58());
const secret = 'a secret that only trains know, of more than enough length';

type Step = [type: string, data: object];

/** One claim with all votes, and one plan with a few shares. */
function round(claimUid: string, planUid: string): Step[] {
  const strategy = { requiredVotes: VOTES, requiredPositives: 1 };
  const votes = electors.map((electorAccountId, i): Step => {
    const data = { planUid, batchUid: 'north', claimUid, electorAccountId, index: i, vote: [1, -1, 0, 1][i % 4] };
    return ['SEND_CLAIM_VOTE', data];
  });
  const shares = electorKeys.slice(0, 4).map((key, i): Step => {
    const signedData = signBatch(key, { planUid, batchUid: 'north', votes: [{ claimUid: 'c'.repeat(32), vote: 1 }] });
    return ['RECEIVE_VOTES_BATCH', { batchUid: 'north', senderAccountId: electors[i], signedData }];
  });
  return [
    ['CREATE_CLAIM_VOTING_ACCOUNT', { claimUid, strategy }],
    ...votes,
    ['CREATE_VOTING_BATCHES_ACCOUNT', { planUid, communityUid: 'gardeners' }],
    ...shares,
    ['COMMIT_ALL_VOTING_BATCHES', { planUid }],
  ];
}

interface Ahead {
  uid: string;
  nonce: number;
  hash: string;
  signed: string;
}

/** One payer's queue. */
class Queue {
  readonly #flying: Ahead[] = [];
  #nonce = 0;
  blocks = 0;

  constructor(
    private readonly node: string,
    private readonly worker: string,
    private readonly payer: string,
  ) {}

  /** Takes each step as far as the pool, so many at a time in no block; returns how many blocks it took. */
  async run(name: string, steps: Step[], width: number): Promise<number> {
    const before = this.blocks;
    for (const [i, [type, data]] of steps.entries()) {
      const alone = type.startsWith('CREATE_');
      if (this.#flying.length >= (alone ? 1 : width)) await this.block();
      await this.#join(`${name}-${i}`, type, data);
      if (alone) await this.block();
    }
    await this.block();
    return this.blocks - before;
  }

  async #join(uid: string, type: string, data: object): Promise<void> {
    const attempt = { number: 1, nonce: this.#nonce, fee: '100000000', validUntil: null, memo: 'train', previous: [] };
    const sender = { accountId: this.payer, queue: 'train', retries: 0 };
    const body = { txData: { uid, type, data }, sender, attempt, ahead: this.#flying };
    const result = (await post(`${this.worker}/prove/${type}`, body)) as TxnResult;
    assert.equal(result.error, null, `${uid}: ${result.error?.message} ${result.error?.exception}`);
    assert.equal(result.on, this.#flying.at(-1)?.hash);
    const query = 'mutation($c: ZkappCommandInput!) { sendZkapp(input: {zkappCommand: $c}) { zkapp { hash } } }';
    const variables = { c: JSON.parse(result.signed!) as object };
    const sent = (await post(`${this.node}/graphql`, { query, variables })) as {
      data: { sendZkapp: { zkapp: { hash: string } } };
      errors?: object;
    };
    assert.equal(sent.errors, undefined, JSON.stringify(sent.errors));
    assert.equal(sent.data.sendZkapp.zkapp.hash, result.hash);
    this.#flying.push({ uid, nonce: this.#nonce, hash: result.hash, signed: result.signed! });
    this.#nonce++;
  }

  /** Makes a block, in which all of the train takes effect, in order. */
  async block(): Promise<void> {
    if (this.#flying.length === 0) return;
    await post(`${this.node}/control/block`, { count: 1 });
    this.blocks++;
    const query = '{ bestChain(maxLength: 1) { transactions { zkappCommands { hash failureReason { failures } } } } }';
    const { data } = (await post(`${this.node}/graphql`, { query })) as {
      data: { bestChain: { transactions: { zkappCommands: { hash: string; failureReason: object | null }[] } }[] };
    };
    const { zkappCommands } = data.bestChain[0]!.transactions;
    assert.deepEqual(
      zkappCommands.map(({ hash, failureReason }) => [hash, failureReason]),
      this.#flying.splice(0, zkappCommands.length).map(({ hash }) => [hash, null]),
    );
  }
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** What a round leaves, but for what follows from its names. */
async function stateOf(ledger: Ledger, claimUid: string, planUid: string): Promise<object> {
  const { state: claim } = await ledger.claim(claimUid);
  const { state: plan } = await ledger.plan(planUid);
  assert.equal(plan.committed.toString(), plan.sharesRoot.toString());
  return {
    tally: Tally.toJSON(Tally.unpack(claim.tally)),
    result: claim.result.toString(),
    received: plan.received.toString(),
    shares: plan.sharesRoot.toString(),
  };
}

const folder = await mkdtemp(join(tmpdir(), 'voting-train-'));
const programs: Program[] = [];
const launch = async (name: string, command: [string, ...string[]], ready: RegExp, env = {}) => {
  const program = await start(name, command, { env, logs: folder, ready });
  programs.unshift(program);
  return program;
};
try {
  const bin = join(WORKERS, 'ledger-node/dist/src/bin.js');
  const args = ['--port', '0', '--block-time', 'manual', '--proofs', PROOFS, '--accounts', '1'];
  const env = { O1JS_BACKEND: preferNative().backend };
  const node = await launch(
    'node',
    [process.execPath, bin, ...args],
    /GraphQL\s+(http\S+)\/graphql[^]*Ready after/,
    env,
  );
  const base = node.ready[1]!;
  const ledger = new Ledger(base, new Keys(Buffer.from(secret)));
  const [payer] = await ledger.accounts();
  await writeFile(join(folder, 'electors.json'), JSON.stringify(electors));
  const port = await freePort();
  await launch('worker', [process.execPath, join(WORKERS, 'voting/dist/src/worker.js')], /"listening"/, {
    PORT: `${port}`,
    MINA_URL: ledger.graphql,
    ARCHIVE_URL: ledger.archive,
    PAYER_KEY: payer!.privateKey,
    VOTING_ACCOUNT_SECRET: secret,
    VOTING_ELECTORS_FILES: join(folder, 'electors.json'),
    WORKER_STORE: join(folder, 'store'),
    PROOFS,
  });
  const queue = new Queue(base, `http://127.0.0.1:${port}`, payer!.publicKey);
  const states: object[] = [];
  for (const [i, width] of [WIDTH, 1].entries()) {
    const [claimUid, planUid] = [String(i).repeat(32), `plan-${i}`];
    const steps = round(claimUid, planUid);
    const [votes, plan] = [steps.slice(1, VOTES + 1), steps.slice(VOTES + 1)];
    await queue.run(`create-${i}`, steps.slice(0, 1), width);
    const began = Date.now();
    const blocks = await queue.run(`vote-${i}`, votes, width);
    const seconds = ((Date.now() - began) / 1000).toFixed(0);
    const rest = await queue.run(`plan-${i}`, plan, width);
    console.log(`width ${width}: ${VOTES} votes in ${blocks} blocks and ${seconds} s, a plan of 6 in ${rest} blocks`);
    assert.equal(blocks, Math.ceil(VOTES / Math.min(width, 12)));
    states.push(await stateOf(ledger, claimUid, planUid));
  }
  assert.deepEqual(states[0], states[1]);
  console.log(`the same state: ${JSON.stringify(states[0])}`);
  for (const program of programs) await program.stop();
  await rm(folder, { recursive: true });
  process.exit(0);
} catch (error) {
  console.error(error, `the programs' output is in ${folder}`);
  process.exit(1);
}
