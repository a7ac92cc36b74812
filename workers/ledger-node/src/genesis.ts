import { PrivateKey } from 'o1js';
import { derivePrivateKey } from './formats.js';
import type { NodeOptions } from './node.js';
import type { Genesis } from './store.js';

/** A funded account. Its key is known to everybody. */
export interface KeyPair {
  publicKey: string;
  privateKey: string;
}

const TREASURY_BALANCE = 1_000_000_000_000_000_000n; // 10^9 MINA

/** The key of the account that the faucet pays from. */
export function treasuryKey(): PrivateKey {
  return PrivateKey.fromBase58(derivePrivateKey('treasury'));
}

/** Refuses options that contradict the chain that is there. */
export function checkGenesis(genesis: Genesis, { data, slotTime, accounts, balance }: NodeOptions): void {
  const made = {
    slotTime: genesis.slotTime,
    accounts: genesis.accounts.length - 1,
    balance: genesis.accounts.length > 1 ? BigInt(genesis.accounts[0]!.balance) : balance,
  };
  for (const [name, wanted] of Object.entries({ slotTime, accounts, balance })) {
    const has = made[name as keyof typeof made];
    if (wanted === undefined || wanted === has) continue;
    throw new Error(`the chain in ${data} was made with ${name} ${has}: leave it so, or use another directory`);
  }
}

/** The key pairs of the funded accounts: the same ones each time. */
export function keyPairs(count: number): KeyPair[] {
  return Array.from({ length: count }, (_, i) => {
    const privateKey = derivePrivateKey(`account ${i}`);
    return { privateKey, publicKey: PrivateKey.fromBase58(privateKey).toPublicKey().toBase58() };
  });
}

/** What a new chain starts from: the funded accounts, and the treasury as the last. */
export function makeGenesis({ slotTime = 5000, accounts = 10, balance = 1_000_000_000_000n }: NodeOptions): Genesis {
  const treasury = treasuryKey().toPublicKey().toBase58();
  const funded = keyPairs(accounts).map(({ publicKey }) => ({ publicKey, balance: balance.toString() }));
  const time = Date.now();
  return {
    version: 1,
    time,
    slotTime,
    accounts: [...funded, { publicKey: treasury, balance: TREASURY_BALANCE.toString() }],
  };
}
