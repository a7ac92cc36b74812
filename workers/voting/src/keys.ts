import { createHmac } from 'node:crypto';
import { type Field, PrivateKey, type PublicKey } from 'o1js';

/** Shorter secrets are refused: whoever guesses it owns every account. */
export const MIN_SECRET_BYTES = 32;

/**
 * The keys of everything that the workers create, derived from one secret that
 * all of them share, so that any worker finds them again and nothing is stored.
 *
 * One secret serves one namespace of the sequencer on one network: the same uid
 * gives the same key.
 */
export class Keys {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    if (secret.length < MIN_SECRET_BYTES)
      throw new Error(`the secret must have at least ${MIN_SECRET_BYTES} bytes, it has ${secret.length}`);
    this.#secret = secret;
  }

  /** Of the account that the transaction with this uid creates; again the same for a retry. */
  account(uid: string): PrivateKey {
    return this.#derive(uid);
  }

  /** Of the account that says where the account of a claim or plan is. */
  name(kind: 'claim' | 'plan', subject: Field): PrivateKey {
    return this.#derive(`\0name ${kind} ${subject.toString()}`);
  }

  /** The key by which the service vouches for ballots and closes plans. */
  service(): PrivateKey {
    return this.#derive('\0service');
  }

  servicePublicKey(): PublicKey {
    return this.service().toPublicKey();
  }

  // No uid has a NUL, so the two kinds of text never meet. 254 bits are always
  // below the order of the Pallas scalars, which is a little above 2^254.
  #derive(text: string): PrivateKey {
    const digest = createHmac('sha256', this.#secret).update(text, 'utf8').digest('hex');
    return PrivateKey.fromBigInt(BigInt(`0x${digest}`) & ((1n << 254n) - 1n));
  }
}
