import { AccountUpdate, Field, Mina, PrivateKey, type PublicKey, Signature, UInt32 } from 'o1js';
import type { Archive } from '../src/archive.js';
import { Ballot, ClaimVoting, Strategy } from '../src/claim-voting.js';
import { ElectorSet, electorTree, ElectorWitness } from '../src/elector-set.js';
import { claimField, voteNullifier } from '../src/fields.js';
import { Keys } from '../src/keys.js';

export const proofs = process.env['VOTING_TEST_PROOFS'] === 'on';
export const keys = new Keys(Buffer.alloc(32, 7));

/** Electors with keys that are the same in every run. */
export const electorKeys = Array.from({ length: 6 }, (_, i) => PrivateKey.fromBigInt(1000n + BigInt(i)));
export const electors = new ElectorSet(electorKeys.map((key) => key.toPublicKey().toBase58()));

export const CLAIM = '00112233445566778899aabbccddeeff';

export type Payer = PublicKey & { key: PrivateKey };

/** A ledger of its own; returns accounts that can pay. */
export async function startLedger(): Promise<Payer[]> {
  const ledger = await Mina.LocalBlockchain({ proofsEnabled: proofs });
  Mina.setActiveInstance(ledger);
  return ledger.testAccounts;
}

/** The past of the active local ledger, which has no archive. */
export const localArchive: Archive = {
  async events(address) {
    return (await Mina.fetchEvents(address, Field(1))).flatMap(({ events }) => events.map(({ data }) => data));
  },
};

/** Makes, proves and signs a transaction; send() takes it to the ledger. */
export async function make(payer: Payer, signers: PrivateKey[], body: () => Promise<void>) {
  const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, body);
  await tx.prove();
  return tx.sign([payer.key, ...signers]);
}

export async function run(payer: Payer, signers: PrivateKey[], body: () => Promise<void>): Promise<void> {
  await (await make(payer, signers, body)).send();
}

/** Deploys a claim under a fresh key and returns the contract with its nullifiers. */
export async function deployClaim(payer: Payer, requiredVotes: number, requiredPositives: number) {
  const key = PrivateKey.random();
  const contract = new ClaimVoting(key.toPublicKey());
  await run(payer, [key], async () => {
    AccountUpdate.fundNewAccount(payer);
    await contract.deploy({
      claim: claimField(CLAIM),
      electorsRoot: electors.root,
      strategy: new Strategy({
        requiredVotes: UInt32.from(requiredVotes),
        requiredPositives: UInt32.from(requiredPositives),
      }),
      service: keys.servicePublicKey(),
    });
  });
  return { key, contract, nullifiers: electorTree() };
}

export type Deployed = Awaited<ReturnType<typeof deployClaim>>;

/** The arguments of a good vote by the elector at a place; a test spoils one of them. */
export function voteBy({ contract, nullifiers }: Deployed, place: number, vote: number) {
  const ballot = new Ballot({ elector: electorKeys[place]!.toPublicKey(), vote: Field(vote) });
  return {
    ballot,
    membership: electors.witness(place),
    unused: new ElectorWitness(nullifiers.getWitness(BigInt(place))),
    approval: approve(contract.address, ballot),
  };
}

export type Vote = ReturnType<typeof voteBy>;

export function approve(account: PublicKey, ballot: Ballot, by = keys.service()): Signature {
  return Signature.create(by, ballot.message(account, claimField(CLAIM)));
}

export function cast({ contract }: Deployed, vote: Vote): () => Promise<void> {
  return () => contract.vote(vote.ballot, vote.membership, vote.unused, vote.approval);
}

/** Casts a good vote and marks it in the nullifiers. */
export async function castBy(payer: Payer, claim: Deployed, place: number, vote: number): Promise<void> {
  await run(payer, [], cast(claim, voteBy(claim, place, vote)));
  const elector = electorKeys[place]!.toPublicKey();
  claim.nullifiers.setLeaf(BigInt(place), voteNullifier(claimField(CLAIM), elector));
}
