import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AccountUpdate, fetchAccount, Field, PrivateKey, Reducer } from 'o1js';
import { landed, type Post } from './sequencer.js';
import { World } from './world.js';

// Several of one queue proved at a time: what commutes, by a worker with provers, through the
// sequencer and into blocks of Mina's own ledger.

/** Milliseconds; many times what a test takes on an idle machine. */
const TIMEOUT = 10 * 60_000;
const PROVERS = 3;
const CAST = 9;
const SPOILT = 4;

const folder = await mkdtemp(join(tmpdir(), 'voting-ballots-'));
const world = new World(folder, process.env['E2E_PROOFS'] === 'on', { slot: 20 });
const key = PrivateKey.random();
let done = false;

before(async () => {
  await world.startChain(1);
  const [account] = await world.ledger.accounts();
  const env = { BALLOTS_KEY: key.toBase58(), PROVERS: `${PROVERS}` };
  const { accountId, gate } = await world.startWorker(account!, env, 'e2e/ballots.js');
  await world.startSequencer([[accountId, gate.url]], {
    SEQUENCER_WORKER_TYPES: 'OPEN_BALLOTS,CAST_BALLOT',
    SEQUENCER_OVERLAP: 'CAST_BALLOT=commuting',
    SEQUENCER_WIDTH: `${CAST}`,
    SEQUENCER_MAX_RETRIES: '0',
    SEQUENCER_BUMP_AFTER: '20',
  });
});

after(async () => {
  await world.stop();
  if (done) await rm(folder, { recursive: true });
  else console.error(`the programs' output is in ${folder}`);
});

test('ballots are proved three at a time, each once, and land in their order', { timeout: TIMEOUT }, async () => {
  await world.sequencer.post({ uid: 'open', queue: 'ballots', type: 'OPEN_BALLOTS', data: {} });
  await world.sequencer.done('open');

  let beside = 0;
  let most = 0;
  const proofs: string[] = [];
  world.hook({
    sent: ({ path }) => {
      if (path.startsWith('/prove')) most = Math.max(most, ++beside);
    },
    answered: ({ path, uid }, answer) => {
      if (!path.startsWith('/prove')) return answer;
      beside--;
      // What has no time is asked again: a block may have taken the nonce that it was asked for.
      if (answer.includes('"signed"')) proofs.push(uid);
      return answer;
    },
  });
  const ballots = Array.from({ length: CAST }, (_, i): Post => {
    const data = { ballot: 100 + i, ...(i === SPOILT && { spoilt: true }) };
    return { uid: `ballot-${i}`, queue: 'ballots', type: 'CAST_BALLOT', data };
  });
  for (const ballot of ballots) await world.sequencer.post(ballot);
  const good = ballots.filter((_, i) => i !== SPOILT);
  const attempts = [];
  for (const { uid } of good) attempts.push(landed(await world.sequencer.done(uid)));
  await world.sequencer.until('ballot-4', 'failed', ({ state }) => state === 'FAILED');

  assert.equal(most, PROVERS);
  assert.equal(new Set(good.map(({ uid }) => uid)).size, proofs.length);
  attempts.forEach(({ nonce }, i) => assert.equal(nonce, 1 + i));

  let expected = Reducer.initialActionState;
  const { Actions } = AccountUpdate;
  for (const { data } of good) {
    const { hash } = Actions.pushEvent(Actions.empty(), [Field((data as { ballot: number }).ballot)]);
    expected = Actions.updateSequenceState(expected, hash);
  }
  const { account } = await fetchAccount({ publicKey: key.toPublicKey() });
  assert.equal(account!.zkapp!.actionState[0]!.toString(), expected.toString());

  const blocks = new Set(attempts.map(({ blockHeight }) => blockHeight)).size;
  console.log(`${good.length} ballots in ${blocks} blocks`);
  assert.ok(blocks < good.length);
  done = true;
});
