import { AsyncLocalStorage } from 'node:async_hooks';

/** A W3C trace context of version 00: trace, span of the caller, flags. */
const traceparent = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const calls = new AsyncLocalStorage<string | undefined>();

/** Runs what a call leads to within the trace that its caller has sent, if it has sent one. */
export function within<T>(header: string | string[] | undefined, run: () => T): T {
  return calls.run(typeof header === 'string' && traceparent.test(header) ? header : undefined, run);
}

/** The trace context of the call under way, for calls that go on from here; undefined without one. */
export const currentTrace = (): string | undefined => calls.getStore();

/** The id under which the trace is found. */
export const traceId = (parent: string): string => parent.split('-')[1] ?? '';
