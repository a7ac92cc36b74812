import type { Block, Included } from './chain.js';
import type { AccountUpdate } from './command.js';
import { MINA_TOKEN } from './formats.js';
import type { LedgerNode } from './node.js';
import { CREATOR, ledgerHash } from './shapes.js';
import { COINBASE } from './view.js';

/** Blocks that one query looks at. Archive-Node-API: `BLOCK_RANGE_SIZE`. */
const MAX_RANGE = 10_000;

/** What an account's actions start from, as `Reducer.initialActionState` of o1js has it. */
const EMPTY_ACTIONS = '25079927036070901246064867767436987657692091363973573142121686150614948079097';

interface Filter {
  address: string;
  tokenId?: string | null;
  status?: 'ALL' | 'PENDING' | 'CANONICAL' | null;
  from?: number | null;
  to?: number | null;
}

interface ActionFilter extends Filter {
  fromActionState?: string | null;
  endActionState?: string | null;
}

interface BlockQuery {
  canonical?: boolean | null;
  inBestChain?: boolean | null;
  blockHeight_gte?: number | null;
  blockHeight_lt?: number | null;
  dateTime_gte?: string | null;
  dateTime_lt?: string | null;
}

/** Resolves the queries of Archive-Node-API from the blocks of the best chain. */
export class Archive {
  readonly #node: LedgerNode;

  constructor(node: LedgerNode) {
    this.#node = node;
  }

  events({ input }: { input: Filter }) {
    return this.#blocks(input).flatMap((block) => {
      const eventData = emitted(block, input, ({ body }) => body.events);
      return eventData.length > 0 ? [{ blockInfo: this.#info(block), eventData }] : [];
    });
  }

  actions({ input }: { input: ActionFilter }) {
    const found = this.#blocks(input).flatMap((block) => {
      const actionData = emitted(block, input, ({ body }) => body.actions);
      if (actionData.length === 0) return [];
      const account = block.ledger.account(input.address, input.tokenId ?? MINA_TOKEN);
      const [one, two, three, four, five] = account?.zkapp?.actionState ?? [];
      const actionState = {
        ...{ actionStateOne: one, actionStateTwo: two, actionStateThree: three },
        ...{ actionStateFour: four, actionStateFive: five },
      };
      return [{ blockInfo: this.#info(block), actionState, actionData }];
    });
    const states = found.map(({ actionState }) => actionState.actionStateOne);
    const start = place(states, input.fromActionState, 0, 'fromActionState');
    const end = place(states, input.endActionState, states.length - 1, 'endActionState');
    return input.endActionState === EMPTY_ACTIONS ? [] : found.slice(start, end + 1);
  }

  networkState() {
    const { height } = this.#node.visibleTip;
    const canonicalMaxBlockHeight = Math.max(1, height - this.#node.k);
    return { maxBlockHeight: { canonicalMaxBlockHeight, pendingMaxBlockHeight: height } };
  }

  blocks({ query, limit, sortBy }: { query?: BlockQuery | null; limit: number; sortBy: string }) {
    const q = query ?? {};
    const orphans = q.inBestChain === false || q.canonical === false;
    const all = orphans ? this.#forks() : this.#node.chain.path(Infinity, this.#node.visibleTip);
    const found = all.filter((block) => {
      if (q.canonical === true && this.#status(block) !== 'canonical') return false;
      if (q.blockHeight_gte != null && block.height < q.blockHeight_gte) return false;
      if (q.blockHeight_lt != null && block.height >= q.blockHeight_lt) return false;
      if (q.dateTime_gte != null && block.recipe.time < Date.parse(q.dateTime_gte)) return false;
      return q.dateTime_lt == null || block.recipe.time < Date.parse(q.dateTime_lt);
    });
    if (sortBy === 'BLOCKHEIGHT_DESC') found.reverse();
    return found.slice(0, Math.max(0, Math.min(limit, MAX_RANGE))).map(blockOutput);
  }

  #forks(): Block[] {
    const { chain } = this.#node;
    return [...chain.blocks()].filter((block) => !chain.holds(block)).sort((a, b) => a.height - b.height);
  }

  /** The blocks of the best chain that a filter selects, oldest first. */
  #blocks({ status, from, to }: Filter): Block[] {
    if (from != null && to != null && to < from) throw new Error('to must be greater than from');
    const tip = this.#node.visibleTip;
    const start = from ?? Math.max(1, (to ?? tip.height + 1) - MAX_RANGE);
    const end = Math.min(to ?? Infinity, start + MAX_RANGE, tip.height + 1);
    return this.#node.chain
      .path(tip.height + 1 - start, tip)
      .filter(({ height }) => height < end)
      .filter((block) => status == null || status === 'ALL' || this.#status(block) === status.toLowerCase());
  }

  #status(block: Block): 'canonical' | 'pending' | 'orphaned' {
    if (!this.#node.chain.holds(block)) return 'orphaned';
    return this.#node.visibleTip.height - block.height >= this.#node.k ? 'canonical' : 'pending';
  }

  #info(block: Block) {
    return {
      height: block.height,
      stateHash: block.hash,
      parentHash: block.parent?.hash,
      ledgerHash: ledgerHash(block),
      chainStatus: this.#status(block),
      timestamp: String(block.recipe.time),
      globalSlotSinceHardfork: block.recipe.slot,
      globalSlotSinceGenesis: block.recipe.slot,
      distanceFromMaxBlockHeight: this.#node.visibleTip.height - block.height,
    };
  }
}

/** Where an action state stands among those that blocks ended with. */
function place(
  states: (string | undefined)[],
  state: string | null | undefined,
  otherwise: number,
  name: string,
): number {
  if (state == null || state === EMPTY_ACTIONS) return otherwise;
  const index = states.indexOf(state);
  if (index < 0)
    throw new Error(`${name} ${state.slice(0, 80)} is the action state of this account after no block in range`);
  return index;
}

/** What an account's updates put out in a block. Commands that failed put out nothing. */
function emitted(block: Block, { address, tokenId }: Filter, of: (update: AccountUpdate) => string[][]) {
  let id = block.parent?.updates ?? 0;
  return block.commands.flatMap((included, sequenceNumber) => {
    const { accountUpdates, memo } = included.command.zkapp;
    const zkappAccountUpdateIds = accountUpdates.map(() => ++id);
    if (included.failures.length > 0) return [];
    return accountUpdates.flatMap((update, i) => {
      const { publicKey, tokenId: token, authorizationKind } = update.body;
      if (publicKey !== address || token !== (tokenId ?? MINA_TOKEN)) return [];
      const transactionInfo = {
        ...{ status: 'applied', hash: included.command.hash, memo, sequenceNumber, zkappAccountUpdateIds },
        authorizationKind: authorizationKind.isProved
          ? 'Proof'
          : authorizationKind.isSigned
            ? 'Signature'
            : 'None_given',
      };
      const accountUpdateId = String(zkappAccountUpdateIds[i]);
      return of(update).map((data) => ({ accountUpdateId, transactionInfo, data }));
    });
  });
}

function blockOutput(block: Block) {
  return {
    blockHeight: block.height,
    creator: CREATOR,
    stateHash: block.hash,
    parentHash: block.parent?.hash ?? block.hash,
    dateTime: new Date(block.recipe.time).toISOString(),
    transactions: {
      coinbase: String(COINBASE),
      userCommands: [],
      feeTransfer: [],
      zkappCommands: () => block.commands.map(commandOutput),
    },
  };
}

function commandOutput({ command, failures }: Included) {
  return {
    hash: command.hash,
    feePayer: command.payer,
    fee: String(command.fee),
    memo: command.zkapp.memo,
    status: failures.length > 0 ? 'failed' : 'applied',
    failureReason: failures.length > 0 ? JSON.stringify(failures) : null,
  };
}
