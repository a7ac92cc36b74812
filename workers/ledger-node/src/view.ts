import { encodeHash, fieldOf } from './formats.js';

// What a block knows of the chain. The ledger checks network preconditions
// against these numbers, and GraphQL shows the same, so that a program that
// reads them and requires them gets what it asked for.

export const SLOTS_PER_EPOCH = 7140;
export const COINBASE = 720_000_000_000n;
export const TOTAL_CURRENCY = 1_200_000_000_000_000_000n;
export const MIN_WINDOW_DENSITY = 77;

/** The epoch data of a chain on which staking is not simulated: constants. */
export function epochData(name: 'staking' | 'next') {
  return {
    ledger: { hash: fieldOf('epoch ledger', name), totalCurrency: TOTAL_CURRENCY },
    seed: fieldOf('epoch seed', name),
    startCheckpoint: fieldOf('start checkpoint', name),
    lockCheckpoint: fieldOf('lock checkpoint', name),
    epochLength: 1,
  };
}

export const SNARKED_LEDGER_HASH = fieldOf('snarked ledger');

/**
 * Writes the view that commands in the block after `height` and `slot` have.
 * Mina: network preconditions are checked against the block before.
 */
export function networkView(height: number, slot: number): string {
  return JSON.stringify(
    {
      snarkedLedgerHash: SNARKED_LEDGER_HASH,
      blockchainLength: height,
      minWindowDensity: MIN_WINDOW_DENSITY,
      totalCurrency: TOTAL_CURRENCY,
      globalSlotSinceGenesis: slot,
      stakingEpochData: epochData('staking'),
      nextEpochData: epochData('next'),
    },
    (_key, value: unknown) => (typeof value === 'bigint' || typeof value === 'number' ? String(value) : value),
  );
}

/** The same epoch data as GraphQL shows it. */
export function epochView(name: 'staking' | 'next') {
  const data = epochData(name);
  return {
    ledger: { hash: encodeHash('ledgerHash', data.ledger.hash), totalCurrency: data.ledger.totalCurrency },
    seed: encodeHash('epochSeed', data.seed),
    startCheckpoint: encodeHash('stateHash', data.startCheckpoint),
    lockCheckpoint: encodeHash('stateHash', data.lockCheckpoint),
    epochLength: data.epochLength,
  };
}
