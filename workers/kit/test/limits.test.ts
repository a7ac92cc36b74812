import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dispatcher } from '../src/index.js';
import { call as callOf, start } from './meeting.js';
import { call, folder, gate, makeWorld, serve } from './world.js';

const world = await makeWorld();

test('a callback that does not end is answered for, and the next one runs afresh', async (t) => {
  const hangs = gate();
  t.after(() => hangs.open());
  let told = 0;
  const dispatcher: Dispatcher = {
    dispatch: async () => ({ done: { yes: true } }),
    onSuccess: (_txn, { hash }) => (++told <= 2 && hash === '5J' ? hangs.opened : undefined),
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), callbackSeconds: 1 });
  t.after(() => served.worker.close());
  const { txData, sender } = call(world, 'told', world.attempt());
  const tell = (hash = '5J') => served.post('/on-success/ADD', { txData, sender, result: { hash } });
  const [first, joined, other] = await Promise.all([tell(), tell(), tell('5K')]);
  assert.equal(other.status, 200, 'of another result it is told beside that');
  for (const { status, text } of [first, joined]) {
    assert.equal(status, 500);
    assert.match(text, /onSuccess of ADD has not ended after 1 s, .* set callbackSeconds/);
  }
  assert.equal(told, 2, 'the second has joined the first');
  assert.equal((await tell()).status, 200);
  assert.equal(told, 3);
});

test('a transaction that never gets made holds up its worker, which says so', async (t) => {
  const hangs = gate();
  const begun = gate();
  t.after(() => hangs.open());
  const dispatcher: Dispatcher = {
    dispatch: async ({ uid }) => {
      begun.open();
      if (uid === 'hangs') await hangs.opened;
      return { done: { yes: true } };
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), callSeconds: 0.5 });
  t.after(() => served.worker.close());
  const prove = (uid: string) => served.post('/prove/ADD', call(world, uid, world.attempt()));
  const hanging = prove('hangs');
  await begun.opened; // two calls of one instant may come in either order
  const [late, waiting] = await Promise.all([hanging, prove('waits')]);
  assert.deepEqual([late.status, late.body.error?.code, late.body.hash], [200, '20202', '']);
  assert.match(late.body.error!.message, /^it is not made after 0\.5 s, .*restart the worker.* set callSeconds$/);
  for (const { status, headers, text } of [waiting, await prove('hangs')]) {
    assert.deepEqual([status, headers.get('Retry-After')], [503, '60']);
    assert.match(text, /held up by a call that does not end: restart it/);
  }
  hangs.open();
  while ((await served.get('/health')).text.includes('"runningSeconds":null') === false);
  assert.deepEqual((await prove('hangs')).body.done, { yes: true });
});

test('what hangs does not keep a worker from ending', async (t) => {
  const hangs = gate();
  const begun = gate();
  t.after(() => hangs.open());
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      begun.open();
      await hangs.opened;
    },
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), callSeconds: 0.2 });
  const late = served.post('/prove/ADD', call(world, 'hangs', world.attempt()));
  await begun.opened;
  await served.worker.close();
  assert.equal((await late).body.error?.code, '20202');
});

test('a prover that does not come to an end is ended, and another takes its place', async (t) => {
  const { meeting, post, said } = await start(t, { CALL_SECONDS: '1' });
  const late = post('/prove/BLOCK', callOf('BLOCK', 'blocks'));
  await meeting.of('blocks');
  const { status, body } = await late;
  assert.deepEqual([status, body.error?.code], [200, '20202']);
  assert.match(body.error!.message, /^it is not made after 1 s, so its prover was ended: .* set callSeconds$/);
  await said('a prover is started again: it ended by SIGKILL');
  await said('a prover is ready', 2);
  for (let tries = 1; ; tries++) {
    // On a busy machine a second is not enough for this one, either: then yet another is asked.
    const { body } = await post('/prove/MEET', callOf('MEET', `meets-${tries}`, { digits: 1 }));
    if (body.error?.code === '20202') continue;
    assert.deepEqual(body.done, { met: 1 });
    break;
  }
});
