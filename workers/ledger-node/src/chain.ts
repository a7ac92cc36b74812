import { setImmediate } from 'node:timers/promises';
import type { Command } from './command.js';
import { encodeHash, fieldOf } from './formats.js';
import type { Failure, Ledger } from './ledger.js';
import { byFee } from './pool.js';
import { networkView } from './view.js';

/** A command in a block. `failures` is empty if it took effect. */
export interface Included {
  command: Command;
  failures: Failure[];
}

/** A block. It never changes. */
export interface Block {
  hash: string;
  parent?: Block;
  height: number; // of genesis: 1
  recipe: Recipe;
  commands: Included[];
  updates: number; // account updates on the chain up to here
  ledger: Ledger; // after this block; fork it before any change
}

/** What decides about a block; everything else of it follows. */
export interface Recipe {
  slot: number; // since genesis
  time: number; // Unix milliseconds
  salt: string; // makes rivals with the same content two blocks
}

/** Blocks in a tree, and which leaf of it is the best tip. */
export class Chain {
  readonly genesis: Block;
  readonly #known = new Map<string, Block>();
  #tip: Block;

  constructor(ledger: Ledger, time: number, salt: string) {
    const hash = encodeHash('stateHash', fieldOf('genesis', String(time), salt));
    this.genesis = { hash, height: 1, recipe: { slot: 0, time, salt }, commands: [], updates: 0, ledger };
    this.#known.set(hash, this.genesis);
    this.#tip = this.genesis;
  }

  get tip(): Block {
    return this.#tip;
  }

  /** Finds a block, on forks too. */
  find(hash: string): Block | undefined {
    return this.#known.get(hash);
  }

  blocks(): Iterable<Block> {
    return this.#known.values();
  }

  /** The best chain from a block on, or the last so many blocks of it; oldest first. */
  path(most: number, tip: Block = this.#tip): Block[] {
    const path: Block[] = [];
    for (let block: Block | undefined = tip; block && path.length < most; block = block.parent) path.push(block);
    return path.reverse();
  }

  /** The ancestor so many blocks below; genesis at most. */
  below(block: Block, depth: number): Block {
    let found = block;
    for (let i = 0; i < depth && found.parent; i++) found = found.parent;
    return found;
  }

  /** Reports whether a block is on the best chain. */
  holds(block: Block): boolean {
    return this.below(this.#tip, this.#tip.height - block.height) === block;
  }

  /** Makes a block the best tip. */
  adopt(block: Block): void {
    this.#known.set(block.hash, block);
    this.#tip = block;
  }

  /**
   * Makes a block of `most` of the candidates that can be included, the best
   * paying first. Between two commands other work gets its turn.
   */
  async build(parent: Block, recipe: Recipe, candidates: Command[], most: number): Promise<Block> {
    const queues = new Map<string, Command[]>();
    for (const command of [...candidates].sort((a, b) => a.nonce - b.nonce)) {
      queues.set(command.payer, [...(queues.get(command.payer) ?? []), command]);
    }
    const ledger = parent.ledger.fork();
    const view = networkView(parent.height, parent.recipe.slot);
    const commands: Included[] = [];
    while (queues.size > 0 && commands.length < most) {
      const best = [...queues.values()].map((queue) => queue[0]!).reduce((a, b) => (byFee(a, b) > 0 ? b : a));
      const failures = include(ledger, best, recipe.slot, view);
      if (failures) commands.push({ command: best, failures });
      const rest = failures ? queues.get(best.payer)!.slice(1) : [];
      if (rest.length > 0) queues.set(best.payer, rest);
      else queues.delete(best.payer);
      await setImmediate();
    }
    return finish(parent, recipe, commands, ledger);
  }

  /** Makes a block of exactly these commands again. Throws if one cannot be included. */
  rebuild(parent: Block, recipe: Recipe, commands: Command[]): Block {
    const ledger = parent.ledger.fork();
    const view = networkView(parent.height, parent.recipe.slot);
    const included = commands.map((command) => {
      const failures = include(ledger, command, recipe.slot, view);
      if (!failures) throw new Error(`command ${command.hash} can no longer be included`);
      return { command, failures };
    });
    return finish(parent, recipe, included, ledger);
  }
}

/** Applies a command; undefined if no block in this slot can hold it. */
function include(ledger: Ledger, command: Command, slot: number, view: string): Failure[] | undefined {
  // Mina: a command without account updates is accepted, and never included.
  if (command.validUntil < slot || command.zkapp.accountUpdates.length === 0) return undefined;
  const outcome = ledger.apply(command.json, view);
  if (outcome.status === 'excluded') return undefined;
  return outcome.status === 'failed' ? outcome.failures : [];
}

function finish(parent: Block, recipe: Recipe, commands: Included[], ledger: Ledger): Block {
  const hashes = commands.map(({ command }) => command.hash);
  return {
    hash: encodeHash('stateHash', fieldOf('block', parent.hash, String(recipe.slot), recipe.salt, ...hashes)),
    parent,
    height: parent.height + 1,
    recipe,
    commands,
    updates: commands.reduce((sum, { command }) => sum + command.zkapp.accountUpdates.length, parent.updates),
    ledger,
  };
}
