import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { effectsOf, type TxnResult } from '@mina-sequencer/worker-kit';
import { Mina } from 'o1js';
import { ClaimVoting } from '../src/claim-voting.js';
import { VotingBatches } from '../src/voting-batches.js';
import {
  ballot,
  batch,
  claimUid,
  close,
  land,
  nonce,
  open,
  payerKey,
  prove,
  send,
  skipNonce,
  type Ahead,
} from './calls.js';
import { keys } from './local.js';

before(open);
after(close);

describe('in flight behind others', () => {
  const trainOf = (claim: string, planUid: string): [type: string, data: object][] => [
    ['CREATE_CLAIM_VOTING_ACCOUNT', { claimUid: claim, strategy: { requiredVotes: 4, requiredPositives: 2 } }],
    ['SEND_CLAIM_VOTE', ballot(claim, 5, 1)],
    ['SEND_CLAIM_VOTE', ballot(claim, 0, -1)],
    ['CREATE_VOTING_BATCHES_ACCOUNT', { planUid, communityUid: 'gardeners' }],
    ['RECEIVE_VOTES_BATCH', batch(2, 'east', planUid)],
    ['SEND_CLAIM_VOTE', ballot(claim, 3, 1)],
    ['RECEIVE_VOTES_BATCH', batch(4, 'east', planUid)],
    ['RECEIVE_VOTES_BATCH', batch(2, 'west', planUid)],
    ['COMMIT_ALL_VOTING_BATCHES', { planUid }],
    ['SEND_CLAIM_VOTE', ballot(claim, 1, 0)],
  ];
  const train = trainOf(claimUid(6), 'train');
  const ahead: Ahead[] = [];

  /** Makes the next on top of all before it. */
  async function join(type: string, data: object): Promise<TxnResult> {
    const uid = `train-${ahead.length}`;
    const result = await prove(type, data, { uid, ahead });
    assert.equal(result.error, null, `${uid} ${type}`);
    assert.equal(result.on, ahead.length > 0 ? effectsOf(ahead.at(-1)!.signed) : undefined);
    ahead.push({ uid, nonce: nonce + ahead.length, hash: result.hash, signed: result.signed! });
    return result;
  }

  test('each of the five types is made on what is pending', async () => {
    for (const [type, data] of train) await join(type, data);
  });

  test('an answer without a signature says what it was built upon', async () => {
    const last = effectsOf(ahead.at(-1)!.signed);
    const [[, claim], [, vote], , [, plan]] = train as [[string, object], [string, object], unknown, [string, object]];
    const refusals: [message: RegExp, type: string, data: object][] = [
      [/is decided/, 'SEND_CLAIM_VOTE', ballot(claimUid(6), 2, 1)],
      [/is closed/, 'RECEIVE_VOTES_BATCH', batch(1, 'east', 'train')],
      [/is closed/, 'COMMIT_ALL_VOTING_BATCHES', { planUid: 'train' }],
      [/has an account already/, 'CREATE_CLAIM_VOTING_ACCOUNT', claim],
      [/has an account already/, 'CREATE_VOTING_BATCHES_ACCOUNT', plan],
    ];
    for (const [message, type, data] of refusals) {
      const { error, on } = await prove(type, data, { ahead });
      assert.match(error?.message ?? 'no error', message);
      assert.equal(on, last);
    }
    const voted = await prove('SEND_CLAIM_VOTE', vote, { ahead: ahead.slice(0, 2) });
    assert.match(voted.error!.message, /has voted .* already/);
    assert.equal(voted.on, effectsOf(ahead[1]!.signed));
    const done = await prove('CREATE_CLAIM_VOTING_ACCOUNT', claim, {
      uid: 'train-0',
      number: 2,
      ahead: ahead.slice(0, 1),
    });
    assert.deepEqual([Object.keys(done.done!), done.on], [['accountId'], effectsOf(ahead[0]!.signed)]);
  });

  test('and all of them take effect, to the state that they have one by one', async () => {
    for (const { signed } of ahead) await send(signed);
    const together = stateOf('train-0', 'train-3');
    for (const [i, [type, data]] of trainOf(claimUid(7), 'slow').entries())
      await land(type, data, { uid: `slow-${i}` });
    assert.deepEqual(together, stateOf('slow-0', 'slow-3'));
  });

  /** What the state of claim and plan has that does not follow from their names. */
  function stateOf(claim: string, plan: string): Record<string, string> {
    const counted = new ClaimVoting(keys.account(claim).toPublicKey());
    const closed = new VotingBatches(keys.account(plan).toPublicKey());
    assert.equal(closed.committed.get().toString(), closed.sharesRoot.get().toString());
    return {
      tally: counted.tally.get().toString(),
      result: counted.result.get().toString(),
      received: closed.received.get().toString(),
      shares: closed.sharesRoot.get().toString(),
    };
  }
});

// Why these types settle at depth 1 (dispatcher.Settler): of two attempts that were built on
// different states, at different nonces, at most one takes effect, whichever comes first.
describe('two attempts of one transaction', () => {
  const [claim, planUid] = [claimUid(9), 'twice'];
  const create = { claimUid: claim, strategy: { requiredVotes: 9, requiredPositives: 1 } };
  const cases: [type: string, data: object, other: [type: string, data: object]][] = [
    ['CREATE_CLAIM_VOTING_ACCOUNT', create, ['CREATE_CLAIM_VOTING_ACCOUNT', { ...create, claimUid: claimUid(10) }]],
    ['SEND_CLAIM_VOTE', ballot(claim, 0, 1), ['SEND_CLAIM_VOTE', ballot(claim, 1, 1)]],
    [
      'CREATE_VOTING_BATCHES_ACCOUNT',
      { planUid, communityUid: 'gardeners' },
      ['CREATE_VOTING_BATCHES_ACCOUNT', { planUid: 'other', communityUid: 'gardeners' }],
    ],
    ['RECEIVE_VOTES_BATCH', batch(0, 'north', planUid), ['RECEIVE_VOTES_BATCH', batch(1, 'north', planUid)]],
    ['COMMIT_ALL_VOTING_BATCHES', { planUid }, ['RECEIVE_VOTES_BATCH', batch(2, 'north', planUid)]],
  ];
  for (const [type, data, [otherType, otherData]] of cases) {
    test(`${type}: the second fails in the block`, async () => {
      const [uid, at] = [`twice-${type}`, nonce];
      const first = await prove(type, data, { uid });
      const other = await prove(otherType, otherData, { uid: `other-${type}` });
      const ahead = [{ uid: `other-${type}`, nonce: at, hash: other.hash, signed: other.signed! }];
      const second = await prove(type, data, { uid, number: 2, ahead });
      assert.deepEqual([first.error, other.error, second.error], [null, null, null]);
      await send(first.signed!);
      await assert.rejects(send(second.signed!), /precondition_unsatisfied|'Impossible'/);
      // o1js's own checks keep some from the ledger; else it has spent its nonce.
      if (Mina.getAccount(payerKey()).nonce.toBigint() > BigInt(nonce)) skipNonce();
    });
  }
});
