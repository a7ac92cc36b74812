import { LedgerNode, type NodeOptions } from './node.js';
import { serve, type Urls } from './server.js';

export { withoutProofs } from './client.js';
export { LIMITS, type Limits } from './limits.js';
export type { KeyPair } from './genesis.js';
export type { NodeOptions, Reorg } from './node.js';
export type { Urls } from './server.js';
export { LedgerNode };

/** How a node is started. */
export interface StartOptions extends NodeOptions {
  /** On 127.0.0.1; default 8181, and 0 takes a free one. */
  port?: number;
  /** Hears of progress while stored blocks are applied again. */
  onReplay?: (done: number, of: number) => void;
}

/** A node that is served. `close` ends it. */
export interface RunningNode {
  node: LedgerNode;
  urls: Urls;
  close(): Promise<void>;
}

/** Starts a node and serves it. Throws if its data cannot be used or its port is taken. */
export async function startNode(options: StartOptions = {}): Promise<RunningNode> {
  const node = await LedgerNode.open(options, options.onReplay);
  try {
    return { node, ...(await serve(node, options.port ?? 8181)) };
  } catch (error) {
    await node.close();
    throw error;
  }
}
