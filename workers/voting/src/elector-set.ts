import { type Field, MerkleTree, MerkleWitness, Poseidon, PublicKey } from 'o1js';
import { electorLeaf } from './fields.js';

const HEIGHT = 17;

/** The most electors that one set holds. */
export const MAX_ELECTORS = 2 ** (HEIGHT - 1);

/** The way from an elector's place to the root of its set. */
export class ElectorWitness extends MerkleWitness(HEIGHT) {}

/**
 * A tree with as many places as an elector set. Each node is hashed once, where
 * setting leaf by leaf would hash the whole way to the root for each.
 */
export function electorTree(leaves: [place: bigint, leaf: Field][] = []): MerkleTree {
  const tree = new MerkleTree(HEIGHT);
  let nodes = leaves;
  for (let level = 0; nodes.length > 0 && level < HEIGHT; level++) {
    tree.nodes[level] = Object.fromEntries<Field>(nodes.map(([index, node]) => [String(index), node]));
    const parents = new Set(nodes.map(([index]) => index / 2n));
    nodes = [...parents].map((index) => [
      index,
      Poseidon.hash([tree.getNode(level, index * 2n), tree.getNode(level, index * 2n + 1n)]),
    ]);
  }
  return tree;
}

/**
 * The electors of a community, each at its place in a Merkle tree. The order
 * matters: a claim knows its electors by the root alone.
 */
export class ElectorSet {
  readonly root: Field;
  readonly #tree: MerkleTree;
  readonly #places = new Map<string, number>();

  /** Throws if there is none, too many, or one of them twice or not a public key. */
  constructor(electors: readonly string[]) {
    if (electors.length === 0 || electors.length > MAX_ELECTORS)
      throw new Error(`an elector set has 1 to ${MAX_ELECTORS} electors, this one ${electors.length}`);
    electors.forEach((elector, place) => {
      if (this.#places.has(elector)) throw new Error(`elector ${elector} is listed twice`);
      this.#places.set(elector, place);
    });
    this.#tree = electorTree(electors.map((elector, place) => [BigInt(place), electorLeaf(parseKey(elector))]));
    this.root = this.#tree.getRoot();
  }

  /** The elector's place, undefined if it is none of this set. */
  placeOf(elector: PublicKey): number | undefined {
    return this.#places.get(elector.toBase58());
  }

  witness(place: number): ElectorWitness {
    return new ElectorWitness(this.#tree.getWitness(BigInt(place)));
  }
}

function parseKey(text: string): PublicKey {
  try {
    return PublicKey.fromBase58(text);
  } catch {
    throw new Error(`elector ${JSON.stringify(text)} is not a public key (B62…)`);
  }
}
