import { liquid } from './account.js';
import type { Block, Included } from './chain.js';
import { type Command, NO_LIMIT } from './command.js';
import { encodeHash, fieldOf, MINA_TOKEN } from './formats.js';
import type { Account, Failure } from './ledger.js';
import type { LedgerNode } from './node.js';
import {
  COINBASE,
  epochView,
  MIN_WINDOW_DENSITY,
  SLOTS_PER_EPOCH,
  SNARKED_LEDGER_HASH,
  TOTAL_CURRENCY,
} from './view.js';

// What GraphQL shows of blocks, commands and accounts. A method is asked for
// only if its field is selected.

/** What stands where the daemon names the block's producer: nobody's key. */
export const CREATOR = 'B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg';

/** Stands in for the hash of the ledger, which the binding does not compute. */
export function ledgerHash(block: Block): string {
  return encodeHash('ledgerHash', fieldOf('ledger', block.hash));
}

export function blockShape(block: Block): object {
  const { slot, time } = block.recipe;
  const epoch = Math.floor(slot / SLOTS_PER_EPOCH);
  return {
    stateHash: block.hash,
    creator: CREATOR,
    commandTransactionCount: block.commands.length,
    transactions: {
      userCommands: [],
      coinbase: COINBASE,
      zkappCommands: () => block.commands.map(includedShape),
    },
    protocolState: {
      previousStateHash: block.parent?.hash ?? encodeHash('stateHash', fieldOf('before genesis')),
      blockchainState: {
        date: time,
        utcDate: time,
        snarkedLedgerHash: encodeHash('ledgerHash', SNARKED_LEDGER_HASH),
        stagedLedgerHash: () => ledgerHash(block),
        stagedLedgerProofEmitted: false,
      },
      consensusState: {
        blockHeight: block.height,
        slotSinceGenesis: slot,
        slot: slot % SLOTS_PER_EPOCH,
        epoch,
        epochCount: epoch,
        minWindowDensity: MIN_WINDOW_DENSITY,
        totalCurrency: TOTAL_CURRENCY,
        hasAncestorInSameCheckpointWindow: true,
        stakingEpochData: () => epochView('staking'),
        nextEpochData: () => epochView('next'),
      },
    },
  };
}

function includedShape({ command, failures }: Included) {
  return commandShape(command, failures);
}

export function commandShape(command: Command, failures: Failure[] = []): object {
  const { memo, feePayer, accountUpdates } = command.zkapp;
  return {
    id: encodeId(command.hash),
    hash: command.hash,
    failureReason: failures.length > 0 ? failures : null,
    zkappCommand: {
      memo,
      feePayer: {
        ...feePayer,
        body: { ...feePayer.body, validUntil: command.validUntil === NO_LIMIT ? null : command.validUntil },
      },
      accountUpdates,
    },
  };
}

/** Writes an id. The daemon's holds the whole command, ours the hash. */
function encodeId(hash: string): string {
  return Buffer.from(hash).toString('base64');
}

/** Reads an id back to the hash. */
export function decodeId(id: string): string {
  const hash = Buffer.from(id, 'base64').toString();
  if (!/^5J[1-9A-Za-z]{50}$/.test(hash)) throw new Error('Could not decode id');
  return hash;
}

export function accountShape(node: LedgerNode, block: Block, account: Account): object {
  const { zkapp, timing, balance } = account;
  const slot = Math.max(node.slot, block.recipe.slot);
  return {
    ...account,
    token: account.tokenId,
    inferredNonce: account.tokenId === MINA_TOKEN ? node.inferredNonce(account) : account.nonce,
    balance: {
      total: balance,
      unknown: balance,
      liquid: () => liquid(account, slot),
      locked: () => BigInt(balance) - liquid(account, slot),
      blockHeight: block.height,
      stateHash: block.hash,
    },
    timing: timing.isTimed ? timing : {},
    receiptChainHash: encodeHash('receiptChain', BigInt(account.receiptChainHash)),
    votingFor: encodeHash('stateHash', BigInt(account.votingFor)),
    delegateAccount: () => delegate(node, block, account),
    zkappState: zkapp?.appState ?? null,
    actionState: zkapp?.actionState ?? null,
    provedState: zkapp?.provedState ?? null,
    zkappUri: zkapp?.zkappUri ?? null,
    verificationKey: zkapp?.verificationKey
      ? { verificationKey: zkapp.verificationKey.data, hash: zkapp.verificationKey.hash }
      : null,
  };
}

function delegate(node: LedgerNode, block: Block, account: Account): object | null {
  const found = account.delegate && block.ledger.account(account.delegate);
  return found ? accountShape(node, block, found) : null;
}
