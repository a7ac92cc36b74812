import type { TxnError } from './types.js';

/** Thrown by a dispatcher: no later try can mend this transaction. It ends for good, UNRESOLVED. */
export class Unresolvable extends Error {
  override name = 'Unresolvable';
}

/** Thrown by a dispatcher: a later try may succeed. Any other error means the same. */
export class Retry extends Error {
  override name = 'Retry';
}

/**
 * The protocol's codes. The sequencer ends it for good at `unresolvable`, tries again
 * without counting a retry at `unavailable`, and counts a retry otherwise.
 * After /dispatch, `notSent` is certain to have sent nothing; `sendFailed` is so
 * only if its exception holds the node's refusal.
 */
export const codes = {
  unknownType: '404',
  unresolvable: '500',
  unavailable: '502',
  notSent: '20202',
  sendFailed: '20203',
  conflict: 'ATTEMPT_CONFLICT',
  tokenGone: 'TOKEN_GONE',
} as const;

export type Code = (typeof codes)[keyof typeof codes];

/** An error that knows its code. */
export class Failure extends Error {
  override name = 'Failure';
  constructor(
    readonly code: Code,
    message: string,
    readonly exception: string | null = null,
  ) {
    super(message);
  }
}

/** Thrown where bytes cannot be signed again: the transaction has to be proved afresh. */
export class NotResignable extends Error {
  override name = 'NotResignable';
}

/** Thrown where what was built is not there any more: it is to be built again. */
export class TokenGone extends Error {
  override name = 'TokenGone';
}

/** The node, or the network, is out of order; no transaction is to blame. */
export const unavailable = (message: string, exception?: string) =>
  new Failure(codes.unavailable, message, exception ?? null);

/**
 * A node that was fit to build on does not give what is read of it, or does not know the payer.
 * Nothing was made, and it is worth while to ask again soon.
 */
export class Unreadable extends Failure {
  override name = 'Unreadable';
  constructor(message: string, exception?: string) {
    super(codes.unavailable, message, exception ?? null);
  }
}

/** Hosts by the URLs that no error may tell in full: a path may hold an access key. */
const hosts = new Map<string, string>();

/** Has errors name a node or archive by its host alone. */
export function nameByHost(url: string): void {
  const { host, href } = new URL(url);
  for (const text of [url, href]) hosts.set(text, host);
}

function withoutURLs(text: string): string {
  // The longest first: one may begin with another.
  const urls = [...hosts.keys()].sort((a, b) => b.length - a.length);
  return urls.reduce((rest, url) => rest.replaceAll(url, hosts.get(url)!), text);
}

/** The one place where whatever was thrown gets its code. */
export function failureOf(thrown: unknown, doing: string): TxnError {
  const { code, message, exception } = coded(thrown, doing);
  return { code, message: withoutURLs(message), exception: exception && withoutURLs(exception) };
}

function coded(thrown: unknown, doing: string): TxnError {
  if (thrown instanceof Failure) {
    return { code: thrown.code, message: thrown.message, exception: thrown.exception };
  }
  const error = asError(thrown);
  const code = error instanceof Unresolvable ? codes.unresolvable : codes.notSent;
  const deliberate = error instanceof Unresolvable || error instanceof Retry;
  const message = firstParagraph(withoutURLs(error.message)) || error.name;
  return {
    code,
    message: deliberate ? message : `${doing}: ${notThere(error.message) ?? message}`,
    exception: deliberate ? null : (error.stack ?? error.message),
  };
}

/**
 * Which account is not on the chain, and what to do. o1js lists guesses before it names the account,
 * and those are not about a worker, which has read what there is.
 */
function notThere(message: string): string | undefined {
  const account = /getAccount: Could not find (account for public key \w+(?: with the tokenId \w+)?)/.exec(
    message,
  )?.[1];
  return account && `the ${account} is not on the chain: deploy it there, or correct the address that the worker has`;
}

/** o1js's messages go on for pages; their first paragraph says what is wrong. */
function firstParagraph(message: string): string {
  return (message.trim().split('\n\n', 1)[0] ?? '').slice(0, 1000);
}

/** JavaScript may throw anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
