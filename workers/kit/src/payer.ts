import { readFileSync, statSync } from 'node:fs';
import { PrivateKey, PublicKey } from 'o1js';
import { codes, Failure } from './errors.js';

/**
 * The secret key of the fee payer, in base58 (EK…): a key, a file with nothing
 * else in it that only its owner may read, or the name of an environment variable.
 */
export type PayerOption = PrivateKey | { file: string } | { env: string };

/** The fee payer as this process knows it. */
export interface Payer {
  publicKey: PublicKey;
  /** Absent where a signer elsewhere has it. */
  key?: PrivateKey;
}

/** The payer that a call names, without its key. Throws Failure. */
export function namedPayer(accountId: string): Payer {
  try {
    return { publicKey: PublicKey.fromBase58(accountId) };
  } catch {
    throw new Failure(codes.notSent, 'sender.accountId: it is no public key (B62…)');
  }
}

/** Reads the payer's key. No error ever quotes what was read. */
export function readPayer(option: PayerOption): PrivateKey {
  if (option instanceof PrivateKey) return option;
  if ('file' in option) return decode(readSecretFile(option.file), `the file ${option.file}`);
  if ('env' in option) {
    const text = process.env[option.env];
    if (!text) throw new Error(`payer: the environment has no ${option.env}; set it to the payer's secret key (EK…)`);
    return decode(text, `the environment's ${option.env}`);
  }
  throw new Error('payer: give a PrivateKey, { file } or { env }');
}

function readSecretFile(file: string): string {
  const { mode } = statSync(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const found = (mode & 0o777).toString(8).padStart(3, '0');
    throw new Error(`payer: others may read ${file} (mode ${found}); run: chmod 600 ${file}`);
  }
  return readFileSync(file, 'utf8');
}

function decode(text: string, where: string): PrivateKey {
  try {
    return PrivateKey.fromBase58(text.trim());
  } catch {
    throw new Error(`payer: ${where} holds no secret key in base58 (52 characters, EK…)`);
  }
}
