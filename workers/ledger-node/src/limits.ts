/** What a command and a block may hold. */
export interface Limits {
  /** Of a command's proofs, pairs of signatures and single signatures, each; together they stay below `below`. */
  cost: { proof: number; pair: number; single: number; below: number };
  /** Field elements of all events of a command. */
  events: number;
  /** Field elements of all actions of a command. */
  actions: number;
  /** zkApp commands of a block; 128 at most. */
  blockCommands: number;
}

/** Mainnet's limits, since the Mesa fork of 2026-09 and before it. Mina: MIP8, MIP9; genesis_constants.ml. */
export const LIMITS = {
  mesa: { cost: { proof: 1, pair: 1, single: 1, below: 17 }, events: 1024, actions: 1024, blockCommands: 12 },
  berkeley: {
    cost: { proof: 10.26, pair: 10.08, single: 9.14, below: 69.45 },
    events: 100,
    actions: 100,
    blockCommands: 24,
  },
} satisfies Record<string, Limits>;

/** Mina: 2^transaction_capacity_log_2. */
export const MAX_BLOCK_COMMANDS = 128;
