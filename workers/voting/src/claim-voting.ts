import {
  Bool,
  DeployArgs,
  Field,
  method,
  Permissions,
  Provable,
  PublicKey,
  Signature,
  SmartContract,
  state,
  State,
  Struct,
  UInt32,
} from 'o1js';
import { ElectorWitness, electorTree } from './elector-set.js';
import { electorLeaf, voteNullifier } from './fields.js';

/** The values of {@link ClaimVoting.result}. */
export const Result = { voting: Field(0), approved: Field(1), rejected: Field(2) };

/** When a claim is decided, and how. Held in one field of state. */
export class Strategy extends Struct({ requiredVotes: UInt32, requiredPositives: UInt32 }) {
  pack(): Field {
    return packed([this.requiredVotes, this.requiredPositives]);
  }

  static unpack(field: Field): Strategy {
    const strategy = Provable.witness(Strategy, () => {
      const [requiredVotes, requiredPositives] = unpacked(field, 2);
      return new Strategy({ requiredVotes: requiredVotes!, requiredPositives: requiredPositives! });
    });
    strategy.pack().assertEquals(field);
    return strategy;
  }
}

/** The votes so far. Held in one field of state. */
export class Tally extends Struct({ positives: UInt32, negatives: UInt32, ignored: UInt32 }) {
  pack(): Field {
    return packed([this.positives, this.negatives, this.ignored]);
  }

  static unpack(field: Field): Tally {
    const tally = Provable.witness(Tally, () => {
      const [positives, negatives, ignored] = unpacked(field, 3);
      return new Tally({ positives: positives!, negatives: negatives!, ignored: ignored! });
    });
    tally.pack().assertEquals(field);
    return tally;
  }

  /** With one vote more; the vote must be 1, -1 or 0. */
  add(vote: Field): Tally {
    const [positive, negative, ignored] = [vote.equals(1), vote.equals(-1), vote.equals(0)];
    positive.or(negative).or(ignored).assertTrue('a vote is 1, -1 or 0');
    return new Tally({
      positives: this.positives.add(count(positive)),
      negatives: this.negatives.add(count(negative)),
      ignored: this.ignored.add(count(ignored)),
    });
  }

  /** The result under a strategy: open until enough have voted, whatever they voted. */
  result(strategy: Strategy): Field {
    const votes = this.positives.add(this.negatives).add(this.ignored);
    return Provable.if(
      votes.greaterThanOrEqual(strategy.requiredVotes),
      Provable.if(this.positives.greaterThanOrEqual(strategy.requiredPositives), Result.approved, Result.rejected),
      Result.voting,
    );
  }
}

/** One elector's vote on a claim: 1, -1, or 0 to be counted as ignored. */
export class Ballot extends Struct({ elector: PublicKey, vote: Field }) {
  /** What the service signs to vouch for the ballot on this claim's account. */
  message(account: PublicKey, claim: Field): Field[] {
    return [...account.toFields(), claim, ...this.elector.toFields(), this.vote];
  }
}

/** Emitted once, when the account is created. */
export class ClaimCreated extends Struct({ claim: Field, electorsRoot: Field, strategy: Field }) {}

/** Emitted with each vote; enough to rebuild the tree of nullifiers. */
export class Voted extends Struct({ place: Field, nullifier: Field, vote: Field }) {}

/** What a claim's account holds, in the order of its fields of state. */
export class ClaimState extends Struct({
  claim: Field,
  electorsRoot: Field,
  nullifiersRoot: Field,
  service: PublicKey,
  strategy: Field,
  tally: Field,
  result: Field,
}) {}

/** What a claim's account starts with. */
export interface ClaimSetup {
  claim: Field;
  electorsRoot: Field;
  strategy: Strategy;
  service: PublicKey;
}

/**
 * The account that counts the votes on one claim.
 *
 * A vote is counted if the elector is in the Merkle set, has no nullifier yet,
 * the claim is undecided, and the service vouches for the ballot by its
 * signature. The contract does not see the elector's own signature: that the
 * elector wants this vote is the word of the service.
 */
export class ClaimVoting extends SmartContract {
  @state(Field) claim = State<Field>();
  @state(Field) electorsRoot = State<Field>();
  @state(Field) nullifiersRoot = State<Field>();
  @state(PublicKey) service = State<PublicKey>();
  @state(Field) strategy = State<Field>();
  @state(Field) tally = State<Field>();
  @state(Field) result = State<Field>();

  override events = { created: ClaimCreated, voted: Voted };

  /** Fails in a block if the account exists already. */
  override async deploy(args: DeployArgs & ClaimSetup): Promise<void> {
    await super.deploy(args);
    this.account.isNew.requireEquals(Bool(true));
    this.account.permissions.set(fixedContract());
    const strategy = args.strategy.pack();
    this.claim.set(args.claim);
    this.electorsRoot.set(args.electorsRoot);
    this.nullifiersRoot.set(electorTree().getRoot());
    this.service.set(args.service);
    this.strategy.set(strategy);
    this.tally.set(Field(0));
    this.result.set(Result.voting);
    this.emitEvent('created', { claim: args.claim, electorsRoot: args.electorsRoot, strategy });
  }

  /** Counts one vote. Fails in a block if another vote was counted since it was proved. */
  @method async vote(
    ballot: Ballot,
    membership: ElectorWitness,
    unused: ElectorWitness,
    approval: Signature,
  ): Promise<void> {
    const claim = this.claim.getAndRequireEquals();
    this.result.getAndRequireEquals().assertEquals(Result.voting, 'the claim is decided');

    approval
      .verify(this.service.getAndRequireEquals(), ballot.message(this.address, claim))
      .assertTrue('the service has not signed this ballot');

    const electorsRoot = this.electorsRoot.getAndRequireEquals();
    membership.calculateRoot(electorLeaf(ballot.elector)).assertEquals(electorsRoot, 'not an elector');

    const place = membership.calculateIndex();
    unused.calculateIndex().assertEquals(place);
    const nullifiersRoot = this.nullifiersRoot.getAndRequireEquals();
    unused.calculateRoot(Field(0)).assertEquals(nullifiersRoot, 'the elector has voted already');
    const nullifier = voteNullifier(claim, ballot.elector);
    this.nullifiersRoot.set(unused.calculateRoot(nullifier));

    const tally = Tally.unpack(this.tally.getAndRequireEquals()).add(ballot.vote);
    this.tally.set(tally.pack());
    this.result.set(tally.result(Strategy.unpack(this.strategy.getAndRequireEquals())));
    this.emitEvent('voted', { place, nullifier, vote: ballot.vote });
  }
}

/** Permissions of a contract whose state only proofs change and whose code and rules nobody does. */
export function fixedContract(): Permissions {
  return {
    ...Permissions.default(),
    setVerificationKey: Permissions.VerificationKey.impossibleDuringCurrentVersion(),
    setPermissions: Permissions.impossible(),
    send: Permissions.impossible(),
  };
}

function count(is: Bool): UInt32 {
  return UInt32.Unsafe.fromField(is.toField());
}

/** Numbers of 32 bits in one field, the first lowest. */
function packed(parts: UInt32[]): Field {
  return parts.reduceRight((sum, part) => sum.mul(2 ** 32).add(part.value), Field(0)).seal();
}

function unpacked(field: Field, parts: number): UInt32[] {
  const all = field.toBigInt();
  return Array.from({ length: parts }, (_, i) => UInt32.from((all >> BigInt(32 * i)) & 0xffffffffn));
}
