import createClient, { type Client } from 'openapi-fetch';
import { follow, type EventOptions, type SequencerEvent } from './events.js';
import { problemOf } from './errors.js';
import { outage, retrying, whole, type RetryOptions } from './http.js';
import { parse, stringify } from './json.js';
import { asItIs, Batch, posted, written } from './posts.js';
import type { paths } from './schema.js';
import type {
  BatchResult,
  Explanation,
  LedgerBatch,
  NewTransaction,
  NewWebhook,
  Parked,
  Queue,
  QueueChoice,
  Resolution,
  Fees,
  History,
  Sender,
  SenderChoice,
  Transaction,
  TransactionFilter,
  Trial,
  Webhook,
  WebhookDelivery,
  WebhookEdit,
  WebhookWithSecret,
} from './types.js';

export interface SequencerOptions {
  /** Where the service is, such as https://sequencer.example. */
  url: string;
  /** An API key of the service, if it asks for one. */
  key?: string;
  /** For tests, proxies and certificates of one's own; default: the global fetch. */
  fetch?: (request: Request) => Promise<Response>;
  retries?: Partial<RetryOptions>;
}

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** What openapi-fetch answers where it is asked for the text. */
interface Answer {
  data?: unknown;
  error?: unknown;
  response: Response;
}

const final = new Set(['DONE', 'FAILED', 'UNRESOLVED']);
const longestWait = 60;

/**
 * A client of one sequencer. Reads, post and postBatch are sent again where they may
 * have been lost; that is harmless, for these two give every transaction a uid. What
 * the service refuses is thrown as a SequencerError, a post that got no answer as an
 * UnansweredError. All methods may be used at the same time.
 */
export class Sequencer {
  /**
   * The routes themselves, typed. Reads are sent again where they may have been lost,
   * and of posts those of a transaction with an Idempotency-Key; all other requests
   * only after 429, which did nothing. Numbers are exact where parseAs is "text".
   */
  readonly api: Client<paths>;
  private readonly retries: RetryOptions;
  private readonly fetch: (request: Request) => Promise<Response>;
  private readonly headers: Record<string, string>;
  private readonly url: string;

  constructor(options: SequencerOptions) {
    this.url = options.url.replace(/\/+$/, '');
    this.retries = { tries: 5, pause: 500, longestPause: 30_000, ...options.retries };
    this.fetch = options.fetch ?? ((request) => fetch(request));
    this.headers = options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` };
    this.api = createClient<paths>({
      baseUrl: this.url,
      headers: this.headers,
      fetch: retrying(this.fetch, this.retries),
      bodySerializer: stringify,
    });
  }

  /**
   * Posts a transaction. The answer comes when it is stored; from then on it is seen
   * to. Errors tell its uid.
   */
  async post<const T extends string>(transaction: NewTransaction<T>, signal?: AbortSignal): Promise<Transaction> {
    const { uid, text } = written(transaction);
    return posted([uid], async () =>
      read(
        await this.api.POST('/api/v1/transactions', {
          body: text as never,
          bodySerializer: asItIs,
          parseAs: 'text',
          fetch: retrying(whole(this.fetch), this.retries, () => true),
          ...within(signal),
        }),
      ),
    );
  }

  /**
   * Tells what posting a transaction would come to: all that accepting checks, and, where a worker
   * simulates its type, what it would do by the accounts as they are. Nothing is stored.
   */
  async dryRun<const T extends string>(transaction: NewTransaction<T>, signal?: AbortSignal): Promise<Trial> {
    return read(
      await this.api.POST('/api/v1/transactions', {
        params: { query: { dryRun: 'true' } },
        body: written(transaction).text as never,
        bodySerializer: asItIs,
        parseAs: 'text',
        fetch: retrying(whole(this.fetch), this.retries, () => true),
        ...within(signal),
      }),
    );
  }

  /**
   * Posts up to 10,000 transactions. Each stands for itself; the results come in order.
   * Where an answer breaks off, or the store cannot take something, what has no answer yet is
   * posted again: that repeats nothing, for each has its uid. Errors tell all of these.
   */
  async postBatch<const T extends string>(
    transactions: Iterable<NewTransaction<T>>,
    signal?: AbortSignal,
  ): Promise<BatchResult[]> {
    const items = Array.from(transactions, written);
    const batch = new Batch(items);
    const fetch = batch.collecting(this.fetch);
    return posted(
      items.map(({ uid }) => uid),
      async () => {
        do {
          const rest = batch.rest().map(({ text }) => text);
          check(
            await this.api.POST('/api/v1/transactions/batch', {
              body: rest.join('\n') as never,
              bodySerializer: asItIs,
              headers: { 'Content-Type': 'application/x-ndjson' },
              parseAs: 'stream', // it has been read
              fetch: retrying(fetch, this.retries, () => true),
              ...within(signal),
            }),
          );
        } while (batch.results.length < items.length);
        return batch.results;
      },
    );
  }

  async transaction(uid: string, signal?: AbortSignal): Promise<Transaction> {
    return read(
      await this.api.GET('/api/v1/transactions/{uid}', { params: path({ uid }), parseAs: 'text', ...within(signal) }),
    );
  }

  /**
   * Waits until a transaction is DONE, FAILED or UNRESOLVED. Once it was found the wait
   * outlasts networks and services that fail, however long; a signal ends it, and so
   * does a refusal, such as NOT_FOUND of what was removed.
   */
  async settled(uid: string, signal?: AbortSignal): Promise<Transaction> {
    const forever = { ...this.retries, tries: Infinity };
    for (let fetch = retrying(whole(this.fetch), this.retries); ;) {
      const t = read<Transaction>(
        await this.api.GET('/api/v1/transactions/{uid}', {
          params: { ...path({ uid }), query: { wait: `${longestWait}s` } },
          parseAs: 'text',
          fetch,
          ...within(signal),
        }),
      );
      if (final.has(t.state)) {
        return t;
      }
      fetch = retrying(whole(this.fetch), forever, undefined, outage);
    }
  }

  /** All transactions that a filter chooses, in order of acceptance, read page by page. */
  transactions(filter: TransactionFilter = {}, signal?: AbortSignal): AsyncGenerator<Transaction, void, void> {
    return pages((query) =>
      this.api.GET('/api/v1/transactions', {
        params: { query: { ...filter, ...query } },
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  /** Where a transaction stands and what happens next. */
  async explain(uid: string, signal?: AbortSignal): Promise<Explanation> {
    return read(
      await this.api.GET('/api/v1/transactions/{uid}/explain', {
        params: path({ uid }),
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  /** What a batch for a ledger is in Hyperledger Grid's words, and what its ledger made of its transactions. */
  async ledgerBatch(uid: string, signal?: AbortSignal): Promise<LedgerBatch> {
    return read(
      await this.api.GET('/api/v1/transactions/{uid}/batch', {
        params: path({ uid }),
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  async cancel(uid: string): Promise<Transaction> {
    return read(await this.api.POST('/api/v1/transactions/{uid}/cancel', { params: path({ uid }), parseAs: 'text' }));
  }

  async retry(uid: string): Promise<Transaction> {
    return read(await this.api.POST('/api/v1/transactions/{uid}/retry', { params: path({ uid }), parseAs: 'text' }));
  }

  async resolve(uid: string, body: Resolution): Promise<Transaction> {
    return read(
      await this.api.POST('/api/v1/transactions/{uid}/resolve', { params: path({ uid }), body, parseAs: 'text' }),
    );
  }

  /** Removes a transaction that is over. */
  async remove(uid: string): Promise<void> {
    check(await this.api.DELETE('/api/v1/transactions/{uid}', { params: path({ uid }), parseAs: 'text' }));
  }

  /** All queues by name, or those that are chosen, in the order that the service says. */
  queues(signal?: AbortSignal, choice: QueueChoice = {}): AsyncGenerator<Queue, void, void> {
    return pages((query) =>
      this.api.GET('/api/v1/queues', {
        params: { query: { ...choice, ...query } },
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  async queue(name: string): Promise<Queue> {
    return read(await this.api.GET('/api/v1/queues/{name}', { params: path({ name }), parseAs: 'text' }));
  }

  async pauseQueue(name: string, reason?: string): Promise<Queue> {
    const body = reason === undefined ? {} : { reason };
    return read(await this.api.POST('/api/v1/queues/{name}/pause', { params: path({ name }), body, parseAs: 'text' }));
  }

  async resumeQueue(name: string): Promise<Queue> {
    return read(await this.api.POST('/api/v1/queues/{name}/resume', { params: path({ name }), parseAs: 'text' }));
  }

  /** How many transactions of a queue may be pending at once, from 1 to 24; null for as many as the service is configured with. */
  async widenQueue(name: string, width: number | null): Promise<Queue> {
    const body = { width };
    return read(await this.api.POST('/api/v1/queues/{name}/width', { params: path({ name }), body, parseAs: 'text' }));
  }

  /** All senders, or those whose queue is in a state. */
  senders(signal?: AbortSignal, choice: SenderChoice = {}): AsyncGenerator<Sender, void, void> {
    return pages((query) =>
      this.api.GET('/api/v1/senders', {
        params: { query: { ...choice, ...query } },
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  async sender(accountId: string): Promise<Sender> {
    return read(await this.api.GET('/api/v1/senders/{accountId}', { params: path({ accountId }), parseAs: 'text' }));
  }

  async addSender(accountId: string, workerUrl: string): Promise<Sender> {
    return read(await this.api.POST('/api/v1/senders', { body: { accountId, workerUrl }, parseAs: 'text' }));
  }

  async removeSender(accountId: string): Promise<void> {
    check(await this.api.DELETE('/api/v1/senders/{accountId}', { params: path({ accountId }), parseAs: 'text' }));
  }

  async drainSender(accountId: string): Promise<Sender> {
    return read(
      await this.api.POST('/api/v1/senders/{accountId}/drain', { params: path({ accountId }), parseAs: 'text' }),
    );
  }

  async resumeSender(accountId: string): Promise<Sender> {
    return read(
      await this.api.POST('/api/v1/senders/{accountId}/resume', { params: path({ accountId }), parseAs: 'text' }),
    );
  }

  /** What others pay for a place in a block, what each type would pay now, and what was spent in the last days. */
  async fees(): Promise<Fees> {
    return read(await this.api.GET('/api/v1/fees', { parseAs: 'text' }));
  }

  /** How it went over the last hour, day or week. */
  async history(over: 'hour' | 'day' | 'week' = 'hour'): Promise<History> {
    return read(await this.api.GET('/api/v1/history', { params: { query: { over } }, parseAs: 'text' }));
  }

  /** The endpoints that are told every event. */
  async webhooks(): Promise<Webhook[]> {
    return read<Page<Webhook>>(await this.api.GET('/api/v1/webhooks', { parseAs: 'text' })).items;
  }

  async webhook(id: string): Promise<Webhook> {
    return read(await this.api.GET('/api/v1/webhooks/{id}', { params: path({ id }), parseAs: 'text' }));
  }

  /** Adds an endpoint; without a secret it gets one, which is told here and never again. */
  async addWebhook(webhook: NewWebhook): Promise<WebhookWithSecret> {
    const body = { ...webhook, secret: webhook.secret ?? newSecret() };
    return read(await this.api.POST('/api/v1/webhooks', { body, parseAs: 'text' }));
  }

  /** Changes where an endpoint is, or what it is told; its secret stays. */
  async editWebhook(id: string, body: WebhookEdit): Promise<Webhook> {
    return read(await this.api.PATCH('/api/v1/webhooks/{id}', { params: path({ id }), body, parseAs: 'text' }));
  }

  async removeWebhook(id: string): Promise<void> {
    check(await this.api.DELETE('/api/v1/webhooks/{id}', { params: path({ id }), parseAs: 'text' }));
  }

  async enableWebhook(id: string): Promise<Webhook> {
    return read(await this.api.POST('/api/v1/webhooks/{id}/enable', { params: path({ id }), parseAs: 'text' }));
  }

  async disableWebhook(id: string): Promise<Webhook> {
    return read(await this.api.POST('/api/v1/webhooks/{id}/disable', { params: path({ id }), parseAs: 'text' }));
  }

  /** Sends a test event, and tells what came of it. */
  async pingWebhook(id: string): Promise<WebhookDelivery> {
    return read(await this.api.POST('/api/v1/webhooks/{id}/ping', { params: path({ id }), parseAs: 'text' }));
  }

  /** Gives an endpoint another secret; the one before signs beside it for a day. */
  async rotateWebhook(id: string, secret = newSecret()): Promise<WebhookWithSecret> {
    const options = { params: path({ id }), body: { secret }, parseAs: 'text' } as const;
    return read(await this.api.POST('/api/v1/webhooks/{id}/secret', options));
  }

  /** Tries at once what is parked; with the id of an event, delivers all behind it once more. */
  async replayWebhook(id: string, after?: string): Promise<Webhook> {
    const options = { params: path({ id }), body: after === undefined ? {} : { after }, parseAs: 'text' } as const;
    return read(await this.api.POST('/api/v1/webhooks/{id}/replay', options));
  }

  /** The last tries, the latest first. */
  async webhookDeliveries(id: string, limit = 50): Promise<WebhookDelivery[]> {
    const params = { ...path({ id }), query: { limit } };
    const answer = await this.api.GET('/api/v1/webhooks/{id}/deliveries', { params, parseAs: 'text' });
    return read<Page<WebhookDelivery>>(answer).items;
  }

  /** What waits for another try, by when it is tried. */
  parkedEvents(id: string, signal?: AbortSignal): AsyncGenerator<Parked, void, void> {
    return pages((query) =>
      this.api.GET('/api/v1/webhooks/{id}/parked', {
        params: { ...path({ id }), query },
        parseAs: 'text',
        ...within(signal),
      }),
    );
  }

  /** Forgets what is parked in a lane, or in all of them. */
  async discardParkedEvents(id: string, lane?: string): Promise<void> {
    const params = { ...path({ id }), query: lane === undefined ? {} : { lane } };
    check(await this.api.DELETE('/api/v1/webhooks/{id}/parked', { params, parseAs: 'text' }));
  }

  /**
   * Every change as it happens, each once and in order. The iteration goes on by
   * itself over broken connections and restarts of the service. It ends with
   * EventsGoneError when what lies between cannot be told any more.
   */
  events(options: EventOptions = {}): AsyncGenerator<SequencerEvent, void, void> {
    const query = new URLSearchParams();
    for (const name of ['queue', 'uid', 'type'] as const) {
      const value = options[name];
      if (value !== undefined) {
        query.set(name, value);
      }
    }
    const open = (last: string | undefined, signal: AbortSignal) =>
      this.fetch(
        new Request(`${this.url}/api/v1/events?${query}`, {
          headers: {
            ...this.headers,
            Accept: 'text/event-stream',
            ...(last === undefined ? {} : { 'Last-Event-ID': last }),
          },
          signal,
        }),
      );
    return follow(open, options, this.retries);
  }
}

function path<P>(parameters: P): { path: P } {
  return { path: parameters };
}

function within(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

function check({ error, response }: Answer): void {
  if (!response.ok) {
    throw problemOf(response.status, error);
  }
}

/** The answer with its numbers exact. */
function read<T>(answer: Answer): T {
  check(answer);
  return parse(String(answer.data ?? '')) as T;
}

async function* pages<T>(
  get: (query: { cursor?: string; limit: number }) => Promise<Answer>,
): AsyncGenerator<T, void, void> {
  let cursor: string | null = null;
  do {
    const page: Page<T> = read(await get({ limit: 500, ...(cursor === null ? {} : { cursor }) }));
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

function newSecret(): string {
  const key = crypto.getRandomValues(new Uint8Array(32));
  return 'whsec_' + btoa(String.fromCharCode(...key));
}
