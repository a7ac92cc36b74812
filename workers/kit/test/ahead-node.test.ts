import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Field, Transaction } from 'o1js';
import type { TxnResult } from '../src/index.js';
import { address, attemptOf, counter, payerKey, startNode, startPosting } from './daemons.js';
import { pending, type Ahead } from './world.js';

/** A worker on a daemon that knows the payer and a counter that stands at 5, and one transaction of it. */
async function onNode(t: TestContext) {
  const node = await startNode(t);
  const post = await startPosting(t, { graphql: node.url }, { dispatch: () => counter.add(Field(1)) });
  let number = 0;
  const prove = async (nonce: number, ahead: Ahead[] = []) => {
    const response = await post('prove', { attempt: attemptOf(++number, nonce), ahead });
    const body = (await response.json()) as TxnResult & { message?: string };
    return { status: response.status, after: response.headers.get('Retry-After'), body };
  };
  const first = (await prove(0)).body;
  assert.equal(first.error, null);
  return { node, prove, first, ahead: [pending('one', 0, first)] };
}

/** The state that a signed transaction asks for. */
function precondition({ signed, error }: TxnResult): string | null {
  assert.equal(error, null);
  const command = JSON.parse(signed!) as {
    accountUpdates: { body: { preconditions: { account: { state: (string | null)[] } } } }[];
  };
  return command.accountUpdates[0]!.body.preconditions.account.state[0]!;
}

test('on a node: pending, and landed', async (t) => {
  const { node, prove, first, ahead } = await onNode(t);
  assert.equal(precondition(first), '5');
  const second = (await prove(1, ahead)).body;
  assert.equal(precondition(second), '6');
  const both = [...ahead, pending('two', 1, second)];
  assert.equal(precondition((await prove(2, both)).body), '7');

  node.nonces.set(payerKey, 1);
  node.accounts.set(address.toBase58(), ['6', '0', '0', '0', '0', '0', '0', '0']);
  node.landed.set(first.hash, false);
  assert.equal(precondition((await prove(2, both)).body), '7');
  assert.equal(precondition((await prove(1, ahead)).body), '6');
  assert.equal(precondition((await prove(1)).body), '6');
});

test('on a node: one that is behind the nonce of what is the first is asked again later', async (t) => {
  const { node, prove } = await onNode(t);
  node.nonces.set(payerKey, 3);
  const { status, after, body } = await prove(4);
  assert.deepEqual([status, after], [503, '5']);
  assert.match(body.message ?? '', /shows the payer at nonce 3, and this command has 4 .*: the node is behind/);
  node.nonces.set(payerKey, 4);
  assert.equal((await prove(4)).body.error, null);
  assert.equal((await prove(3)).body.error, null); // a raise, while the first of its attempts lands
});

test('on a node: what it does not show yet is asked for again later', async (t) => {
  const { node, prove, first, ahead } = await onNode(t);
  const later = async (message: RegExp, nonce = 1, list = ahead) => {
    const { status, after, body } = await prove(nonce, list);
    assert.deepEqual([status, after], [503, '5']);
    assert.match(body.message ?? '', message);
  };
  await later(/the ledger is at nonce 0, and what is pending begins at 3/, 4, [await renonced(ahead[0]!, 3)]);
  node.nonces.set(payerKey, 1);
  await later(new RegExp(`has passed ${first.hash}, which stands in no block`));
  node.landed.set(first.hash, true);
  await later(new RegExp(`${first.hash} before this one has failed in a block`));
  node.landed.set(first.hash, false);
  assert.equal((await prove(1, ahead)).status, 200);
  node.nonces.set(payerKey, 2);
  await later(/the ledger is at nonce 2/);
  node.nonces.set(payerKey, 0);
  let tips = 0;
  node.tip = () => `3N${++tips}`;
  await later(/the chain moves on while it is read/);
  assert.equal(tips, 6, 'two questions for the tip at each of three tries');
  node.tip = () => `3N${Math.min(++tips, 8)}`;
  assert.equal((await prove(1, ahead)).status, 200);

  node.broken = true; // o1js would go on with what it has cached
  for (const list of [ahead, []]) assert.equal((await prove(1, list)).status, 503);
  node.broken = false;
  assert.equal((await prove(0)).body.error, null);

  node.chainless = true;
  await later(/did not answer for its chain/);
  node.chainless = false;

  node.accounts.delete(payerKey);
  await later(/does not know the payer's account B62/);
});

/** The same command at another nonce; nobody checks its signature. */
async function renonced(one: Ahead, nonce: number): Promise<Ahead> {
  const command = JSON.parse(one.signed) as { feePayer: { body: { nonce: string } } };
  command.feePayer.body.nonce = String(nonce);
  const signed = JSON.stringify(command);
  return { ...one, nonce, signed, hash: await Transaction.hash(signed) };
}
