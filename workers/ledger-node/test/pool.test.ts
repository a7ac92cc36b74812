import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_LIMIT, type Command, type ZkappCommand } from '../src/command.js';
import { Pool, type Payer } from '../src/pool.js';
import { Refusal } from '../src/refusal.js';

const payer: Payer = { nonce: 5, liquid: 100n, maySend: true };

function command(nonce: number, fee = 10, more: Partial<Command> = {}): Command {
  const hash = `${more.payer ?? 'alice'}-${nonce}-${fee}`;
  const zkapp = {} as ZkappCommand;
  return { hash, payer: 'alice', nonce, fee: BigInt(fee), validUntil: NO_LIMIT, weight: 2n, zkapp, json: '', ...more };
}

function pooled(...commands: Command[]): Pool {
  const pool = new Pool();
  for (const each of commands) pool.add(each, payer, 1);
  return pool;
}

const hashes = (pool: Pool) => pool.list().map(({ hash }) => hash);

describe('the pool takes', () => {
  const cases: { name: string; before: Command[]; arrival: Command; after: string[] }[] = [
    { name: 'the nonce of the account', before: [], arrival: command(5), after: ['alice-5-10'] },
    {
      name: 'the nonce after the last',
      before: [command(5)],
      arrival: command(6),
      after: ['alice-5-10', 'alice-6-10'],
    },
    { name: 'the same command again', before: [command(5)], arrival: command(5), after: ['alice-5-10'] },
    { name: 'one nanomina more for a nonce', before: [command(5)], arrival: command(5, 11), after: ['alice-5-11'] },
    {
      name: 'a replacement, and keeps what follows',
      before: [command(5), command(6)],
      arrival: command(5, 12),
      after: ['alice-5-12', 'alice-6-10'],
    },
    {
      name: 'a replacement in the middle, and keeps what is before and behind it',
      before: [command(5), command(6), command(7)],
      arrival: command(6, 12),
      after: ['alice-5-10', 'alice-6-12', 'alice-7-10'],
    },
    {
      name: 'a replacement in the middle, and drops all from the first that no longer fits',
      before: [command(5), command(6), command(7, 30), command(8, 3)],
      arrival: command(6, 65),
      after: ['alice-5-10', 'alice-6-65'],
    },
    {
      name: 'a replacement that pays for the successor it drops',
      before: [command(5, 20), command(6, 50)],
      arrival: command(5, 71),
      after: ['alice-5-71'],
    },
    {
      name: 'fees up to all there is',
      before: [command(5, 60)],
      arrival: command(6, 40),
      after: ['alice-5-60', 'alice-6-40'],
    },
    {
      name: 'the last slot it may have',
      before: [],
      arrival: command(5, 10, { validUntil: 1 }),
      after: ['alice-5-10'],
    },
  ];
  for (const { name, before, arrival, after } of cases) {
    test(name, () => {
      const pool = pooled(...before);
      pool.add(arrival, payer, 1);
      assert.deepEqual(hashes(pool), after);
      assert.equal(pool.size, after.length);
    });
  }
});

describe('the pool refuses', () => {
  const cases: { name: string; before?: Command[]; arrival: Command; payer?: Payer | null; reason: string }[] = [
    { name: 'a gap', arrival: command(6), reason: '["Invalid_nonce"]' },
    { name: 'a gap behind the queue', before: [command(5)], arrival: command(7), reason: '["Invalid_nonce"]' },
    { name: 'a spent nonce', arrival: command(4), reason: '["Invalid_nonce"]' },
    {
      name: 'a fee that is the same',
      before: [command(5)],
      arrival: command(5, 10, { hash: 'new' }),
      reason: '["Insufficient_replace_fee"]',
    },
    { name: 'a lower fee', before: [command(5)], arrival: command(5, 9), reason: '["Insufficient_replace_fee"]' },
    {
      name: 'a raise that does not pay for the successor it drops',
      before: [command(5, 20), command(6, 50)],
      arrival: command(5, 70),
      reason: '["Insufficient_replace_fee"]',
    },
    { name: 'a fee above the balance', arrival: command(5, 101), reason: '["Insufficient_funds"]' },
    {
      name: 'fees above the balance together',
      before: [command(5, 60)],
      arrival: command(6, 41),
      reason: '["Insufficient_funds"]',
    },
    {
      name: 'a replacement above the balance',
      before: [command(5)],
      arrival: command(5, 101),
      reason: '["Insufficient_funds"]',
    },
    { name: 'a slot that has passed', arrival: command(5, 10, { validUntil: 0 }), reason: '["Expired"]' },
    { name: 'a payer without account', arrival: command(5), payer: null, reason: '["Fee_payer_account_not_found"]' },
    {
      name: 'a payer that may not send',
      arrival: command(5),
      payer: { ...payer, maySend: false },
      reason: '["Fee_payer_not_permitted_to_send"]',
    },
  ];
  for (const { name, before = [], arrival, payer: given = payer, reason } of cases) {
    test(name, () => {
      const pool = pooled(...before);
      const held = hashes(pool);
      assert.throws(() => pool.add(arrival, given ?? undefined, 1), new Refusal(reason));
      assert.deepEqual(hashes(pool), held);
    });
  }

  test('what pays worst when it is full, without a reason', () => {
    const pool = new Pool();
    for (let i = 0; i < 3000; i++) pool.add(command(5, 10, { payer: `p${i}` }), payer, 1);
    assert.throws(() => pool.add(command(5, 9), payer, 1), new Refusal(''));
    assert.equal(pool.size, 3000);
    pool.add(command(5, 11), payer, 1);
    assert.equal(pool.size, 3000);
    assert.ok(pool.find('alice-5-11'));
  });
});

describe('after a block the pool drops', () => {
  const queue = () => [command(5), command(6, 10, { validUntil: 8 }), command(7)];
  const cases: { name: string; payer: Payer | undefined; slot?: number; after: string[] }[] = [
    { name: 'nothing, if nothing changed', payer, after: ['alice-5-10', 'alice-6-10', 'alice-7-10'] },
    { name: 'what the nonce has passed', payer: { ...payer, nonce: 6 }, after: ['alice-6-10', 'alice-7-10'] },
    { name: 'all, if the nonce fell', payer: { ...payer, nonce: 4 }, after: [] },
    { name: 'what expired, and what follows it', payer, slot: 9, after: ['alice-5-10'] },
    { name: 'what can no longer be paid', payer: { ...payer, liquid: 29n }, after: ['alice-5-10', 'alice-6-10'] },
    { name: 'all, if the account may no longer send', payer: { ...payer, maySend: false }, after: [] },
    { name: 'all, if the account is gone', payer: undefined, after: [] },
  ];
  for (const { name, payer: now, slot = 8, after } of cases) {
    test(name, () => {
      const pool = pooled(...queue());
      pool.revalidate(() => now, slot);
      assert.deepEqual(hashes(pool), after);
    });
  }
});

test('a command dropped from the pool takes along what depends on it', () => {
  const pool = pooled(command(5), command(6), command(7), command(5, 10, { payer: 'bob' }));
  assert.equal(pool.drop('alice-6-10'), true);
  assert.deepEqual(hashes(pool), ['alice-5-10', 'bob-5-10']);
  assert.equal(pool.drop('alice-6-10'), false);
});

test('commands of abandoned blocks go before what is pooled, and replace nothing newer', () => {
  const pool = pooled(command(5, 20), command(6));
  pool.restore([command(3), command(4), command(5, 15)]);
  assert.deepEqual(hashes(pool), ['alice-3-10', 'alice-4-10', 'alice-5-15', 'alice-6-10']);
});
