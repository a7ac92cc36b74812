import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { Bool, UInt32 } from 'o1js';
import type { Block } from '../src/chain.js';
import { readCommand, STATE_FIELDS, type AccountUpdate, type ZkappCommand } from '../src/command.js';
import { keyPairs } from '../src/genesis.js';
import { LIMITS } from '../src/limits.js';
import { LedgerNode, type NodeOptions } from '../src/node.js';
import { Refusal } from '../src/refusal.js';
import { emitting, expectState, setState, signed, stranger, unsigned, update, type Plan } from './commands.js';

const [alice, bob] = keyPairs(2) as [Pair, Pair];
type Pair = { publicKey: string; privateKey: string };
const nobody = stranger(1);

async function open(t: TestContext, options: NodeOptions = {}): Promise<LedgerNode> {
  const node = await LedgerNode.open({ manual: true, accounts: 2, ...options });
  t.after(() => node.close());
  return node;
}

const plan = (nonce: number, more: Partial<Plan> = {}) => signed({ payer: alice.privateKey, nonce, ...more });
const hashes = (block: Block) => block.commands.map(({ command }) => command.hash);
const nonceOf = (node: LedgerNode) => node.chain.tip.ledger.account(alice.publicKey)?.nonce;

describe('a node refuses', () => {
  const isProved = (command: ZkappCommand) => {
    const [{ body }] = command.accountUpdates as [ZkappCommand['accountUpdates'][0]];
    body.authorizationKind = { ...body.authorizationKind, isProved: true };
    return command;
  };
  const cases: { name: string; command: () => unknown; message: string | RegExp }[] = [
    { name: 'a fee below the least', command: () => plan(0, { fee: 999_999 }), message: 'Insufficient fee' },
    {
      name: 'a root update that uses a token',
      command: () => {
        const command = plan(0);
        command.accountUpdates[0]!.body.mayUseToken.parentsOwnToken = true;
        return command;
      },
      message: 'Zkapp has an invalid call forest (root account updates may not use tokens)',
    },
    {
      name: 'a changed fee under the old signature',
      command: () => {
        const command = plan(0);
        command.feePayer.body.fee = '200000000';
        return command;
      },
      message: `(invalid "Invalid_signature: [${alice.publicKey}]")`,
    },
    {
      name: 'an update that its account did not sign',
      command: () => plan(0, { updates: [update(bob.publicKey)] }),
      message: `(invalid "Invalid_signature: [${bob.publicKey}]")`,
    },
    {
      name: 'a proof that was forgotten',
      command: () => isProved(plan(0)),
      message: `(invalid "Mismatched_authorization_kind: [${alice.publicKey}]")`,
    },
    { name: 'a nonce to come', command: () => plan(1), message: '["Invalid_nonce"]' },
    {
      name: 'a payer without account',
      command: () => plan(0, { payer: nobody.privateKey }),
      message: '["Fee_payer_account_not_found"]',
    },
    { name: 'more than the balance', command: () => plan(0, { fee: 2e12 }), message: '["Insufficient_funds"]' },
    { name: 'a slot that has passed', command: () => plan(0, { validUntil: 2 }), message: '["Expired"]' },
  ];
  for (const { name, command, message } of cases) {
    test(name, async (t) => {
      const node = await open(t);
      node.skipSlot();
      node.skipSlot();
      await assert.rejects(node.send(command()), (error) => error instanceof Refusal && error.message === message);
      assert.equal(node.pool.size, 0);
    });
  }

  test('what is no command, naming what is wrong', async (t) => {
    const node = await open(t);
    const noNumber = plan(0);
    noNumber.feePayer.body.nonce = 'x';
    for (const input of [null, {}, { ...plan(0), memo: 'x' }, noNumber]) {
      await assert.rejects(node.send(input), /^Error: Could not decode zkappCommand: ./);
    }
  });
});

test('a command from the other side of the Mesa fork is refused with the remedy', async (t) => {
  const node = await open(t);
  const good = plan(0);
  const other = STATE_FIELDS === 8 ? 32 : 8;
  const fields = Array.from({ length: other }, () => null);
  for (const change of [
    (body: AccountUpdate['body']) => (body.update.appState = fields),
    (body: AccountUpdate['body']) => (body.preconditions.account.state = fields),
  ]) {
    const foreign = structuredClone(good);
    change(foreign.accountUpdates[0]!.body);
    await assert.rejects(
      node.send(foreign),
      new RegExp(
        `^Error: Could not decode zkappCommand: an account has ${STATE_FIELDS} state fields here and ${other} in`,
      ),
    );
  }
  await node.send(good);
});

describe('what a command may hold', () => {
  const unsignedUpdates = (count: number) => Array.from({ length: count }, () => unsigned(bob.publicKey));
  const emits = (kind: 'events' | 'actions', count: number) => {
    const elements = Array.from({ length: count }, (_, i) => [`${i}`]);
    const [events, actions] = kind === 'events' ? [elements] : [[], elements];
    return plan(0, { updates: [emitting(bob.publicKey, events, actions)], keys: [bob.privateKey] });
  };
  const updates = (count: number) => plan(0, { updates: unsignedUpdates(count) });
  const tooMany = (what: string, most: number) => `too many ${what} elements (${most + 1}, max allowed is ${most})`;
  // The payer's signature counts too.
  const sets: [name: keyof typeof LIMITS, updates: number, elements: number][] = [
    ['mesa', 31, 1024],
    ['berkeley', 11, 100],
  ];
  for (const [name, most, elements] of sets) {
    test(`by ${name}'s limits`, async (t) => {
      // Mainnet's are what is not said otherwise.
      const node = await open(t, name === 'mesa' ? {} : { limits: LIMITS[name] });
      const refused = (command: unknown, why: string) =>
        assert.rejects(node.send(command), new Refusal(`Zkapp too big (${why})`));
      await refused(updates(most + 1), 'zkapp transaction too expensive');
      await refused(emits('events', elements + 1), tooMany('event', elements));
      await refused(emits('actions', elements + 1), tooMany('sequence event', elements));
      for (const good of [updates(most), emits('events', elements), emits('actions', elements)]) {
        await node.send(good);
        node.pool.clear();
      }
    });
  }
});

test('a block holds as many commands as one of mainnet, or as it is told', async (t) => {
  for (const [limits, first] of [
    [undefined, 12],
    [{ ...LIMITS.mesa, blockCommands: 5 }, 5],
  ] as const) {
    const node = await open(t, { ...(limits && { limits }) });
    for (let nonce = 0; nonce < 13; nonce++) await node.send(plan(nonce));
    const block = await node.produce();
    assert.equal(block.commands.length, first);
    assert.equal(node.pool.size, 13 - first);
  }
});

test('commands are included the best paying first, each payer in the order of the nonces', async (t) => {
  const node = await open(t);
  const low = await node.send(plan(0, { fee: 1e6 }));
  const high = await node.send(plan(1, { fee: 9e9 }));
  const middle = await node.send(signed({ payer: bob.privateKey, nonce: 0, fee: 5e6 }));
  const block = await node.produce();
  assert.deepEqual(hashes(block), [middle.hash, low.hash, high.hash]);
  assert.equal(node.pool.size, 0);
  assert.equal(nonceOf(node), '2');
  await assert.rejects(node.send(plan(1, { fee: 9e9 })), new Refusal('["Invalid_nonce"]'));
});

test('the same command sent again is pooled once', async (t) => {
  const node = await open(t);
  const [first, second] = await Promise.all([node.send(plan(0)), node.send(plan(0))]);
  assert.equal(first.hash, second.hash);
  assert.equal(node.pool.size, 1);
});

test('two commands on one state: the second fails in the block, and spends its fee', async (t) => {
  const node = await open(t);
  const raise = (from: number) => [update(bob.publicKey, expectState(from)), update(bob.publicKey, setState(from + 1))];
  await node.send(plan(0, { updates: [update(bob.publicKey, setState(1))], keys: [bob.privateKey] }));
  await node.send(plan(1, { updates: raise(1), keys: [bob.privateKey], fee: 3e8 }));
  await node.send(plan(2, { updates: raise(1), keys: [bob.privateKey], fee: 2e8 }));
  const { commands, ledger } = await node.produce();
  const failures = [
    { index: 2, failures: ['Cancelled'] },
    { index: 1, failures: ['Account_app_state_0_precondition_unsatisfied'] },
  ];
  assert.deepEqual(
    commands.map((included) => included.failures),
    [[], [], failures],
  );
  assert.equal(ledger.account(bob.publicKey)?.zkapp?.appState[0], '2');
  assert.equal(ledger.account(alice.publicKey)?.balance, '999400000000');
  assert.equal(nonceOf(node), '3');
});

test('an expired command leaves the pool, and its nonce is free', async (t) => {
  const node = await open(t);
  await node.send(plan(0, { validUntil: 1 }));
  node.skipSlot();
  assert.equal(node.pool.size, 0);
  assert.deepEqual(hashes(await node.produce()), []);
  const { hash } = await node.send(plan(0, { validUntil: 3 }));
  assert.deepEqual(hashes(await node.produce()), [hash]);
});

test('no block holds a command after its last slot', async (t) => {
  const { chain } = await open(t);
  const command = await readCommand(plan(0, { validUntil: 4 }));
  const build = async (slot: number) => chain.build(chain.genesis, { slot, time: 0, salt: '' }, [command], 1);
  assert.deepEqual(hashes(await build(4)), [command.hash]);
  assert.deepEqual(hashes(await build(5)), []);
});

test('network preconditions are checked against the block before', async (t) => {
  const node = await open(t);
  node.skipSlot();
  const { height, recipe } = await node.produce();
  node.skipSlot();
  const exactly = (value: number) => ({ lower: UInt32.from(value), upper: UInt32.from(value) });
  const expectTip = update(bob.publicKey, ({ body }) => {
    const { network } = body.preconditions;
    network.blockchainLength = { isSome: Bool(true), value: exactly(height) };
    network.globalSlotSinceGenesis = { isSome: Bool(true), value: exactly(recipe.slot) };
  });
  await node.send(plan(0, { updates: [expectTip], keys: [bob.privateKey] }));
  assert.deepEqual((await node.produce()).commands[0]?.failures, []);
});

test('a command without account updates is accepted and never included', async (t) => {
  const node = await open(t);
  await node.send(plan(0, { updates: [] }));
  assert.deepEqual(hashes(await node.produce()), []);
  assert.equal(node.pool.size, 1);
});

describe('a reorg', () => {
  test('abandons blocks for a longer rival with the same commands', async (t) => {
    const node = await open(t);
    const { hash } = await node.send(plan(0));
    const abandoned = await node.produce();
    const tip = await node.reorg({ depth: 1 });
    assert.equal(tip.height, abandoned.height + 1);
    assert.notEqual(tip.parent?.hash, abandoned.hash);
    assert.deepEqual(hashes(tip.parent!), [hash]);
    assert.equal(node.chain.holds(abandoned), false);
    assert.equal(node.chain.find(abandoned.hash), abandoned);
    assert.equal(nonceOf(node), '1');
  });

  test('gives back to the pool what the rival leaves out', async (t) => {
    const node = await open(t);
    const first = await node.send(plan(0));
    await node.produce();
    const second = await node.send(plan(1));
    await node.produce();
    await node.reorg({ depth: 2, exclude: [first.hash] });
    assert.equal(nonceOf(node), '0');
    assert.deepEqual(
      node.pool.list().map(({ hash }) => hash),
      [first.hash, second.hash],
    );
    assert.deepEqual(hashes(await node.produce()), [first.hash, second.hash]);
  });

  test('can turn a success into a failure and back', async (t) => {
    const node = await open(t);
    await node.send(plan(0, { updates: [update(bob.publicKey, setState(1))], keys: [bob.privateKey] }));
    await node.produce();
    const needs = await node.send(
      signed({ payer: bob.privateKey, nonce: 0, updates: [update(bob.publicKey, expectState(1))] }),
    );
    assert.deepEqual((await node.produce()).commands[0]?.failures, []);
    const [setter] = node.chain.path(2)[0]!.commands;
    await node.reorg({ depth: 2, exclude: [setter!.command.hash] });
    const found = node.chain.path(3).flatMap(({ commands }) => commands);
    assert.deepEqual(
      found.map(({ command }) => command.hash),
      [needs.hash],
    );
    assert.deepEqual(found[0]?.failures, [{ index: 1, failures: ['Account_app_state_0_precondition_unsatisfied'] }]);
  });

  test('can be empty', async (t) => {
    const node = await open(t);
    const { hash } = await node.send(plan(0));
    await node.produce();
    await node.reorg({ depth: 1, empty: true });
    assert.ok(node.pool.find(hash));
    assert.equal(nonceOf(node), '0');
  });

  test('goes no deeper than the chain', async (t) => {
    const node = await open(t);
    await node.produce();
    for (const depth of [0, 2, 1.5, NaN]) {
      await assert.rejects(node.reorg({ depth }), /depth is a whole number from 1 to 1/);
    }
  });
});

test('the faucet pays accounts that are there and that are not', async (t) => {
  const node = await open(t);
  await node.faucet(nobody.publicKey, 5_000_000_000n);
  await node.faucet(nobody.publicKey, 6_000_000_000n);
  await node.faucet(bob.publicKey, 1n);
  const block = await node.produce();
  assert.deepEqual(
    block.commands.map(({ failures }) => failures),
    [[], [], []],
  );
  assert.equal(block.ledger.account(nobody.publicKey)?.balance, '11000000000');
  assert.equal(block.ledger.account(bob.publicKey)?.balance, '1000000000001');
  await assert.rejects(node.faucet(nobody.publicKey, 0n), /amount is from/);
  await assert.rejects(node.faucet('B62', 1n), Error);
});

describe('a data directory', () => {
  function directory(t: TestContext): string {
    const path = mkdtempSync(join(tmpdir(), 'ledger-node-'));
    t.after(() => rmSync(path, { recursive: true }));
    return path;
  }

  test('brings back chain, state and forks', async (t) => {
    const data = directory(t);
    const before = await LedgerNode.open({ manual: true, accounts: 2, data });
    await before.send(plan(0, { updates: [update(bob.publicKey, setState(7))], keys: [bob.privateKey] }));
    const abandoned = await before.produce();
    await before.reorg({ depth: 1 });
    await before.send(plan(1, { updates: [update(bob.publicKey, expectState(8))], keys: [bob.privateKey] }));
    const { hash } = await before.produce();
    const { slot } = before;
    await before.close();

    const after = await open(t, { accounts: undefined, data });
    const { tip } = after.chain;
    assert.equal(tip.hash, hash);
    assert.equal(after.slot, slot);
    assert.equal(tip.commands[0]?.failures.length, 1);
    assert.equal(tip.ledger.account(bob.publicKey)?.zkapp?.appState[0], '7');
    assert.equal(after.chain.holds(after.chain.find(abandoned.hash)!), false);
    await after.send(plan(2));
    assert.equal((await after.produce()).commands.length, 1);
  });

  test('is cut back to the last whole block', async (t) => {
    const data = directory(t);
    const before = await LedgerNode.open({ manual: true, accounts: 2, data });
    const { hash } = await before.produce();
    await before.close();
    appendFileSync(join(data, 'blocks.jsonl'), '{"hash":"3N');
    const after = await LedgerNode.open({ manual: true, data });
    assert.equal(after.chain.tip.hash, hash);
    const next = await after.produce();
    await after.close();
    assert.equal((await open(t, { accounts: undefined, data })).chain.tip.hash, next.hash);
  });

  test('is refused if it is damaged, of another make, or in use', async (t) => {
    const data = directory(t);
    const file = join(data, 'blocks.jsonl');
    const node = await LedgerNode.open({ manual: true, accounts: 2, data });
    await assert.rejects(LedgerNode.open({ data }), /is in use by process \d+: end it/);
    await node.produce();
    await node.close();
    await assert.rejects(LedgerNode.open({ data, accounts: 3 }), /was made with accounts 2: leave it so/);
    await assert.rejects(LedgerNode.open({ data, slotTime: 1 }), /was made with slotTime 5000/);
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.replace('"slot":1', '"slot":2'));
    await assert.rejects(LedgerNode.open({ data }), /block 1 of the log is not what it says it is/);
    writeFileSync(file, `${whole}garbage\n`);
    await assert.rejects(LedgerNode.open({ data }), /line 3 is damaged/);
    writeFileSync(file, '{"version":2}\n');
    await assert.rejects(LedgerNode.open({ data }), /was not written by this version/);
  });
});
