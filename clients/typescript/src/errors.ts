import type { components } from './schema.js';

export type Problem = components['schemas']['Problem'];
export type ProblemCode = Problem['code'];
export type FieldError = NonNullable<Problem['errors']>[number];

/** What the service answered instead of what was asked for. Programs switch on `code`. */
export class SequencerError extends Error {
  override readonly name: string = 'SequencerError';
  readonly code: ProblemCode;
  readonly status: number;
  /** Where the service explains the code, in HTML: below its address. */
  readonly type: string | null;
  /** Every bad field of a body, by its path. */
  readonly errors: readonly FieldError[];
  /** Of what was to be posted, in order, also those that were made up; else none. */
  uids: readonly string[] = [];

  constructor(problem: Omit<Problem, 'type'> & { type?: string }) {
    const fields = problem.errors?.map((e) => `${e.field} ${e.message}`).join('; ');
    super(`${problem.title}. ${problem.detail}${fields ? ` ${fields}` : ''}`);
    this.code = problem.code;
    this.status = problem.status;
    this.type = problem.type ?? null;
    this.errors = problem.errors ?? [];
  }
}

/**
 * A post ended without an answer, or without one for each item: `cause` says why, a
 * signal's reason among others. It may have been done. Posting the same again with
 * these uids posts nothing twice.
 */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
  /** Of all that was to be posted, in order, also those that were made up. */
  readonly uids: readonly string[];

  constructor(uids: readonly string[], cause: unknown) {
    super(`There is no answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.uids = uids;
  }
}

/**
 * The events behind the asked position are gone: they were too long ago, or the
 * service has lost them. Follow anew, and read the state of what you know.
 */
export class EventsGoneError extends SequencerError {
  override readonly name = 'EventsGoneError';
}

/** The problem that an answer holds; one in its place where something else answered. */
export function problemOf(status: number, body: unknown): SequencerError {
  const p = body as Partial<Problem> | undefined;
  if (typeof p === 'object' && p !== null && typeof p.code === 'string' && typeof p.title === 'string') {
    const problem = { ...p, status, detail: String(p.detail) } as Problem;
    return problem.code === 'EVENTS_GONE' ? new EventsGoneError(problem) : new SequencerError(problem);
  }
  return new SequencerError({
    code: status >= 500 ? 'STORE_UNAVAILABLE' : 'BAD_REQUEST',
    status,
    title: `The answer has status ${status}`,
    detail: 'It does not come from the sequencer: see what stands between.',
  });
}
