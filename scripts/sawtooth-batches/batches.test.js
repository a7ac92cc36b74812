'use strict';

// What Sawtooth's SDK makes is taken, committed once and in order by the ledgers
// that `sequencer devledger` simulates, and what is spoilt is refused.
// SEQUENCER is the program, ../../bin/sequencer unless it is set.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { newSigner, transaction, batch, list } = require('./batches.js');

const program = process.env.SEQUENCER ?? path.join(__dirname, '..', '..', 'bin', 'sequencer');
let devledger, sawtooth, scabbard;

before(async () => {
  const addresses = ['--addr', '127.0.0.1:0', '--splinter-addr', '127.0.0.1:0'];
  const times = ['--block-time', '50ms', '--proposal-time', '50ms'];
  devledger = spawn(program, ['devledger', ...addresses, ...times], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const chunk of devledger.stdout) {
    said += chunk;
    const set = said.match(/SEQUENCER_LEDGERS=sawtooth=sawtooth\+(\S+),splinter=splinter\+(\S+) sequencer serve/);
    if (set) {
      [, sawtooth, scabbard] = set;
      return;
    }
  }
  throw new Error(`devledger ended: ${said}`);
});

after(async () => {
  if (devledger.exitCode === null) {
    devledger.kill('SIGINT');
    await once(devledger, 'exit');
  }
});

const octets = { 'Content-Type': 'application/octet-stream' };
const post = (ledger, body) => fetch(`${ledger}/batches`, { method: 'POST', headers: octets, body });

/** Asks until every batch has one of the final statuses, and returns them by id. */
async function outcome(url, ids, read) {
  for (;;) {
    const answer = await fetch(url);
    assert.equal(answer.status, 200);
    const statuses = new Map(read(await answer.json()));
    if (ids.every((id) => ['COMMITTED', 'INVALID', 'Committed', 'Invalid'].includes(statuses.get(id)))) return statuses;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const effects = async (ledger) => {
  const answer = await fetch(new URL('/control/effects', ledger));
  return (await answer.json()).effects.map((e) => e.batch);
};

/** Three lists: one transaction, two of two signers, and one that is refused. */
function work() {
  const signer = newSigner();
  const other = newSigner();
  const first = transaction(signer, 'set a 1');
  const second = transaction(other, 'inc a 2', { batcher: signer, dependencies: [first.headerSignature] });
  return [
    batch(signer, [transaction(signer, 'set b 1', { nonce: 'n' })]),
    batch(signer, [first, second]),
    batch(signer, [transaction(signer, 'INVALID')]),
  ];
}

test('Sawtooth commits what its SDK made, once', async () => {
  const batches = work();
  const ids = batches.map((b) => b.headerSignature);
  for (const b of [...batches, ...batches]) {
    const answer = await post(sawtooth, list(b));
    assert.equal(answer.status, 202, await answer.clone().text());
    assert.equal((await answer.json()).link, `${sawtooth}/batch_statuses?id=${b.headerSignature}`);
  }
  const url = `${sawtooth}/batch_statuses?id=${ids.join()}`;
  const statuses = await outcome(url, ids, (body) => body.data.map((s) => [s.id, s.status]));
  assert.deepEqual(ids.map((id) => statuses.get(id)), ['COMMITTED', 'COMMITTED', 'INVALID']);
  assert.deepEqual(await effects(sawtooth), ids.slice(0, 2));
});

test('Scabbard commits it too', async () => {
  const batches = work();
  const ids = batches.map((b) => b.headerSignature);
  const answer = await post(scabbard, list(...batches));
  assert.equal(answer.status, 202, await answer.clone().text());
  const url = `${scabbard}/batch_statuses?ids=${ids.join()}`;
  const statuses = await outcome(url, ids, (body) => body.map((s) => [s.id, s.status.statusType]));
  assert.deepEqual(ids.map((id) => statuses.get(id)), ['Committed', 'Committed', 'Invalid']);
  assert.deepEqual(await effects(scabbard), ids.slice(0, 2));
});

test('what is spoilt after signing is refused', async () => {
  const signer = newSigner();
  const spoilt = {
    'another payload': (b) => (b.transactions[0].payload = Buffer.from('set a 2')),
    'another signer': (b) => (b.headerSignature = newSigner().sign(b.header)),
    'a transaction more': (b) => b.transactions.push(transaction(signer, 'set c 1')),
  };
  for (const [name, spoil] of Object.entries(spoilt)) {
    const b = batch(signer, [transaction(signer, 'set a 1')]);
    spoil(b);
    const refused = await post(sawtooth, list(b));
    assert.equal(refused.status, 400, name);
    assert.equal((await refused.json()).error.code, 30, name);
    assert.equal((await post(scabbard, list(b))).status, 400, name);
  }
});
