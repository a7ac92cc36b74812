import type { TxnError } from './types.js';

/** Thrown by a dispatcher: no retry can mend this transaction. */
export class Unresolvable extends Error {
  override name = 'Unresolvable';
}

/** Thrown by a dispatcher: a later try may succeed. Any other error means the same. */
export class Retry extends Error {
  override name = 'Retry';
}

/**
 * The protocol's codes. The sequencer gives up at `unresolvable`, tries again
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

/** The node, or the network, is out of order; no transaction is to blame. */
export const unavailable = (message: string, exception?: string) =>
  new Failure(codes.unavailable, message, exception ?? null);

/** The one place where whatever was thrown gets its code. */
export function failureOf(thrown: unknown, doing: string): TxnError {
  if (thrown instanceof Failure) {
    return { code: thrown.code, message: thrown.message, exception: thrown.exception };
  }
  const error = asError(thrown);
  const code = error instanceof Unresolvable ? codes.unresolvable : codes.notSent;
  const deliberate = error instanceof Unresolvable || error instanceof Retry;
  const message = firstParagraph(error.message) || error.name;
  return {
    code,
    message: deliberate ? message : `${doing}: ${message}`,
    exception: deliberate ? null : (error.stack ?? error.message),
  };
}

/** o1js's messages go on for pages; their first paragraph says what is wrong. */
function firstParagraph(message: string): string {
  return (message.trim().split('\n\n', 1)[0] ?? '').slice(0, 1000);
}

/** JavaScript may throw anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
