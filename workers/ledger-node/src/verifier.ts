import { Field, Mina, VerificationKey, verify } from 'o1js';
import { accountId, type Command } from './command.js';
import type { Ledger } from './ledger.js';
import { Refusal } from './refusal.js';
import { networkView } from './view.js';

/** Verification keys by hash. */
export type Keys = Map<string, string>;

/** Finds the keys that an account has or is about to have. */
export type KeysOf = (publicKey: string, token: string) => Keys;

/** Checks what a command says against its signatures and proofs. */
export class Verifier {
  readonly #empty: Ledger;
  readonly #proofs: boolean;

  /** With `proofs` false, whatever stands for a proof is taken for one. */
  constructor(empty: Ledger, proofs: boolean) {
    this.#empty = empty;
    this.#proofs = proofs;
  }

  /** Throws a Refusal for the first thing wrong. One proof takes about a second. */
  async check(command: Command, keysOf: KeysOf): Promise<void> {
    this.#checkKinds(command);
    this.#checkSignatures(command);
    if (this.#proofs) await this.#checkProofs(command, keysOf);
  }

  #checkKinds({ zkapp }: Command): void {
    for (const { body, authorization } of zkapp.accountUpdates) {
      const kind = body.authorizationKind;
      if (kind.isProved !== (authorization.proof !== null) || kind.isSigned !== (authorization.signature !== null)) {
        throw Refusal.invalid('Mismatched_authorization_kind', body.publicKey);
      }
    }
  }

  // Applying checks all signatures before it looks for the fee payer, so a
  // ledger without accounts checks nothing else.
  #checkSignatures({ json }: Command): void {
    const outcome = this.#empty.fork().apply(json, networkView(0, 0));
    if (outcome.status !== 'excluded') return;
    const [, fault, key] = /^Check signature: Invalid (signature|key) on .*?(B62\w+)$/.exec(outcome.reason) ?? [];
    if (fault === 'signature' && key) throw Refusal.invalid('Invalid_signature', key);
    if (fault === 'key' && key) throw Refusal.invalid('Invalid_keys', key);
    if (!outcome.reason.startsWith('(')) throw new Error(`Could not decode zkappCommand: ${outcome.reason}`);
  }

  async #checkProofs({ json, zkapp }: Command, keysOf: KeysOf): Promise<void> {
    const { transaction } = Mina.Transaction.fromJSON(json);
    const set = new Map<string, Keys>(); // by earlier updates of this command
    for (const [i, { body, authorization }] of zkapp.accountUpdates.entries()) {
      const id = accountId(body.publicKey, body.tokenId);
      const keys = new Map([...keysOf(body.publicKey, body.tokenId), ...(set.get(id) ?? [])]);
      if (authorization.proof !== null) {
        if (keys.size === 0) throw Refusal.invalid('Missing_verification_key', body.publicKey);
        const key = keys.get(body.authorizationKind.verificationKeyHash);
        if (!key) throw Refusal.invalid('Unexpected_verification_key', body.publicKey);
        const update = transaction.accountUpdates[i]!;
        const input = update.toPublicInput(transaction);
        if (!(await isValid(authorization.proof, [input.accountUpdate, input.calls], key))) {
          throw new Refusal('(invalid (Invalid_proof "In progress"))');
        }
      }
      const key = body.update.verificationKey;
      if (key) {
        await checkKey(body.publicKey, key);
        set.set(id, new Map([[key.hash, key.data]]));
      }
    }
  }
}

async function checkKey(publicKey: string, { data, hash }: { data: string; hash: string }): Promise<void> {
  const valid = await VerificationKey.checkValidity(new VerificationKey({ data, hash: Field(hash) })).catch(
    () => false,
  );
  if (!valid) throw Refusal.invalid('Unexpected_verification_key', publicKey);
}

async function isValid(proof: string, input: Field[], key: string): Promise<boolean> {
  const statement = { proof, maxProofsVerified: 2 as const, publicInput: input.map(String), publicOutput: [] };
  try {
    return await verify(statement, key);
  } catch {
    return false; // a proof that cannot be read
  }
}
