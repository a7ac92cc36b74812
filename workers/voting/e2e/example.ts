import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PublicKey } from 'o1js';
import type { World } from './world.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples/dist/', import.meta.url));

/** What an example's deploy program was told and has said, and who pays. */
export interface Deployed {
  payer: PublicKey;
  /** The lines NAME=value that it has printed. */
  said: Record<string, string>;
}

/** Deploys one of workers/examples, and starts its worker and the sequencer. `env` is for the worker, and for its deploy. */
export async function startExample(
  world: World,
  folder: string,
  name: string,
  env: Record<string, string>,
  sequencer: Record<string, string>,
): Promise<Deployed> {
  const [account] = await world.ledger.accounts();
  const keyFile = join(folder, 'payer.key');
  await writeFile(keyFile, account!.privateKey, { mode: 0o600 });
  const own = { ...env, PAYER_KEY_FILE: keyFile };
  const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, name, 'deploy.js')], {
    env: { ...process.env, ...own, MINA_URL: world.ledger.graphql, PROOFS: world.proofs },
  });
  const said = Object.fromEntries([...stdout.matchAll(/^([A-Z_]+)=(\S+)$/gm)].map(([, key, value]) => [key!, value!]));
  const program = `../../examples/dist/${name}/worker.js`;
  const { accountId, gate } = await world.startWorker(account!, { ...own, ...said }, program);
  await world.startSequencer([[accountId, gate.url]], sequencer);
  return { payer: PublicKey.fromBase58(account!.publicKey), said };
}
