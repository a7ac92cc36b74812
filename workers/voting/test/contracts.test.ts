import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { AccountUpdate, Field, MerkleMap, Mina, Permissions, PrivateKey, Signature, UInt32 } from 'o1js';
import { Ballot, ClaimVoting, Result, Strategy, Tally } from '../src/claim-voting.js';
import { ElectorWitness } from '../src/elector-set.js';
import { batchKey, uidField } from '../src/fields.js';
import { commitMessage, Share, type ShareReceived, VotingBatches } from '../src/voting-batches.js';
import {
  approve,
  cast,
  castBy,
  deployClaim,
  electorKeys,
  electors,
  keys,
  make,
  proofs,
  run,
  startLedger,
  voteBy,
  type Payer,
  type Vote,
} from './local.js';

let payer: Payer, other: Payer;

before(async () => {
  if (proofs) {
    await ClaimVoting.compile();
    await VotingBatches.compile();
  }
  [payer, other] = (await startLedger()) as [Payer, Payer];
});

const tally = (positives: number, negatives: number, ignored: number) =>
  new Tally({ positives: UInt32.from(positives), negatives: UInt32.from(negatives), ignored: UInt32.from(ignored) });
const strategy = (requiredVotes: number, requiredPositives: number) =>
  new Strategy({ requiredVotes: UInt32.from(requiredVotes), requiredPositives: UInt32.from(requiredPositives) });

describe('a tally', () => {
  const cases: [name: string, counts: [number, number, number], votes: number, positives: number, result: Field][] = [
    ['has no votes', [0, 0, 0], 1, 0, Result.voting],
    ['waits for the last vote', [2, 0, 0], 3, 1, Result.voting],
    ['is approved by as many as required', [2, 1, 0], 3, 2, Result.approved],
    ['is rejected by one too few', [1, 2, 0], 3, 2, Result.rejected],
    ['counts the ignored among the votes', [1, 0, 2], 3, 1, Result.approved],
    ['does not count the ignored as positive', [0, 0, 3], 3, 1, Result.rejected],
    ['needs no positives if none are required', [0, 3, 0], 3, 0, Result.approved],
    ['is decided early by nobody', [4, 0, 0], 5, 3, Result.voting],
  ];
  for (const [name, counts, votes, positives, result] of cases)
    test(name, () => {
      assert.equal(
        tally(...counts)
          .result(strategy(votes, positives))
          .toBigInt(),
        result.toBigInt(),
      );
    });

  test('comes back from its field', () => {
    const largest = tally(0xffffffff, 1, 0xfffffffe);
    assert.deepEqual(Tally.toJSON(Tally.unpack(largest.pack())), Tally.toJSON(largest));
    const extreme = strategy(0xffffffff, 0);
    assert.deepEqual(Strategy.toJSON(Strategy.unpack(extreme.pack())), Strategy.toJSON(extreme));
  });
});

describe('a claim', () => {
  test('counts votes until enough have voted', async () => {
    const claim = await deployClaim(payer, 3, 2);
    await castBy(payer, claim, 4, 1);
    await castBy(payer, claim, 0, -1);
    assert.equal(claim.contract.result.get().toBigInt(), Result.voting.toBigInt());
    await castBy(payer, claim, 2, 1);
    assert.deepEqual(Tally.toJSON(Tally.unpack(claim.contract.tally.get())), Tally.toJSON(tally(2, 1, 0)));
    assert.equal(claim.contract.result.get().toBigInt(), Result.approved.toBigInt());
    assert.equal(claim.contract.nullifiersRoot.get().toBigInt(), claim.nullifiers.getRoot().toBigInt());
    await assert.rejects(make(payer, [], cast(claim, voteBy(claim, 1, 1))), /claim is decided/);
  });

  test('refuses a vote that breaks a rule', async (t) => {
    const claim = await deployClaim(payer, 5, 2);
    await castBy(payer, claim, 0, 1);
    const outsider = PrivateKey.random().toPublicKey();
    const spoil: [name: string, message: RegExp, vote: () => Vote][] = [
      ['a second vote', /voted already/, () => voteBy(claim, 0, -1)],
      [
        'a second vote with the nullifier of another place',
        /assertEquals/,
        () => ({
          ...voteBy(claim, 0, 1),
          unused: new ElectorWitness(claim.nullifiers.getWitness(3n)),
        }),
      ],
      ['a vote of 2', /1, -1 or 0/, () => voteBy(claim, 1, 2)],
      [
        'a stranger',
        /not an elector/,
        () => {
          const ballot = new Ballot({ elector: outsider, vote: Field(1) });
          return { ...voteBy(claim, 1, 1), ballot, approval: approve(claim.contract.address, ballot) };
        },
      ],
      [
        'a vote that the service has not signed',
        /service has not signed/,
        () => {
          const vote = voteBy(claim, 1, 1);
          return { ...vote, approval: approve(claim.contract.address, vote.ballot, electorKeys[1]) };
        },
      ],
      [
        'a vote turned round after it was signed',
        /service has not signed/,
        () => ({
          ...voteBy(claim, 1, 1),
          ballot: voteBy(claim, 1, -1).ballot,
        }),
      ],
      [
        'a vote signed for another account',
        /service has not signed/,
        () => {
          const vote = voteBy(claim, 1, 1);
          return { ...vote, approval: approve(outsider, vote.ballot) };
        },
      ],
    ];
    for (const [name, message, vote] of spoil)
      await t.test(name, () => assert.rejects(make(payer, [], cast(claim, vote())), message));
  });

  test('takes one of two votes that were proved on the same state', async () => {
    const claim = await deployClaim(payer, 5, 2);
    const [first, second] = [
      await make(payer, [], cast(claim, voteBy(claim, 1, 1))),
      await make(other, [], cast(claim, voteBy(claim, 2, 1))),
    ];
    await first.send();
    await assert.rejects(second.send(), /Account_app_state_precondition_unsatisfied/);
    assert.deepEqual(Tally.toJSON(Tally.unpack(claim.contract.tally.get())), Tally.toJSON(tally(1, 0, 0)));
  });

  test('binds a vote to all of its state', async () => {
    const claim = await deployClaim(payer, 3, 2);
    const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, cast(claim, voteBy(claim, 0, 1)));
    assert.deepEqual(boundState(tx), [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('is created at a new address only, and once', async () => {
    const used = PrivateKey.random();
    await run(payer, [], async () => {
      AccountUpdate.fundNewAccount(payer).send({ to: used.toPublicKey(), amount: 1 });
    });
    const contract = new ClaimVoting(used.toPublicKey());
    await assert.rejects(redeploy(used, contract), /Account_is_new_precondition_unsatisfied/);

    const claim = await deployClaim(payer, 3, 2);
    await assert.rejects(redeploy(claim.key, claim.contract), /permission for this field is '(Impossible|Proof)'/);
  });

  test('changes by proof only, even for the holder of its key', async () => {
    const { key, contract } = await deployClaim(payer, 3, 2);
    const byKey = (change: (update: AccountUpdate) => void) =>
      run(payer, [key], async () => {
        const update = AccountUpdate.createSigned(contract.address);
        change(update);
      });
    await assert.rejects(
      byKey((update) => AccountUpdate.setValue(update.update.appState[6]!, Result.approved)),
      /Update_not_permitted_app_state|'appState'.*'Proof'/,
    );
    await assert.rejects(
      byKey((update) => update.account.permissions.set(Permissions.allImpossible())),
      /'permissions'.*'Impossible'/,
    );
  });
});

async function redeploy(key: PrivateKey, contract: ClaimVoting): Promise<void> {
  await run(payer, [key], () =>
    contract.deploy({
      claim: Field(1),
      electorsRoot: electors.root,
      strategy: strategy(1, 0),
      service: keys.servicePublicKey(),
    }),
  );
}

/**
 * The fields of state that the contract's update is void without. A method that
 * does not bind what it reads believes whatever the prover says.
 */
function boundState({ transaction }: { transaction: { accountUpdates: AccountUpdate[] } }): number[] {
  const { state } = transaction.accountUpdates[0]!.body.preconditions.account;
  return state.flatMap(({ isSome }, i) => (isSome.toBoolean() ? i : []));
}

const PLAN = uidField('autumn');

/** A deployed plan, and the shares that it has received. */
async function deployPlan() {
  const key = PrivateKey.random();
  const contract = new VotingBatches(key.toPublicKey());
  await run(payer, [key], async () => {
    AccountUpdate.fundNewAccount(payer);
    await contract.deploy({
      plan: PLAN,
      community: uidField('gardeners'),
      electorsRoot: electors.root,
      service: keys.servicePublicKey(),
    });
  });
  return { contract, shares: new MerkleMap() };
}

type Plan = Awaited<ReturnType<typeof deployPlan>>;

/** The arguments of a good share; a test spoils one of them. */
function shareBy({ shares }: Plan, place: number, batchUid: string, commitment = Field(77)) {
  const share = new Share({ batch: uidField(batchUid), commitment, sender: electorKeys[place]!.toPublicKey() });
  return {
    share,
    membership: electors.witness(place),
    unused: shares.getWitness(batchKey(share.batch, share.sender)),
    signature: Signature.create(electorKeys[place]!, share.message(PLAN)),
  };
}

type SharedBy = ReturnType<typeof shareBy>;

const receive =
  ({ contract }: Plan, s: SharedBy) =>
  () =>
    contract.receive(s.share, s.membership, s.unused, s.signature);

/** A share that the service vouches for, by default rightly so. */
function vouchedShare(plan: Plan, place: number, { by = keys.service(), at = plan, sender = place } = {}) {
  const good = shareBy(plan, place, 'north');
  const share = new Share({ ...good.share, sender: electorKeys[sender]!.toPublicKey() });
  return { ...good, signature: Signature.create(by, share.vouchMessage(at.contract.address, PLAN)) };
}

async function receiveBy(plan: Plan, place: number, batchUid: string): Promise<void> {
  const shared = shareBy(plan, place, batchUid);
  await run(payer, [], receive(plan, shared));
  plan.shares.set(batchKey(shared.share.batch, shared.share.sender), shared.share.commitment);
}

function commit({ contract, shares }: Plan, by: PrivateKey): () => Promise<void> {
  const approval = Signature.create(by, commitMessage(contract.address, shares.getRoot()));
  return () => contract.commit(approval);
}

describe('a plan', () => {
  test('keeps what it receives and closes with all of it', async () => {
    const plan = await deployPlan();
    await receiveBy(plan, 0, 'north');
    await receiveBy(plan, 0, 'south');
    await receiveBy(plan, 3, 'north');
    assert.equal(plan.contract.received.get().toBigInt(), 3n);
    assert.equal(plan.contract.sharesRoot.get().toBigInt(), plan.shares.getRoot().toBigInt());
    assert.equal(plan.contract.committed.get().toBigInt(), 0n);

    await assert.rejects(make(payer, [], commit(plan, electorKeys[0]!)), /service has not signed/);
    await run(payer, [], commit(plan, keys.service()));
    assert.equal(plan.contract.committed.get().toBigInt(), plan.shares.getRoot().toBigInt());

    await assert.rejects(make(payer, [], receive(plan, shareBy(plan, 4, 'north'))), /plan is closed/);
    await assert.rejects(make(payer, [], commit(plan, keys.service())), /plan is closed/);
  });

  test('binds shares and commit to the state that they rely on', async () => {
    const plan = await deployPlan();
    const receiving = await Mina.transaction({ sender: payer, fee: 1e8 }, receive(plan, shareBy(plan, 0, 'north')));
    // All but the community.
    assert.deepEqual(boundState(receiving), [0, 2, 3, 4, 5, 6, 7]);
    const committing = await Mina.transaction({ sender: payer, fee: 1e8 }, commit(plan, keys.service()));
    // All that is closed, and who may close it.
    assert.deepEqual(boundState(committing), [3, 4, 5, 6, 7]);
  });

  test('takes a share that the service vouches for, and says so', async () => {
    const plan = await deployPlan();
    await receiveBy(plan, 0, 'north');
    await run(payer, [], receive(plan, vouchedShare(plan, 1)));
    const received = (await plan.contract.fetchEvents()).filter(({ type }) => type === 'received');
    const vouched = received.map(({ event }) => (event.data as unknown as ShareReceived).vouched.toBoolean());
    assert.deepEqual(vouched.sort(), [false, true]);
  });

  test('refuses a share that breaks a rule', async (t) => {
    const plan = await deployPlan();
    const other = await deployPlan();
    await receiveBy(plan, 0, 'north');
    const spoil: [name: string, message: RegExp, share: () => SharedBy][] = [
      ['received already', /received already/, () => shareBy(plan, 0, 'north')],
      ['received already, with other votes', /received already/, () => shareBy(plan, 0, 'north', Field(78))],
      [
        'at the place of another',
        /assertEquals/,
        () => ({
          ...shareBy(plan, 0, 'north'),
          unused: shareBy(plan, 1, 'north').unused,
        }),
      ],
      [
        'signed by another',
        /sender has not signed/,
        () => ({
          ...shareBy(plan, 1, 'north'),
          signature: shareBy(plan, 2, 'north').signature,
        }),
      ],
      [
        'other votes than were signed',
        /sender has not signed/,
        () => ({
          ...shareBy(plan, 1, 'north', Field(78)),
          signature: shareBy(plan, 1, 'north').signature,
        }),
      ],
      [
        'signed for another plan',
        /sender has not signed/,
        () => {
          const shared = shareBy(plan, 1, 'north');
          const message = shared.share.message(uidField('winter'));
          return { ...shared, signature: Signature.create(electorKeys[1]!, message) };
        },
      ],
      ['vouched for by an elector', /sender has not signed/, () => vouchedShare(plan, 1, { by: electorKeys[2]! })],
      ['vouched for at another account', /sender has not signed/, () => vouchedShare(plan, 1, { at: other })],
      ['vouched for of another sender', /sender has not signed/, () => vouchedShare(plan, 1, { sender: 2 })],
      [
        'signed by the service as if it were the sender',
        /sender has not signed/,
        () => {
          const good = shareBy(plan, 1, 'north');
          return { ...good, signature: Signature.create(keys.service(), good.share.message(PLAN)) };
        },
      ],
      [
        'from a stranger',
        /not an elector/,
        () => {
          const [key, good] = [PrivateKey.random(), shareBy(plan, 1, 'north')];
          const share = new Share({ ...good.share, sender: key.toPublicKey() });
          return { ...good, share, signature: Signature.create(key, share.message(PLAN)) };
        },
      ],
    ];
    for (const [name, message, share] of spoil)
      await t.test(name, () => assert.rejects(make(payer, [], receive(plan, share())), message));
  });
});
