import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Field, Mina, PrivateKey } from 'o1js';
import type { Dispatcher } from '../src/index.js';
import { address, attemptOf, counter, payerKey, startNode, startPosting } from './daemons.js';
import type { Node } from './node.js';
import { call, Counter, folder, makeWorld, serve } from './world.js';

const world = await makeWorld();

/** The stage that fails, by the name of its test. */
let trouble = '';
const fails = (stage: string) => trouble === stage;
const fail = (stage: string) => {
  if (fails(stage)) throw new Error(`${stage} fails`);
};

/** The ledger of the world, which does not give the payer's account at the end of a transaction. */
const instance = {
  ...world.local,
  getAccount: (...[key, token]: Parameters<typeof world.local.getAccount>) => {
    if (Mina.currentTransaction.has() && key.equals(world.payer).toBoolean()) fail('the payer');
    return world.local.getAccount(key, token);
  },
};

const add = () => world.counter.add(Field(1));
const stages: [string, Dispatcher, RegExp, values?: object][] = [
  ['the payer', { dispatch: add }, /the payer fails/],
  [
    'an account',
    {
      dispatch: () =>
        (fails('an account') ? new Counter(PrivateKey.random().toPublicKey()) : world.counter).add(Field(1)),
    },
    /the account for public key B62\w+ is not on the chain: deploy it/,
  ],
  [
    "the contract's method",
    { dispatch: () => world.counter.add(Field(fails("the contract's method") ? 0 : 1)) },
    /adding nothing/,
  ],
  [
    'the function itself',
    {
      dispatch: async () => {
        await add();
        fail('the function itself');
      },
    },
    /the function itself fails/,
  ],
  [
    'its last run',
    {
      dispatch: async () => {
        await add();
        if (Mina.currentTransaction()?.fetchMode !== 'test') fail('its last run');
      },
    },
    /its last run fails/,
  ],
  [
    'a transaction of its own',
    {
      dispatch: async () => {
        if (fails('a transaction of its own')) await Mina.transaction(add);
        else await add();
      },
    },
    /within another transaction/,
  ],
  [
    'signing',
    {
      dispatch: add,
      signers: () => {
        fail('signing');
        return [];
      },
    },
    /signing fails/,
  ],
  [
    'a key',
    {
      dispatch: async () => void AccountUpdate.createSigned(world.other),
      signers: () => (fails('a key') ? [] : [world.other.key]),
    },
    /no key to sign/,
  ],
  ['the memo', { dispatch: add }, /memo|long/i, { memo: 'é'.repeat(32) }],
];
for (const [name, dispatcher, message, values] of stages) {
  test(`what fails leaves nothing behind: ${name}`, async (t) => {
    const served = await serve(world, { ADD: dispatcher }, { store: await folder(t), network: { instance } });
    t.after(() => served.worker.close());
    trouble = name;
    const failed = await served.post('/prove/ADD', call(world, 'fails', world.attempt(values)));
    trouble = '';
    assert.match(failed.body.error?.message ?? '', message, failed.text);
    assert.equal(Mina.currentTransaction.has(), false);
    const { status, body, text } = await served.post('/prove/ADD', call(world, 'next', world.attempt()));
    assert.deepEqual([status, body.error], [200, null], text);
  });
}

test('what a callback leaves open is left before the next transaction', async (t) => {
  const builds: Dispatcher = {
    dispatch: add,
    onFailure: async () => void (await Mina.transaction(PrivateKey.random().toPublicKey(), async () => {})),
  };
  const served = await serve(world, { ADD: builds }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { txData, sender, attempt } = call(world, 'after', world.attempt());
  const told = await served.post('/on-failure/ADD', {
    txData,
    sender,
    result: { error: { code: '1', message: 'no' } },
  });
  assert.equal(told.status, 500);
  const { body, text } = await served.post('/prove/ADD', { txData, sender, attempt });
  assert.equal(body.error, null, text);
});

test('a payer that is not known yet is asked for again later', async (t) => {
  const payer = PrivateKey.random();
  const served = await serve(world, { ADD: { dispatch: add } }, { store: await folder(t), payer });
  t.after(() => served.worker.close());
  const ask = (number: number) => {
    const { sender, ...rest } = call(world, 'poor', world.attempt({ number, nonce: 0 }));
    return served.post('/prove/ADD', { ...rest, sender: { ...sender, accountId: payer.toPublicKey().toBase58() } });
  };
  for (const number of [1, 2]) {
    const { status, headers, text } = await ask(number);
    assert.deepEqual([status, headers.get('Retry-After')], [503, '5'], text);
    assert.match(text, /does not know the payer's account B62/);
  }
  assert.ok(served.lines.some((line) => line.includes("does not know the payer's account")));
  world.local.addAccount(Mina.TestPublicKey(payer), '1000000000');
  const { body, text } = await ask(3);
  assert.equal(body.error, null, text);
});

const silences: [string, (node: Node) => void, RegExp][] = [
  ['it does not know the payer', (node) => node.accounts.delete(payerKey), /does not know the payer's account/],
  ['it does not give the payer', (node) => (node.silentOn = payerKey), /did not answer for the account/],
  ['it does not give an account', (node) => (node.silentOn = address.toBase58()), /did not answer for the account/],
  [
    'it does not give its last block',
    (node) => (node.silentOn = 'snarkedLedgerHash'),
    /did not answer for its last block/,
  ],
];
for (const [name, silence, message] of silences) {
  test(`a node that cannot be read is asked again later: ${name}`, async (t) => {
    const node = await startNode(t);
    const dispatch = () => (Mina.getNetworkState(), counter.add(Field(1)));
    const post = await startPosting(t, { graphql: node.url }, { dispatch });
    const ask = async (number: number) => {
      const response = await post('prove', { attempt: attemptOf(number, 0) });
      return { status: response.status, after: response.headers.get('Retry-After'), text: await response.text() };
    };
    silence(node);
    for (const number of [1, 2]) {
      const { status, after, text } = await ask(number);
      assert.deepEqual([status, after], [503, '5'], text);
      assert.match(text, message);
    }
    node.accounts.set(payerKey, null);
    node.silentOn = 'nothing';
    const { status, text } = await ask(3);
    assert.equal(status, 200);
    assert.match(text, /"error":null/);
  });
}
