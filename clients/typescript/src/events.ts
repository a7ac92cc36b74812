import { problemOf, SequencerError } from './errors.js';
import { backoff, retryAfter, sleep, type RetryOptions } from './http.js';
import { parse, readable } from './json.js';
import type { components } from './schema.js';

export type SequencerEvent = components['schemas']['Event'] & {
  /** Whom it is about. */
  kind: 'transaction' | 'queue' | 'sender';
};

export interface EventFilter {
  queue?: string;
  uid?: string;
  type?: string;
}

export interface EventOptions extends EventFilter {
  /** The id of the last event that was seen; without it, from now on. */
  after?: string;
  /** Ends the iteration, with the signal's reason. */
  signal?: AbortSignal;
  /** Called when the stream stands, with the id from which it goes on. */
  onOpen?: (id: string) => void;
}

/** The service says something every 15 seconds; a stream silent for longer is dead. */
const silence = 45_000;

/** A frame is what stands between two empty lines of a stream. */
interface Frame {
  id?: string;
  event?: string;
  data?: string;
  retry?: number;
}

/** Reads frames until the stream ends, breaks, or is silent for too long. */
async function* frames(body: ReadableStream<Uint8Array>, quiet: number): AsyncGenerator<Frame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let frame: Frame = {};
  try {
    for (;;) {
      let timer: NodeJS.Timeout | undefined;
      const dead = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('the stream is silent')), quiet);
      });
      const { done, value } = await Promise.race([reader.read(), dead]).finally(() => clearTimeout(timer));
      if (done) {
        return;
      }
      text += decoder.decode(value, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') {
          yield frame;
          frame = {};
          continue;
        }
        const colon = line.indexOf(': ');
        const [name, content] = [line.slice(0, colon), line.slice(colon + 2)];
        if (name === 'retry') {
          frame.retry = Number(content);
        } else if (name === 'id' || name === 'event' || name === 'data') {
          frame[name] = content;
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Follows events and goes on where it was whenever the stream ends, at whatever
 * process answers then. It throws what no patience mends: EventsGoneError, a bad
 * filter, a key that does not allow it.
 */
export async function* follow(
  open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>,
  options: EventOptions,
  retries: RetryOptions,
  quiet = silence,
): AsyncGenerator<SequencerEvent, void, void> {
  let at = options.after;
  for (let failures = 0; ; failures++) {
    options.signal?.throwIfAborted();
    // What is left of a stream ends with this try, however the loop is left.
    const attempt = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, attempt.signal]) : attempt.signal;
    let wait = backoff(failures, retries);
    try {
      const response = await open(at, signal);
      if (!response.ok || response.body === null) {
        const text = await response.text();
        const problem = problemOf(response.status, readable(text));
        if (response.status < 500 && response.status !== 429) {
          throw problem;
        }
        wait = Math.min(retryAfter(response) ?? wait, retries.longestPause);
      } else {
        let opened = false;
        for await (const frame of frames(response.body, quiet)) {
          failures = 0;
          wait = frame.retry ?? wait;
          at = frame.id ?? at;
          if (!opened && at !== undefined) {
            opened = true;
            options.onOpen?.(at);
          }
          if (frame.event !== undefined && frame.data !== undefined) {
            yield { ...(parse(frame.data) as SequencerEvent), kind: frame.event as SequencerEvent['kind'] };
          }
        }
      }
    } catch (error) {
      if (final(error) || options.signal?.aborted) {
        throw error;
      }
    } finally {
      attempt.abort();
    }
    await sleep(wait, options.signal);
  }
}

/** Network trouble passes; what the service refuses, and what is no event, does not. */
function final(error: unknown): boolean {
  return error instanceof SequencerError || error instanceof SyntaxError;
}
