import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { Key, type NetworkId } from './command.js';
import { readPolicy } from './policy.js';
import type { SignerOptions } from './signer.js';
import { Spent } from './spent.js';

/** How long the command may take that tells the key. */
const commandTimeout = 60_000;

/**
 * Reads what the environment says, with key, policy and what was counted. Throws with the variable that is
 * wrong, and never quotes what was read of a secret.
 */
export async function readConfig(env: NodeJS.ProcessEnv): Promise<Omit<SignerOptions, 'log' | 'onSuperseded'>> {
  const network = env.MINA_NETWORK || 'devnet';
  const known = network === 'mainnet' || network === 'devnet' || network === 'testnet';
  const networkId: NetworkId = known ? network : { custom: network };
  const { token, host, port } = address(env);
  const [from, text] = await readKey(env);
  const key = about(from, () => new Key(text.trim(), networkId));
  const policyFile = env.SIGNER_POLICY || 'policy.json';
  const policy = about(`SIGNER_POLICY (${policyFile})`, () => readPolicy(readFileSync(policyFile, 'utf8')));
  const name = `${key.publicKey}-${encodeURIComponent(network)}.json`; // nonces are of one network
  const spent = await Spent.open(join(env.SIGNER_STATE || '.signer', name), policy);
  return { key, policy, spent, network, token, host, port };
}

async function readKey(env: NodeJS.ProcessEnv): Promise<[from: string, text: string]> {
  const given = (['SIGNER_KEY_FILE', 'SIGNER_KEY', 'SIGNER_KEY_COMMAND'] as const).filter((name) => env[name]);
  const [from] = given;
  if (from === undefined || given.length > 1)
    throw new Error('set one of SIGNER_KEY_FILE, SIGNER_KEY and SIGNER_KEY_COMMAND');
  const value = env[from]!;
  if (from === 'SIGNER_KEY_FILE') return [from, about(from, () => readPrivate(value))];
  if (from === 'SIGNER_KEY') {
    delete env[from]; // not for what this process might start
    return [from, value];
  }
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', value], { timeout: commandTimeout });
    return [from, stdout];
  } catch (error) {
    const { code, signal } = error as { code?: string | number; signal?: string };
    // Neither its output nor itself: both may hold a secret.
    // eslint-disable-next-line preserve-caught-error
    throw new Error(`${from}: the command has ended with ${signal ?? code ?? 'an error'}`);
  }
}

function readPrivate(file: string): string {
  const { mode } = statSync(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new Error(`others may read ${file}; run: chmod 600 ${file}`);
  return readFileSync(file, 'utf8');
}

/** It has a key, so it is not offered to a network without a token. */
function address(env: NodeJS.ProcessEnv): { token: string; host: string; port: number } {
  const file = env.SIGNER_TOKEN_FILE;
  const read = () => (file ? readPrivate(file) : (env.SIGNER_TOKEN ?? ''));
  const token = about('SIGNER_TOKEN_FILE', read).trim();
  delete env.SIGNER_TOKEN;
  const host = env.HOST || '127.0.0.1';
  if (!token && !['127.0.0.1', '::1', 'localhost'].includes(host))
    throw new Error(`HOST: ${host} is reachable from outside; set SIGNER_TOKEN_FILE or SIGNER_TOKEN, too`);
  const port = Number(env.PORT || 3100);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new Error('PORT: it is no port number');
  return { token, host, port };
}

function about<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
