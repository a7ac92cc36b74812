import type { components, operations } from './schema.js';

type Schemas = components['schemas'];

export type Transaction = Schemas['Transaction'];
/** What posting a transaction would come to. */
export type Trial = Schemas['Trial'];
/** What a transaction would do, by the accounts as they are, or as what is in flight of its queue leaves them. */
export type Simulation = Schemas['Simulation'];
export type Attempt = Schemas['Attempt'];
export type State = Schemas['State'];
export type Explanation = Schemas['Explanation'];
/** A batch for a ledger, in Hyperledger Grid's words. */
export type LedgerBatch = Schemas['LedgerBatch'];
export type Queue = Schemas['Queue'];
export type Sender = Schemas['Sender'];
export type Fees = Schemas['Fees'];
export type History = Schemas['History'];
export type Webhook = Schemas['Webhook'];
export type WebhookWithSecret = Schemas['WebhookWithSecret'];
export type NewWebhook = Schemas['NewWebhook'];
/** What of an endpoint is to be otherwise; what is left out stays as it is, null chooses everything. */
export type WebhookEdit = Schemas['WebhookEdit'];
export type WebhookDelivery = Schemas['WebhookDelivery'];
/** What a webhook endpoint gets. */
export type WebhookEvent = Schemas['WebhookEvent'];
export type Parked = Schemas['Parked'];
export type Resolution = Schemas['Resolution'];
/** What came of one item of a batch, by the uid that it was posted with. */
export type BatchResult = Schemas['BatchResult'] & { uid: string };
export type TransactionFilter = Omit<
  NonNullable<operations['listTransactions']['parameters']['query']>,
  'limit' | 'cursor'
>;
export type QueueChoice = Omit<NonNullable<operations['listQueues']['parameters']['query']>, 'limit' | 'cursor'>;
export type SenderChoice = Omit<NonNullable<operations['listSenders']['parameters']['query']>, 'limit' | 'cursor'>;

/** The data that each built-in type takes. */
export interface Payloads {
  CREATE_CLAIM_VOTING_ACCOUNT: Schemas['CreateClaimVotingAccount'];
  SEND_CLAIM_VOTE: Schemas['SendClaimVote'];
  CREATE_VOTING_BATCHES_ACCOUNT: Schemas['CreateVotingBatchesAccount'];
  RECEIVE_VOTES_BATCH: Schemas['ReceiveVotesBatch'];
  COMMIT_ALL_VOTING_BATCHES: Schemas['CommitAllVotingBatches'];
  /** Another name for the type above, which the transaction then has. */
  COMMIT_ALL_BATCHES: Schemas['CommitAllVotingBatches'];
}

/** Built-in types have their own data; that of other types is the worker's business. */
export type DataOf<T extends string> = T extends keyof Payloads ? Payloads[T] : Record<string, unknown>;

export interface NewTransaction<T extends string = string> {
  queue: string;
  type: T;
  data: DataOf<T>;
  /** Chosen so that the post can be repeated, also by another program; else one is made up. */
  uid?: string;
  /** It is not dispatched before, RFC 3339. What stands behind it in its queue waits, too. */
  notBefore?: string;
  /** Its deadline, RFC 3339: it lands before, or never. */
  expiresAt?: string;
  /** The most that an attempt of it may pay, in nanomina. */
  maxFee?: string;
}

/** A post of any built-in type. */
export type AnyNewTransaction = { [T in keyof Payloads]: NewTransaction<T> }[keyof Payloads];
