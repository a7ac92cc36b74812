/** What is asked again by itself: the network's trouble, and what says that it will pass. */
const passing = new Set([429, 502, 503, 504]);

/** As well what may be the service's own trouble, for who waits however long it takes. */
export const outage = new Set([...passing, 500]);

export interface RetryOptions {
  /** How often a request is sent at most; default 5. */
  tries: number;
  /** The first pause, in milliseconds; it doubles each time. Default 500. */
  pause: number;
  /** The longest pause, in milliseconds, whatever the service asks for. Default 30,000. */
  longestPause: number;
}

/** Waits, or throws as soon as the signal says so. */
export function sleep(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** How long an answer asks to wait, in milliseconds; undefined if it does not say. */
export function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The pause before another try: doubling, with up to half of it left to chance. */
export function backoff(tries: number, o: RetryOptions): number {
  const full = Math.min(o.pause * 2 ** Math.min(tries, 20), o.longestPause);
  return full * (1 - Math.random() / 2);
}

/** A fetch that ends with the whole answer, so that one which breaks off can be asked for again. */
export function whole(fetch: (request: Request) => Promise<Response>) {
  return async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    return response.body === null ? response : new Response(await response.arrayBuffer(), response);
  };
}

/**
 * Whether a request may be sent although it may have been done: reading changes
 * nothing, and what is posted under a key is accepted once. Whether there is a uid
 * in a body is not looked for: who knows that there is one says so to retrying.
 */
function repeatable(request: Request): boolean {
  return (
    request.method === 'GET' ||
    (new URL(request.url).pathname.endsWith('/transactions') && request.headers.has('Idempotency-Key'))
  );
}

/**
 * A fetch that sends a request again where the service asks for patience, or
 * where it may have been lost and may be sent twice.
 */
export function retrying(
  fetch: (request: Request) => Promise<Response>,
  o: RetryOptions,
  may = repeatable,
  passes = passing,
) {
  return async (request: Request): Promise<Response> => {
    for (let tries = 1; ; tries++) {
      const last = tries >= o.tries;
      let wait = backoff(tries - 1, o);
      try {
        const response = await fetch(last ? request : request.clone());
        if (last || !passes.has(response.status) || !(response.status === 429 || may(request))) {
          return response;
        }
        wait = Math.min(retryAfter(response) ?? wait, o.longestPause);
        await response.body?.cancel();
      } catch (error) {
        if (last || request.signal.aborted || !may(request)) {
          throw error;
        }
      }
      await sleep(wait, request.signal);
    }
  };
}
