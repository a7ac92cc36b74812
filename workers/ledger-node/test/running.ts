import type { TestContext } from 'node:test';
import { startNode, type RunningNode, type StartOptions } from '../src/index.js';

/** Starts a node on a free port for the time of a test, with two accounts and blocks on demand. */
export async function start(t: TestContext, options: StartOptions = {}): Promise<RunningNode> {
  const running = await startNode({ port: 0, manual: true, accounts: 2, ...options });
  t.after(() => running.close());
  return running;
}
