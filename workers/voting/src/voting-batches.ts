import {
  Bool,
  DeployArgs,
  Field,
  MerkleMap,
  MerkleMapWitness,
  method,
  PublicKey,
  Signature,
  SmartContract,
  state,
  State,
  Struct,
} from 'o1js';
import { fixedContract } from './claim-voting.js';
import { ElectorWitness } from './elector-set.js';
import { batchKey, electorLeaf } from './fields.js';

/** What one elector has signed of one batch: the commitment stands for the votes. */
export class Share extends Struct({ batch: Field, commitment: Field, sender: PublicKey }) {
  /** What the elector signs. */
  message(plan: Field): Field[] {
    return [plan, this.batch, this.commitment];
  }

  /** What the service signs who has checked a signature that a circuit cannot check. */
  vouchMessage(account: PublicKey, plan: Field): Field[] {
    return [...account.toFields(), ...this.message(plan), ...this.sender.toFields()];
  }
}

/** Emitted once, when the account is created. */
export class PlanCreated extends Struct({ plan: Field, community: Field, electorsRoot: Field }) {}

/** Emitted with each share; enough to rebuild the map of shares, and to see who has signed. */
export class ShareReceived extends Struct({ key: Field, commitment: Field, vouched: Bool }) {}

/** Emitted once, when the plan is closed. */
export class PlanCommitted extends Struct({ sharesRoot: Field, received: Field }) {}

/** What a plan's account holds, in the order of its fields of state. */
export class PlanState extends Struct({
  plan: Field,
  community: Field,
  electorsRoot: Field,
  service: PublicKey,
  sharesRoot: Field,
  received: Field,
  committed: Field,
}) {}

/** What a plan's account starts with. */
export interface PlanSetup {
  plan: Field;
  community: Field;
  electorsRoot: Field;
  service: PublicKey;
}

/**
 * The account that collects the signed votes of a plan, batch by batch: a
 * Merkle map from batch and sender to the commitment of the votes.
 *
 * A share is taken once per batch and sender, from electors only, under the
 * elector's own signature, or under the service's, which vouches for one that was
 * made by a wallet's signMessage; the event says under which. Closing the plan
 * takes the service's signature.
 */
export class VotingBatches extends SmartContract {
  @state(Field) plan = State<Field>();
  @state(Field) community = State<Field>();
  @state(Field) electorsRoot = State<Field>();
  @state(PublicKey) service = State<PublicKey>();
  @state(Field) sharesRoot = State<Field>();
  @state(Field) received = State<Field>();
  /** The root that the plan was closed with; 0 while it is open. */
  @state(Field) committed = State<Field>();

  override events = { created: PlanCreated, received: ShareReceived, committed: PlanCommitted };

  /** Fails in a block if the account exists already. */
  override async deploy(args: DeployArgs & PlanSetup): Promise<void> {
    await super.deploy(args);
    this.account.isNew.requireEquals(Bool(true));
    this.account.permissions.set(fixedContract());
    const { plan, community, electorsRoot } = args;
    this.plan.set(plan);
    this.community.set(community);
    this.electorsRoot.set(electorsRoot);
    this.service.set(args.service);
    this.sharesRoot.set(new MerkleMap().getRoot());
    this.received.set(Field(0));
    this.committed.set(Field(0));
    this.emitEvent('created', { plan, community, electorsRoot });
  }

  /** Takes in one share. Fails in a block if another came in since it was proved. */
  @method async receive(
    share: Share,
    membership: ElectorWitness,
    unused: MerkleMapWitness,
    signature: Signature,
  ): Promise<void> {
    this.committed.getAndRequireEquals().assertEquals(Field(0), 'the plan is closed');
    const plan = this.plan.getAndRequireEquals();
    const own = signature.verify(share.sender, share.message(plan));
    const vouched = signature.verify(this.service.getAndRequireEquals(), share.vouchMessage(this.address, plan));
    own.or(vouched).assertTrue('the sender has not signed this batch');
    membership
      .calculateRoot(electorLeaf(share.sender))
      .assertEquals(this.electorsRoot.getAndRequireEquals(), 'not an elector');

    const [root, key] = unused.computeRootAndKey(Field(0)) as [Field, Field];
    key.assertEquals(batchKey(share.batch, share.sender));
    root.assertEquals(this.sharesRoot.getAndRequireEquals(), 'this share has been received already');
    const [nextRoot] = unused.computeRootAndKey(share.commitment) as [Field, Field];
    this.sharesRoot.set(nextRoot);
    this.received.set(this.received.getAndRequireEquals().add(1));
    this.emitEvent('received', { key, commitment: share.commitment, vouched: own.not() });
  }

  /** Closes the plan with what it holds; nothing is received after it. */
  @method async commit(approval: Signature): Promise<void> {
    this.committed.getAndRequireEquals().assertEquals(Field(0), 'the plan is closed');
    const sharesRoot = this.sharesRoot.getAndRequireEquals();
    approval
      .verify(this.service.getAndRequireEquals(), commitMessage(this.address, sharesRoot))
      .assertTrue('the service has not signed this commit');
    this.committed.set(sharesRoot);
    this.emitEvent('committed', { sharesRoot, received: this.received.getAndRequireEquals() });
  }
}

/** What the service signs to close a plan with what it holds. */
export function commitMessage(account: PublicKey, sharesRoot: Field): Field[] {
  return [...account.toFields(), sharesRoot];
}
