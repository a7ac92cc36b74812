import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Bool, Permissions, UInt32, type AccountUpdate } from 'o1js';
import { keyPairs } from '../src/genesis.js';
import { Ledger, readFailures, type Failure } from '../src/ledger.js';
import { networkView } from '../src/view.js';
import {
  addBalance,
  expectNonce,
  expectState,
  setState,
  signed,
  stranger,
  unsigned,
  update,
  type Plan,
} from './commands.js';

const [payer, other] = keyPairs(2) as [Pair, Pair];
const nobody = stranger(1);
type Pair = { publicKey: string; privateKey: string };

async function fundedLedger(): Promise<Ledger> {
  const ledger = await Ledger.create();
  for (const { publicKey } of [payer, other]) ledger.addAccount(publicKey, 1000_000_000_000n);
  return ledger;
}

function apply(ledger: Ledger, nonce: number, updates: AccountUpdate[], keys = [other.privateKey, nobody.privateKey]) {
  const command = signed({ payer: payer.privateKey, nonce, updates, keys });
  return ledger.apply(JSON.stringify(command), networkView(7, 70));
}

describe('a command that fails', () => {
  const cases: { name: string; updates: () => AccountUpdate[]; failures: Failure[] }[] = [
    {
      name: 'state that moved on',
      updates: () => [update(other.publicKey, setState(3)), update(other.publicKey, expectState(4))],
      failures: [
        { index: 2, failures: ['Account_app_state_0_precondition_unsatisfied'] },
        { index: 1, failures: ['Cancelled'] },
      ],
    },
    {
      name: 'a nonce that moved on',
      updates: () => [update(other.publicKey, expectNonce(5))],
      failures: [{ index: 1, failures: ['Account_nonce_precondition_unsatisfied'] }],
    },
    {
      name: 'an account that exists already',
      updates: () => [
        update(other.publicKey, (made) => {
          made.body.preconditions.account.isNew = { isSome: Bool(true), value: Bool(true) };
        }),
      ],
      failures: [{ index: 1, failures: ['Account_is_new_precondition_unsatisfied'] }],
    },
    {
      name: 'more than there is',
      updates: () => [update(other.publicKey, addBalance(-2e12)), unsigned(payer.publicKey, addBalance(2e12))],
      failures: [
        { index: 2, failures: ['Cancelled'] },
        { index: 1, failures: ['Overflow'] },
      ],
    },
    {
      name: 'an account without the fee for it',
      updates: () => [update(other.publicKey, addBalance(-5e9)), unsigned(nobody.publicKey, addBalance(5e9))],
      failures: [
        { index: 2, failures: ['Invalid_fee_excess'] },
        { index: 1, failures: ['Cancelled'] },
      ],
    },
    {
      name: 'a debit that nobody signed',
      updates: () => [unsigned(other.publicKey, addBalance(-5)), unsigned(payer.publicKey, addBalance(5))],
      failures: [
        { index: 2, failures: ['Cancelled'] },
        { index: 1, failures: ['Update_not_permitted_balance'] },
      ],
    },
    {
      name: 'a slot that has passed',
      updates: () => [
        update(other.publicKey, (made) => {
          const value = { lower: UInt32.from(1), upper: UInt32.from(69) };
          made.body.preconditions.validWhile = { isSome: Bool(true), value };
        }),
      ],
      failures: [{ index: 1, failures: ['Valid_while_precondition_unsatisfied'] }],
    },
    {
      name: 'another height',
      updates: () => [
        update(other.publicKey, (made) => {
          const value = { lower: UInt32.from(8), upper: UInt32.from(8) };
          made.body.preconditions.network.blockchainLength = { isSome: Bool(true), value };
        }),
      ],
      failures: [{ index: 1, failures: ['Protocol_state_precondition_unsatisfied'] }],
    },
  ];
  for (const { name, updates, failures } of cases) {
    test(`${name}: spends fee and nonce and does nothing else`, async () => {
      const ledger = await fundedLedger();
      assert.deepEqual(apply(ledger, 0, updates()), { status: 'failed', failures });
      assert.equal(ledger.account(payer.publicKey)?.nonce, '1');
      assert.equal(ledger.account(payer.publicKey)?.balance, '999900000000');
      assert.equal(ledger.account(other.publicKey)?.balance, '1000000000000');
      assert.equal(ledger.account(other.publicKey)?.zkapp, null);
      assert.equal(ledger.account(nobody.publicKey), undefined);
    });
  }
});

test('a command that is applied changes what it says', async () => {
  const ledger = await fundedLedger();
  const updates = [
    update(other.publicKey, setState(3)),
    update(payer.publicKey, addBalance(-6e9)),
    unsigned(nobody.publicKey, addBalance(5e9)),
  ];
  assert.deepEqual(apply(ledger, 0, updates), { status: 'applied' });
  assert.equal(ledger.account(other.publicKey)?.zkapp?.appState[0], '3');
  assert.equal(ledger.account(nobody.publicKey)?.balance, '5000000000');
  const locked = (made: AccountUpdate) =>
    made.account.permissions.set({ ...Permissions.initial(), editState: Permissions.proof() });
  assert.deepEqual(apply(ledger, 1, [update(other.publicKey, locked)]), { status: 'applied' });
  const refused = [{ index: 1, failures: ['Update_not_permitted_app_state'] }];
  assert.deepEqual(apply(ledger, 2, [update(other.publicKey, setState(4))]), { status: 'failed', failures: refused });
});

test('a command that no block can hold leaves the ledger as it was', async () => {
  const ledger = await fundedLedger();
  const cases: [Partial<Plan>, RegExp][] = [
    [{ nonce: 1 }, /Account_nonce_precondition_unsatisfied/],
    [{ fee: 2e12 }, /Overflow/],
    [{ validUntil: 69 }, /Protocol_state_precondition_unsatisfied/],
  ];
  for (const [plan, reason] of cases) {
    const updates = [update(payer.publicKey, addBalance(-1e9))];
    const command = signed({ payer: payer.privateKey, nonce: 0, updates, ...plan });
    const outcome = ledger.apply(JSON.stringify(command), networkView(7, 70));
    assert.equal(outcome.status, 'excluded');
    assert.match((outcome as { reason: string }).reason, reason);
  }
  const outcome = apply(ledger, 0, [update(nobody.publicKey)], []);
  assert.match((outcome as { reason: string }).reason, /Invalid signature on account_update 0/);
  assert.equal(ledger.account(payer.publicKey)?.balance, '1000000000000');
  assert.equal(ledger.account(payer.publicKey)?.nonce, '0');

  const command = signed({ payer: nobody.privateKey, nonce: 0 });
  assert.equal(ledger.apply(JSON.stringify(command), networkView(7, 70)).status, 'excluded');
  assert.equal(ledger.account(nobody.publicKey), undefined);
});

test('a fork and its origin do not see each other', async () => {
  const ledger = await fundedLedger();
  const fork = ledger.fork();
  apply(fork, 0, [update(other.publicKey, setState(1))]);
  apply(ledger, 0, [update(other.publicKey, setState(2))]);
  assert.equal(fork.account(other.publicKey)?.zkapp?.appState[0], '1');
  assert.equal(ledger.account(other.publicKey)?.zkapp?.appState[0], '2');
});

test('failures are read as the daemon writes them', () => {
  const text =
    '[[],[["Account_app_state_precondition_unsatisfied",7],["Overflow"]],[],[["Update_not_permitted_delegate"]]]';
  assert.deepEqual(readFailures(text), [
    { index: 3, failures: ['update_not_permitted_delegate'] },
    { index: 1, failures: ['Account_app_state_7_precondition_unsatisfied', 'Overflow'] },
  ]);
  for (const other of ['', 'Check signature: Invalid', '("Error: [[]]")', '{}', '[1]'])
    assert.equal(readFailures(other), undefined);
});
