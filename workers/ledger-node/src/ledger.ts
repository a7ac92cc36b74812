import { Field, Ledger as Binding, PublicKey, TokenId, initializeBindings, type Types } from 'o1js';
import { MINA_TOKEN } from './formats.js';

/** An account as the ledger has it: fields are decimal, keys and tokens base58. */
export type Account = Types.Json.Account;

/** Why one part of a command failed; index 0 is the fee payer, i the i-th account update. */
export interface Failure {
  index: number;
  failures: string[];
}

/**
 * What became of a command.
 * - `applied`: all of it took effect.
 * - `failed`: it spends fee and nonce and has no other effect.
 * - `excluded`: no block can hold it; the ledger is as before.
 */
export type Outcome =
  { status: 'applied' } | { status: 'failed'; failures: Failure[] } | { status: 'excluded'; reason: string };

/** Nanomina that a new account costs. Mina: `account_creation_fee`. */
export const CREATION_FEE = 1_000_000_000n;

// The binding keeps its accounts in an OCaml `ref` of an immutable record, and
// js_of_ocaml makes a ref an array. Copying the array therefore copies the whole
// ledger, at no cost; the copies share what they have in common.
type Reference = { value: unknown[] };

const ANY_KEY = 'B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg';

/** Mina's own transaction logic over accounts held in memory. */
export class Ledger {
  readonly #binding: Binding;

  private constructor(binding: Binding) {
    this.#binding = binding;
  }

  /** Makes an empty ledger. Throws if this release of o1js has a ledger that cannot be copied. */
  static async create(): Promise<Ledger> {
    await initializeBindings();
    const ledger = new Ledger(Binding.create());
    const copy = ledger.fork();
    copy.addAccount(ANY_KEY, 1n);
    if (ledger.account(ANY_KEY) || !copy.account(ANY_KEY)) {
      throw new Error('This release of o1js keeps its ledger in another form, and the ledger node cannot copy it.');
    }
    return ledger;
  }

  /** Copies the ledger. Neither sees what later happens to the other. */
  fork(): Ledger {
    const copy = Binding.create();
    (copy as unknown as Reference).value = [...(this.#binding as unknown as Reference).value];
    return new Ledger(copy);
  }

  /** Adds an account that does not exist yet. */
  addAccount(publicKey: string, balance: bigint): void {
    this.#binding.addAccount(toMl(publicKey), balance.toString());
  }

  account(publicKey: string, token: string = MINA_TOKEN): Account | undefined {
    const tokenId = TokenId.fromBase58(token) as unknown as { value: [number, never] };
    return this.#binding.getAccount(toMl(publicKey), tokenId.value[1]);
  }

  /**
   * Applies a signed zkApp command, given as JSON, under a view of the chain
   * made by `networkView`. Signatures are checked, proofs are not.
   */
  apply(command: string, view: string): Outcome {
    try {
      this.#binding.applyJsonTransaction(command, CREATION_FEE.toString(), view);
      return { status: 'applied' };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const failures = readFailures(reason);
      // A fee payer's part that fails has changed nothing.
      return failures ? { status: 'failed', failures } : { status: 'excluded', reason };
    }
  }
}

function toMl(publicKey: string): never {
  const { x, isOdd } = PublicKey.fromBase58(publicKey);
  const field = Field(x) as unknown as { value: [number, unknown] };
  return [0, field.value[1], Number(isOdd.toBoolean())] as never;
}

/**
 * Reads the failures that the transaction logic reports, a list for each part
 * of the command. Returns undefined if the text is something else, that is, if
 * the fee payer's part failed and nothing was applied.
 */
export function readFailures(text: string): Failure[] | undefined {
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(table) || !table.every(Array.isArray)) return undefined;
  return (table as unknown[][][])
    .map((part, index) => ({ index, failures: part.map(nameOf) }))
    .filter((part) => part.failures.length > 0)
    .reverse(); // Mina lists the last account update first
}

/** Writes a failure as the daemon does: the index of an app state stands within the name. */
function nameOf(failure: unknown[]): string {
  const [name, argument] = failure as [string, number?];
  if (name === 'Update_not_permitted_delegate') return 'update_not_permitted_delegate';
  return argument === undefined ? name : name.replace('_precondition', `_${argument}_precondition`);
}
