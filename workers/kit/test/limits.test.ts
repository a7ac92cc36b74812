import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dispatcher } from '../src/index.js';
import { call, folder, gate, makeWorld, serve } from './world.js';

const world = await makeWorld();

test('a callback that does not end is answered for, and the next one runs afresh', async (t) => {
  const hangs = gate();
  t.after(() => hangs.open());
  let told = 0;
  const dispatcher: Dispatcher = {
    dispatch: async () => ({ done: { yes: true } }),
    onSuccess: () => (++told === 1 ? hangs.opened : undefined),
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), callbackSeconds: 0.2 });
  t.after(() => served.worker.close());
  const { txData, sender } = call(world, 'told', world.attempt());
  const tell = () => served.post('/on-success/ADD', { txData, sender, result: { hash: '5J' } });
  const [first, joined] = await Promise.all([tell(), tell()]);
  for (const { status, text } of [first, joined]) {
    assert.equal(status, 500);
    assert.match(text, /onSuccess of ADD has not ended after 0\.2 s, .* set callbackSeconds/);
  }
  assert.equal(told, 1, 'the second has joined the first');
  assert.equal((await tell()).status, 200);
  assert.equal(told, 2);
});
