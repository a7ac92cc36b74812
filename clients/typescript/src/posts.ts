import { SequencerError, UnansweredError } from './errors.js';
import { readable, stringify } from './json.js';
import type { BatchResult, NewTransaction } from './types.js';

interface Written {
  uid: string;
  queue: string;
  text: string;
}

/** A transaction as it is posted, however often: its uid is made up once. */
export function written<T extends string>(transaction: NewTransaction<T>): Written {
  const uid = transaction.uid ?? crypto.randomUUID();
  return { uid, queue: transaction.queue, text: stringify({ ...transaction, uid }) };
}

export const asItIs = (text: unknown) => text as string;

/** Posts, and has whatever goes wrong tell the uids. */
export async function posted<T>(uids: string[], post: () => Promise<T>): Promise<T> {
  try {
    return await post();
  } catch (error) {
    if (error instanceof SequencerError) {
      error.uids = uids;
      throw error;
    }
    throw new UnansweredError(uids, error);
  }
}

/** A batch under way: it is posted in as many requests as it takes. */
export class Batch {
  readonly results: BatchResult[] = [];
  /** What came of the first item that a queue had no room for, or that the service failed with. */
  private readonly closed = new Map<string, BatchResult>();

  constructor(private readonly items: readonly Written[]) {}

  /** What the next request posts: no later item of such a queue, which could overtake what was refused. */
  rest(): Written[] {
    return this.items.slice(this.results.length).filter(({ queue }) => !this.closed.has(queue));
  }

  /**
   * A fetch of the rest. It adds the results that arrive, up to an item that the service
   * could not take: what stands behind it may not be posted before. An answer that brings
   * none is a request that failed, as its first item did.
   */
  collecting(fetch: (request: Request) => Promise<Response>) {
    return async (request: Request): Promise<Response> => {
      const response = await fetch(request);
      if (!response.ok) {
        return response;
      }
      const asked = this.rest();
      const { text, broken } = await received(response);
      let n = 0;
      for (const line of text.split('\n').filter((l) => l !== '')) {
        const result = readable(line) as BatchResult | undefined;
        const item = asked[n];
        if (item === undefined || result?.index !== n) {
          break;
        }
        if ('problem' in result && result.status > 500) {
          if (n === 0) {
            return new Response(stringify(result.problem), { status: result.status });
          }
          break;
        }
        if (result.status === 429 || result.status === 500) {
          this.closed.set(item.queue, result);
        }
        this.refuse(item);
        this.add(result, 'transaction' in result ? result.transaction.uid : item.uid);
        n++;
      }
      if (n === 0) {
        throw broken;
      }
      this.refuse();
      return response;
    };
  }

  /** The first item without a result. */
  private get next(): Written | undefined {
    return this.items[this.results.length];
  }

  /** Adds the results of what comes next, up to an item, as long as nothing more of its queue is posted. */
  private refuse(end?: Written): void {
    for (let item = this.next; item !== undefined && item !== end; item = this.next) {
      const refusal = this.closed.get(item.queue);
      if (refusal === undefined) {
        return;
      }
      this.add(refusal, item.uid);
    }
  }

  private add(result: BatchResult, uid: string): void {
    this.results.push({ ...result, index: this.results.length, uid });
  }
}

/** An answer as far as it came, and why no more of it did. */
async function received(response: Response): Promise<{ text: string; broken: unknown }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    const reader = response.body?.getReader();
    for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
      text += decoder.decode(chunk.value, { stream: true });
    }
  } catch (broken) {
    return { text, broken };
  }
  return { text, broken: new Error('the answer ended early') };
}
