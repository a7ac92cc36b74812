import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liquid } from '../src/account.js';
import type { Account } from '../src/ledger.js';

test('a balance that vests is locked until its slot', () => {
  const timing = {
    isTimed: true,
    initialMinimumBalance: '80',
    cliffTime: '10',
    cliffAmount: '20',
    vestingPeriod: '5',
    vestingIncrement: '30',
  };
  const account = { balance: '100', timing } as Account;
  const expected = { 0: 20, 9: 20, 10: 40, 14: 40, 15: 70, 19: 70, 20: 100, 1000: 100 };
  for (const [slot, amount] of Object.entries(expected))
    assert.equal(liquid(account, Number(slot)), BigInt(amount), slot);
  assert.equal(liquid({ ...account, timing: { ...timing, isTimed: false } }, 0), 100n);
  assert.equal(liquid({ ...account, balance: '50' }, 0), 0n);
});
