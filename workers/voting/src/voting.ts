import { Retry, Unresolvable, type Context, type Dispatched } from '@mina-sequencer/worker-kit';
import type { Field, PublicKey } from 'o1js';
import type { ElectorSet } from './elector-set.js';
import type { History } from './history.js';
import type { Keys } from './keys.js';

/** What the voting types share. */
export interface Voting {
  keys: Keys;
  /** New accounts get the first; the others serve accounts that were created with them. */
  electors: ElectorSet[];
  history: History;
}

/** The set that an account was created with; throws Retry if this worker does not have it. */
export function electorsOf({ electors }: Voting, subject: string, root: Field): ElectorSet {
  const set = electors.find((each) => each.root.toBigInt() === root.toBigInt());
  if (set !== undefined) return set;
  throw new Retry(
    `${subject} was created with other electors than this worker knows: add their file to VOTING_ELECTORS_FILES`,
  );
}

/**
 * What a creation ends with if the name is written already. By this very
 * transaction: the sequencer finds the earlier attempt, or, if it knows of none,
 * the transaction is done. By another one: this can never succeed.
 */
export function adoptIfMade(
  subject: string,
  address: PublicKey,
  named: PublicKey | undefined,
  { attempt }: Context,
): Dispatched | undefined {
  if (named === undefined) return undefined;
  const accountId = named.toBase58();
  if (accountId !== address.toBase58())
    throw new Unresolvable(`${subject} has an account already, ${accountId}, by another transaction`);
  if (attempt !== undefined && attempt.previous.length > 0)
    throw new Retry(`${subject} has got its account ${accountId} by an earlier attempt of this transaction`);
  return { done: { accountId } };
}
