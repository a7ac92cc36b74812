import type { FastifyInstance } from 'fastify';
import type { LedgerNode, Reorg } from './node.js';

const MAX_BLOCKS = 1000; // that one request makes
const NANOMINA = 1_000_000_000;

/** What GET /control/state tells a person. */
function stateOf(node: LedgerNode) {
  const { tip } = node.chain;
  return {
    slot: node.slot,
    height: tip.height,
    stateHash: tip.hash,
    pool: node.pool.size,
    pooled: node.pool
      .list()
      .slice(0, 100)
      .map(({ hash }) => hash),
    paused: node.paused,
    faults: node.faults,
  };
}

type Order = (node: LedgerNode, body: Record<string, unknown>) => unknown;

/** The orders of POST /control/{name}. What one returns is added to the state in the answer. */
const ORDERS: Record<string, Order> = {
  async block(node, body) {
    const count = integer(body, 'count', 1, MAX_BLOCKS, 1);
    for (let i = 0; i < count; i++) await node.produce();
  },
  step(node) {
    node.skipSlot();
  },
  pause(node) {
    node.paused = true;
  },
  resume(node) {
    node.paused = false;
  },
  async reorg(node, { depth, exclude = [], empty = false }) {
    if (!isTexts(exclude)) throw new Error('exclude is a list of hashes');
    await node.reorg({ depth, exclude, empty: empty === true } as Reorg);
  },
  drop(node, { hash }) {
    if (!node.pool.drop(String(hash))) throw new Error(`the pool does not hold ${String(hash).slice(0, 60)}`);
  },
  'clear-pool'(node) {
    node.pool.clear();
  },
  async faucet(node, { publicKey, amount = 100 }) {
    if (typeof publicKey !== 'string') throw new Error('publicKey is missing: say whom to pay');
    if (typeof amount !== 'number' || !Number.isFinite(amount)) throw new Error('amount is a number, in MINA');
    return { hash: await node.faucet(publicKey, BigInt(Math.round(amount * NANOMINA))) };
  },
  heal(node) {
    node.trouble.heal();
  },
  faults(node, body) {
    node.trouble.set(body);
  },
};

function integer(body: Record<string, unknown>, name: string, least: number, most: number, otherwise: number): number {
  const value = body[name] ?? otherwise;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new Error(`${name} is a whole number from ${least} to ${most}`);
  }
  return value;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/**
 * Registers what steers the node:
 *
 *     GET  /control/state
 *     GET  /control/accounts       the funded accounts with their keys
 *     POST /control/block          {count}: makes blocks now
 *     POST /control/step           lets a slot pass without a block, on a node without a timer
 *     POST /control/pause, resume  stops and starts the timer's blocks
 *     POST /control/reorg          {depth, exclude, empty}: a rival chain
 *     POST /control/drop           {hash}: out of the pool, with what depends on it
 *     POST /control/clear-pool
 *     POST /control/faucet         {publicKey, amount in MINA}: pays in the next block
 *     POST /control/faults         sets the named faults, keeps the others
 *     POST /control/heal           takes all faults away
 *     GET  /acquire-account        a funded account, in the form that Lightnet.acquireKeyPair of o1js reads
 *     PUT  /release-account        takes it back
 *
 * Every POST answers with the state afterwards; an error is {"error": "…"} with status 400.
 */
export function serveControl(app: FastifyInstance, node: LedgerNode): void {
  app.get('/control/state', () => stateOf(node));
  app.get('/control/accounts', () => node.accounts);
  app.post<{ Params: { order: string } }>('/control/:order', async (request, reply) => {
    const order = Object.hasOwn(ORDERS, request.params.order) ? ORDERS[request.params.order] : undefined;
    if (!order) return reply.code(404).send({ error: `there is ${Object.keys(ORDERS).join(', ')}` });
    try {
      const more = await order(node, (request.body ?? {}) as Record<string, unknown>);
      return { ...stateOf(node), ...(more as object | undefined) };
    } catch (error) {
      return reply.code(400).send({ error: error instanceof Error ? error.message : String(error) });
    }
  });
  serveAccountManager(app, node);
}

function serveAccountManager(app: FastifyInstance, node: LedgerNode): void {
  const free = [...node.accounts].reverse();
  app.get('/acquire-account', (_request, reply) => {
    const pair = free.pop();
    if (!pair)
      return reply.code(503).send({ error: 'all funded accounts are acquired: release one, or start with more' });
    return { pk: pair.publicKey, sk: pair.privateKey, used: true };
  });
  app.put<{ Body: { pk?: string } | null }>('/release-account', (request, reply) => {
    const pair = node.accounts.find(({ publicKey }) => publicKey === request.body?.pk);
    if (!pair) return reply.code(404).send({ error: 'pk is none of the funded accounts' });
    if (!free.includes(pair)) free.push(pair);
    return { status: 'success', message: `${pair.publicKey} can be acquired again` };
  });
}
