import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { getBackendPreference, Field, PrivateKey } from 'o1js';
import { Retry, type Context, type Dispatcher, type Txn } from '../src/index.js';
import { call, collect, folder, gate, makeWorld, serve } from './world.js';

const world = await makeWorld();
const add: Dispatcher = { dispatch: () => world.counter.add(Field(1)) };

test('a bad request is refused with the field that is wrong', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const good = call(world, 'bad', world.attempt());
  const attempt = (values: object) => ({ ...good, attempt: { ...good.attempt, ...values } });
  const cases: [string, unknown, number, RegExp][] = [
    ['no JSON', '{"txData":', 400, /JSON|expected|end/i],
    ['not an object', '[]', 400, /must be object/],
    ['no txData', { ...good, txData: undefined }, 400, /txData/],
    ['no uid', { ...good, txData: { ...good.txData, uid: '' } }, 400, /txData\.uid/],
    ['a uid that is too long', { ...good, txData: { ...good.txData, uid: 'u'.repeat(194) } }, 400, /txData\.uid/],
    ['data that is a list', { ...good, txData: { ...good.txData, data: [] } }, 400, /txData\.data must be object/],
    ['another type than the path', { ...good, txData: { ...good.txData, type: 'SUB' } }, 400, /txData\.type/],
    ['no sender', { ...good, sender: undefined }, 400, /sender/],
    ['a fee that is a number', attempt({ fee: 1 }), 400, /attempt\.fee must be string/],
    ['a fee with a point', attempt({ fee: '0.1' }), 400, /attempt\.fee must match/],
    ['a nonce that is a text', attempt({ nonce: '1' }), 400, /attempt\.nonce must be integer/],
    ['a nonce beyond 32 bits', attempt({ nonce: 2 ** 32 }), 400, /attempt\.nonce must be <= 4294967295/],
    ['a number below 1', attempt({ number: 0 }), 400, /attempt\.number must be >= 1/],
    ['a memo that is too long', attempt({ memo: 'x'.repeat(33) }), 400, /attempt\.memo/],
    ['no validUntil', attempt({ validUntil: undefined }), 400, /validUntil/],
    ['previous without a hash', attempt({ previous: [{ number: 1 }] }), 400, /attempt\.previous\.0 must have/],
    ['too much', { ...good, txData: { ...good.txData, data: { a: 'x'.repeat(17 << 20) } } }, 413, /too large/],
  ];
  for (const [name, body, status, message] of cases) {
    await t.test(name, async () => {
      const answer = await served.post('/prove/ADD', body);
      assert.equal(answer.status, status, answer.text);
      assert.match((answer.body as unknown as { message: string }).message, message);
    });
  }
  assert.equal(
    (await served.post('/prove/ADD', 'a=1', { 'Content-Type': 'application/x-www-form-urlencoded' })).status,
    415,
  );
  assert.equal((await served.get('/prove/ADD')).status, 404);
});

test('a payload that gives a name twice is read as elsewhere, by the last', async (t) => {
  const seen: unknown[] = [];
  const see = async ({ data }: Txn) => void seen.push(data.deep);
  const dispatch: Dispatcher['dispatch'] = async (txn) => see(txn).then(() => ({ done: { yes: true } }));
  const served = await serve(world, { ADD: { dispatch, onFailure: see } }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const longest = `${'n'.repeat(64)}~${'u'.repeat(128)}`; // of a key with queues of its own
  const { attempt, ...body } = call(world, longest, world.attempt(), { deep: 'HERE' });
  for (const [path, more] of [
    ['/prove/ADD', { attempt }],
    ['/on-failure/ADD', { result: { error: { code: '1', message: 'no' } } }],
  ] as const) {
    const text = JSON.stringify({ ...body, ...more }).replace('"HERE"', '{"a":1,"a":2}');
    const answer = await served.post(path, text);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(seen.at(-1), { a: 2 });
  }
});

test('an attempt before it may have got no hash', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { nonce, fee } = world.attempt();
  const attempt = world.attempt({ number: 2, previous: [{ number: 1, hash: '', nonce, fee }] });
  const answer = await served.post('/prove/ADD', call(world, 'lost', attempt));
  assert.equal(answer.body.error, null, answer.text);
});

test('an unknown type is an error in 200, for 404 would mean a legacy worker', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  for (const type of ['SUB', 'constructor', '__proto__']) {
    for (const path of ['prove', 'dispatch', 'resign']) {
      const body = { ...call(world, 'x', world.attempt(), {}, type), signed: '{}' };
      const answer = await served.post(`/${path}/${type}`, body);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.error?.code, '404');
      assert.match(answer.body.error.message, /only ADD/);
    }
  }
});

test('a call for another account is not made', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const body = call(world, 'other', world.attempt());
  body.sender.accountId = world.other.toBase58();
  const { error } = (await served.post('/prove/ADD', body)).body;
  assert.equal(error?.code, '502');
  assert.match(error.message, /signs for B62.*correct the sender's worker URL/);
});

test('nobody without the token is let in', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t), token: 'hush' });
  t.after(() => served.worker.close());
  const body = call(world, 'token', world.attempt());
  for (const authorization of ['', 'Bearer', 'Bearer hus', 'Bearer hush2', 'hush', 'Basic hush']) {
    const answer = await served.post('/prove/ADD', body, { Authorization: authorization });
    assert.equal(answer.status, 401);
    assert.equal('code' in answer.body, false, 'it is no error of the transaction');
  }
  for (const path of ['/health', '/max-retries/ADD', '/nothing']) assert.equal((await served.get(path)).status, 401);
  const answer = await served.post('/prove/ADD', body, { Authorization: 'Bearer hush' });
  assert.equal(answer.body.error, null, answer.text);
});

test('without a token a worker answers who names its machine alone', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { port } = new URL(served.url);
  const asked = (host: string) =>
    new Promise<number>((resolve, reject) => {
      const question = request({ port, host: '127.0.0.1', path: '/health', headers: { host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      question.on('error', reject).end();
    });
  for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', '127.1.2.3:80', `[::1]:${port}`]) {
    assert.equal(await asked(host), 200, host);
  }
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '10.0.0.1',
    '127.0.0.1.evil.example',
    '[fe80::1]',
    'a b',
  ]) {
    assert.equal(await asked(host), 403, host);
  }
});

test('a worker open to the network needs a token', async (t) => {
  await assert.rejects(serve(world, { ADD: add }, { store: await folder(t), host: '0.0.0.0' }), /set token/);
});

test('health tells who signs what', async (t) => {
  const served = await serve(world, { ADD: add, SUB: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { text } = await served.get('/health');
  const health = JSON.parse(text) as Record<string, unknown> & { memory: { rss: number } };
  assert.equal(health.accountId, world.payer.toBase58());
  assert.deepEqual(health.types, ['ADD', 'SUB']);
  assert.deepEqual(health.capabilities, ['prove', 'resign', 'dispatch', 'ahead', 'simulate']);
  assert.equal(health.network, 'mina:testnet');
  assert.match(String(health.o1js), /^[23]\.\d+\.\d+/);
  assert.equal(health.prover, getBackendPreference());
  assert.equal(health.provers, 1);
  assert.ok(health.memory.rss > 0);
  assert.deepEqual([health.runningSeconds, health.waiting], [null, 0]);
});

test("max-retries is the dispatcher's, and none by default", async (t) => {
  const served = await serve(world, { ADD: add, SUB: { ...add, maxRetries: 0 } }, { store: await folder(t) });
  t.after(() => served.worker.close());
  assert.equal((await served.get('/max-retries/SUB')).text, '0');
  assert.equal((await served.get('/max-retries/ADD')).status, 404);
  assert.equal((await served.get('/max-retries/NO')).status, 404);
});

test('a dispatcher gets every digit that was posted', async (t) => {
  let seen: unknown;
  const dispatcher: Dispatcher = {
    dispatch: async ({ data }) => {
      seen = data.field;
      return { done: { field: data.field as bigint } };
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const body = JSON.stringify(call(world, 'digits', world.attempt(), { field: 'F' })).replace(
    '"F"',
    String(Field.ORDER - 1n),
  );
  const { text } = await served.post('/prove/ADD', body);
  assert.equal(seen, Field.ORDER - 1n);
  assert.ok(text.includes(`{"field":${Field.ORDER - 1n}}`), text);
});

test('equal calls get one result, also while it is being made', async (t) => {
  const proving = gate();
  let runs = 0;
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      runs++;
      await proving.opened;
      await world.counter.add(Field(1));
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const body = call(world, 'joined', world.attempt());
  const both = [served.post('/prove/ADD', body), served.post('/prove/ADD', body)];
  const conflict = await served.post('/prove/ADD', { ...body, attempt: { ...body.attempt, fee: '7' } });
  assert.equal(conflict.status, 409);
  assert.equal((conflict.body as unknown as { code: string }).code, 'ATTEMPT_CONFLICT');
  proving.open();
  const [a, b] = await Promise.all(both);
  assert.equal(a!.text, b!.text);
  assert.equal(a!.body.error, null);
  assert.equal(runs, 2, 'o1js runs a dispatch twice for one transaction');
  assert.equal((await served.post('/prove/ADD', body)).text, a!.text);
  assert.equal(runs, 2);
});

test('a restarted worker repeats its result and refuses another attempt under its number', async (t) => {
  const store = await folder(t);
  const first = await serve(world, { ADD: add }, { store });
  const body = call(world, 'restarted', world.attempt());
  const before = await first.post('/prove/ADD', body);
  await first.worker.close();
  const second = await serve(world, { ADD: { dispatch: () => Promise.reject(new Error('not again')) } }, { store });
  t.after(() => second.worker.close());
  assert.equal((await second.post('/prove/ADD', body)).text, before.text);
  assert.equal((await second.post('/prove/ADD', { ...body, attempt: { ...body.attempt, nonce: 99 } })).status, 409);
});

test('an error is not repeated but tried again', async (t) => {
  let broken = true;
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      if (broken) throw new Retry('not yet');
      await world.counter.add(Field(1));
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const body = call(world, 'again', world.attempt());
  assert.equal((await served.post('/prove/ADD', body)).body.error?.message, 'not yet');
  broken = false;
  assert.equal((await served.post('/prove/ADD', body)).body.error, null);
});

test('a worker with too much to do says when to come back', async (t) => {
  const proving = gate();
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      await proving.opened;
      return { done: { yes: 1 } };
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), maxWaiting: 1 });
  t.after(() => served.worker.close());
  const answers = ['a', 'b', 'c'].map((uid) => served.post('/prove/ADD', call(world, uid, world.attempt())));
  const refused = await Promise.any(
    answers.map(async (answer) => {
      const { status, headers } = await answer;
      assert.equal(status, 503);
      return headers;
    }),
  );
  assert.match(refused.get('Retry-After') ?? '', /^[1-9]\d?$/);
  proving.open();
  const statuses = await Promise.all(answers.map(async (answer) => (await answer).status));
  assert.deepEqual(statuses.sort(), [200, 200, 503]);
});

test('a closing worker answers what it is proving', async (t) => {
  const [begun, proving] = [gate(), gate()];
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      begun.open();
      await proving.opened;
      await world.counter.add(Field(1));
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  const running = served.post('/prove/ADD', call(world, 'closing', world.attempt()));
  await begun.opened;
  const closing = served.worker.close();
  const late = await served.post('/prove/ADD', call(world, 'late', world.attempt()));
  assert.equal(late.status, 503);
  proving.open();
  const { status, body } = await running;
  assert.deepEqual([status, body.error], [200, null]);
  await closing;
  await assert.rejects(served.get('/health'));
});

test('no key and no token is ever written down', async (t) => {
  const lines: string[] = [];
  const store = await folder(t);
  const other = PrivateKey.random();
  const dispatcher: Dispatcher = {
    dispatch: async ({ data }) => {
      if (data.fail) throw new Error('it failed');
      await world.counter.add(Field(1));
      return { signers: [other] };
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store, token: 'hush-hush', log: collect(lines) });
  const authorized = { Authorization: 'Bearer hush-hush' };
  const answers = [
    await served.post('/prove/ADD', call(world, 'quiet', world.attempt()), authorized),
    await served.post('/prove/ADD', call(world, 'loud', world.attempt(), { fail: true }), authorized),
    await served.post('/dispatch/ADD', call(world, 'quiet', world.attempt()), authorized),
  ];
  await served.worker.close();
  const { readdir, readFile } = await import('node:fs/promises');
  const kept: string[] = [];
  for (const entry of await readdir(store, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) kept.push(await readFile(`${entry.parentPath}/${entry.name}`, 'utf8'));
  }
  assert.equal(kept.length, 1);
  assert.ok(lines.length >= 3);
  const written = [...lines, ...kept, ...answers.map(({ text }) => text)].join('\n');
  for (const secret of [world.payer.key.toBase58(), other.toBase58(), 'hush-hush']) {
    assert.equal(written.includes(secret), false);
  }
});

test('a call goes on within the trace of its caller, also where it has waited for another', async (t) => {
  const [begun, proving] = [gate(), gate()];
  const traces = new Map<string, string | undefined>();
  const lines: string[] = [];
  const note: Dispatcher = {
    dispatch: async (txn: Txn, context: Context) => {
      traces.set(txn.uid, context.traceparent);
      context.log.info({}, 'noted');
      begun.open();
      await proving.opened;
      return { done: { noted: true } };
    },
  };
  const log = {
    info: (fields: object) => lines.push(JSON.stringify(fields)),
    warn: () => undefined,
    error: () => undefined,
  };
  const served = await serve(world, { ADD: note }, { store: await folder(t), log });
  t.after(() => served.worker.close());
  const post = (uid: string, headers = {}) => served.post('/prove/ADD', call(world, uid, world.attempt()), headers);
  const waiting = async () => ((await served.get('/health')).body as unknown as { waiting: number }).waiting;
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const answers = [post('plain')];
  await begun.opened;
  for (const [uid, parent] of [
    ['traced', traceparent],
    ['odd', 'nonsense'],
  ] as const) {
    const before = await waiting();
    answers.push(post(uid, { traceparent: parent }));
    while ((await waiting()) === before);
  }
  proving.open();
  await Promise.all(answers);
  assert.deepEqual(
    [...traces],
    [
      ['plain', undefined],
      ['traced', traceparent],
      ['odd', undefined],
    ],
  );
  for (const line of lines) {
    assert.equal(line.includes('"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"'), line.includes('"traced"'), line);
  }
});
