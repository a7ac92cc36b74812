// Answers are JSON of many shapes, and it is the tests that check them.
/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment */
/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RunningNode } from '../src/index.js';
import { emitting, expectState, signed, update } from './commands.js';
import { start } from './running.js';

type Json = any;

async function ask(url: string, query: string): Promise<{ data: Json; errors?: { message: string }[] }> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return (await response.json()) as Json;
}

/** Sends a command of the first account that puts out an event and an action with each of the values. */
async function emit({ node }: RunningNode, nonce: number, values: string[], fails = false): Promise<string> {
  const { publicKey, privateKey } = node.accounts[0]!;
  const updates = values.map((value) => emitting(publicKey, [[value]], [[value]]));
  if (fails) updates.push(update(publicKey, expectState(9)));
  return (await node.send(signed({ payer: privateKey, nonce, updates }))).hash;
}

const actions = (address: string, more = '') => `{ actions(input: { address: "${address}"${more} }) {
  blockInfo { height distanceFromMaxBlockHeight chainStatus } actionState { actionStateOne actionStateTwo }
  actionData { accountUpdateId data transactionInfo { hash status sequenceNumber zkappAccountUpdateIds } } } }`;

const events = (address: string, more = '') => `{ events(input: { address: "${address}"${more} }) {
  blockInfo { height stateHash parentHash } eventData { data transactionInfo { hash memo status authorizationKind } } } }`;

describe('the archive', () => {
  test('lists actions by block, in the order in which they took effect', async (t) => {
    const running = await start(t);
    const { publicKey } = running.node.accounts[0]!;
    await emit(running, 0, ['1', '2']);
    await emit(running, 1, ['3'], true);
    await emit(running, 2, ['4']);
    await running.node.produce();
    await emit(running, 3, ['5']);
    await running.node.produce();
    const [first, second] = (await ask(running.urls.archive, actions(publicKey))).data.actions;
    const numbers = first.actionData.map(({ data, accountUpdateId, transactionInfo }: Json) => [
      data[0],
      accountUpdateId,
      transactionInfo.sequenceNumber,
      transactionInfo.zkappAccountUpdateIds,
    ]);
    assert.deepEqual(numbers, [
      ['1', '1', 0, [1, 2]],
      ['2', '2', 0, [1, 2]],
      ['4', '5', 2, [5]],
    ]);
    assert.deepEqual(first.blockInfo, { height: 2, distanceFromMaxBlockHeight: 1, chainStatus: 'pending' });
    assert.equal(second.actionState.actionStateTwo, first.actionState.actionStateOne);
    const state = running.node.chain.tip.ledger.account(publicKey)?.zkapp?.actionState[0];
    assert.equal(second.actionState.actionStateOne, state);
  });

  test('lists actions between two states, both blocks included', async (t) => {
    const running = await start(t);
    const { publicKey } = running.node.accounts[0]!;
    for (let i = 0; i < 3; i++) {
      await emit(running, i, [`${i}`]);
      await running.node.produce();
    }
    const all = (await ask(running.urls.archive, actions(publicKey))).data.actions;
    const [one, two] = all.map(({ actionState }: Json) => actionState.actionStateOne);
    const heights = async (more: string) =>
      (await ask(running.urls.archive, actions(publicKey, more))).data.actions.map(
        ({ blockInfo }: Json) => blockInfo.height,
      );
    assert.deepEqual(await heights(`, fromActionState: "${two}"`), [3, 4]);
    assert.deepEqual(await heights(`, endActionState: "${two}"`), [2, 3]);
    assert.deepEqual(await heights(`, fromActionState: "${one}", endActionState: "${two}"`), [2, 3]);
    const { errors } = await ask(running.urls.archive, actions(publicKey, ', fromActionState: "7"'));
    assert.match(errors![0]!.message, /fromActionState 7 is the action state of this account after no block in range/);
  });

  test('lists events by height, and none of commands that failed or of forks', async (t) => {
    const running = await start(t);
    const { node, urls } = running;
    const { publicKey } = node.accounts[0]!;
    const gone = await emit(running, 0, ['1']);
    await node.produce();
    await node.reorg({ depth: 1, exclude: [gone] });
    node.pool.clear();
    const kept = await emit(running, 0, ['2']);
    const block = await node.produce();
    await emit(running, 1, ['3'], true);
    await node.produce();
    const { data } = await ask(urls.archive, events(publicKey));
    const transactionInfo = {
      hash: kept,
      memo: 'E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH',
      status: 'applied',
      authorizationKind: 'Signature',
    };
    const blockInfo = { height: 4, stateHash: block.hash, parentHash: block.parent!.hash };
    assert.deepEqual(data.events, [{ blockInfo, eventData: [{ data: ['2'], transactionInfo }] }]);
    const count = async (more: string) => (await ask(urls.archive, events(publicKey, more))).data.events.length;
    assert.deepEqual([await count(', from: 4, to: 5'), await count(', from: 5'), await count(', to: 4')], [1, 0, 0]);
    assert.match(
      (await ask(urls.archive, events(publicKey, ', from: 5, to: 4'))).errors![0]!.message,
      /to must be greater than from/,
    );
    assert.equal((await ask(urls.archive, events(node.accounts[1]!.publicKey))).data.events.length, 0);
  });

  test('calls a block canonical when it is k deep', async (t) => {
    const running = await start(t, { k: 2 });
    const { publicKey } = running.node.accounts[0]!;
    await emit(running, 0, ['1']);
    for (let i = 0; i < 3; i++) await running.node.produce();
    const status = async () =>
      (await ask(running.urls.archive, actions(publicKey))).data.actions[0].blockInfo.chainStatus;
    assert.equal(await status(), 'canonical');
    await emit(running, 1, ['2']);
    await running.node.produce();
    const count = async (name: string) =>
      (await ask(running.urls.archive, actions(publicKey, `, status: ${name}`))).data.actions.length;
    assert.deepEqual([await count('ALL'), await count('CANONICAL'), await count('PENDING')], [2, 1, 1]);
    const { data } = await ask(
      running.urls.archive,
      '{ networkState { maxBlockHeight { canonicalMaxBlockHeight pendingMaxBlockHeight } } }',
    );
    assert.deepEqual(data.networkState.maxBlockHeight, { canonicalMaxBlockHeight: 3, pendingMaxBlockHeight: 5 });
  });

  test('lists blocks, the newest first, and those of forks if asked', async (t) => {
    const running = await start(t);
    const hash = await emit(running, 0, ['1'], true);
    const abandoned = await running.node.produce();
    await running.node.reorg({ depth: 1 });
    const query = (more: string) =>
      `{ blocks${more} { blockHeight stateHash transactions { zkappCommands { hash feePayer fee status failureReason } } } }`;
    const { blocks } = (await ask(running.urls.archive, query(''))).data;
    assert.deepEqual(
      blocks.map(({ blockHeight }: Json) => blockHeight),
      [3, 2, 1],
    );
    const [command] = blocks[1].transactions.zkappCommands;
    assert.deepEqual([command.hash, command.fee, command.status], [hash, '100000000', 'failed']);
    assert.match(command.failureReason, /Account_app_state_0_precondition_unsatisfied/);
    const forks = (await ask(running.urls.archive, query('(query: { inBestChain: false })'))).data.blocks;
    assert.deepEqual(
      forks.map(({ stateHash }: Json) => stateHash),
      [abandoned.hash],
    );
    const some = await ask(
      running.urls.archive,
      query('(query: { blockHeight_gte: 2 }, limit: 1, sortBy: BLOCKHEIGHT_ASC)'),
    );
    assert.deepEqual(
      some.data.blocks.map(({ blockHeight }: Json) => blockHeight),
      [2],
    );
  });
});
