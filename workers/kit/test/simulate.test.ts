import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Bool, Field, PrivateKey, TokenId, UInt64 } from 'o1js';
import { Unresolvable, type Dispatcher } from '../src/index.js';
import type { Simulation } from '../src/calls.js';
import { address, attemptOf, counter, payer, payerKey, startNode, startPosting } from './daemons.js';
import { type Ahead, call, folder, gate, makeWorld, pending, serve } from './world.js';

const world = await makeWorld();
const mina = TokenId.toBase58(TokenId.default);
const add: Dispatcher = { dispatch: ({ data }) => world.counter.add(Field(data.amount as number)) };

/** Simulates a type of the world's, and tells what was answered. */
async function simulated(
  served: Awaited<ReturnType<typeof serve>>,
  type: string,
  data: object = {},
): Promise<Simulation> {
  const { status, text } = await served.post(
    `/simulate/${type}`,
    call(world, 'sim', world.attempt({ nonce: 99 }), data, type),
  );
  assert.equal(status, 200, text);
  return JSON.parse(text) as Simulation;
}

test('what a transaction would do is told, and nothing is done', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { capabilities } = JSON.parse((await served.get('/health')).text) as { capabilities: string[] };
  assert.ok(capabilities.includes('simulate'));
  const touched = [world.payer.toBase58(), world.counter.address.toBase58()].map((publicKey) => ({
    publicKey,
    tokenId: mina,
    creates: false,
  }));
  const told = { ok: true, failure: null, weight: 2, touched, seconds: null };
  assert.deepEqual(await simulated(served, 'ADD', { amount: 3 }), told);
  assert.deepEqual(await simulated(served, 'ADD', { amount: 3 }), told, 'as if it had not been before');
  assert.deepEqual([world.count(), world.attempt().nonce], [0n, 0]);
  assert.ok(served.lines.every((line) => !line.includes('signed')));

  const made = await served.post('/prove/ADD', call(world, 'made', world.attempt(), { amount: 3 }));
  await world.land(made.body.signed!);
  const { seconds, ...rest } = await simulated(served, 'ADD', { amount: 3 });
  assert.deepEqual({ ...rest, seconds: null }, told);
  assert.ok(seconds! > 0);
});

test('with others ahead it is applied to the accounts as they leave them', async (t) => {
  const fresh = PrivateKey.random().toPublicKey();
  const dispatchers: Record<string, Dispatcher> = {
    ADD: add,
    /** Pays somebody, and for the account if there is none. */
    PAY: {
      dispatch: async (_txn, { fetchAccount }) => {
        const there = (await fetchAccount(fresh)) !== undefined;
        const from = there ? AccountUpdate.createSigned(world.other) : AccountUpdate.fundNewAccount(world.other);
        from.send({ to: fresh, amount: 5 });
      },
      signers: () => [world.other.key],
    },
    /** Requires of the counter what its data say, whatever it reads. */
    REQUIRE: {
      dispatch: async ({ data }) => {
        const { state } = AccountUpdate.create(world.counter.address).body.preconditions.account;
        state[0] = { isSome: Bool(true), value: Field(data.is as number) };
      },
    },
  };
  const served = await serve(world, dispatchers, { store: await folder(t) });
  t.after(() => served.worker.close());
  const first = world.attempt().nonce;
  const before = Number(world.count());
  const ahead: Ahead[] = [];
  const at = () => world.attempt({ nonce: first + ahead.length, ...(ahead.length > 0 && { base: 'b' }) });
  const upon = async (type: string, data: object = {}) => {
    const { status, text } = await served.post(`/simulate/${type}`, { ...call(world, 'sim', at(), data, type), ahead });
    assert.equal(status, 200, text);
    return JSON.parse(text) as Simulation;
  };
  const join = async (type: string, data: object = {}) => {
    const uid = `${type}-${ahead.length}`;
    const { body, text } = await served.post(`/prove/${type}`, { ...call(world, uid, at(), data, type), ahead });
    assert.equal(body.error, null, text);
    ahead.push(pending(uid, first + ahead.length, body));
  };
  await join('ADD', { amount: 3 });
  await join('PAY');
  await join('ADD', { amount: 4 });
  const unsatisfied = 'Account_app_state_0_precondition_unsatisfied';
  const chain = async (is: number) => (await simulated(served, 'REQUIRE', { is })).failure?.code;
  const behind = async (is: number) => (await upon('REQUIRE', { is })).failure?.code;
  assert.deepEqual([await chain(before), await chain(before + 7)], [undefined, unsatisfied]);
  assert.deepEqual([await behind(before), await behind(before + 7)], [unsatisfied, undefined]);
  assert.deepEqual([(await upon('ADD', { amount: 1 })).ok, world.count()], [true, BigInt(before)]);
  const creates = ({ touched }: Simulation) => touched.filter((each) => each.creates).map((each) => each.publicKey);
  assert.deepEqual(creates(await simulated(served, 'PAY')), [fresh.toBase58()]);
  const paid = await upon('PAY');
  assert.deepEqual([paid.ok, creates(paid)], [true, []], JSON.stringify(paid));
  for (const { signed } of ahead) await world.land(signed);
  assert.equal(await chain(before + 7), undefined);
  assert.equal(await behind(before + 7), undefined, 'what is ahead has landed');
});

test('what Mina would say is told of each account update', async (t) => {
  const fresh = PrivateKey.random().toPublicKey();
  const dispatchers: Record<string, Dispatcher> = {
    /** Requires what is not so, of one account that is there and one that is not. */
    REQUIRE: {
      dispatch: async () => {
        const one = UInt64.from(1);
        const [there, absent] = [AccountUpdate.create(world.other), AccountUpdate.create(fresh)];
        there.account.balance.requireBetween(one, one);
        absent.account.balance.requireBetween(one, one);
      },
    },
    /** Spends what nobody has. */
    SPEND: {
      dispatch: async () => void AccountUpdate.createSigned(world.other).send({ to: fresh, amount: 1n << 60n }),
      signers: () => [world.other.key],
    },
    CREATE: {
      dispatch: async () => {
        AccountUpdate.fundNewAccount(world.other).send({ to: fresh, amount: 5 });
      },
      signers: () => [world.other.key],
    },
    /** May be set by a proof alone. */
    SET: {
      dispatch: async () => {
        const update = AccountUpdate.create(world.counter.address);
        AccountUpdate.setValue(update.body.update.appState[0]!, Field(9));
      },
    },
  };
  const served = await serve(world, dispatchers, { store: await folder(t) });
  t.after(() => served.worker.close());

  const required = await simulated(served, 'REQUIRE');
  const unsatisfied = 'Account_balance_precondition_unsatisfied';
  assert.deepEqual([required.ok, required.failure?.index, required.failure?.code], [false, 1, unsatisfied]);
  const [there, absent] = [world.other.toBase58(), fresh.toBase58()];
  assert.ok(required.failure!.message.startsWith(`account update 1 of 2 (${there}): ${unsatisfied}; `));
  assert.ok(required.failure!.message.includes(`account update 2 of 2 (${absent}): `));
  assert.deepEqual(
    required.touched.map(({ publicKey, creates }) => [publicKey, creates]),
    [
      [world.payer.toBase58(), false],
      [there, false],
      [absent, true],
    ],
  );
  const spent = await simulated(served, 'SPEND');
  assert.deepEqual([spent.ok, spent.failure?.index, spent.failure?.code], [false, 1, 'Overflow']);
  const created = await simulated(served, 'CREATE');
  assert.deepEqual([created.ok, created.failure], [true, null]);
  assert.deepEqual(created.touched.at(-1), { publicKey: absent, tokenId: mina, creates: true });
  const set = await simulated(served, 'SET');
  assert.deepEqual([set.failure?.index, set.failure?.code], [1, 'Update_not_permitted_app_state']);
});

test('what does not come to account updates is told, too', async (t) => {
  const dispatchers: Record<string, Dispatcher> = {
    ADD: add,
    DONE: { dispatch: async () => ({ done: { yes: true } }) },
    NEVER: { dispatch: () => Promise.reject(new Unresolvable('there is no such title')) },
    KEYLESS: { dispatch: async () => void AccountUpdate.createSigned(world.other) },
  };
  const served = await serve(world, dispatchers, { store: await folder(t) });
  t.after(() => served.worker.close());
  const nothing = { failure: null, weight: 0, touched: [], seconds: null };
  assert.deepEqual(await simulated(served, 'DONE'), { ok: true, ...nothing });
  assert.deepEqual(await simulated(served, 'NEVER'), {
    ok: false,
    ...nothing,
    failure: { index: null, code: '500', message: 'there is no such title' },
  });
  const asserted = await simulated(served, 'ADD', { amount: 0 });
  assert.deepEqual([asserted.ok, asserted.failure?.code, asserted.failure?.index], [false, '20202', null]);
  assert.match(asserted.failure!.message, /adding nothing is not allowed/);
  const keyless = await simulated(served, 'KEYLESS');
  assert.match(keyless.failure!.message, /^no key to sign for B62/);
  const unknown = JSON.parse(
    (await served.post('/simulate/SUB', call(world, 'x', world.attempt(), {}, 'SUB'))).text,
  ) as {
    error: { code: string };
  };
  assert.equal(unknown.error.code, '404');
});

test('a simulation takes its place from no transaction', async (t) => {
  const { opened, open } = gate();
  const begun = gate();
  const dispatch: Dispatcher['dispatch'] = async () => {
    begun.open();
    await opened;
    return { done: { yes: true } };
  };
  const served = await serve(world, { WAIT: { dispatch }, ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const proving = served.post('/prove/WAIT', call(world, 'wait', world.attempt(), {}, 'WAIT'));
  await begun.opened;
  const refused = await served.post('/simulate/ADD', call(world, 'sim', world.attempt(), { amount: 1 }));
  assert.equal(refused.status, 503);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  open();
  await proving;
  assert.equal((await simulated(served, 'ADD', { amount: 1 })).ok, true);
});

test('what signs for mainnet is simulated as all else', async (t) => {
  const instance = { ...world.local, getNetworkId: () => 'mainnet' as const };
  const served = await serve(world, { ADD: add }, { store: await folder(t), network: { instance } });
  t.after(() => served.worker.close());
  assert.equal((await simulated(served, 'ADD', { amount: 1 })).ok, true);
});

test('accounts of a node are taken as it shows them', async (t) => {
  const node = await startNode(t);
  node.nonces.set(payerKey, 7);
  const post = await startPosting(t, { graphql: node.url }, { dispatch: () => counter.add(Field(1)) });
  const told = async () => {
    const response = await post('simulate', { attempt: attemptOf(1, 0) });
    return { status: response.status, ...((await response.json()) as Simulation) };
  };
  const first = await told();
  // The node's counter has no key, so that no proof is one of it.
  assert.deepEqual([first.status, first.failure?.index], [200, 1], JSON.stringify(first));
  assert.deepEqual(
    first.touched.map(({ publicKey, creates }) => [publicKey, creates]),
    [
      [payer.toPublicKey().toBase58(), false],
      [address.toBase58(), false],
    ],
  );
  node.accounts.delete(payerKey);
  assert.equal((await told()).status, 503);
});
