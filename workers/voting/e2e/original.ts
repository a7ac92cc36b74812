import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorker, type Dispatcher, type Txn } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Field, PrivateKey, PublicKey, Signature, UInt32 } from 'o1js';
import { networkArchive } from '../src/archive.js';
import { Ballot, ClaimState, ClaimVoting, Strategy } from '../src/claim-voting.js';
import { readConfig } from '../src/config.js';
import { ElectorWitness } from '../src/elector-set.js';
import { batchKey, claimField, uidField } from '../src/fields.js';
import { History } from '../src/history.js';
import { isSignedMessage, voteCommitment, voteElement, type BatchVote } from '../src/signed-batch.js';
import { commitMessage, PlanState, Share, VotingBatches } from '../src/voting-batches.js';

// A worker with handlers as those of the Socialcap original are written: a class
// per type, which makes a random key for each account, returns its address in
// result.data, stores it in onSuccess from txnData.data, and finds it there for
// every later transaction. Only the contracts are this package's.

type Payload = Txn['data'];

interface TxnData {
  uid: string;
  type: string;
  data: Payload;
}

interface TxnResult {
  hash: string;
  done: object;
  data?: Payload;
}

abstract class AnyDispatcher {
  signKeys: PrivateKey[] = [];

  abstract name(): string;

  maxRetries(): number {
    return 3;
  }

  abstract dispatch(txnData: TxnData, sender: { accountId: string }): Promise<TxnResult>;

  async onSuccess(_txnData: TxnData, result: TxnResult): Promise<TxnResult> {
    return result;
  }

  async onFailure(_txnData: TxnData, result: TxnResult): Promise<TxnResult> {
    return result;
  }

  /** All that is different from the original's: proving, signing and sending is done for the handler. */
  async proveAndSend(transactionFn: () => Promise<void>, signKeys: PrivateKey[]): Promise<TxnResult> {
    await transactionFn();
    this.signKeys = signKeys;
    return { hash: '', done: {} };
  }
}

const { worker: options, keys, electors } = readConfig(process.env);
const history = new History(networkArchive);
const [elector] = electors;

/** The original's tables, by what their rows are about. */
const database = join(options.store!, 'database');
mkdirSync(database, { recursive: true });
const store = (uid: string, address: unknown) => writeFileSync(join(database, uid), String(address));
const stored = (uid: string) => PublicKey.fromBase58(readFileSync(join(database, uid), 'utf8'));

class CreateClaimVotingAccount extends AnyDispatcher {
  name = () => 'CREATE_CLAIM_VOTING_ACCOUNT';

  async dispatch(txnData: TxnData, sender: { accountId: string }) {
    const { claimUid, strategy } = txnData.data as { claimUid: string; strategy: Record<string, number> };
    const zkappPrivkey = PrivateKey.random();
    const zkappPubkey = zkappPrivkey.toPublicKey();
    const result = await this.proveAndSend(async () => {
      AccountUpdate.fundNewAccount(PublicKey.fromBase58(sender.accountId));
      await new ClaimVoting(zkappPubkey).deploy({
        claim: claimField(claimUid),
        electorsRoot: elector!.root,
        strategy: new Strategy({
          requiredVotes: UInt32.from(strategy['requiredVotes']!),
          requiredPositives: UInt32.from(strategy['requiredPositives']!),
        }),
        service: keys.servicePublicKey(),
      });
    }, [zkappPrivkey]);
    result.data = { claimUid, strategy, claimAddress: zkappPubkey.toBase58() };
    return result;
  }

  override async onSuccess(txnData: TxnData, result: TxnResult) {
    const { claimUid, claimAddress } = txnData.data;
    store(claimUid as string, claimAddress);
    return result;
  }
}

class SendClaimVote extends AnyDispatcher {
  name = () => 'SEND_CLAIM_VOTE';

  async dispatch(txnData: TxnData) {
    const { claimUid, electorAccountId, vote } = txnData.data as Record<string, string>;
    const address = stored(claimUid!);
    const zkApp = new ClaimVoting(address);
    const state = ClaimState.fromFields((await fetchState(address))!);
    const nullifiers = await history.nullifiers(address, state.nullifiersRoot);
    const ballot = new Ballot({ elector: PublicKey.fromBase58(electorAccountId!), vote: Field(Number(vote)) });
    const place = elector!.placeOf(ballot.elector)!;
    const result = await this.proveAndSend(
      () =>
        zkApp.vote(
          ballot,
          elector!.witness(place),
          new ElectorWitness(nullifiers.getWitness(BigInt(place))),
          Signature.create(keys.service(), ballot.message(address, state.claim)),
        ),
      [],
    );
    result.data = { claimUid, claimAddress: address.toBase58() };
    return result;
  }
}

class CreateVotingBatchesAccount extends AnyDispatcher {
  name = () => 'CREATE_VOTING_BATCHES_ACCOUNT';

  async dispatch(txnData: TxnData, sender: { accountId: string }) {
    const { planUid, communityUid } = txnData.data as Record<string, string>;
    const zkappPrivkey = PrivateKey.random();
    const zkappPubkey = zkappPrivkey.toPublicKey();
    const result = await this.proveAndSend(async () => {
      AccountUpdate.fundNewAccount(PublicKey.fromBase58(sender.accountId));
      await new VotingBatches(zkappPubkey).deploy({
        plan: uidField(planUid!),
        community: uidField(communityUid!),
        electorsRoot: elector!.root,
        service: keys.servicePublicKey(),
      });
    }, [zkappPrivkey]);
    result.data = { planUid, planAddress: zkappPubkey.toBase58() };
    return result;
  }

  override async onSuccess(txnData: TxnData, result: TxnResult) {
    const { planUid, planAddress } = txnData.data;
    store(planUid as string, planAddress);
    return result;
  }
}

class ReceiveVotesBatch extends AnyDispatcher {
  name = () => 'RECEIVE_VOTES_BATCH';

  async dispatch(txnData: TxnData) {
    const { batchUid, senderAccountId, signedData } = txnData.data as Record<string, string> & {
      signedData: { data: string; signature: { field: string; scalar: string } };
    };
    const votes = JSON.parse(signedData.data) as { claimUid: string; planUid: string; result: string }[];
    const sender = PublicKey.fromBase58(senderAccountId!);
    const { field, scalar } = signedData.signature;
    if (!isSignedMessage(signedData.data, sender, { field: Field(field), scalar: BigInt(scalar) }))
      throw new Error('not signed by the sender');
    const { planUid } = votes[0]!;
    const address = stored(planUid);
    const { sharesRoot } = PlanState.fromFields((await fetchState(address))!);
    const cast = votes.map(({ claimUid, result }) => ({ claimUid, vote: Number(result) }) as BatchVote);
    const share = new Share({
      batch: uidField(batchUid!),
      commitment: voteCommitment(cast.map(voteElement)),
      sender,
    });
    const shares = await history.shares(address, sharesRoot);
    return this.proveAndSend(
      () =>
        new VotingBatches(address).receive(
          share,
          elector!.witness(elector!.placeOf(sender)!),
          shares.getWitness(batchKey(share.batch, sender)),
          Signature.create(keys.service(), share.vouchMessage(address, uidField(planUid))),
        ),
      [],
    );
  }
}

class CommitAllVotingBatches extends AnyDispatcher {
  name = () => 'COMMIT_ALL_VOTING_BATCHES';

  async dispatch(txnData: TxnData) {
    const address = stored(txnData.data['planUid'] as string);
    const { sharesRoot } = PlanState.fromFields((await fetchState(address))!);
    const approval = Signature.create(keys.service(), commitMessage(address, sharesRoot));
    return this.proveAndSend(() => new VotingBatches(address).commit(approval), []);
  }
}

let fetchState: (address: PublicKey) => Promise<Field[] | undefined>;

/** A handler as the kit takes it. */
function moved(handler: AnyDispatcher): Dispatcher {
  return {
    contracts: [ClaimVoting, VotingBatches],
    maxRetries: handler.maxRetries(),
    async dispatch(txn, context) {
      fetchState = async (address) => (await context.fetchAccount(address))?.zkapp?.appState;
      const { data } = await handler.dispatch(txn, { accountId: context.payer.toBase58() });
      return { ...(data && { data }), signers: handler.signKeys };
    },
    async onSuccess(txn, { hash, data }) {
      await handler.onSuccess(txn, { hash, done: {}, ...(data && { data }) });
    },
    async onFailure(txn, { hash, data }) {
      await handler.onFailure(txn, { hash, done: {}, ...(data && { data }) });
    },
  };
}

const handlers = [
  new CreateClaimVotingAccount(),
  new SendClaimVote(),
  new CreateVotingBatchesAccount(),
  new ReceiveVotesBatch(),
  new CommitAllVotingBatches(),
];
const dispatchers = Object.fromEntries(handlers.map((handler) => [handler.name(), moved(handler)]));
const worker = await createWorker({ ...options, dispatchers });
await worker.listen();
