import { Mina, TokenId } from 'o1js';
import { Retry } from './errors.js';

/** How often a transaction is built anew because what it reads depends on what it has read. */
const mostPasses = 5;
/** After how many of them a key that no run before has asked for is taken for one that each run makes anew. */
const steadyAfter = 2;
/** How many values of earlier transactions are remembered. */
const mostRemembered = 1000;

type Answer = { value: unknown } | { error: unknown };

/**
 * What one transaction reads of the network. o1js has lists of its own of what is to be fetched
 * and what was, but they are those of the whole process: what one transaction could not read
 * stays for all later ones, and what an earlier one has read is taken for what is there now.
 */
export class Reads {
  private answers = new Map<string, Answer>();
  private wanted = new Map<string, () => Promise<unknown>>();
  private readonly earlier = new Map<string, unknown>();
  private pass = 1;

  /** For the next transaction nothing has been read. */
  begin(): void {
    this.answers = new Map();
    this.wanted = new Map();
  }

  /**
   * Has make build a transaction. It awaits `before` each time o1js runs the dispatch: then
   * everything is read that was wanted until then. Where a run wants more, because it depends
   * on what was read, the transaction is built anew.
   */
  async building<T>(make: (before: () => Promise<void>) => Promise<T>): Promise<T> {
    const before = () => this.catchUp();
    for (this.pass = 1; ; this.pass++) {
      try {
        const made = await make(before);
        if (this.wanted.size === 0) return made;
      } catch (error) {
        // What a dispatch makes of values that nobody has read yet says nothing.
        if (this.wanted.size === 0) throw error;
      }
      if (this.pass === mostPasses) throw unsteady([...this.wanted.keys()].join(', '));
    }
  }

  /**
   * The value of this transaction, inside of one. While o1js only looks for what is to be
   * fetched it is that of an earlier transaction, or undefined. `ask` is what reads it. Of what
   * need not be there nothing is known where each run asks for another one: it was made in that
   * run, as a new account's key may be.
   */
  take<T>(key: string, ask: () => Promise<T>, { needed = true } = {}): T | undefined {
    const answer = this.answers.get(key);
    if (answer && 'error' in answer) throw answer.error;
    if (answer) return answer.value as T;
    if (!needed && !isLooking() && this.pass > steadyAfter) return undefined;
    this.wanted.set(key, ask);
    if (!isLooking()) throw unsteady(key);
    return this.earlier.get(key) as T | undefined;
  }

  /** What this transaction has read under a name; undefined where it has read nothing. */
  known(key: string): { value: unknown } | undefined {
    const answer = this.answers.get(key);
    return answer && 'value' in answer ? answer : undefined;
  }

  /** Takes in what was read by other means. */
  note(key: string, value: unknown): void {
    this.answers.set(key, { value });
    this.wanted.delete(key);
    this.earlier.delete(key);
    this.earlier.set(key, value);
    if (this.earlier.size > mostRemembered) this.earlier.delete(this.earlier.keys().next().value!);
  }

  /** What cannot be read fails where it is used: it may be that nothing uses it in the end. */
  private async catchUp(): Promise<void> {
    const wanted = [...this.wanted];
    this.wanted.clear();
    await Promise.all(
      wanted.map(async ([key, ask]) => {
        try {
          this.note(key, await ask());
        } catch (error) {
          this.answers.set(key, { error });
        }
      }),
    );
  }
}

/** As an account is named in messages, too. */
export function accountName(publicKey: string, tokenId: string): string {
  const name = `account for public key ${publicKey}`;
  return tokenId === TokenId.toBase58(TokenId.default) ? name : `${name} with the tokenId ${tokenId}`;
}

/** Whether o1js runs the dispatch only to see what is to be fetched. */
export const isLooking = () => Mina.currentTransaction()?.fetchMode === 'test';

const unsteady = (what: string) =>
  new Retry(`the dispatch wants ${what} in one run and not in the one before: have each run come to the same result`);
