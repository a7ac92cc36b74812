import { SequencerError, UnansweredError } from './errors.js';
import { readable, stringify } from './json.js';
import type { BatchResult, NewTransaction } from './types.js';

interface Written {
  uid: string;
  text: string;
}

/** A transaction as it is posted, however often: its uid is made up once. */
export function written<T extends string>(transaction: NewTransaction<T>): Written {
  const uid = transaction.uid ?? crypto.randomUUID();
  return { uid, text: stringify({ ...transaction, uid }) };
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

/**
 * A fetch of a batch's items from the first without a result on. It adds the results
 * that arrive, up to an item that the service could not take: what stands behind it may not
 * be posted before. An answer that brings none is a request that failed, as its first item did.
 */
export function collecting(
  fetch: (request: Request) => Promise<Response>,
  items: readonly Written[],
  results: BatchResult[],
) {
  return async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    if (!response.ok) {
      return response;
    }
    const first = results.length;
    const { text, broken } = await received(response);
    for (const line of text.split('\n').filter((l) => l !== '')) {
      const result = readable(line) as BatchResult | undefined;
      const item = items[results.length];
      if (item === undefined || result?.index !== results.length - first) {
        break;
      }
      if ('problem' in result && result.status >= 500) {
        if (results.length === first) {
          return new Response(stringify(result.problem), { status: result.status });
        }
        break;
      }
      const uid = 'transaction' in result ? result.transaction.uid : item.uid;
      results.push({ ...result, index: results.length, uid });
    }
    if (results.length === first) {
      throw broken;
    }
    return response;
  };
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
