import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';

/** A call of the worker protocol, as far as the tests look at it. */
export interface Call {
  path: string;
  uid: string;
}

/** What a test does with calls on their way. */
export interface Hook {
  /** The worker has the call. */
  sent?(call: Call, gate: Gate): void;
  /** The worker has answered. Returns what the sequencer gets, undefined if it gets nothing. */
  answered?(call: Call, answer: string, gate: Gate): Promise<string | undefined> | string | undefined;
}

/**
 * Stands between the sequencer and a worker, so that a test can act in the
 * moment between two messages. Closed, it refuses connections, as the port of a
 * worker that is not there does.
 */
export class Gate {
  hook: Hook = {};
  readonly #worker: number;
  #server?: Server;
  #port = 0;
  #held?: Promise<void>;

  constructor(worker: number) {
    this.#worker = worker;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async open(): Promise<void> {
    const server = createServer((request, response) => {
      this.#pass(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Keeps further calls until the promise is fulfilled, as a proxy does that waits for a worker to come back. */
  hold(until: Promise<void>): void {
    this.#held = until;
  }

  /** Drops what is on its way, too. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.#server?.closeAllConnections();
    await closed;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    const body = await text(request);
    const call = { path, uid: uidOf(body) };
    await this.#held;
    const answering = fetch(`http://127.0.0.1:${this.#worker}${path}`, {
      method,
      headers: {
        ...(headers['content-type'] && { 'content-type': headers['content-type'] }),
        ...(headers.authorization && { authorization: headers.authorization }),
      },
      ...(method !== 'GET' && { body }),
    });
    this.hook.sent?.(call, this);
    const answer = await answering;
    const content = await answer.text();
    const passed = this.hook.answered ? await this.hook.answered(call, content, this) : content;
    if (passed === undefined) {
      response.destroy();
      return;
    }
    const [type, after] = [answer.headers.get('content-type'), answer.headers.get('retry-after')];
    response.writeHead(answer.status, {
      ...(type && { 'content-type': type }),
      ...(after && { 'retry-after': after }),
    });
    response.end(passed);
  }
}

function uidOf(body: string): string {
  return body ? ((JSON.parse(body) as { txData?: { uid?: string } }).txData?.uid ?? '') : '';
}
