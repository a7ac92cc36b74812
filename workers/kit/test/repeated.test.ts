import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from 'o1js';
import { Unresolvable, type Dispatcher } from '../src/index.js';
import { call as callOf, start } from './meeting.js';
import { call, folder, gate, makeWorld, serve } from './world.js';

const world = await makeWorld();

/** A transaction that takes as long as `held` is not open, and fails where it is told so. */
function slow() {
  const [begun, held] = [gate(), gate()];
  const told = { runs: 0, fails: false };
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      told.runs++;
      begun.open();
      await held.opened;
      if (told.fails) throw new Unresolvable('it is closed');
      await world.counter.add(Field(1));
    },
  };
  return { begun, held, told, dispatcher };
}

test('who asks again for what is being made is told so in time, and gets it in the end', async (t) => {
  const { begun, held, told, dispatcher } = slow();
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.3 });
  t.after(() => served.worker.close());
  const body = call(world, 'slow', world.attempt({ number: 2 }));
  const before = Date.now();
  const first = served.post('/prove/ADD', body);
  await begun.opened;
  const after = Date.now();
  for (const since of [Date.now(), Date.now() + 300]) {
    const { status, text } = await served.post('/prove/ADD', body);
    assert.equal(status, 202);
    assert.ok(Date.now() >= since + 290, 'it has waited');
    const { working } = JSON.parse(text) as { working: { since: string } };
    assert.ok(Date.parse(working.since) >= before && Date.parse(working.since) <= after, working.since);
    assert.equal(text, `{"working":{"since":"${working.since}","uid":"slow","number":2}}`);
    assert.match(working.since, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  const other = await served.post('/prove/ADD', { ...body, attempt: { ...body.attempt, fee: '7' } });
  assert.deepEqual([other.status, (other.body as unknown as { code: string }).code], [409, 'ATTEMPT_CONFLICT']);
  const joined = served.post('/prove/ADD', body);
  held.open();
  const { status, text } = await first;
  assert.equal(status, 200, 'the first waits to the end');
  for (const later of [await joined, await served.post('/prove/ADD', body)]) {
    assert.deepEqual([later.status, later.text], [200, text]);
  }
  assert.equal(told.runs, 2, 'o1js runs a dispatch twice for one transaction');
});

test('what waits for its turn is being made, too', async (t) => {
  const { begun, held, dispatcher } = slow();
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.2 });
  t.after(() => served.worker.close());
  const [one, two] = ['one', 'two'].map((uid) => call(world, uid, world.attempt()));
  const running = served.post('/prove/ADD', one);
  await begun.opened;
  const waiting = served.post('/prove/ADD', two);
  while (!(await served.get('/health')).text.includes('"waiting":1'));
  assert.equal((await served.post('/prove/ADD', two)).status, 202);
  held.open();
  assert.deepEqual([(await running).status, (await waiting).status], [200, 200]);
});

test('a caller who hangs up takes nothing with it', async (t) => {
  const { begun, held, told, dispatcher } = slow();
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.2 });
  t.after(() => served.worker.close());
  const body = call(world, 'gone', world.attempt());
  const gone = new AbortController();
  const first = fetch(`${served.url}/prove/ADD`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: gone.signal,
  });
  await begun.opened;
  gone.abort();
  await assert.rejects(first, /abort/);
  assert.equal((await served.post('/prove/ADD', body)).status, 202);
  held.open();
  while (!(await served.get('/health')).text.includes('"runningSeconds":null'));
  const { status, body: made } = await served.post('/prove/ADD', body);
  assert.deepEqual([status, made.error], [200, null]);
  assert.equal(told.runs, 2);
});

test('an error of what somebody was to ask for again is told once, and then it is tried anew', async (t) => {
  const { begun, held, told, dispatcher } = slow();
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.2 });
  t.after(() => served.worker.close());
  told.fails = true;
  const body = call(world, 'fails', world.attempt());
  const first = served.post('/prove/ADD', body);
  await begun.opened;
  assert.equal((await served.post('/prove/ADD', body)).status, 202);
  held.open();
  const { text } = await first;
  assert.match(text, /it is closed/);
  assert.deepEqual([(await served.post('/prove/ADD', body)).text, told.runs], [text, 1]);
  told.fails = false;
  assert.equal((await served.post('/prove/ADD', body)).body.error, null);
});

test('an error that was heard is not told to another attempt, or again', async (t) => {
  for (const heard of [true, false]) {
    const { begun, held, told, dispatcher } = slow();
    const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.2 });
    t.after(() => served.worker.close());
    told.fails = true;
    const body = call(world, 'heard', world.attempt());
    const first = served.post('/prove/ADD', body);
    await begun.opened;
    assert.equal((await served.post('/prove/ADD', body)).status, 202);
    const joined = heard ? served.post('/prove/ADD', body) : undefined;
    if (joined) await new Promise((resolve) => setTimeout(resolve, 50));
    held.open();
    assert.equal((await first).body.error?.code, '500');
    assert.equal((await (joined ?? first)).body.error?.code, '500');
    told.fails = false;
    const next = heard ? body : call(world, 'heard', world.attempt({ fee: '7' }));
    assert.equal((await served.post('/prove/ADD', next)).body.error, null);
  }
});

test('what is to be sent is waited for', async (t) => {
  const { begun, held, dispatcher } = slow();
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds: 0.1 });
  t.after(() => served.worker.close());
  const body = call(world, 'sent', world.attempt());
  const proving = served.post('/prove/ADD', body);
  await begun.opened;
  const sending = served.post('/dispatch/ADD', body);
  setTimeout(() => held.open(), 400);
  const [proved, sent] = [await proving, await sending];
  assert.deepEqual([proved.status, sent.status, sent.body.error], [200, 200, null]);
  assert.equal(sent.body.hash, proved.body.hash);
});

test('it is told in time where a prover does nothing else any more, as o1js while it proves', async (t) => {
  const { meeting, post, said } = await start(t, { JOIN_SECONDS: '0.3', CALL_SECONDS: '5' });
  const body = callOf('BLOCK', 'blocks');
  const first = post('/prove/BLOCK', body);
  await meeting.of('blocks');
  await said('blocked');
  const { status, body: told } = await post('/prove/BLOCK', body);
  assert.equal(status, 202, JSON.stringify(told));
  const ended = (await first).body;
  assert.match(ended.error?.message ?? '', /^it is not made after 5 s/);
  assert.deepEqual((await post('/prove/BLOCK', body)).body, ended);
});

test('a wait that is none is refused at the start', async (t) => {
  const { dispatcher } = slow();
  for (const joinSeconds of [0, -1, NaN, 1e9]) {
    await assert.rejects(
      serve(world, { ADD: dispatcher }, { store: await folder(t), joinSeconds }),
      /^Error: joinSeconds/,
    );
  }
});
