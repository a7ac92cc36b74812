import { createHash } from 'node:crypto';
import { PublicKey } from 'o1js';
import type { Block } from './chain.js';
import type { Command } from './command.js';
import { hasFrontier } from './faults.js';
import { MINA_TOKEN } from './formats.js';
import { CREATION_FEE } from './ledger.js';
import type { LedgerNode } from './node.js';
import { Refusal } from './refusal.js';
import type { Context } from './graphql.js';
import { accountShape, blockShape, commandShape, decodeId } from './shapes.js';
import { COINBASE, SLOTS_PER_EPOCH } from './view.js';

/** Stands for the git commit of a daemon's build. */
const COMMIT = '0'.repeat(40);

interface PoolArguments {
  publicKey?: string | null;
  hashes?: string[] | null;
  ids?: string[] | null;
}

/** Resolves the daemon's queries and its mutation. Messages are the daemon's own. */
export class Daemon {
  readonly #node: LedgerNode;

  constructor(node: LedgerNode) {
    this.#node = node;
  }

  syncStatus = () => this.#node.faults.sync;
  networkID = () => 'mina:testnet';
  signatureKind = () => 'testnet';
  version = () => COMMIT;
  runtimeConfig = () => ({ genesis: { genesis_state_timestamp: this.#genesisTime() } });
  genesisBlock = (): object => blockShape(this.#node.chain.genesis);

  genesisConstants = () => ({
    accountCreationFee: CREATION_FEE,
    coinbase: COINBASE,
    genesisTimestamp: this.#genesisTime(),
  });

  account({ publicKey, token }: { publicKey: string; token?: string | null }): object | null {
    checkKey(publicKey);
    if (!hasFrontier(this.#node.faults)) return null;
    const block = this.#node.visibleTip;
    const account = block.ledger.account(publicKey, token ?? MINA_TOKEN);
    return account ? accountShape(this.#node, block, account) : null;
  }

  bestChain({ maxLength }: { maxLength?: number | null }): object[] {
    if (!hasFrontier(this.#node.faults)) throw new Error('Could not obtain best chain from transition frontier');
    return this.#frontier(maxLength ?? undefined).map(blockShape);
  }

  /** The best path within the transition frontier: its root and at most k blocks. */
  #frontier(most = Infinity): Block[] {
    const { chain, k, visibleTip } = this.#node;
    return chain.path(Math.max(0, Math.min(most, k + 1)), visibleTip);
  }

  block({ stateHash, height }: { stateHash?: string | null; height?: number | null }): object {
    if ((stateHash == null) === (height == null)) throw new Error('Must provide exactly one of state hash, height');
    if (!hasFrontier(this.#node.faults)) throw new Error('Could not obtain transition frontier');
    const path = this.#frontier();
    const oldest = path[0]!.height;
    if (stateHash != null) {
      const block = this.#node.chain.find(stateHash);
      if (block && block.height >= oldest && block.height <= path.at(-1)!.height) return blockShape(block);
      throw new Error(`could not find block with state hash ${stateHash.slice(0, 60)} in transition frontier`);
    }
    const block = path[height! - oldest];
    if (block) return blockShape(block);
    throw new Error(`could not find block with height ${height} in transition frontier`);
  }

  pooledUserCommands = () => [];

  /** Selects as the daemon does: a payer's queue, hashes, both at once, or everything. */
  pooledZkappCommands({ publicKey, hashes, ids }: PoolArguments): object[] {
    const { pool, faults } = this.#node;
    if (!hasFrontier(faults)) return [];
    const wanted = [...(hashes ?? []), ...(ids ?? []).map(decodeId)];
    const all = hashes == null && ids == null;
    const found = all ? pool.list(publicKey ?? undefined) : wanted.map((hash) => pool.find(hash));
    return found
      .filter((command): command is Command => command !== undefined)
      .filter(({ payer }) => publicKey == null || payer === publicKey)
      .map((command) => commandShape(command));
  }

  transactionStatus({ payment, zkappTransaction }: { payment?: string | null; zkappTransaction?: string | null }) {
    if ((payment == null) === (zkappTransaction == null)) {
      throw new Error('Must provide exactly one of payment, zkappTransaction');
    }
    const hash = decodeId((payment ?? zkappTransaction)!.trim());
    const { chain, pool, faults } = this.#node;
    if (!hasFrontier(faults)) return 'UNKNOWN';
    const has = (block: Block) => block.commands.some(({ command }) => command.hash === hash);
    const path = this.#frontier();
    if (path.some(has)) return 'INCLUDED';
    const forked = () => [...chain.blocks()].some((block) => block.height >= path[0]!.height && has(block));
    return pool.find(hash) || forked() ? 'PENDING' : 'UNKNOWN';
  }

  daemonStatus() {
    const node = this.#node;
    const tip = hasFrontier(node.faults) ? node.visibleTip : undefined;
    return {
      syncStatus: node.faults.sync,
      blockchainLength: tip?.height ?? null,
      highestBlockLengthReceived: node.chain.tip.height,
      highestUnvalidatedBlockLengthReceived: node.chain.tip.height,
      stateHash: tip?.hash ?? null,
      chainId: createHash('sha256').update(node.chain.genesis.hash).digest('hex'),
      commitId: COMMIT,
      uptimeSecs: Math.floor((Date.now() - node.started) / 1000),
      userCommandsSent: node.sent,
      peers: [],
      globalSlotSinceGenesisBestTip: tip?.recipe.slot ?? null,
      consensusTimeBestTip: tip ? this.#consensusTime(tip.recipe.slot) : null,
      consensusTimeNow: this.#consensusTime(node.slot),
      consensusMechanism: 'proof_of_stake',
      consensusConfiguration: {
        delta: 0,
        k: node.k,
        slotsPerEpoch: SLOTS_PER_EPOCH,
        slotDuration: node.slotTime,
        epochDuration: Math.min(node.slotTime * SLOTS_PER_EPOCH, 2 ** 31 - 1),
        genesisStateTimestamp: this.#genesisTime(),
        acceptableNetworkDelay: node.slotTime,
      },
      metrics: {
        transactionPoolSize: node.pool.size,
        transactionsAddedToPool: node.sent,
        transactionPoolDiffReceived: 0,
        transactionPoolDiffBroadcasted: node.sent,
      },
    };
  }

  #consensusTime(slot: number) {
    const startTime = this.#node.chain.genesis.recipe.time + slot * this.#node.slotTime;
    return {
      epoch: Math.floor(slot / SLOTS_PER_EPOCH),
      slot: slot % SLOTS_PER_EPOCH,
      globalSlot: slot,
      startTime: String(startTime),
      endTime: String(startTime + this.#node.slotTime),
    };
  }

  #genesisTime(): string {
    return new Date(this.#node.chain.genesis.recipe.time).toISOString();
  }

  async sendZkapp({ input }: { input: { zkappCommand: unknown } }, context: Context): Promise<object> {
    context.sent = true;
    try {
      return { zkapp: commandShape(await this.#node.send(input.zkappCommand)) };
    } catch (error) {
      if (error instanceof Refusal) {
        throw new Error(`Couldn't send zkApp command: ${error.message}`, { cause: error });
      }
      throw error;
    }
  }
}

function checkKey(publicKey: string): void {
  try {
    PublicKey.fromBase58(publicKey);
  } catch {
    throw new Error(`Could not decode public key ${publicKey.slice(0, 60)}`);
  }
}
