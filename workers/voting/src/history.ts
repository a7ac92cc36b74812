import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Field, MerkleMap, type MerkleTree, type PublicKey } from 'o1js';
import { Retry } from '@mina-sequencer/worker-kit';
import type { Archive, EmittedEvent } from './archive.js';
import { electorTree } from './elector-set.js';

// o1js numbers the events of a contract by the order of their names.
const CLAIM_EVENTS = { created: '0', voted: '1' };
const PLAN_EVENTS = { committed: '0', created: '1', received: '2' };

/** How many trees are remembered; each belongs to one account. */
const REMEMBERED = 100;

/** What a contract's root was built from. */
interface Tree {
  getRoot(): Field;
}

/**
 * The Merkle trees behind the roots in the contracts' states. They are built
 * from the events that the archive has, and remembered only to save the work:
 * nothing is written anywhere, so nothing can be lost.
 */
export class History {
  readonly #archive: Archive;
  readonly #patience: number;
  readonly #trees = new Map<string, Tree>();

  /** Waits up to patience milliseconds for an archive that is behind the node. */
  constructor(archive: Archive, patience = 20_000) {
    this.#archive = archive;
    this.#patience = patience;
  }

  /**
   * The nullifiers of a claim, by the electors' places, with those of events that are still
   * pending. Throws Retry if the archive does not have all others.
   */
  nullifiers(claim: PublicKey, root: Field, pending: EmittedEvent[] = []): Promise<MerkleTree> {
    return this.#build<MerkleTree>(claim, root, async () => {
      const events = await this.#events(claim, CLAIM_EVENTS.created, pending);
      const votes = events.filter(([kind]) => kind === CLAIM_EVENTS.voted);
      return electorTree(votes.map(([, place, nullifier]) => [BigInt(place!), Field(nullifier!)]));
    });
  }

  /** The shares of a plan, by batch and sender; otherwise as nullifiers. */
  shares(plan: PublicKey, root: Field, pending: EmittedEvent[] = []): Promise<MerkleMap> {
    return this.#build<MerkleMap>(plan, root, async (map = new MerkleMap()) => {
      for (const [kind, key, commitment] of await this.#events(plan, PLAN_EVENTS.created, pending)) {
        if (kind !== PLAN_EVENTS.received || map.get(Field(key!)).toString() === commitment) continue;
        map.set(Field(key!), Field(commitment!));
        // Each takes 255 hashes: let the worker answer others in between.
        await nextTurn();
      }
      return map;
    });
  }

  /** What is pending comes again where the archive has it already, and changes nothing then. */
  async #events(account: PublicKey, first: string, pending: EmittedEvent[]): Promise<EmittedEvent[]> {
    if (pending.some(([kind]) => kind === first)) return pending;
    return [...(await this.#archive.events(account, ([kind]) => kind === first)), ...pending];
  }

  /** grow gets the tree of last time, if there is one that events may only have been added to. */
  async #build<T extends Tree>(account: PublicKey, root: Field, grow: (last?: T) => Promise<T>): Promise<T> {
    const key = account.toBase58();
    const until = Date.now() + this.#patience;
    const fits = (tree: T) => tree.getRoot().toBigInt() === root.toBigInt();
    for (;;) {
      const last = this.#trees.get(key) as T | undefined;
      const tree = last && fits(last) ? last : await grow(last);
      this.#trees.delete(key);
      if (fits(tree)) {
        this.#remember(key, tree);
        return tree;
      }
      // A reorg may have taken back what the last tree had: from nothing, then.
      if (last) continue;
      if (Date.now() >= until)
        throw new Retry(`the archive does not have all events of ${key} that the node's ledger knows of`);
      await sleep(1_000);
    }
  }

  #remember(key: string, tree: Tree): void {
    this.#trees.set(key, tree);
    if (this.#trees.size > REMEMBERED) this.#trees.delete(this.#trees.keys().next().value!);
  }
}
