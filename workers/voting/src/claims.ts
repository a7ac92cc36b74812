import { Retry, Unresolvable, type Dispatched, type Dispatcher } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Field, Signature, UInt32 } from 'o1js';
import { Ballot, ClaimState, ClaimVoting, Result, Strategy } from './claim-voting.js';
import { ElectorWitness } from './elector-set.js';
import { claimField } from './fields.js';
import { adoptIfMade, electorsOf, type Voting } from './voting.js';
import { findContract, lookUp, writeName } from './names.js';
import { createClaim, parse, sendVote } from './payloads.js';

/** CREATE_CLAIM_VOTING_ACCOUNT: the account that counts the votes on one claim, and its name. */
export function createClaimVotingAccount({ keys, electors }: Voting): Dispatcher {
  return {
    contracts: [ClaimVoting],
    async dispatch(txn, context): Promise<Dispatched> {
      const { claimUid, strategy } = parse(createClaim, txn.data);
      const { requiredVotes, requiredPositives } = strategy;
      if (requiredPositives > requiredVotes)
        throw new Unresolvable('data.strategy.requiredPositives: must be at most requiredVotes');

      const claim = claimField(claimUid);
      const [account, name] = [keys.account(txn.uid), keys.name('claim', claim)];
      const address = account.toPublicKey();
      const made = adoptIfMade(`claim ${claimUid}`, address, await lookUp(context, name.toPublicKey()), context);
      if (made) return made;

      AccountUpdate.fundNewAccount(context.payer, 2);
      await new ClaimVoting(address).deploy({
        claim,
        electorsRoot: electors[0]!.root,
        strategy: new Strategy({
          requiredVotes: UInt32.from(requiredVotes),
          requiredPositives: UInt32.from(requiredPositives),
        }),
        service: keys.servicePublicKey(),
      });
      writeName(name, address);
      return { data: { claimUid, strategy, accountId: address.toBase58() }, signers: [account, name] };
    },
  };
}

/** SEND_CLAIM_VOTE: one elector's vote on one claim. */
export function sendClaimVote(voting: Voting): Dispatcher {
  const { keys, history } = voting;
  return {
    contracts: [ClaimVoting],
    async dispatch(txn, context): Promise<Dispatched> {
      const { claimUid, electorAccountId: elector, vote } = parse(sendVote, txn.data);
      const claim = claimField(claimUid);
      const found = await findContract(context, keys.name('claim', claim));
      if (found === undefined)
        throw new Retry(`claim ${claimUid} has no account yet: CREATE_CLAIM_VOTING_ACCOUNT comes first`);
      const address = found.address;
      const state = ClaimState.fromFields(found.state);
      if (state.result.toBigInt() !== Result.voting.toBigInt())
        throw new Unresolvable(`claim ${claimUid} is decided: it takes no more votes`);

      const electors = electorsOf(voting, `claim ${claimUid}`, state.electorsRoot);
      const place = electors.placeOf(elector);
      if (place === undefined) throw new Unresolvable(`${elector.toBase58()} is not an elector of claim ${claimUid}`);

      const nullifiers = await history.nullifiers(address, state.nullifiersRoot, context.pendingEvents(address));
      if (nullifiers.getLeaf(BigInt(place)).toBigInt() !== 0n)
        throw new Unresolvable(`${elector.toBase58()} has voted on claim ${claimUid} already`);

      const ballot = new Ballot({ elector, vote: Field(vote) });
      await new ClaimVoting(address).vote(
        ballot,
        electors.witness(place),
        new ElectorWitness(nullifiers.getWitness(BigInt(place))),
        Signature.create(keys.service(), ballot.message(address, claim)),
      );
      return { data: { claimUid, accountId: address.toBase58() } };
    },
    maxRetries: 5,
  };
}
