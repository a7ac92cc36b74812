import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import Client from 'mina-signer';
import { PrivateKey, Transaction } from 'o1js';
import type { Archive } from '../src/archive.js';
import { ClaimVoting, Result, Tally } from '../src/claim-voting.js';
import { ElectorSet } from '../src/elector-set.js';
import { signBatch } from '../src/signed-batch.js';
import { VotingBatches } from '../src/voting-batches.js';
import {
  ballot,
  batch,
  claimUid,
  close,
  elector,
  land,
  nonce,
  open,
  prove,
  send,
  skipNonce,
  start,
  type Call,
} from './calls.js';
import { CLAIM, electorKeys, electors, keys, localArchive } from './local.js';

// The five types as the sequencer meets them: over HTTP, on the kit, on a local ledger.

const stranger = PrivateKey.fromBigInt(5n);
const strategy = { requiredVotes: 3, requiredPositives: 2 };

before(open);
after(close);

const refused = async (code: string, message: RegExp, type: string, data: object, call: Call = {}) => {
  const { error } = await prove(type, data, call);
  assert.match(error?.message ?? 'no error', message);
  assert.equal(error?.code, code);
};
const never = (message: RegExp, type: string, data: object, call?: Call) => refused('500', message, type, data, call);
const later = async (message: RegExp, type: string, data: object, call?: Call) => {
  const { error } = await prove(type, data, call);
  assert.match(error?.message ?? 'no error', message);
  assert.ok(!['500', '404'].includes(error!.code), `code ${error!.code} is not tried again`);
};

describe('claims', () => {
  test('are created, voted on and decided', async () => {
    const account = await land('CREATE_CLAIM_VOTING_ACCOUNT', { claimUid: CLAIM, strategy }, { uid: 'claim' });
    assert.equal(account.toBase58(), keys.account('claim').toPublicKey().toBase58());
    await land('SEND_CLAIM_VOTE', ballot(CLAIM, 0, 1));
    await land('SEND_CLAIM_VOTE', ballot(CLAIM.toUpperCase(), 1, '-1'));
    await never(/has voted .* already/, 'SEND_CLAIM_VOTE', ballot(CLAIM, 0, -1));
    await land('SEND_CLAIM_VOTE', ballot(CLAIM, 4, '1'));

    const claim = new ClaimVoting(account);
    const tally = Tally.unpack(claim.tally.get());
    assert.deepEqual(Tally.toJSON(tally), { positives: '2', negatives: '1', ignored: '0' });
    assert.equal(claim.result.get().toBigInt(), Result.approved.toBigInt());
    await never(/is decided/, 'SEND_CLAIM_VOTE', ballot(CLAIM, 5, 1));
  });

  test('are refused with a reason', async (t) => {
    await land('CREATE_CLAIM_VOTING_ACCOUNT', { claimUid: claimUid(1), strategy });
    const good = ballot(claimUid(1), 0, 1);
    const cases: [name: string, message: RegExp, type: string, data: object][] = [
      ['no claim', /data.claimUid/, 'SEND_CLAIM_VOTE', { ...good, claimUid: undefined }],
      ['a claim that is no number', /data.claimUid.*hexadecimal/, 'SEND_CLAIM_VOTE', { ...good, claimUid: 'x' }],
      ['a vote of 2', /data.vote/, 'SEND_CLAIM_VOTE', { ...good, vote: 2 }],
      ['no key', /data.electorAccountId.*public key/, 'SEND_CLAIM_VOTE', { ...good, electorAccountId: 'B62qabc' }],
      [
        'a stranger',
        /is not an elector/,
        'SEND_CLAIM_VOTE',
        { ...good, electorAccountId: stranger.toPublicKey().toBase58() },
      ],
      [
        'more votes than 32 bits',
        /requiredVotes/,
        'CREATE_CLAIM_VOTING_ACCOUNT',
        { claimUid: claimUid(9), strategy: { requiredVotes: 2 ** 32, requiredPositives: 0 } },
      ],
      [
        'more positives than votes',
        /requiredPositives/,
        'CREATE_CLAIM_VOTING_ACCOUNT',
        { claimUid: claimUid(9), strategy: { requiredVotes: 1, requiredPositives: 2 } },
      ],
    ];
    for (const [name, message, type, data] of cases) await t.test(name, () => never(message, type, data));
  });

  test('are waited for', () => later(/has no account yet/, 'SEND_CLAIM_VOTE', ballot(claimUid(8), 0, 1)));

  test('have one account, whoever asks for it how often', async () => {
    const data = { claimUid: claimUid(2), strategy };
    const [first, second] = [
      await prove('CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'twice' }),
      await prove('CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'twice', number: 2 }),
    ];
    assert.deepEqual(first.data, second.data);
    await send(first.signed!);

    const again = await prove('CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'twice', number: 3 });
    assert.deepEqual(first.data, { ...data, accountId: keys.account('twice').toPublicKey().toBase58() });
    assert.deepEqual(again.done, { accountId: first.data['accountId'] });
    const previous = [{ number: 2, hash: first.hash, nonce: nonce - 1, fee: '100000000' }];
    await later(/by an earlier attempt/, 'CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'twice', number: 4, previous });
    await never(/has an account already, B62/, 'CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'another' });
  });

  test('cannot be created twice at once', async () => {
    const data = { claimUid: claimUid(3), strategy };
    const first = await prove('CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'one' });
    skipNonce();
    const second = await prove('CREATE_CLAIM_VOTING_ACCOUNT', data, { uid: 'other' });
    await Transaction.fromJSON(first.signed!).send();
    await assert.rejects(
      Transaction.fromJSON(second.signed!).send(),
      /Account_is_new_precondition_unsatisfied|'Impossible'/,
    );
  });
});

describe('a worker that knows nothing yet', () => {
  const data = { claimUid: claimUid(4), strategy: { requiredVotes: 9, requiredPositives: 1 } };

  before(async () => {
    await land('CREATE_CLAIM_VOTING_ACCOUNT', data);
    for (const place of [3, 1]) await land('SEND_CLAIM_VOTE', ballot(data.claimUid, place, 1));
  });

  test('takes the next vote, from what chain and archive say', async () => {
    const { worker, url } = await start(localArchive);
    try {
      await never(/has voted .* already/, 'SEND_CLAIM_VOTE', ballot(data.claimUid, 3, 1), { url });
      await land('SEND_CLAIM_VOTE', ballot(data.claimUid, 0, 0), { url });
    } finally {
      await worker.close();
    }
  });

  test('waits for an archive that is behind', async () => {
    const behind: Archive = { events: async (...about) => (await localArchive.events(...about)).slice(1) };
    const { worker, url } = await start(behind);
    try {
      await later(/archive does not have all events/, 'SEND_CLAIM_VOTE', ballot(data.claimUid, 2, 1), { url });
    } finally {
      await worker.close();
    }
  });

  test('says that it lacks the electors of a claim', async () => {
    const { worker, url } = await start(localArchive, [new ElectorSet([elector(0)])]);
    try {
      await later(/VOTING_ELECTORS_FILES/, 'SEND_CLAIM_VOTE', ballot(data.claimUid, 2, 1), { url });
    } finally {
      await worker.close();
    }
  });

  test('serves claims of earlier electors too', async () => {
    const { worker, url } = await start(localArchive, [new ElectorSet([elector(0)]), electors]);
    try {
      await land('SEND_CLAIM_VOTE', ballot(data.claimUid, 2, 1), { url });
    } finally {
      await worker.close();
    }
  });
});

const planUid = 'autumn';
describe('plans', () => {
  test('are waited for', () => later(/has no account yet/, 'RECEIVE_VOTES_BATCH', batch(0, 'north')));

  test('receive batches and are committed', async (t) => {
    const account = await land(
      'CREATE_VOTING_BATCHES_ACCOUNT',
      { planUid, communityUid: 'gardeners' },
      { uid: 'plan' },
    );
    assert.equal(account.toBase58(), keys.account('plan').toPublicKey().toBase58());
    await land('RECEIVE_VOTES_BATCH', batch(0, 'north'));
    await land('RECEIVE_VOTES_BATCH', batch(0, 'south'));
    await land('RECEIVE_VOTES_BATCH', batch(3, 'north'));

    const good = batch(1, 'north');
    const signed = (change: object) => ({ ...good, signedData: { ...good.signedData, ...change } });
    const cases: [name: string, message: RegExp, data: object][] = [
      ['received already', /received already/, batch(3, 'north')],
      ['of another sender', /publicKey: must be the senderAccountId/, { ...good, senderAccountId: elector(2) }],
      ['of another batch', /data.1: must be the field/, { ...good, batchUid: 'south' }],
      ['changed after signing', /has not signed/, signed({ data: [...good.signedData.data.slice(0, -1), '5'] })],
      ['without votes', /data.signedData.data/, signed({ data: good.signedData.data.slice(0, 2) })],
      [
        'not decimal',
        /data.signedData.data.2: .*decimal/,
        signed({ data: [...good.signedData.data.slice(0, 2), '0x1'] }),
      ],
      ['beyond the field', /order/, signed({ signature: { ...good.signedData.signature, field: '9'.repeat(78) } })],
    ];
    for (const [name, message, data] of cases) await t.test(name, () => never(message, 'RECEIVE_VOTES_BATCH', data));

    await land('COMMIT_ALL_VOTING_BATCHES', { planUid });
    const plan = new VotingBatches(account);
    assert.equal(plan.received.get().toBigInt(), 3n);
    assert.equal(plan.committed.get().toBigInt(), plan.sharesRoot.get().toBigInt());
    await never(/is closed/, 'RECEIVE_VOTES_BATCH', good);
    await never(/is closed/, 'COMMIT_ALL_VOTING_BATCHES', { planUid });
    await never(/has an account already/, 'CREATE_VOTING_BATCHES_ACCOUNT', { planUid, communityUid: 'gardeners' });
  });

  test('take what a wallet has signed as a text', async (t) => {
    const account = await land('CREATE_VOTING_BATCHES_ACCOUNT', { planUid: 'spring', communityUid: 'gardeners' });
    const wallet = new Client({ network: 'testnet' });
    /** As the original's client posts it. */
    const posted = (place: number, votes: object, batchUid: string) => {
      const { data, publicKey, signature } = wallet.signMessage(JSON.stringify(votes), electorKeys[place]!.toBase58());
      return { batchUid, senderAccountId: elector(place), signedData: { data, publicKey, signature } };
    };
    const vote = { uid: 'task-1', claimUid: CLAIM, assigneeUid: 'e1', communityUid: 'gardeners', planUid: 'spring' };
    const votes = [
      { ...vote, result: '1' },
      { ...vote, claimUid: claimUid(1), result: '-1' },
    ];
    await land('RECEIVE_VOTES_BATCH', posted(0, votes, 'text-1'));
    // The elements as a text, too: under the elector's own signature, and under a wallet's.
    const own = batch(1, 'text-2', 'spring');
    const text = JSON.stringify(own.signedData.data).replaceAll('"', '');
    await land('RECEIVE_VOTES_BATCH', { ...own, signedData: { ...own.signedData, data: text } });
    await land('RECEIVE_VOTES_BATCH', posted(2, batch(2, 'text-3', 'spring').signedData.data, 'text-3'));
    const contract = new VotingBatches(account);
    assert.equal(contract.received.get().toBigInt(), 3n);
    const events = await localArchive.events(account, () => false);
    const vouched = events.filter(([kind]) => kind === '2').map(([, , , by]) => by);
    assert.deepEqual(vouched.sort(), ['0', '1', '1']);

    const good = posted(3, votes, 'text-4');
    const signed = (change: object) => ({ ...good, signedData: { ...good.signedData, ...change } });
    const cases: [name: string, message: RegExp, data: object][] = [
      ['changed after signing', /has not signed/, signed({ data: `${good.signedData.data} ` })],
      ['signed by another', /has not signed/, signed({ signature: posted(4, votes, 'text-4').signedData.signature })],
      ['parsed after signing', /has not signed/, signed({ data: votes })],
      [
        'of two plans',
        /data.signedData.data: .*one plan/,
        posted(3, [votes[0]!, { ...vote, planUid: 'x', result: '1' }], 'b'),
      ],
      ['with a vote of 2', /data.signedData.data.0.result/, posted(3, [{ ...vote, result: '2' }], 'b')],
      ['without votes', /data.signedData.data/, posted(3, [], 'b')],
      ['no JSON', /data.signedData.data: .*array/, signed({ data: '[1' })],
    ];
    for (const [name, message, data] of cases) await t.test(name, () => never(message, 'RECEIVE_VOTES_BATCH', data));
  });

  test('take signatures with numbers beyond 2^53', async () => {
    await land('CREATE_VOTING_BATCHES_ACCOUNT', { planUid: 'winter', communityUid: 'gardeners' });
    const { signedData, ...rest } = batch(2, 'west', 'winter');
    const text = JSON.stringify({ ...rest, signedData }).replace(/"([0-9]+)"/g, '$1');
    await land('RECEIVE_VOTES_BATCH', text);
  });
});

describe('the examples in the description of the API', () => {
  /** A key that everybody knows, of the elector in the examples. */
  const key = PrivateKey.fromBase58('EKFKgDtU3rcuFTVSEpmpXSkukjmX4cKefYREi6Sdsk7E7wsT7KRw');
  const file = new URL('../../../../api/openapi/schemas/payloads.json', import.meta.url);
  const schemas = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { examples: Example[] }>;
  const examples = (name: string) => schemas[`New${name}`]!.examples;
  interface Example {
    type: string;
    data: { signedData: { data: string } };
  }

  test('become transactions', async () => {
    const { worker, url } = await start(localArchive, [new ElectorSet([key.toPublicKey().toBase58()])]);
    try {
      const first = ['CreateClaimVotingAccount', 'SendClaimVote', 'CreateVotingBatchesAccount', 'ReceiveVotesBatch'];
      for (const { type, data } of first.flatMap(examples)) await land(type, data, { url });
      const [commit, other] = examples('CommitAllVotingBatches');
      await land(commit!.type, commit!.data, { url });
      assert.deepEqual({ ...other, type: commit!.type }, commit, 'the sequencer takes the one as the other');
    } finally {
      await worker.close();
    }
  });

  test('are signed as it is written', () => {
    const votes = [{ claimUid: '0123456789abcdef0123456789abcdef', vote: 1 as const }];
    const [elements, text] = examples('ReceiveVotesBatch').map(({ data }) => data.signedData);
    assert.deepEqual(elements, signBatch(key, { planUid: 'p1', batchUid: 'b1', votes }));
    assert.deepEqual(text, new Client({ network: 'testnet' }).signMessage(text!.data, key.toBase58()));
  });
});
