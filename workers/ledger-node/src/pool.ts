import type { Command } from './command.js';
import { Refusal } from './refusal.js';

/** What the pool needs to know of a fee payer at the best tip. */
export interface Payer {
  nonce: number;
  liquid: bigint; // nanomina that are not locked
  maySend: boolean;
}

/** Mina: `replace_fee` of indexed_pool.ml, in nanomina. */
const REPLACE_FEE = 1n;

/** Mina: `pool_max_size`. */
const MAX_SIZE = 3000;

/**
 * The transaction pool: for each payer a queue without gaps, whose first nonce
 * is the account's at the best tip, and whose fees the account can pay.
 * It knows the ledger only through what it is told.
 */
export class Pool {
  readonly #queues = new Map<string, Command[]>();
  readonly #byHash = new Map<string, Command>();

  get size(): number {
    return this.#byHash.size;
  }

  find(hash: string): Command | undefined {
    return this.#byHash.get(hash);
  }

  /** The commands of a payer, or of all payers, in the order of their nonces. */
  list(payer?: string): Command[] {
    if (payer !== undefined) return [...(this.#queues.get(payer) ?? [])];
    return [...this.#queues.keys()].sort().flatMap((key) => this.#queues.get(key) ?? []);
  }

  /** Takes a command in, or throws a Refusal. One that is already there is taken again. */
  add(command: Command, payer: Payer | undefined, slot: number): void {
    if (this.#byHash.has(command.hash)) return;
    if (command.validUntil < slot) throw Refusal.pool('Expired');
    if (!payer) throw Refusal.pool('Fee_payer_account_not_found');
    if (!payer.maySend) throw Refusal.pool('Fee_payer_not_permitted_to_send');
    const queue = this.list(command.payer);
    const place = command.nonce - payer.nonce;
    if (place < 0 || place > queue.length) throw Refusal.pool('Invalid_nonce');
    if (place < queue.length) return this.#replace(command, queue, place, payer);
    if (total(queue) + command.fee > payer.liquid) throw Refusal.pool('Insufficient_funds');
    this.#set(command.payer, [...queue, command]);
    this.#shrink(command);
  }

  // Successors that can no longer be paid are dropped, and the raise must
  // make up for their fees too.
  #replace(command: Command, queue: Command[], place: number, payer: Payer): void {
    let raise = command.fee - queue[place]!.fee;
    if (raise < REPLACE_FEE) throw Refusal.pool('Insufficient_replace_fee');
    const next = [...queue.slice(0, place), command];
    let cost = total(next);
    if (cost > payer.liquid) throw Refusal.pool('Insufficient_funds');
    for (const later of queue.slice(place + 1)) {
      const kept = next.at(-1)!.nonce + 1 === later.nonce && cost + later.fee <= payer.liquid;
      if (kept) {
        next.push(later);
        cost += later.fee;
      } else if ((raise -= later.fee) < REPLACE_FEE) throw Refusal.pool('Insufficient_replace_fee');
    }
    this.#set(command.payer, next);
  }

  // Mina: evicted by its own arrival, a command is refused without a reason.
  #shrink(arrival: Command): void {
    while (this.size > MAX_SIZE) {
      const worst = [...this.#byHash.values()].reduce((a, b) => (byFee(a, b) > 0 ? a : b));
      this.drop(worst.hash);
    }
    if (!this.#byHash.has(arrival.hash)) throw new Refusal('');
  }

  /** Takes a command out, with all that depend on it. */
  drop(hash: string): boolean {
    const command = this.#byHash.get(hash);
    if (!command) return false;
    const queue = this.list(command.payer);
    this.#set(command.payer, queue.slice(0, queue.indexOf(command)));
    return true;
  }

  clear(): void {
    this.#queues.clear();
    this.#byHash.clear();
  }

  /** Puts commands of abandoned blocks, oldest first, back before what is pooled. Revalidate afterwards. */
  restore(commands: Command[]): void {
    for (const [payer, front] of groupByPayer(commands)) {
      const last = front.at(-1)!.nonce;
      this.#set(payer, [...front, ...this.list(payer).filter(({ nonce }) => nonce > last)]);
    }
  }

  /**
   * Makes all queues fit the best tip again: what the nonce has passed goes;
   * a queue that no longer starts at the nonce goes; what has expired or cannot
   * be paid goes, with all that depend on it.
   */
  revalidate(payerOf: (publicKey: string) => Payer | undefined, slot: number): void {
    for (const [key, queue] of [...this.#queues]) {
      const payer = payerOf(key);
      const kept: Command[] = [];
      let cost = 0n;
      for (const command of payer?.maySend ? queue.filter(({ nonce }) => nonce >= payer.nonce) : []) {
        cost += command.fee;
        if (command.nonce !== payer!.nonce + kept.length || command.validUntil < slot || cost > payer!.liquid) break;
        kept.push(command);
      }
      if (kept.length !== queue.length) this.#set(key, kept);
    }
  }

  #set(payer: string, queue: Command[]): void {
    for (const { hash } of this.#queues.get(payer) ?? []) this.#byHash.delete(hash);
    for (const command of queue) this.#byHash.set(command.hash, command);
    if (queue.length === 0) this.#queues.delete(payer);
    else this.#queues.set(payer, queue);
  }
}

function groupByPayer(commands: Command[]): Map<string, Command[]> {
  const groups = new Map<string, Command[]>();
  for (const command of commands) groups.set(command.payer, [...(groups.get(command.payer) ?? []), command]);
  return groups;
}

function total(queue: Command[]): bigint {
  return queue.reduce((sum, { fee }) => sum + fee, 0n);
}

/** Orders by fee per weight, best first, then by hash. */
export function byFee(a: Command, b: Command): number {
  const difference = b.fee * a.weight - a.fee * b.weight;
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  return a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0;
}
