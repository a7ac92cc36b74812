import Client from 'mina-signer';
import { type Field, Mina, Poseidon, type PrivateKey, type PublicKey, Scalar, Signature } from 'o1js';
import { claimField, uidField } from './fields.js';

/** One vote of a batch. */
export interface BatchVote {
  claimUid: string;
  vote: 1 | -1 | 0;
}

/** The `signedData` of RECEIVE_VOTES_BATCH as signBatch makes it: field elements as decimal strings. */
export interface SignedData {
  publicKey: string;
  /** The plan, the batch, then one element for each vote. */
  data: string[];
  signature: { field: string; scalar: string };
}

/** A vote as one element: the claim's number times four, plus 1 for -1, 2 for 0 and 3 for 1. */
export function voteElement({ claimUid, vote }: BatchVote): Field {
  return claimField(claimUid)
    .mul(4)
    .add(vote + 2);
}

/** What stands for the votes of a share on chain. */
export function voteCommitment(votes: Field[]): Field {
  return Poseidon.hash(votes);
}

/** Signs an elector's votes of one batch, as `signedData` wants it. For whoever posts batches. */
export function signBatch(
  elector: PrivateKey,
  { planUid, batchUid, votes }: { planUid: string; batchUid: string; votes: BatchVote[] },
): SignedData {
  const [plan, batch] = [uidField(planUid), uidField(batchUid)];
  const elements = votes.map(voteElement);
  const { r, s } = Signature.create(elector, [plan, batch, voteCommitment(elements)]);
  return {
    publicKey: elector.toPublicKey().toBase58(),
    data: [plan, batch, ...elements].map(String),
    signature: { field: r.toString(), scalar: s.toBigInt().toString() },
  };
}

/** The numbers of a signature in a payload. */
interface Numbers {
  field: Field;
  scalar: bigint;
}

/** The signature of a payload as o1js has it. */
export function parseSignature({ field, scalar }: Numbers): Signature {
  return Signature.fromObject({ r: field, s: Scalar.from(scalar) });
}

/**
 * Whether a wallet's signMessage has made the signature: over the bits of the
 * text, with Mina's hash from before zkApps, which no circuit can afford. Wallets
 * know mainnet and one network for all else.
 */
export function isSignedMessage(text: string, signer: PublicKey, { field, scalar }: Numbers): boolean {
  const client = new Client({ network: Mina.getNetworkId() === 'mainnet' ? 'mainnet' : 'testnet' });
  const signature = { field: field.toString(), scalar: scalar.toString() };
  return client.verifyMessage({ data: text, publicKey: signer.toBase58(), signature });
}
