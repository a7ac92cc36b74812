import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Field, Mina, PrivateKey, type PublicKey } from 'o1js';
import type { Dispatcher } from '../src/index.js';
import { Unresolvable } from '../src/index.js';
import { address, attemptOf, counter, startNode, startPosting, startWorker } from './daemons.js';
import { actionState, type Node } from './node.js';

/** The state that a signed transaction asks for. */
function precondition(signed: string | undefined): string | null {
  const command = JSON.parse(signed!) as {
    accountUpdates: { body: { preconditions: { account: { state: (string | null)[] } } } }[];
  };
  return command.accountUpdates[0]!.body.preconditions.account.state[0]!;
}

const add: Dispatcher = { dispatch: () => counter.add(Field(1)) };

test('a transaction is built on what the node says now', async (t) => {
  const node = await startNode(t);
  const prove = await startWorker(t, { graphql: node.url }, add);
  const first = await prove();
  assert.equal(first.error, null);
  assert.equal(precondition(first.signed), '5');
  node.accounts.set(address.toBase58(), ['6', '0', '0', '0', '0', '0', '0', '0']);
  assert.equal(precondition((await prove()).signed), '6');
  node.broken = true; // o1js would go on with what it has cached
  const stale = await prove();
  assert.equal(stale.code, '503');
  assert.match(stale.message ?? '', /did not answer for the account/);
  node.broken = false;
  assert.equal(precondition((await prove()).signed), '6');
});

test('a dispatcher reads accounts by itself', async (t) => {
  const node = await startNode(t);
  const seen: unknown[] = [];
  const prove = await startWorker(
    t,
    { graphql: [node.url] },
    {
      dispatch: async (_txn, { fetchAccount }) => {
        seen.push((await fetchAccount(address))?.zkapp?.appState[0]?.toString());
        seen.push(await fetchAccount(PrivateKey.random().toPublicKey().toBase58()));
        return { done: { yes: true } };
      },
    },
  );
  assert.equal((await prove()).error, null);
  assert.deepEqual(seen.slice(-2), ['5', undefined]);
  node.broken = true;
  assert.equal((await prove()).code, '503');
});

test("what is no node's answer says nothing of whether an account is there", async (t) => {
  const node = await startNode(t, { silence: 404 });
  const seen: unknown[] = [];
  const dispatch: Dispatcher['dispatch'] = async (_txn, { fetchAccount }) => {
    seen.push(await fetchAccount(address));
    return { done: { yes: true } };
  };
  const prove = await startWorker(t, { graphql: node.url }, { dispatch });
  node.broken = true;
  const { code, message } = await prove();
  assert.deepEqual([code, seen], ['503', []]);
  assert.match(message ?? '', /did not answer for the account B62\w+: Not Found$/);
});

/** What a signed transaction asks of the nonce of the account that its first update is of. */
function nonceOf(signed: string | undefined): string {
  const command = JSON.parse(signed!) as {
    accountUpdates: { body: { preconditions: { account: { nonce: { lower: string; upper: string } } } } }[];
  };
  const { lower, upper } = command.accountUpdates[0]!.body.preconditions.account.nonce;
  assert.equal(lower, upper);
  return lower;
}

test('a signer other than the payer has the nonce that the node says now', async (t) => {
  const node = await startNode(t);
  const key = PrivateKey.random();
  const signer = key.toPublicKey();
  const prove = await startWorker(
    t,
    { graphql: node.url },
    { dispatch: async () => void AccountUpdate.createSigned(signer), signers: () => [key] },
  );
  const made = async () => {
    const { error, signed } = await prove();
    assert.equal(error, null);
    return nonceOf(signed);
  };
  node.accounts.set(signer.toBase58(), null);
  for (const nonce of [7, 8]) {
    node.nonces.set(signer.toBase58(), nonce);
    assert.equal(await made(), String(nonce));
  }
  node.accounts.delete(signer.toBase58()); // its creation is orphaned
  assert.equal(await made(), '0');
  node.broken = true;
  assert.equal((await prove()).code, '503');
  node.broken = false;
  node.accounts.set(signer.toBase58(), null);
  assert.equal(await made(), '8');
});

test('what a dispatch reads may depend on what it has read', async (t) => {
  const node = await startNode(t);
  const chosen = [PrivateKey.random(), PrivateKey.random()].map((key) => key.toPublicKey());
  const first = (key: PublicKey) => Mina.getAccount(key).zkapp?.appState[0]?.toString();
  const prove = await startWorker(
    t,
    { graphql: node.url },
    {
      dispatch: async () => {
        const state = first(address);
        if (state === undefined) throw new Unresolvable('there is no counter');
        return { done: { state: first(chosen[Number(state) - 5]!) } };
      },
    },
  );
  for (const [i, key] of chosen.entries()) {
    const state = (value: number) => [String(value), ...Array.from({ length: 7 }, () => '0')];
    node.accounts.set(key.toBase58(), state(70 + i));
    node.accounts.set(address.toBase58(), state(5 + i));
    const { error, done } = await prove();
    assert.equal(error, null);
    assert.deepEqual(done, { state: String(70 + i) });
  }
});

/** Reads the actions since the state that the counter holds, or nothing. */
function listener() {
  const listens = { now: true };
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      if (!listens.now) return { done: { heard: 'nothing' } };
      const fromActionState = Mina.getAccount(address).zkapp?.appState[0] ?? Field(0);
      const found = Mina.getActions(address, { fromActionState });
      return { done: { heard: found.flatMap(({ actions }) => actions.flat()).join() } };
    },
  };
  return { listens, dispatcher };
}

test('actions are those from where the contract has come to, as the archive has them now', async (t) => {
  const node = await startNode(t);
  const { listens, dispatcher } = listener();
  const prove = await startWorker(t, { graphql: node.url, archive: node.url }, dispatcher);
  const key = address.toBase58();
  const one = actionState(AccountUpdate.Actions.emptyActionState(), '1');
  node.actions.set(key, ['1', '2', '3']);
  for (const [from, heard] of [
    [one, '2,3'],
    [actionState(one, '2'), '3'],
  ] as const) {
    node.accounts.set(key, [from.toString(), '0', '0', '0', '0', '0', '0', '0']);
    const { error, done } = await prove();
    assert.equal(error, null);
    assert.deepEqual(done, { heard });
  }
  const troubles: [Partial<Node>, RegExp][] = [
    [{ silentOn: 'actions(' }, /Internal Server Error|does not exist/],
    [{ actionsOff: 1n }, /Failed to derive correct actions hash/],
  ];
  for (const [trouble, exception] of troubles) {
    const { silentOn, actionsOff } = node;
    Object.assign(node, trouble);
    const { error } = await prove();
    assert.equal(error?.code, '502');
    assert.match(error.message, /the archive did not answer for the actions of B62/);
    assert.match(error.exception, exception);
    listens.now = false;
    assert.deepEqual((await prove()).done, { heard: 'nothing' }, 'it stands in the way of nothing else');
    listens.now = true;
    Object.assign(node, { silentOn, actionsOff });
    assert.deepEqual((await prove()).done, { heard: '3' });
  }
});

test('without an archive actions and events are refused, and nothing else', async (t) => {
  const node = await startNode(t);
  const { listens, dispatcher } = listener();
  const prove = await startWorker(t, { graphql: node.url }, dispatcher);
  const { error } = await prove();
  assert.equal(error?.code, '502');
  assert.match(error.message, /this worker has no archive: set network\.archive/);
  listens.now = false;
  assert.equal((await prove()).error, null);
});

test('the state of the network is what the node says now', async (t) => {
  const node = await startNode(t);
  const slots: Dispatcher = {
    dispatch: async () => ({
      done: { slots: [Mina.getNetworkState().globalSlotSinceGenesis, Mina.currentSlot()].map(String) },
    }),
  };
  const prove = await startWorker(t, { graphql: node.url }, slots);
  const slotsAt = async (slot: number) => {
    node.slot = slot;
    const { error, done } = await prove();
    assert.equal(error, null);
    assert.deepEqual(done, { slots: [String(slot), String(slot)] });
  };
  await slotsAt(11);
  await slotsAt(12);
  node.silentOn = 'snarkedLedgerHash';
  const { code, message } = await prove();
  assert.equal(code, '503');
  assert.match(message ?? '', /did not answer for its last block/);
  node.silentOn = 'nothing';
  await slotsAt(13);
});

test('a dispatch that never comes to the same is told so', async (t) => {
  const node = await startNode(t);
  const prove = await startWorker(
    t,
    { graphql: node.url },
    { dispatch: async () => void Mina.getAccount(PrivateKey.random().toPublicKey()) },
  );
  const { error } = await prove();
  assert.equal(error?.code, '20202');
  assert.match(error.message, /have each run come to the same result/);
});

test('a key that each run of a dispatch makes anew is that of no account', async (t) => {
  const node = await startNode(t);
  const prove = await startWorker(
    t,
    { graphql: node.url },
    { dispatch: async () => ({ done: { there: Mina.hasAccount(PrivateKey.random().toPublicKey()) } }) },
  );
  const { error, done } = await prove();
  assert.equal(error, null);
  assert.deepEqual(done, { there: false });
});

const troubles: [string, Partial<Node>, Partial<{ networkId: 'mainnet' | 'devnet' | { custom: string } }>, RegExp][] = [
  ['it bootstraps', { syncStatus: 'BOOTSTRAP' }, {}, /no Mina node is there/],
  [
    'it is of mainnet',
    { networkID: 'mina:mainnet' },
    {},
    /of the network mina:mainnet, and this worker signs for testnet/,
  ],
  [
    'it is not of mainnet',
    {},
    { networkId: 'mainnet' },
    /of the network mina:testnet, and this worker signs for mainnet/,
  ],
  ['it is of another private network', {}, { networkId: { custom: 'ours' } }, /signs for ours/],
];
for (const [name, values, option, message] of troubles) {
  test(`a node does not do: ${name}`, async (t) => {
    const node = await startNode(t, values);
    const prove = await startWorker(t, { graphql: node.url, ...option }, add);
    const { error } = await prove();
    assert.equal(error?.code, '502');
    assert.match(error.message, message);
  });
}

test("no node at all is the network's fault, and no secret of its URL is told", async (t) => {
  const prove = await startWorker(t, { graphql: 'http://127.0.0.1:1/hush' }, add);
  const { error } = await prove();
  assert.equal(error?.code, '502');
  assert.match(error.exception, /127\.0\.0\.1:1/);
  assert.equal(JSON.stringify(error).includes('hush'), false);
});

test('o1js tells whole URLs, and nothing that is answered or logged does', async (t) => {
  const node = await startNode(t);
  const [daemon, archive] = [`${node.url}?key=hush`, 'http://127.0.0.1:1/hush/more'];
  const absent = PrivateKey.random().toPublicKey();
  const lines: string[] = [];
  const dispatcher: Dispatcher = {
    dispatch: () => {
      throw new Error(`no answer from ${daemon}`, { cause: new Error(archive) });
    },
    onSuccess: () => void Mina.getAccount(absent),
  };
  const network = { graphql: daemon, archive: [archive, 'http://127.0.0.1:1/hush'] };
  const post = await startPosting(t, network, dispatcher, lines);
  const said = async (path: string, body: object) => (await post(path, body)).text();
  const attempt = attemptOf(1, 0);
  for (const [text, words] of [
    [await said('prove', { attempt }), new RegExp(new URL(node.url).host)],
    [await said('on-success', { result: { hash: '5J' } }), /is not on the chain: deploy it there/],
  ] as const) {
    assert.match(text, words);
    assert.equal(text.includes('hush'), false, text);
  }
  assert.equal(lines.join().includes('hush'), false);
});

test("a refusal is handed on in the node's own words", async (t) => {
  const node = await startNode(t);
  const call = await startWorker(t, { graphql: node.url }, add);
  const { error, hash } = await call('dispatch');
  assert.equal(hash, '');
  assert.equal(error?.code, '20203');
  assert.match(error.exception, /statusCode\\*":200.*Couldn't send zkApp command: .*Invalid_nonce/);
});

test('a network that is none is refused at the start', async (t) => {
  for (const graphql of ['', [], ['file:///x'], 'not a url', 'http://user:hush@127.0.0.1/']) {
    await assert.rejects(
      startWorker(t, { graphql }, add),
      (error: Error) => /^network/.test(error.message) && !error.message.includes('hush'),
    );
  }
});
