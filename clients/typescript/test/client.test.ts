import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { after, before, test } from 'node:test';
import { LosslessNumber, Sequencer, SequencerError, stringify, type SequencerEvent } from '../src/index.js';
import { freePort, Rig } from './rig.js';

const elector = 'B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS';
let rig: Rig;
let url: string;
let sequencer: Sequencer;

before(async () => {
  rig = new Rig();
  ({ url } = await rig.sequencer(
    ['demo', '--slot', '50ms'],
    { SEQUENCER_WORKER_TYPES: 'COUNT', SEQUENCER_MAX_WAITING: '100', SEQUENCER_WEBHOOKS_PRIVATE: '127.0.0.1/32' },
    await freePort(),
  ));
  sequencer = new Sequencer({ url });
});
after(() => rig.stop());

const claim = () => randomUUID().replaceAll('-', '');

/** Asserts that something is refused, and returns why. */
async function refused(what: Promise<unknown>): Promise<SequencerError> {
  const error: unknown = await what.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof SequencerError, `it ended with ${String(error)}`);
  return error;
}

test('the example runs', async () => {
  const file = fileURLToPath(new URL('../examples/vote.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    env: { ...process.env, SEQUENCER_URL: url },
  });
  assert.equal(stdout.match(/ DONE {2}5/g)?.length, 4, stdout);
});

test('data stays as it was posted, with numbers larger than any float', async () => {
  const claimUid = claim();
  const queue = `claim-${claimUid}`;
  const requiredVotes = 2n ** 70n + 1n;
  const account = (votes: bigint, more: unknown) =>
    sequencer.post({
      queue,
      type: 'CREATE_CLAIM_VOTING_ACCOUNT',
      data: { claimUid, strategy: { requiredVotes: votes, requiredPositives: 1 }, more },
    });
  // A paused queue shows what was posted; what has landed shows what its worker made of it.
  assert.equal((await sequencer.settled((await account(1n, [])).uid)).state, 'DONE');
  await sequencer.pauseQueue(queue);
  const more = [new LosslessNumber('1E400'), new LosslessNumber('0.10'), -0.5, '\u2028"é'];
  const { uid, data } = await account(requiredVotes, more);
  const read = await sequencer.transaction(uid);
  const strategy = { requiredVotes, requiredPositives: 1 };
  assert.equal(stringify(read.data), stringify({ claimUid, strategy, more }));
  assert.equal(stringify(data), stringify(read.data));
  assert.equal((read.data as { strategy: typeof strategy }).strategy.requiredVotes, requiredVotes);
  const raw = await (await fetch(`${url}/api/v1/transactions/${uid}`)).text();
  assert.ok(raw.includes('"requiredVotes":1180591620717411303425') && raw.includes('[1E400,0.10,-0.5,'), raw);
  // And what was read can be posted again: the tokens are the same.
  assert.equal(
    (await sequencer.post({ uid, queue, type: read.type, data: read.data as Record<string, unknown> })).sequence,
    read.sequence,
  );
  await sequencer.resumeQueue(queue);
  assert.equal((await sequencer.settled(uid)).state, 'DONE');
});

test('a dry run tells what posting would come to, and posts nothing', async () => {
  const claimUid = claim();
  const uid = claimUid;
  const data = { claimUid, strategy: { requiredVotes: 2n ** 70n, requiredPositives: 1 } };
  const posted = { uid, queue: `claim-${claimUid}`, type: 'CREATE_CLAIM_VOTING_ACCOUNT', data } as const;
  const trial = await sequencer.dryRun(posted);
  assert.deepEqual([trial.dryRun, trial.existed, trial.state, trial.uid], [true, false, 'WAITING', uid]);
  assert.equal(trial.simulation, null);
  assert.match(trial.notSimulated ?? '', /no worker/);
  assert.equal(stringify(trial.data), stringify(data));
  assert.equal((await refused(sequencer.transaction(uid))).code, 'NOT_FOUND');
  const wrong = await refused(sequencer.dryRun({ ...posted, data: { ...data, claimUid: 'x' } }));
  assert.equal(wrong.code, 'INVALID_DATA');
});

test('payloads are typed', () => {
  const post = sequencer.post.bind(sequencer);
  const vote = { planUid: 'p', batchUid: 'b', claimUid: 'c', electorAccountId: elector, index: 0 };
  const mistakes = [
    // @ts-expect-error a field is missing
    () => post({ queue: 'plan-p', type: 'COMMIT_ALL_VOTING_BATCHES', data: {} }),
    // @ts-expect-error a vote is 1, -1 or 0
    () => post({ queue: 'q', type: 'SEND_CLAIM_VOTE', data: { ...vote, vote: 2 } }),
    () => post({ queue: 'q', type: 'SEND_CLAIM_VOTE', data: { ...vote, vote: '+1', index: 2n ** 70n } }),
    // @ts-expect-error data is an object
    () => post({ queue: 'q', type: 'COUNT', data: 'x' }),
    () => post({ queue: 'q', type: 'COUNT', data: { anything: 1n } }),
  ];
  assert.equal(mistakes.length, 5);
});

test('the same post is accepted once', async () => {
  const post = {
    queue: `plan-${claim()}`,
    type: 'COMMIT_ALL_VOTING_BATCHES',
    data: { planUid: 'p' },
    uid: claim(),
  } as const;
  const [a, b] = await Promise.all([sequencer.post(post), sequencer.post(post)]);
  assert.equal(a.sequence, b.sequence);
  assert.equal((await refused(sequencer.post({ ...post, data: { planUid: 'other' } }))).code, 'KEY_REUSED');
});

test('what is refused says why', async () => {
  const bad = await refused(sequencer.post({ queue: 'a b', type: 'SEND_CLAIM_VOTE', data: {} as never }));
  assert.equal(bad.code, 'INVALID_DATA');
  assert.equal(bad.status, 422);
  assert.ok(
    bad.errors.some((e) => e.field === 'queue') && bad.errors.some((e) => e.field === 'data.vote'),
    bad.message,
  );
  assert.equal((await refused(sequencer.transaction('none'))).code, 'NOT_FOUND');
  assert.equal((await refused(sequencer.post({ queue: 'q', type: 'NO_SUCH', data: {} }))).code, 'UNKNOWN_TYPE');
  assert.equal((await refused(sequencer.addSender('x', 'ftp://y'))).errors.length, 2);
  const elsewhere = new Sequencer({ url: `${url}/nothing` });
  assert.equal((await refused(elsewhere.transaction('u'))).code, 'NOT_FOUND');
});

test('a batch is answered item by item', async () => {
  const queue = `batch-${claim()}`;
  await assert.rejects(sequencer.queue(queue), SequencerError);
  const results = await sequencer.postBatch([
    { queue, type: 'COUNT', data: { n: 2n ** 64n } },
    { queue: '..', type: 'COUNT', data: {} },
    { queue, type: 'COUNT', data: { text: 'a\nb' } },
  ]);
  assert.deepEqual(
    results.map((r) => [r.index, r.status]),
    [
      [0, 202],
      [1, 422],
      [2, 202],
    ],
  );
  const [first, second] = results;
  assert.ok(first && 'transaction' in first && (first.transaction.data as { n: bigint }).n === 2n ** 64n);
  assert.equal(first.uid, first.transaction.uid);
  assert.ok(second && 'problem' in second && second.problem.code === 'INVALID_DATA');
});

test('a queue is paused, listed, cancelled and resumed', async () => {
  const queue = `plan-${claim()}`;
  const uids = Array.from({ length: 3 }, (_, i) => `${claim()}-${i}`);
  const post = (uid: string) =>
    sequencer.post({ uid, queue, type: 'COMMIT_ALL_VOTING_BATCHES', data: { planUid: 'p' } });
  await post(uids[0]!);
  await sequencer.settled(uids[0]!);
  assert.equal((await sequencer.pauseQueue(queue, 'a test')).reason, 'a test');
  assert.equal((await sequencer.widenQueue(queue, 6)).width, 6);
  assert.equal((await sequencer.widenQueue(queue, null)).width, 1);
  await post(uids[1]!);
  await post(uids[2]!);
  for (const choice of [{ paused: 'true' }, { active: 'true' }, { order: 'oldest', state: 'FREE' }] as const) {
    const chosen: string[] = [];
    for await (const q of sequencer.queues(undefined, { ...choice, prefix: queue })) {
      chosen.push(q.name);
    }
    assert.deepEqual(chosen, [queue]);
  }
  assert.equal((await sequencer.explain(uids[1]!)).waitingFor.code, 'PAUSED');
  assert.equal((await refused(sequencer.ledgerBatch(uids[1]!))).code, 'NOT_FOUND');
  assert.equal((await sequencer.cancel(uids[1]!)).state, 'FAILED');
  assert.equal((await refused(sequencer.cancel(uids[1]!))).code, 'NOT_CANCELLABLE');
  const listed: string[] = [];
  for await (const t of sequencer.transactions({ queue, state: 'FAILED' })) {
    listed.push(t.uid);
  }
  assert.deepEqual(listed, [uids[1]]);
  await sequencer.remove(uids[1]!);
  assert.equal((await refused(sequencer.transaction(uids[1]!))).code, 'NOT_FOUND');
  await sequencer.resumeQueue(queue);
  assert.equal((await sequencer.settled(uids[2]!)).state, 'DONE');
});

test('senders are listed, drained and resumed', async () => {
  const senders = [];
  for await (const s of sequencer.senders()) {
    senders.push(s);
  }
  const accounts = senders.map(({ accountId }) => accountId).filter((id) => !id.includes('/'));
  assert.equal(accounts.length, 4);
  assert.equal(senders.length - accounts.length, 4); // the slots of the demo's ledgers
  for await (const s of sequencer.senders(undefined, { state: 'DELAY' })) {
    assert.equal(s.state, 'DELAY');
  }
  const accountId = accounts[0]!;
  assert.equal((await sequencer.drainSender(accountId)).reason, 'DRAINING');
  assert.equal((await sequencer.sender(accountId)).available, false);
  await sequencer.resumeSender(accountId);
  assert.equal((await sequencer.addSender(elector, 'http://127.0.0.1:9')).accountId, elector);
  await sequencer.removeSender(elector);
});

test('the events of a transaction come in order', async () => {
  const uid = claim();
  const states: string[] = [];
  const events = sequencer.events({ uid, onOpen: () => void post() });
  const post = () =>
    sequencer.post({
      uid,
      queue: `plan-${claim()}`,
      type: 'CREATE_VOTING_BATCHES_ACCOUNT',
      data: { planUid: 'p', communityUid: 'c' },
    });
  let before: SequencerEvent | undefined;
  for await (const event of events) {
    assert.equal(event.kind, 'transaction');
    assert.equal(event.uid, uid);
    assert.equal(event.from, before?.to ?? null);
    before = event;
    states.push(event.to ?? '');
    if (event.to === 'DONE') {
      break;
    }
  }
  assert.equal(states[0], 'WAITING');
});

test('webhooks reach the example of a receiver', async () => {
  const port = await freePort();
  const added = await sequencer.addWebhook({ id: 'e', url: `http://127.0.0.1:${port}/`, queues: ['hooked'] });
  assert.match(added.secret, /^whsec_/);
  assert.equal((await sequencer.pingWebhook('e')).failure, 'UNREACHABLE');
  const file = fileURLToPath(new URL('../examples/receiver.js', import.meta.url));
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: added.secret, PORT: String(port) };
  const receiver = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'listening');
    assert.equal((await sequencer.pingWebhook('e')).status, 204);
    assert.match(String((await lines.next()).value), /^ping-\d+ null null null null$/);
    await sequencer.post({ queue: 'hooked', type: 'COUNT', data: {}, uid: 'hooked-1' });
    assert.match(String((await lines.next()).value), /^\d+-\d+ hooked-1 null WAITING [A-Z]+$/);
    const rotated = await sequencer.rotateWebhook('e');
    assert.notEqual(rotated.secret, added.secret);
    await sequencer.pauseQueue('hooked'); // signed with both: the receiver has the old one
    for (let line = ''; !/ null null null null$/.test(line); line = String((await lines.next()).value));
    assert.ok((await sequencer.webhookDeliveries('e')).every((d) => d.delivered));
  } finally {
    receiver.kill('SIGKILL');
  }
  assert.equal((await sequencer.disableWebhook('e')).reason, 'DISABLED');
  assert.equal((await sequencer.enableWebhook('e')).enabled, true);
  await sequencer.replayWebhook('e');
  for await (const parked of sequencer.parkedEvents('e')) assert.ok(parked.events > 0);
  assert.deepEqual(
    (await sequencer.webhooks()).map((w) => w.id),
    [(await sequencer.webhook('e')).id],
  );
  assert.equal((await refused(sequencer.discardParkedEvents('e', 't:none'))).code, 'NOT_FOUND');
  assert.equal((await refused(sequencer.addWebhook({ id: 'e', url: 'https://x.example' }))).code, 'WEBHOOK_EXISTS');
  await sequencer.removeWebhook('e');
});
