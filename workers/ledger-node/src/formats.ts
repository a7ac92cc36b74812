import { createHash } from 'node:crypto';
import { createBase58check } from '@scure/base';

// Mina's text formats: base58check with a version byte of its own for each kind.

const base58check = createBase58check((data: Uint8Array) => createHash('sha256').update(data).digest());

/** Order of Mina's base field; every field element is below it. */
export const FIELD_ORDER = 0x40000000000000000000000000000000224698fc094cf91b992d30ed00000001n;

const VERSION = { ledgerHash: 0x05, receiptChain: 0x0c, epochSeed: 0x0d, stateHash: 0x10, privateKey: 0x5a };

/** The token of MINA itself. */
export const MINA_TOKEN = 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf';

function littleEndian(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

/** Writes a field element as Mina writes hashes of the given kind. */
export function encodeHash(kind: keyof typeof VERSION, value: bigint): string {
  return base58check.encode(Uint8Array.of(VERSION[kind], 1, ...littleEndian(value)));
}

/** Hashes text to a field element. It stands in for hashes that only a real chain has. */
export function fieldOf(...parts: string[]): bigint {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return BigInt(`0x${digest}`) % FIELD_ORDER;
}

/** Derives a private key from a text, the same one each time. Such keys are known to all: fund them nowhere else. */
export function derivePrivateKey(seed: string): string {
  const scalar = fieldOf('private key', seed) >> 2n;
  return encodeHash('privateKey', scalar);
}

/** Writes nanomina as MINA. */
export function mina(nanomina: bigint): string {
  const whole = nanomina / 1_000_000_000n;
  const rest = (nanomina % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return rest ? `${whole}.${rest}` : `${whole}`;
}
