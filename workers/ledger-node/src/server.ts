import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { Archive } from './archive.js';
import { serveControl } from './control.js';
import { Daemon } from './daemon.js';
import { answer, loadSchema, type GraphQLRequest } from './graphql.js';
import type { LedgerNode } from './node.js';

/** Bytes. The largest zkApp command is a third of a megabyte. */
const MAX_BODY = 8 << 20;

/** Milliseconds in which a request has to arrive. */
const REQUEST_TIMEOUT = 60_000;

/** The addresses that a node is served at. */
export interface Urls {
  graphql: string;
  archive: string;
  control: string;
}

/**
 * Serves a node over HTTP on 127.0.0.1, and starts its timer. Port 0 takes a
 * free one. Throws if the port is taken.
 */
export async function serve(node: LedgerNode, port: number): Promise<{ urls: Urls; close(): Promise<void> }> {
  const app = Fastify({ bodyLimit: MAX_BODY, forceCloseConnections: true, requestTimeout: REQUEST_TIMEOUT });
  app.setErrorHandler(({ message, statusCode = 500 }: Error & { statusCode?: number }, _request, reply) =>
    reply.code(statusCode).send({ error: message }),
  );
  app.get('/', () => ({ about: 'a local Mina node for zkApp development', ...urlsOf(app.listeningOrigin) }));
  serveGraphQL(app, node);
  serveControl(app, node);
  const urls = urlsOf(await listen(app, port));
  node.start();
  return {
    urls,
    async close() {
      node.trouble.heal();
      await app.close();
      await node.close();
    },
  };
}

async function listen(app: FastifyInstance, port: number): Promise<string> {
  try {
    return await app.listen({ host: '127.0.0.1', port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(`port ${port} of 127.0.0.1 is taken: end what has it, or choose another port`, { cause: error });
  }
}

function urlsOf(origin: string): Urls {
  return { graphql: `${origin}/graphql`, archive: `${origin}/archive`, control: `${origin}/control` };
}

function serveGraphQL(app: FastifyInstance, node: LedgerNode): void {
  const endpoints = [
    { path: '/graphql', schema: loadSchema('daemon'), root: new Daemon(node) },
    { path: '/archive', schema: loadSchema('archive'), root: new Archive(node) },
  ];
  for (const { path, schema, root } of endpoints) {
    app.post(path, async (request, reply) => {
      await node.trouble.whileHanging();
      const { status } = node.faults;
      if (status !== 0) return reply.code(status).send({ error: 'the fault "status" is set' });
      if (!isRequest(request.body)) return reply.code(400).send('Must provide a query string');
      const context = { sent: false };
      const result = await answer(schema, root, request.body, context);
      if (context.sent && node.trouble.losesReply()) return hangUp(reply);
      return reply.send(result);
    });
  }
}

function isRequest(body: unknown): body is GraphQLRequest {
  return typeof body === 'object' && body !== null && typeof (body as GraphQLRequest).query === 'string';
}

function hangUp(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
