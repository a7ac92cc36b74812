// Answers are JSON of many shapes, and it is the tests that check them.
/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment */
/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RunningNode } from '../src/index.js';
import { expectState, setState, signed, stranger, update } from './commands.js';
import { start } from './running.js';

type Json = any;

async function post(url: string, body: unknown): Promise<{ status: number; body: Json }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json().catch(() => undefined) };
}

async function ask(url: string, query: string, variables?: object): Promise<Json> {
  const { status, body } = await post(url, { query, variables });
  assert.equal(status, 200);
  assert.equal(body.errors, undefined, JSON.stringify(body.errors));
  return body.data;
}

const SEND = `mutation($input: SendZkappInput!) { sendZkapp(input: $input) { zkapp {
  hash id failureReason { failures index } zkappCommand { memo feePayer { body { publicKey } }
  accountUpdates { body { publicKey useFullCommitment incrementNonce } } } } } }`;

const send = (url: string, zkappCommand: unknown) => post(url, { query: SEND, variables: { input: { zkappCommand } } });
const control = ({ urls }: RunningNode, order: string, body: object = {}) => post(`${urls.control}/${order}`, body);

describe('what the sequencer asks', () => {
  test('its status query', async (t) => {
    const running = await start(t, { slotTime: 90_000, k: 30 });
    await control(running, 'block', { count: 2 });
    const data = await ask(
      running.urls.graphql,
      `{ syncStatus networkID daemonStatus {
        blockchainLength highestBlockLengthReceived stateHash globalSlotSinceGenesisBestTip
        consensusConfiguration { k slotDuration slotsPerEpoch genesisStateTimestamp } } }`,
    );
    const { stateHash, consensusConfiguration, ...status } = data.daemonStatus;
    assert.deepEqual([data.syncStatus, data.networkID], ['SYNCED', 'mina:testnet']);
    assert.deepEqual(status, { blockchainLength: 3, highestBlockLengthReceived: 3, globalSlotSinceGenesisBestTip: 2 });
    assert.equal(stateHash, running.node.chain.tip.hash);
    const { genesisStateTimestamp, ...constants } = consensusConfiguration;
    assert.deepEqual(constants, { k: 30, slotDuration: 90_000, slotsPerEpoch: 7140 });
    assert.equal(Date.parse(genesisStateTimestamp), running.node.chain.genesis.recipe.time);
  });

  test('its chain query: oldest first, linked, the tip last', async (t) => {
    const running = await start(t, { k: 3 });
    await control(running, 'block', { count: 5 });
    const query = `query($max: Int) { bestChain(maxLength: $max) {
      stateHash protocolState { previousStateHash consensusState { blockHeight slotSinceGenesis epoch slot } } } }`;
    const { bestChain } = await ask(running.urls.graphql, query, { max: 3 });
    const states = bestChain.map((block: Json) => block.protocolState.consensusState);
    assert.deepEqual(states, [
      { blockHeight: '4', slotSinceGenesis: '3', epoch: '0', slot: '3' },
      { blockHeight: '5', slotSinceGenesis: '4', epoch: '0', slot: '4' },
      { blockHeight: '6', slotSinceGenesis: '5', epoch: '0', slot: '5' },
    ]);
    assert.equal(bestChain[2].protocolState.previousStateHash, bestChain[1].stateHash);
    assert.equal(bestChain[2].stateHash, running.node.chain.tip.hash);
    const all = await ask(running.urls.graphql, query, { max: null });
    assert.equal(all.bestChain.length, 4); // the root and k blocks
  });

  test('its block query, on forks too', async (t) => {
    const running = await start(t);
    const { graphql } = running.urls;
    const [alice, bob] = running.node.accounts as [Pair, Pair];
    const updates = () => [update(bob.publicKey, setState(1)), update(bob.publicKey, expectState(2))];
    const { hash } = await running.node.send(
      signed({ payer: alice.privateKey, nonce: 0, updates: updates(), keys: [bob.privateKey] }),
    );
    const abandoned = await running.node.produce();
    await control(running, 'reorg', { depth: 1, empty: true });
    const query = `query($hash: String) { block(stateHash: $hash) {
      stateHash protocolState { previousStateHash consensusState { blockHeight slotSinceGenesis } }
      transactions {
        zkappCommands { failureReason { index failures } hash zkappCommand { memo feePayer { body { publicKey fee nonce validUntil } } } }
        userCommands { hash nonce fee feePayer { publicKey } failureReason } } } }`;
    const { block } = await ask(graphql, query, { hash: abandoned.hash });
    assert.deepEqual(block.transactions, {
      userCommands: [],
      zkappCommands: [
        {
          hash,
          failureReason: [
            { index: '2', failures: ['Account_app_state_0_precondition_unsatisfied'] },
            { index: '1', failures: ['Cancelled'] },
          ],
          zkappCommand: {
            memo: 'E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH',
            feePayer: { body: { publicKey: alice.publicKey, fee: '100000000', nonce: '0', validUntil: null } },
          },
        },
      ],
    });
    const { body } = await post(graphql, { query, variables: { hash: '3Nx' } });
    assert.match(body.errors[0].message, /could not find block with state hash 3Nx/);
  });

  test('its pool and account queries', async (t) => {
    const running = await start(t);
    const { graphql } = running.urls;
    const [alice, bob] = running.node.accounts as [Pair, Pair];
    const sent = await running.node.send(signed({ payer: alice.privateKey, nonce: 0, validUntil: 9 }));
    const fields = '{ hash zkappCommand { memo feePayer { body { publicKey fee nonce validUntil } } } }';
    const pool = await ask(graphql, `query($hashes: [String!]) { pooledZkappCommands(hashes: $hashes) ${fields} }`, {
      hashes: [sent.hash, '5Jother'],
    });
    assert.deepEqual(
      pool.pooledZkappCommands.map((command: Json) => [command.hash, command.zkappCommand.feePayer.body.validUntil]),
      [[sent.hash, '9']],
    );
    const by = `{ k0: pooledZkappCommands(publicKey: "${alice.publicKey}") ${fields} k1: pooledZkappCommands(publicKey: "${bob.publicKey}") ${fields} }`;
    const { k0, k1 } = await ask(graphql, by);
    assert.deepEqual([k0.length, k1.length], [1, 0]);
    const account = (key: string) => `account(publicKey: "${key}") { nonce inferredNonce balance { total liquid } }`;
    const data = await ask(
      graphql,
      `{ syncStatus k0: ${account(alice.publicKey)} k1: ${account(stranger(1).publicKey)} }`,
    );
    assert.deepEqual(data.k0, {
      nonce: '0',
      inferredNonce: '1',
      balance: { total: '1000000000000', liquid: '1000000000000' },
    });
    assert.equal(data.k1, null);
  });
});

describe('sendZkapp', () => {
  test('tells what it took', async (t) => {
    const { node, urls } = await start(t);
    const command = signed({ payer: node.accounts[0]!.privateKey, nonce: 0 });
    const { body } = await send(urls.graphql, command);
    const { zkapp } = body.data.sendZkapp;
    assert.match(zkapp.hash, /^5J/);
    assert.equal(zkapp.failureReason, null);
    assert.equal(zkapp.zkappCommand.feePayer.body.publicKey, node.accounts[0]!.publicKey);
    const status = `query($id: ID) { transactionStatus(zkappTransaction: $id) }`;
    assert.equal((await ask(urls.graphql, status, { id: zkapp.id })).transactionStatus, 'PENDING');
    await node.produce();
    assert.equal((await ask(urls.graphql, status, { id: zkapp.id })).transactionStatus, 'INCLUDED');
    await node.reorg({ depth: 1, empty: true });
    node.pool.clear();
    assert.equal((await ask(urls.graphql, status, { id: zkapp.id })).transactionStatus, 'PENDING');
  });

  test("refuses in the daemon's words, with status 200", async (t) => {
    const { node, urls } = await start(t);
    const command = signed({ payer: node.accounts[0]!.privateKey, nonce: 1 });
    const { status, body } = await send(urls.graphql, command);
    assert.equal(status, 200);
    assert.equal(body.data, null);
    assert.equal(body.errors[0].message, 'Couldn\'t send zkApp command: ["Invalid_nonce"]');
    assert.deepEqual(body.errors[0].path, ['sendZkapp']);
  });
});

test('requests that are none get status 400, bad queries an error with status 200', async (t) => {
  const { urls } = await start(t);
  for (const body of ['{', '{}', '[]', '"x"', '{"query":7}']) {
    const response = await fetch(urls.graphql, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    assert.equal(response.status, 400, body);
  }
  const queries = [
    '{',
    '{ nothing }',
    '{ account(publicKey: 7) { nonce } }',
    `{ ${'a { '.repeat(1000)}`,
    '{ account(publicKey: "B62") { nonce } }',
  ];
  for (const query of queries) {
    const { status, body } = await post(urls.graphql, { query });
    assert.equal(status, 200);
    assert.ok(body.errors.length > 0, query);
  }
});

describe('faults', () => {
  const TIP = '{ bestChain(maxLength: 1) { protocolState { consensusState { blockHeight } } } }';
  const height = async (url: string) => (await ask(url, TIP)).bestChain[0].protocolState.consensusState.blockHeight;

  test('lag answers from below the tip', async (t) => {
    const running = await start(t);
    const { node, urls } = running;
    await node.send(signed({ payer: node.accounts[0]!.privateKey, nonce: 0 }));
    await control(running, 'block', { count: 3 });
    await control(running, 'faults', { lag: 3 });
    assert.equal(await height(urls.graphql), '1');
    const { account } = await ask(urls.graphql, `{ account(publicKey: "${node.accounts[0]!.publicKey}") { nonce } }`);
    assert.equal(account.nonce, '0');
    await control(running, 'heal');
    assert.equal(await height(urls.graphql), '4');
  });

  test('a node that bootstraps has neither accounts nor chain', async (t) => {
    const running = await start(t);
    const { node, urls } = running;
    await control(running, 'faults', { sync: 'BOOTSTRAP' });
    assert.equal(
      (await ask(urls.graphql, `{ account(publicKey: "${node.accounts[0]!.publicKey}") { nonce } }`)).account,
      null,
    );
    const { body } = await post(urls.graphql, { query: TIP });
    assert.equal(body.errors[0].message, 'Could not obtain best chain from transition frontier');
    const sent = await send(urls.graphql, signed({ payer: node.accounts[0]!.privateKey, nonce: 0 }));
    assert.equal(sent.body.errors[0].message, 'Daemon is bootstrapping');
  });

  test('a hang ends when it is healed', async (t) => {
    const running = await start(t);
    await control(running, 'faults', { hang: true });
    const gone = fetch(running.urls.graphql, { method: 'POST', signal: AbortSignal.timeout(50) });
    await assert.rejects(gone);
    const waiting = height(running.urls.graphql);
    await control(running, 'heal');
    assert.equal(await waiting, '1');
  });

  test('a status answers all', async (t) => {
    const running = await start(t);
    await control(running, 'faults', { status: 503 });
    assert.equal((await post(running.urls.graphql, { query: TIP })).status, 503);
  });

  test('a lost reply leaves the command in the pool', async (t) => {
    const running = await start(t);
    await control(running, 'faults', { loseReplies: 1 });
    const command = signed({ payer: running.node.accounts[0]!.privateKey, nonce: 0 });
    await assert.rejects(send(running.urls.graphql, command));
    assert.equal(running.node.pool.size, 1);
    assert.equal((await send(running.urls.graphql, command)).body.errors, undefined);
  });

  test('a refusal can be for the next sends only', async (t) => {
    const running = await start(t);
    await control(running, 'faults', { refuse: '["Overloaded"]', refuseNext: 1 });
    const command = signed({ payer: running.node.accounts[0]!.privateKey, nonce: 0 });
    const { body } = await send(running.urls.graphql, command);
    assert.equal(body.errors[0].message, 'Couldn\'t send zkApp command: ["Overloaded"]');
    assert.equal((await send(running.urls.graphql, command)).body.errors, undefined);
  });

  test('what is no fault is refused by name', async (t) => {
    const running = await start(t);
    const cases: [object, RegExp][] = [
      [{ lagg: 1 }, /lagg is no fault: take one of lag, sync/],
      [{ lag: '1' }, /lag is a number/],
      [{ lag: -1 }, /lag is a whole number, not negative/],
      [{ sync: 'FINE' }, /sync is one of/],
      [{ status: 42 }, /status is an HTTP status/],
      [{ toString: 1 }, /toString is no fault/],
    ];
    for (const [body, message] of cases) {
      const answer = await control(running, 'faults', body);
      assert.equal(answer.status, 400);
      assert.match(answer.body.error, message);
    }
  });
});

describe('control', () => {
  test('makes blocks, pays, drops and tells the state', async (t) => {
    const running = await start(t);
    const { publicKey } = stranger(1);
    const paid = await control(running, 'faucet', { publicKey, amount: 1.5 });
    assert.deepEqual(paid.body.pooled, [paid.body.hash]);
    const made = await control(running, 'block', { count: 2 });
    assert.deepEqual([made.body.height, made.body.slot, made.body.pool], [3, 3, 0]);
    assert.equal(running.node.chain.tip.ledger.account(publicKey)?.balance, '1500000000');
    const { hash } = await running.node.send(signed({ payer: running.node.accounts[0]!.privateKey, nonce: 0 }));
    assert.equal((await control(running, 'drop', { hash })).body.pool, 0);
    assert.equal((await control(running, 'step')).body.slot, 4);
    assert.equal((await control(running, 'pause')).body.paused, true);
    const state = (await (await fetch(`${running.urls.control}/state`)).json()) as Json;
    assert.deepEqual([state.height, state.paused], [3, true]);
  });

  test('refuses what it cannot do, and says what it can', async (t) => {
    const running = await start(t);
    const cases: [string, object, number, RegExp][] = [
      ['bloc', {}, 404, /there is block, step/],
      ['constructor', {}, 404, /there is block, step/],
      ['block', { count: 0 }, 400, /count is a whole number from 1 to 1000/],
      ['reorg', { depth: 9 }, 400, /depth is a whole number/],
      ['reorg', { depth: 1, exclude: 'x' }, 400, /exclude is a list of hashes/],
      ['drop', { hash: '5J' }, 400, /the pool does not hold 5J/],
      ['faucet', {}, 400, /publicKey is missing/],
      ['faucet', { publicKey: 'B62' }, 400, /./],
      ['faucet', { publicKey: stranger(1).publicKey, amount: '1' }, 400, /amount is a number, in MINA/],
    ];
    for (const [order, body, status, message] of cases) {
      const answer = await control(running, order, body);
      assert.equal(answer.status, status, order);
      assert.match(answer.body.error, message);
    }
  });
});

test('the timer makes blocks, and stops while it is paused', async (t) => {
  const running = await start(t, { manual: false, slotTime: 100 });
  await until(() => running.node.chain.tip.height >= 3);
  await control(running, 'pause');
  const { tip } = running.node.chain;
  assert.ok(tip.recipe.slot > tip.parent!.recipe.slot);
  await control(running, 'resume');
  await until(() => running.node.chain.tip.height > tip.height);
});

async function until(reached: () => boolean): Promise<void> {
  const deadline = AbortSignal.timeout(60_000);
  while (!reached()) {
    deadline.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

type Pair = { publicKey: string; privateKey: string };
