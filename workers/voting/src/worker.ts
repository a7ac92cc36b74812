#!/usr/bin/env node
import { createWorker } from '@mina-sequencer/worker-kit';
import { networkArchive } from './archive.js';
import { readConfig } from './config.js';
import { votingDispatchers } from './dispatchers.js';
import { History } from './history.js';

try {
  const { worker: options, keys, electors } = readConfig(process.env);
  const dispatchers = votingDispatchers({ keys, electors, history: new History(networkArchive) });
  const worker = await createWorker({ ...options, dispatchers });
  await worker.listen();
} catch (error) {
  console.error(`voting-worker: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(2);
}
