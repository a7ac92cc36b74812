/**
 * Why the node does not take a command. The text is what the daemon puts after
 * "Couldn't send zkApp command: ", in the daemon's own words.
 */
export class Refusal extends Error {
  override name = 'Refusal';

  /** A refusal by the pool, which the daemon writes as a list of one word. */
  static pool(word: PoolReason): Refusal {
    return new Refusal(JSON.stringify([word]));
  }

  /** A refusal by the verifier, for the accounts named. */
  static invalid(what: string, ...keys: string[]): Refusal {
    return new Refusal(`(invalid ${JSON.stringify(`${what}: [${keys.join(',')}]`)})`);
  }
}

/** The pool's words. Mina: `Diff_error` of transaction_pool.ml. */
export type PoolReason =
  | 'Invalid_nonce'
  | 'Insufficient_replace_fee'
  | 'Insufficient_funds'
  | 'Expired'
  | 'Fee_payer_account_not_found'
  | 'Fee_payer_not_permitted_to_send'
  | 'Overflow'
  | 'Overloaded';
