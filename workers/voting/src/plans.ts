import { Retry, Unresolvable, type Context, type Dispatched, type Dispatcher } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Signature, type Field, type PublicKey } from 'o1js';
import { batchKey, uidField } from './fields.js';
import { findContract, lookUp, writeName } from './names.js';
import { commitPlan, createPlan, parse, receiveBatch } from './payloads.js';
import { isSignedMessage, parseSignature, voteCommitment } from './signed-batch.js';
import { adoptIfMade, electorsOf, type Voting } from './voting.js';
import { commitMessage, PlanState, Share, VotingBatches } from './voting-batches.js';

/** CREATE_VOTING_BATCHES_ACCOUNT: the account that collects a plan's batches, and its name. */
export function createVotingBatchesAccount({ keys, electors }: Voting): Dispatcher {
  return {
    contracts: [VotingBatches],
    async dispatch(txn, context): Promise<Dispatched> {
      const { planUid, communityUid } = parse(createPlan, txn.data);
      const plan = uidField(planUid);
      const [account, name] = [keys.account(txn.uid), keys.name('plan', plan)];
      const address = account.toPublicKey();
      const made = adoptIfMade(`plan ${planUid}`, address, await lookUp(context, name.toPublicKey()), context);
      if (made) return made;

      AccountUpdate.fundNewAccount(context.payer, 2);
      await new VotingBatches(address).deploy({
        plan,
        community: uidField(communityUid),
        electorsRoot: electors[0]!.root,
        service: keys.servicePublicKey(),
      });
      writeName(name, address);
      return { data: { planUid, communityUid, accountId: address.toBase58() }, signers: [account, name] };
    },
  };
}

/** RECEIVE_VOTES_BATCH: what one elector has signed of one batch. */
export function receiveVotesBatch(voting: Voting): Dispatcher {
  return {
    contracts: [VotingBatches],
    async dispatch(txn, context): Promise<Dispatched> {
      const { plan, share, signature } = signedShare(txn.data);
      const { address, state } = await openPlan(voting, context, `the plan of batch ${txn.data['batchUid']}`, plan);
      const electors = electorsOf(voting, 'the plan', state.electorsRoot);
      const sender = share.sender.toBase58();
      const place = electors.placeOf(share.sender);
      if (place === undefined) throw new Unresolvable(`${sender} is not an elector of the plan`);

      const shares = await voting.history.shares(address, state.sharesRoot, context.pendingEvents(address));
      const key = batchKey(share.batch, share.sender);
      if (shares.get(key).toBigInt() !== 0n)
        throw new Unresolvable(`batch ${txn.data['batchUid']} of ${sender} has been received already`);

      const approval = signature ?? Signature.create(voting.keys.service(), share.vouchMessage(address, plan));
      await new VotingBatches(address).receive(share, electors.witness(place), shares.getWitness(key), approval);
      return { data: { batchUid: txn.data['batchUid'] as string, accountId: address.toBase58() } };
    },
    // The plan's account may still be on its way, and every share that comes in
    // makes the others of the same plan stale.
    maxRetries: 20,
  };
}

/** COMMIT_ALL_VOTING_BATCHES: closes a plan with everything that it holds. */
export function commitAllVotingBatches(voting: Voting): Dispatcher {
  return {
    contracts: [VotingBatches],
    async dispatch(txn, context): Promise<Dispatched> {
      const { planUid } = parse(commitPlan, txn.data);
      const { address, state } = await openPlan(voting, context, `plan ${planUid}`, uidField(planUid));
      const message = commitMessage(address, state.sharesRoot);
      await new VotingBatches(address).commit(Signature.create(voting.keys.service(), message));
      return { data: { planUid, accountId: address.toBase58() } };
    },
    maxRetries: 20,
  };
}

/**
 * The share that a payload holds, and its sender's signature as the contract
 * takes it: undefined where the service has to vouch, for the sender has signed
 * by a wallet's signMessage. Throws Unresolvable if the sender has not signed.
 */
function signedShare(data: unknown): { plan: Field; share: Share; signature?: Signature } {
  const { batchUid, senderAccountId: sender, signedData } = parse(receiveBatch, data);
  const { plan, batch = uidField(batchUid), votes, text } = signedData.data;
  if (signedData.publicKey.toBase58() !== sender.toBase58())
    throw new Unresolvable('data.signedData.publicKey: must be the senderAccountId');
  if (batch.toBigInt() !== uidField(batchUid).toBigInt())
    throw new Unresolvable("data.signedData.data.1: must be the field of the batch's uid");

  const share = new Share({ batch, commitment: voteCommitment(votes), sender });
  const signature = parseSignature(signedData.signature);
  if (signature.verify(sender, share.message(plan)).toBoolean()) return { plan, share, signature };
  if (text !== undefined && isSignedMessage(text, sender, signedData.signature)) return { plan, share };
  throw new Unresolvable('data.signedData.signature: the sender has not signed this data');
}

/** A plan that is not closed. */
async function openPlan(
  { keys }: Voting,
  context: Context,
  subject: string,
  plan: Field,
): Promise<{ address: PublicKey; state: PlanState }> {
  const found = await findContract(context, keys.name('plan', plan));
  if (found === undefined) throw new Retry(`${subject} has no account yet: CREATE_VOTING_BATCHES_ACCOUNT comes first`);
  const state = PlanState.fromFields(found.state);
  if (state.committed.toBigInt() !== 0n)
    throw new Unresolvable(`${subject} is closed: nothing more is received or committed`);
  return { address: found.address, state };
}
