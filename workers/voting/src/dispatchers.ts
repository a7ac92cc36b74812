import type { Dispatcher } from '@mina-sequencer/worker-kit';
import { createClaimVotingAccount, sendClaimVote } from './claims.js';
import { commitAllVotingBatches, createVotingBatchesAccount, receiveVotesBatch } from './plans.js';
import type { Voting } from './voting.js';

/** The five voting types, by their names. */
export function votingDispatchers(voting: Voting): Record<string, Dispatcher> {
  return {
    CREATE_CLAIM_VOTING_ACCOUNT: createClaimVotingAccount(voting),
    SEND_CLAIM_VOTE: sendClaimVote(voting),
    CREATE_VOTING_BATCHES_ACCOUNT: createVotingBatchesAccount(voting),
    RECEIVE_VOTES_BATCH: receiveVotesBatch(voting),
    COMMIT_ALL_VOTING_BATCHES: commitAllVotingBatches(voting),
  };
}
