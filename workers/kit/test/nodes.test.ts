import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Field } from 'o1js';
import type { Dispatcher } from '../src/index.js';
import { ask } from '../src/nodes.js';
import { counter, payerKey, startNode, startWorker } from './daemons.js';
import type { Node } from './node.js';

const add: Dispatcher = { dispatch: () => counter.add(Field(1)) };

/** Which nodes were asked for more than whether they are fit, by their places; forgets it. */
function used(...nodes: Node[]): number[] {
  const places = [...nodes.entries()].filter(([, { asked }]) => asked.some((query) => !query.includes('syncStatus')));
  nodes.forEach((node) => (node.asked = []));
  return places.map(([place]) => place);
}

test('of the nodes that are synced the first at the highest block is taken, and only that one', async (t) => {
  const [away, behind, good, spare] = [
    await startNode(t, { syncStatus: 'BOOTSTRAP', height: 900 }),
    await startNode(t, { height: 6 }),
    await startNode(t),
    await startNode(t),
  ];
  const nodes = [away, behind, good, spare];
  const prove = await startWorker(t, { graphql: ['http://127.0.0.1:1/', ...nodes.map(({ url }) => url)] }, add);
  used(...nodes);
  assert.equal((await prove()).error, null);
  assert.deepEqual(used(...nodes), [2]);
  away.syncStatus = 'SYNCED'; // it rests, and has blocks that the others lack
  assert.equal((await prove()).error, null);
  assert.deepEqual(used(...nodes), [0]);
  away.height = 9; // not many
  assert.equal((await prove()).error, null);
  assert.deepEqual(used(...nodes), [2]);
  away.syncStatus = 'CATCHUP';
  behind.height = 7;
  assert.equal((await prove()).error, null);
  assert.deepEqual(used(...nodes), [1]);
  spare.height = 8;
  assert.equal((await prove()).error, null);
  assert.deepEqual(used(...nodes), [3]);
});

test('a node that does not answer, or is behind the payer, is not asked again at once', async (t) => {
  for (const trouble of [{ broken: true }, { nonce: 3 }]) {
    const [first, second] = [await startNode(t), await startNode(t)];
    const prove = await startWorker(t, { graphql: [first.url, second.url] }, add);
    second.nonces.set(payerKey, 7);
    first.nonces.set(payerKey, trouble.nonce ?? 7);
    first.broken = trouble.broken ?? false;
    used(first, second);
    assert.equal((await prove('prove', 7)).signed, undefined);
    assert.deepEqual(used(first, second), [0]);
    assert.equal((await prove('prove', 7)).error, null);
    assert.deepEqual(used(first, second), [1]);
    second.broken = true; // with no other left the first is asked again
    await prove('prove', 7);
    Object.assign(first, { broken: false }).nonces.set(payerKey, 7);
    used(first, second);
    assert.equal((await prove('prove', 7)).error, null);
    assert.deepEqual(used(first, second), [0]);
  }
});

test('an answer without an end is not read to its end', async (t) => {
  const server = createServer((_request, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(1 << 20, ' ')));
    };
    response.on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await assert.rejects(ask(`http://127.0.0.1:${port}`, '{ syncStatus }', 60_000), /more than 67108864 bytes/);
});
