import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  type Account,
  AccountUpdate,
  Field,
  Mina,
  Permissions,
  PrivateKey,
  PublicKey,
  Reducer,
  TokenId,
  Transaction,
  UInt32,
} from 'o1js';
import { covered, Pending, type Cover } from '../src/ahead.js';
import type { Context, Dispatcher } from '../src/index.js';
import { idOf, Overlay } from '../src/overlay.js';
import { call, Counter, folder, makeWorld, pending, serve, type Ahead, type World } from './world.js';

const world = await makeWorld();
const add: Dispatcher = { dispatch: ({ data }) => world.counter.add(Field((data.amount as number) ?? 1)) };

/** Reads the counter in each way that there is, and makes nothing. */
const look: Dispatcher = {
  dispatch: async (_txn, { fetchAccount, payer }) => {
    const own = await fetchAccount(payer);
    return {
      done: {
        state: Mina.getAccount(world.counter.address).zkapp!.appState[0]!.toString(),
        fetched: (await fetchAccount(world.counter.address))?.zkapp?.appState[0]?.toString(),
        nonce: own?.nonce.toString(),
        spent: (1_000_000_000_000n - own!.balance.toBigInt()).toString(),
        absent: (await fetchAccount(PrivateKey.random().toPublicKey())) === undefined,
      },
    };
  },
};

/** The hash of the last of what is ahead. */
function lastOf(ahead: Ahead[]): string | undefined {
  const last = ahead.at(-1);
  return last && 'hash' in last ? last.hash : undefined;
}

/** Makes calls of the payer, each on top of those that were made before. */
async function trainOn(t: TestContext, on: World, dispatchers: Record<string, Dispatcher>) {
  const served = await serve(on, dispatchers, { store: await folder(t) });
  t.after(() => served.worker.close());
  const ahead: Ahead[] = [];
  const first = on.attempt().nonce;
  const ask = async (type: string, uid: string, data: object = {}, list = ahead, number = 1) => {
    const attempt = on.attempt({ number, nonce: first + list.length, ...(list.length > 0 && { base: 'b' }) });
    return served.post(`/prove/${type}`, { ...call(on, uid, attempt, data, type), ahead: list });
  };
  const join = async (type: string, uid: string, data: object = {}) => {
    const { body, text } = await ask(type, uid, data);
    assert.equal(body.error, null, text);
    assert.equal(body.on, lastOf(ahead));
    ahead.push(pending(uid, first + ahead.length, body));
    return body;
  };
  return { served, ahead, ask, join, first };
}

test('each is built on what those before it leave, and all take effect', async (t) => {
  const { ahead, ask, join, first } = await trainOn(t, world, { ADD: add, LOOK: look });
  const before = world.count();
  for (const amount of [2, 3, 5]) await join('ADD', `t${amount}`, { amount });
  const { done, on, error } = (await ask('LOOK', 'look')).body;
  assert.equal(error, null);
  const spent = 3n * 100_000_000n + 1_000_000_000_000n - world.local.getAccount(world.payer).balance.toBigInt();
  const [state, nonce] = [String(before + 10n), String(first + 3)];
  assert.deepEqual(done, { state, fetched: state, nonce, spent: String(spent), absent: true });
  assert.equal(on, lastOf(ahead));

  const plain = (await ask('LOOK', 'chain', {}, [])).body;
  assert.deepEqual([plain.done!.state, plain.done!.nonce, plain.on], [String(before), String(first), undefined]);
  for (const { signed } of ahead) await world.land(signed);
  assert.equal(world.count(), before + 10n);
});

test('what is kept is given again, on what is ahead by now', async (t) => {
  const { served, ahead, join, first } = await trainOn(t, world, { ADD: add });
  await join('ADD', 'kept-1');
  const attempt = world.attempt({ nonce: first + 1, base: 'b' });
  const made = (await served.post('/prove/ADD', { ...call(world, 'kept-2', attempt), ahead })).body;
  const dearer = [{ ...ahead[0]!, hash: '5Jdearer' }]; // it is known by what it does
  const again = (await served.post('/prove/ADD', { ...call(world, 'kept-2', attempt), ahead: dearer })).body;
  assert.deepEqual([again.signed, again.on], [made.signed, '5Jdearer']);
  const landed = (await served.post('/prove/ADD', call(world, 'kept-2', attempt))).body;
  assert.deepEqual([landed.signed, 'on' in landed], [made.signed, false]);
  const other = { ...call(world, 'kept-2', { ...attempt, base: 'c' }), ahead };
  assert.equal((await served.post('/prove/ADD', other)).status, 409);
  const dear = world.attempt({ number: 2, nonce: first + 1, fee: '200000000', base: 'b' });
  const resigned = await served.post('/resign/ADD', { ...call(world, 'kept-2', dear), signed: made.signed, ahead });
  assert.equal(resigned.body.on, lastOf(ahead), resigned.text);
});

test('what does not lead up to the attempt, or cannot be read, is refused', async (t) => {
  const { ahead, ask, join, served, first } = await trainOn(t, world, { ADD: add });
  await join('ADD', 'read-1');
  const [one] = ahead as [Ahead];
  const shapes: [string, unknown, RegExp][] = [
    ['a gap', [{ ...one, nonce: first + 5 }], /nonces are not those right before/],
    ['the same nonce twice', [one, one], /nonces are not those right before/],
    ['no list', one, /ahead must be array/],
    ['no hash', [{ ...one, hash: undefined }], /must have required property 'hash'/],
    ['signed in JSON', [{ ...one, signed: {} }], /ahead.0.signed must be string/],
  ];
  for (const [name, list, message] of shapes) {
    await t.test(name, async () => {
      const attempt = world.attempt({ nonce: first + 1 });
      const answer = await served.post('/prove/ADD', { ...call(world, 'read-2', attempt), ahead: list });
      assert.equal(answer.status, 400);
      assert.match((answer.body as unknown as { message: string }).message, message);
    });
  }
  const command = (spoil: (command: Spoiled) => void) => {
    const value = JSON.parse(one.signed) as Spoiled;
    spoil(value);
    return { ...one, signed: JSON.stringify(value) };
  };
  interface Spoiled {
    memo: string;
    feePayer: { body: { publicKey: string; nonce: string } };
    accountUpdates: { body: { update: { appState: unknown[]; more?: number } } }[];
  }
  const rehashed = async (spoiled: Ahead) => ({ ...spoiled, hash: await Transaction.hash(spoiled.signed) });
  assert.equal((await ask('ADD', 'read-2', {}, [one])).body.error, null); // it has been read before
  const contents: [string, Ahead, RegExp][] = [
    ['no JSON', { ...one, signed: '{{' }, /cannot be read/],
    ['no command', { ...one, signed: '{}' }, /cannot be read/],
    [
      'more state than this o1js has',
      command((c) => c.accountUpdates[0]!.body.update.appState.push('7')),
      /cannot be|does not know/,
    ],
    ['a field of another era', command((c) => (c.accountUpdates[0]!.body.update.more = 1)), /does not know/],
    ['another hash', { ...one, hash: '5Jother' }, /5Jother has the hash 5J/],
    [
      "another payer's",
      await rehashed(command((c) => (c.feePayer.body.publicKey = world.other.toBase58()))),
      /not this payer's/,
    ],
    ['another nonce', await rehashed(command((c) => (c.feePayer.body.nonce = '77'))), /not this payer's/],
  ];
  for (const [name, spoiled, message] of contents) {
    await t.test(name, async () => {
      const { error, on, signed } = (await ask('ADD', 'read-3', {}, [spoiled])).body;
      assert.match(error?.message ?? 'no error', message);
      assert.deepEqual([error!.code, on, signed], ['20202', lastOf([spoiled]), undefined]);
    });
  }
});

test('nothing of it is left when the transaction is made', async (t) => {
  const { ask, join } = await trainOn(t, world, {
    ADD: add,
    LOOK: look,
    FAIL: {
      dispatch: () => {
        throw new Error('no');
      },
    },
  });
  const before = String(world.count());
  await join('ADD', 'left-1');
  for (const type of ['ADD', 'LOOK', 'FAIL']) {
    await ask(type, `left-${type}`);
    assert.equal(world.counter.num.get().toString(), before);
    assert.equal((await ask('LOOK', `look-${type}`, {}, [])).body.done!.state, before);
  }
});

/** A contract that emits and dispatches. */
class Log extends Counter {
  reducer = Reducer({ actionType: Field });
  override events = { logged: Field };
}

test('events and actions of what is pending are given too', async (t) => {
  const [deployer] = world.local.testAccounts.slice(3);
  const key = PrivateKey.random();
  const log = new Log(key.toPublicKey());
  const emit = async (value: number, sender: Mina.TestPublicKey) => {
    const tx = await Mina.transaction({ sender, fee: 1e8 }, async () => {
      if (value === 0) {
        AccountUpdate.fundNewAccount(sender);
        await log.deploy();
        log.account.permissions.set({ ...Permissions.default(), editActionState: Permissions.signature() });
      } else speak(value);
    });
    await tx.prove();
    await tx.sign([sender.key, key]).send();
  };
  const speak = (value: number) => {
    const update = AccountUpdate.createSigned(key.toPublicKey());
    update.body.events = AccountUpdate.Events.pushEvent(update.body.events, [Field(value)]);
    update.body.actions = AccountUpdate.Actions.pushEvent(update.body.actions, [Field(value)]);
  };
  Mina.setActiveInstance(world.local);
  await emit(0, deployer!);
  await emit(1, deployer!);
  const hear: Dispatcher = {
    dispatch: async (_txn, { pendingEvents, pendingActions, fetchAccount }) => {
      const state = (await fetchAccount(log.address))!.zkapp!.actionState[0]!;
      const [, last] = Mina.getActions(log.address);
      const after = Mina.getActions(log.address, { fromActionState: Field(last!.hash) });
      const until = Mina.getActions(log.address, { endActionState: Field(last!.hash) });
      const first = Mina.getActions(log.address, { endActionState: Field(Mina.getActions(log.address)[0]!.hash) });
      const fetched = await Mina.fetchActions(log.address);
      const flat = (found: { actions: string[][] }[]) => found.flatMap(({ actions }) => actions.flat()).join();
      return {
        done: {
          events: pendingEvents(log.address),
          actions: pendingActions(log.address.toBase58()),
          none: [pendingEvents(world.payer), pendingActions(log.address, Field(2))],
          fetchedEvents: (await log.fetchEvents())
            .map(({ event }) => (event.data as unknown as Field).toString())
            .sort()
            .join(),
          chained: Mina.getActions(log.address).at(-1)!.hash === state.toString(),
          after: flat(after),
          until: flat(until),
          first: flat(first),
          fetched: flat(fetched as { actions: string[][] }[]),
        },
      };
    },
  };
  const { ask, join } = await trainOn(t, world, {
    SPEAK: { dispatch: async ({ data }) => speak(data.value as number), signers: () => [key] },
    HEAR: hear,
  });
  await join('SPEAK', 'speak-2', { value: 2 });
  await join('SPEAK', 'speak-3', { value: 3 });
  const { done, error } = (await ask('HEAR', 'hear')).body;
  assert.deepEqual(error, null);
  assert.deepEqual(done, {
    events: [['2'], ['3']],
    actions: [[['2']], [['3']]],
    none: [[], []],
    fetchedEvents: '1,2,3',
    chained: true,
    after: '3',
    until: '1,2',
    first: '1',
    fetched: '1,2,3',
  });
});

test('events of what is in blocks stay as the archive has them', async (t) => {
  const key = PrivateKey.random();
  const shout: Dispatcher = {
    dispatch: async ({ data }) => {
      const update = AccountUpdate.createSigned(key.toPublicKey());
      update.body.events = AccountUpdate.Events.pushEvent(update.body.events, [Field(data.value as number)]);
    },
    signers: () => [key],
  };
  const { ahead, join } = await trainOn(t, world, { SHOUT: shout });
  await join('SHOUT', 'shout-1', { value: 1 });
  await join('SHOUT', 'shout-2', { value: 2 });
  const [one, two] = ahead as [Ahead, Ahead];
  const block = (height: number, ...events: [string, string][]) => ({
    events: events.map(([hash, value]) => ({ data: [value], transactionInfo: { hash, memo: '', status: 'applied' } })),
    blockHeight: UInt32.from(height),
    blockHash: `3N${height}`,
    parentBlockHash: '',
    globalSlot: UInt32.from(height),
    chainStatus: 'canonical',
  });
  const cover = {
    pending: await Pending.read(ahead, world.payer.toBase58()),
    passed: new Map([[one.hash, 18]]),
    height: 20,
  } as unknown as Cover;
  const events = async (archive: ReturnType<typeof block>[], filter?: { from?: number; to?: number }) => {
    const instance = covered({ ...world.local, fetchEvents: async () => archive }, cover);
    const range = Object.fromEntries(Object.entries(filter ?? {}).map(([end, at]) => [end, UInt32.from(at)]));
    const found = await instance.fetchEvents(key.toPublicKey(), undefined, range);
    return found.flatMap((each) =>
      each.events.map(({ data }) => `${data.join()} ${each.chainStatus} ${each.blockHeight.toString()}`),
    );
  };
  const passed = block(18, ['5Jother', '0'], [one.hash, '1']);
  const whole = ['0 canonical 18', '1 canonical 18', '2 pending 20'];
  assert.deepEqual(await events([passed]), whole);
  assert.deepEqual(await events([passed, block(20, [two.hash, '2'])]), whole, 'an archive ahead of the node');
  assert.deepEqual(await events([passed], { from: 15, to: 25 }), whole);
  assert.deepEqual(await events([passed], { to: 19 }), whole.slice(0, 2), 'it ends before what is pending');
  assert.deepEqual(await events([]), ['1 pending 18', '2 pending 20'], 'an archive behind the node');
  assert.deepEqual(await events([], { from: 18 }), ['1 pending 18', '2 pending 20'], 'the same, from a height');
  assert.deepEqual(await events([], { from: 19 }), ['2 pending 20']);
  assert.deepEqual(await events([], { to: 19 }), ['1 pending 18']);
  const orphaned = { ...block(17, [one.hash, '1']), chainStatus: 'orphaned' };
  assert.deepEqual(await events([orphaned]), ['1 orphaned 17', '1 pending 18', '2 pending 20'], 'its block was left');
});

test('actions are shown without a gap, or not at all', async (t) => {
  const key = PrivateKey.random();
  const address = key.toPublicKey();
  const shout: Dispatcher = {
    dispatch: async ({ data }) => {
      const update = AccountUpdate.createSigned(address);
      const value = Field(data.value as number);
      update.body.actions = AccountUpdate.Actions.pushEvent(update.body.actions, [value]);
      for (const each of [value, value.add(10)]) {
        update.body.events = AccountUpdate.Events.pushEvent(update.body.events, [each]);
      }
    },
    signers: () => [key],
  };
  const { ahead, join } = await trainOn(t, world, { SHOUT: shout });
  await join('SHOUT', 'shout-3', { value: 1 });
  await join('SHOUT', 'shout-4', { value: 2 });
  const whole = await Pending.read(ahead, world.payer.toBase58());
  assert.deepEqual(whole.events(address), [['1'], ['11'], ['2'], ['12']], 'as they were emitted');
  const { commands, accounts } = whole;
  const zkapps = commands.map(({ zkapp }) => zkapp);
  const present = (list: typeof accounts) =>
    new Map(
      list.map(({ publicKey, token }): [string, Account | undefined] => {
        const [of, id] = [PublicKey.fromBase58(publicKey), TokenId.fromBase58(token)];
        return [idOf(publicKey, token), world.local.hasAccount(of, id) ? world.local.getAccount(of, id) : undefined];
      }),
    );
  const fee = world.local.getNetworkConstants().accountCreationFee.toBigInt();
  // The first is in a block by now, as the node shows it.
  const landed = new Overlay(present(accounts), zkapps.slice(0, 1), fee);
  const now = present(accounts);
  for (const { publicKey, token } of accounts) {
    const left = landed.account(PublicKey.fromBase58(publicKey), TokenId.fromBase58(token))!;
    const zkapp = left.zkapp && {
      ...left.zkapp,
      actionState: Array(5).fill(left.zkapp.actionState[0]!),
      lastActionSlot: UInt32.from(0),
    };
    now.set(idOf(publicKey, token), { ...left, receiptChainHash: Field(0), ...(zkapp && { zkapp }) });
  }
  const cover = { overlay: new Overlay(now, zkapps.slice(1), fee), height: 20 } as unknown as Cover;
  const first = landed.actions(address);
  for (const [archive, shown] of [
    [first, [[['1']], [['2']]]],
    [[], undefined],
    [[...first, { actions: [['9']], hash: '99' }], undefined],
  ] as const) {
    const found = archive.map(({ actions, hash }) => ({ actions, hash })) as ReturnType<typeof Mina.getActions>;
    const instance = covered({ ...world.local, getActions: () => found, fetchActions: async () => found }, cover);
    const flat = (each: { actions: string[][] }[]) => each.map(({ actions }) => actions);
    if (!shown) {
      assert.throws(() => instance.getActions(address), /not at the action state of the node/);
      await assert.rejects(instance.fetchActions(address), /not at the action state of the node/);
      continue;
    }
    assert.deepEqual(flat(instance.getActions(address)), shown);
    assert.deepEqual(flat((await instance.fetchActions(address)) as { actions: string[][] }[]), shown);
  }
  const earlier = covered({ ...world.local, fetchActions: async () => [] }, cover);
  assert.deepEqual(await earlier.fetchActions(address, undefined, undefined, 1, 19), [], 'up to a height');
});

test('callbacks see the chain, and nothing pending', async (t) => {
  let seen: Context | undefined;
  const dispatcher = {
    ...add,
    onSuccess: (_txn: unknown, _outcome: unknown, context: Context) => void (seen = context),
  };
  const { served, join } = await trainOn(t, world, { ADD: dispatcher });
  await join('ADD', 'told-1');
  const { txData, sender } = call(world, 'told-1', world.attempt());
  await served.post('/on-success/ADD', { txData, sender, result: { hash: '5J' } });
  assert.deepEqual([seen!.pendingEvents(world.payer), seen!.pendingActions(world.payer)], [[], []]);
  assert.equal((await seen!.fetchAccount(world.payer))?.nonce.toString(), String(world.attempt().nonce));
});
