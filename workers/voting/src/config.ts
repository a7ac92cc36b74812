import { readFileSync, statSync } from 'node:fs';
import type { WorkerOptions } from '@mina-sequencer/worker-kit';
import { z } from 'zod';
import { ElectorSet } from './elector-set.js';
import { Keys } from './keys.js';

/** What the environment says. */
export interface Config {
  /** All of the kit's options but the dispatchers. */
  worker: Omit<WorkerOptions, 'dispatchers'>;
  keys: Keys;
  electors: ElectorSet[];
}

const list = z
  .string()
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
  .refine((parts) => parts.length > 0, 'name at least one');

const environment = z.object({
  HOST: z.string().optional(),
  PORT: z.coerce.number().int().min(0).max(65535).default(3000),
  MINA_URL: list,
  ARCHIVE_URL: list,
  MINA_NETWORK: z.string().default('devnet'),
  PAYER_KEY_FILE: z.string().optional(),
  PROVER: z.enum(['on', 'off']).default('off'),
  PROVERS: z.coerce.number().int().min(1).max(32).default(1),
  SIGNER_URL: z.string().optional(),
  SIGNER_ACCOUNT: z.string().optional(),
  VOTING_ACCOUNT_SECRET: z.string().optional(),
  VOTING_ACCOUNT_SECRET_FILE: z.string().optional(),
  VOTING_ELECTORS_FILES: list,
  WORKER_STORE: z.string().optional(),
  WORKER_CACHE: z.string().optional(),
  PROOFS: z.enum(['on', 'off']).default('on'),
});

/** Reads the worker's configuration; throws with each variable that is wrong. Never quotes a secret. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  // An empty variable counts as not set.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const { success, data, error } = environment.safeParse(set);
  if (!success) throw new Error(error.issues.map((each) => `${each.path.join('.')}: ${each.message}`).join('; '));
  const { MINA_NETWORK: network } = data;
  return {
    worker: {
      ...payerOf(data),
      network: {
        graphql: data.MINA_URL,
        archive: data.ARCHIVE_URL,
        networkId: network === 'mainnet' || network === 'devnet' ? network : { custom: network },
      },
      ...(data.HOST !== undefined && { host: data.HOST }),
      port: data.PORT,
      proofsEnabled: data.PROOFS === 'on',
      provers: data.PROVERS,
      ...(data.WORKER_STORE !== undefined && { store: data.WORKER_STORE }),
      ...(data.WORKER_CACHE !== undefined && { cache: data.WORKER_CACHE }),
    },
    keys: readKeys(data.VOTING_ACCOUNT_SECRET, data.VOTING_ACCOUNT_SECRET_FILE),
    electors: data.VOTING_ELECTORS_FILES.map(readElectors),
  };
}

/** The payer's key, or the signer that has it, or neither for a prover. */
function payerOf(data: z.infer<typeof environment>): Pick<WorkerOptions, 'payer' | 'signer' | 'prover'> {
  const { PAYER_KEY_FILE: file, SIGNER_URL: url, SIGNER_ACCOUNT: accountId } = data;
  if (data.PROVER === 'on') {
    if (file !== undefined || url !== undefined)
      throw new Error(
        'PROVER: a prover has no key of a payer, and asks no signer: leave PAYER_KEY_FILE and SIGNER_URL out',
      );
    return { prover: true };
  }
  if (url === undefined) return { payer: file === undefined ? { env: 'PAYER_KEY' } : { file } };
  if (accountId === undefined)
    throw new Error("SIGNER_ACCOUNT: it is missing: the payer's public key (B62…), whose secret key the signer has");
  if (file !== undefined) throw new Error('PAYER_KEY_FILE: with SIGNER_URL the worker has no key of the payer');
  return { signer: { url, accountId } };
}

function readKeys(secret: string | undefined, file: string | undefined): Keys {
  const name = file === undefined ? 'VOTING_ACCOUNT_SECRET' : 'VOTING_ACCOUNT_SECRET_FILE';
  if ((secret === undefined) === (file === undefined))
    throw new Error('set one of VOTING_ACCOUNT_SECRET and VOTING_ACCOUNT_SECRET_FILE, the same for all voting workers');
  return about(name, () => new Keys(Buffer.from((file === undefined ? secret! : readPrivate(file)).trim(), 'utf8')));
}

function readElectors(file: string): ElectorSet {
  return about(`VOTING_ELECTORS_FILES: ${file}`, () => {
    const electors = z.array(z.string()).safeParse(JSON.parse(readFileSync(file, 'utf8')));
    if (!electors.success) throw new Error('the file must hold a JSON array of public keys (B62…)');
    return new ElectorSet(electors.data);
  });
}

function readPrivate(file: string): string {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Error(`others may read ${file}; run: chmod 600 ${file}`);
  return readFileSync(file, 'utf8');
}

function about<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
