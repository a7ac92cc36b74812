import { Mina, type PrivateKey, type PublicKey, TokenId, Transaction, UInt32, UInt64 } from 'o1js';
import { dummyProof } from './dummy.js';
import { asError, codes, Failure, failureOf, NotResignable, Unresolvable } from './errors.js';
import type { Payer } from './payer.js';
import type { Attempt } from './types.js';

/** A zkappCommand in JSON: signed, with its hash, or all but signed by its payer. */
export type Made = { signed: string; hash: string } | { proved: string; hash: '' };

export type Unsigned = Mina.Transaction<false, false>;
type Command = Unsigned['transaction'];
type Update = Command['accountUpdates'][number];

/** Builds the transaction that an attempt asks for. `body` makes the account updates. */
export async function build(payer: PublicKey, attempt: Attempt, body: () => Promise<void>): Promise<Unsigned> {
  const { fee, nonce, memo } = attempt;
  leaveTransaction(); // a callback may have left one open
  try {
    const tx: Unsigned = await Mina.transaction({ sender: payer, fee: UInt64.from(fee), nonce, memo }, body);
    setValidUntil(tx.transaction, attempt.validUntil);
    return tx;
  } finally {
    leaveTransaction();
  }
}

/** Gives what was built before they were known its fee, nonce and validUntil: a proof does not cover them. */
export function assign({ transaction }: Unsigned, { fee, nonce, validUntil }: Attempt): void {
  transaction.feePayer.body.fee = UInt64.from(fee);
  transaction.feePayer.body.nonce = UInt32.from(nonce);
  setValidUntil(transaction, validUntil);
}

/**
 * o1js (2.15 and 3.0) does not leave its global transaction where it fails to get the payer's
 * account. As long as one is open, no other can be built in this process.
 */
function leaveTransaction(): void {
  const open = Mina.currentTransaction;
  while (open.has()) open.leave(open.id());
}

/** What Mina would never include, or the sequencer never send. */
export function check(type: string, payer: PublicKey, { accountUpdates }: Command): void {
  if (accountUpdates.length === 0) {
    throw new Unresolvable(`the dispatcher of ${type} made no account update: call a contract, or return done`);
  }
  for (const { body } of accountUpdates) {
    const payers = body.publicKey.equals(payer).and(body.tokenId.equals(TokenId.default)); // a token has a nonce of its own
    if (payers.and(body.incrementNonce).toBoolean()) {
      throw new Unresolvable(
        `the dispatcher of ${type} spends a second nonce of the fee payer: no account update of ${payer.toBase58()} may set incrementNonce`,
      );
    }
  }
}

/** Makes the proofs. With proofs off it makes dummies, as networks without proof checks take them. */
export async function prove(type: string, tx: Unsigned, proofsEnabled: boolean): Promise<void> {
  if (proofsEnabled) {
    await tx.prove().catch((thrown: unknown) => {
      if (asError(thrown).message.includes('no prover found'))
        throw new Unresolvable(
          `the dispatcher of ${type} calls a contract that is not compiled: name it in its contracts`,
        );
      const { message, exception } = failureOf(thrown, `proving ${type}`);
      throw new Failure(codes.notSent, message, exception);
    });
    return;
  }
  await proveNothing(tx);
}

/**
 * Puts dummies where proofs are missing, for networks that do not check them; o1js itself does so only for
 * its own LocalBlockchain.
 */
export async function proveNothing(tx: Unsigned): Promise<void> {
  const proof = await dummyProof();
  for (const update of tx.transaction.accountUpdates) {
    if (update.lazyAuthorization?.kind !== 'lazy-proof') continue;
    update.lazyAuthorization = undefined;
    update.authorization = { proof };
  }
}

/** Makes the signatures that are missing, but for the payer's where its key is elsewhere. */
export async function sign(tx: Unsigned, { publicKey, key }: Payer, others: PrivateKey[]): Promise<Made> {
  if (!key) {
    leaveUnsigned(tx.transaction, publicKey);
    return { proved: signature(tx, others), hash: '' };
  }
  const signed = signature(tx, [key, ...others]);
  return { signed, hash: await hashOf(signed) };
}

export const hashOf = (signed: string): Promise<string> => Transaction.hash(signed);

/** o1js would put dummies in the place of the payer's signatures. */
function leaveUnsigned({ feePayer, accountUpdates }: Command, payer: PublicKey): void {
  feePayer.lazyAuthorization = undefined;
  feePayer.authorization = '';
  for (const update of accountUpdates) {
    const isOwn = update.body.publicKey.equals(payer).toBoolean();
    if (!isOwn || update.lazyAuthorization?.kind !== 'lazy-signature') continue;
    update.lazyAuthorization = undefined;
    update.authorization = {};
  }
}

/** The signed bytes alone. */
export function signature(tx: Unsigned, keys: PrivateKey[]): string {
  const missing = missingKeys(tx.transaction, keys);
  if (missing.length > 0) {
    // o1js would put a dummy signature in their place.
    throw new Unresolvable(`no key to sign for ${missing.join(', ')}: have the dispatcher's signers return it`);
  }
  return tx.sign(keys).toJSON();
}

/**
 * Signs a transaction of this payer again for another attempt. A proof covers
 * the account updates, not fee, nonce, validUntil or memo (Mina: the zkApp
 * statement), so proofs stay, and so do signatures that do not cover the whole
 * command.
 *
 * Only what carries this payer's own signature is signed again: nobody but the
 * dispatchers gets to say what this key signs. Throws NotResignable for anything
 * else, and where `signers` has no key for a signature. Where the payer's key is
 * elsewhere, it is for the caller to know that `signed` was made here.
 */
export async function resign(
  signed: string,
  payer: Payer,
  attempt: Attempt,
  signers: () => Promise<PrivateKey[]>,
): Promise<Made> {
  const tx = parse(signed);
  const command = tx.transaction;
  if (payer.key && !isSignedBy(signed, payer.key))
    throw new NotResignable('signed does not carry the signature of this worker');
  if (command.memo !== attempt.memo) {
    throw new NotResignable("the memo of signed is not the attempt's: it is another transaction");
  }
  assign(tx, attempt);
  command.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
  command.accountUpdates.filter(coversAll).forEach((update) => {
    update.authorization = {};
    update.lazyAuthorization = { kind: 'lazy-signature' };
  });
  if (!payer.key) leaveUnsigned(command, payer.publicKey);
  const own = payer.key ? [payer.key] : [];
  const others = missingKeys(command, own).length > 0 ? await signers() : [];
  const missing = missingKeys(command, [...own, ...others]);
  if (missing.length > 0) throw new NotResignable(`no key to sign again for ${missing.join(', ')}`);
  return sign(tx, payer, others);
}

/** Sends signed bytes; sending them again does no harm. */
export async function send(signed: string): Promise<void> {
  let errors: string[];
  try {
    const sent = await parse(signed).safeSend();
    if (sent.status === 'pending') return;
    errors = sent.errors;
  } catch (error) {
    errors = [asError(error).message];
  }
  throw new Failure(codes.sendFailed, 'the node did not take the transaction', errors.join('\n'));
}

function parse(signed: string): Mina.Transaction<false, false> {
  try {
    return Transaction.fromJSON(signed);
  } catch {
    throw new NotResignable('signed is not a zkappCommand in JSON');
  }
}

/** Signatures are deterministic: the same key makes the same one of the same command. */
function isSignedBy(signed: string, payer: PrivateKey): boolean {
  const { transaction } = parse(signed);
  if (!transaction.feePayer.body.publicKey.equals(payer.toPublicKey()).toBoolean()) return false;
  const found = transaction.feePayer.authorization;
  const again = parse(signed);
  again.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
  return again.sign([payer]).transaction.feePayer.authorization === found;
}

/** Whether an update's signature covers fee payer and memo too. */
function coversAll({ body }: Update): boolean {
  return body.authorizationKind.isSigned.toBoolean() && body.useFullCommitment.toBoolean();
}

function missingKeys({ feePayer, accountUpdates }: Command, keys: PrivateKey[]): string[] {
  const have = new Set(keys.map((key) => key.toPublicKey().toBase58()));
  const unsigned = [feePayer, ...accountUpdates].filter(
    ({ lazyAuthorization }) => lazyAuthorization?.kind === 'lazy-signature',
  );
  const needed = unsigned.map(({ body }) => body.publicKey);
  return [...new Set(needed.map((key) => key.toBase58()))].filter((key) => !have.has(key));
}

/** o1js's fee payer options have no validUntil. */
function setValidUntil({ feePayer }: Command, slot: number | null): void {
  feePayer.body.validUntil = slot === null ? undefined : UInt32.from(slot);
}
