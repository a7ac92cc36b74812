import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from 'o1js';
import { Retry, type Context, type Dispatcher, type Outcome, type Txn } from '../src/index.js';
import { call, folder, gate, makeWorld, serve } from './world.js';

const world = await makeWorld();
const add: Dispatcher = { dispatch: () => world.counter.add(Field(1)) };

test('callbacks are told how it ended, and called again until they succeed', async (t) => {
  const told: [string, Txn, Outcome, Context][] = [];
  let broken = true;
  const dispatcher: Dispatcher = {
    ...add,
    onSuccess: (txn, outcome, context) => {
      if (broken) throw new Retry('the database is away');
      told.push(['success', txn, outcome, context]);
    },
    onFailure: async (txn, outcome, context) => void told.push(['failure', txn, outcome, context]),
  };
  const served = await serve(world, { ADD: dispatcher, BARE: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { txData, sender } = call(world, 'told', world.attempt(), { big: 1 });
  const result = { hash: '5Jx', done: null, error: null, data: { amount: 3 } };
  const failed = await served.post('/on-success/ADD', { txData, sender, result });
  assert.equal(failed.status, 500);
  assert.match(failed.text, /the database is away/);
  broken = false;
  const told200 = await served.post('/on-success/ADD', { txData, sender, result });
  assert.deepEqual([told200.status, told200.text], [200, '{"success":true}']);
  const error = { code: '500', message: 'closed', exception: null };
  const late = { ...txData, expiresAt: '2026-03-01T18:00:00.5Z' };
  await served.post('/on-failure/ADD', { txData: late, sender, result: { hash: '', done: null, error, data: null } });
  assert.deepEqual(
    told.map(([how, txn, outcome]) => [how, txn, outcome]),
    [
      ['success', { uid: 'told', type: 'ADD', data: { big: 1 }, queue: 'q', retries: 0 }, result],
      [
        'failure',
        {
          uid: 'told',
          type: 'ADD',
          data: { big: 1 },
          queue: 'q',
          retries: 0,
          expiresAt: new Date('2026-03-01T18:00:00.5Z'),
        },
        { hash: '', done: null, error, data: null },
      ],
    ],
  );
  assert.equal(told[0]![3].payer.toBase58(), world.payer.toBase58());
  assert.equal(
    (await served.post('/on-success/BARE', { txData: { ...txData, type: 'BARE' }, sender, result })).status,
    200,
  );
  assert.equal((await served.post('/on-success/NO', { txData, sender, result })).status, 404);
});

test('what a callback returns is answered, and the next one is given it', async (t) => {
  const given: (Outcome['answered'] | null)[] = [];
  const dispatcher: Dispatcher = {
    ...add,
    onFailure: () => ({ ticket: 2n ** 64n, success: false }),
    onSuccess: (_txn, { answered }) => void given.push(answered ?? null),
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { txData, sender } = call(world, 'baton', world.attempt(), {});
  const result = { hash: '5Jx', done: null, error: null, data: null };
  const first = await served.post('/on-failure/ADD', { txData, sender, result });
  assert.deepEqual([first.status, first.text], [200, '{"ticket":18446744073709551616,"success":true}']);
  const second = await served.post('/on-success/ADD', { txData, sender, result, answered: { ticket: 17 } });
  assert.deepEqual([second.status, second.text], [200, '{"success":true}']);
  await served.post('/on-success/ADD', { txData, sender, result });
  assert.deepEqual(given, [{ ticket: 17 }, null]);
});

test('an outcome that was taken in when its caller had gone is not told once more', async (t) => {
  const told: string[] = [];
  let held = gate();
  const tell =
    (how: string): Dispatcher['onSuccess'] =>
    async (_txn, { hash }) => {
      told.push(`${how} ${hash}`);
      await held.opened;
    };
  const dispatcher: Dispatcher = { ...add, onSuccess: tell('success'), onFailure: tell('failure') };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { txData, sender } = call(world, 'gone', world.attempt());
  const post = async (path: string, hash: string) => {
    held.open();
    const { status } = await served.post(`/${path}/ADD`, { txData, sender, result: { hash } });
    assert.equal(status, 200);
  };
  const hangUp = async (hash: string) => {
    held = gate();
    const before = told.length;
    const gone = new AbortController();
    const telling = fetch(`${served.url}/on-success/ADD`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ txData, sender, result: { hash } }),
      signal: gone.signal,
    });
    while (told.length === before) await new Promise((resolve) => setImmediate(resolve));
    gone.abort();
    await assert.rejects(telling);
    await served.get('/health'); // by then the worker has heard that nobody waits
    held.open();
    await served.get('/health');
  };
  await hangUp('5J');
  await post('on-success', '5J');
  assert.deepEqual(told.splice(0), ['success 5J']);
  await post('on-success', '5J'); // it has ended so once more
  assert.deepEqual(told.splice(0), ['success 5J']);
  await hangUp('5J');
  await post('on-failure', '5J');
  await post('on-success', '5J');
  assert.deepEqual(told.splice(0), ['success 5J', 'failure 5J', 'success 5J']);
});

test('a callback that hands on an error of somebody else has failed', async (t) => {
  const thrown = [
    Object.assign(new Error('cannot parse'), { statusCode: 200 }),
    Object.assign(new Error('not there'), { statusCode: 404, validation: [] }),
    Object.assign(new Error('too many'), { statusCode: 429 }),
  ];
  for (const error of thrown) {
    const onSuccess = () => {
      throw error;
    };
    const served = await serve(world, { ADD: { ...add, onSuccess } }, { store: await folder(t) });
    t.after(() => served.worker.close());
    const { txData, sender } = call(world, 'foreign', world.attempt());
    const { status, text } = await served.post('/on-success/ADD', { txData, sender, result: { hash: '5J' } });
    assert.equal(status, 500, text);
    assert.ok(text.includes(error.message), text);
  }
});
