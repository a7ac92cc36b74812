import { Encoding, Field, Poseidon, type PublicKey } from 'o1js';

/**
 * Field of a plan, batch or community uid: the Poseidon hash of its text, so
 * that 64 characters fit one field of state.
 */
export function uidField(uid: string): Field {
  return Poseidon.hash(Encoding.stringToFields(uid));
}

/** Field of a claim's uid: its 32 hexadecimal digits as a number of 128 bits. */
export function claimField(claimUid: string): Field {
  return Field(BigInt(`0x${claimUid}`));
}

/** What marks an elector's place in the Merkle set. */
export function electorLeaf(elector: PublicKey): Field {
  return Poseidon.hash(elector.toFields());
}

/** What marks that this elector has voted on this claim. */
export function voteNullifier(claim: Field, elector: PublicKey): Field {
  return Poseidon.hash([claim, ...elector.toFields()]);
}

/** Where a sender's share of a batch is kept: one place per batch and sender. */
export function batchKey(batch: Field, sender: PublicKey): Field {
  return Poseidon.hash([batch, ...sender.toFields()]);
}
