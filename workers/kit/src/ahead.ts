import { isDeepStrictEqual } from 'node:util';
import {
  type Account,
  AccountUpdate,
  type Field,
  type PublicKey,
  TokenId,
  Transaction,
  type Types,
  UInt32,
} from 'o1js';
import { Retry } from './errors.js';
import { Busy, retrySoon } from './line.js';
import type { MinaInstance } from './network.js';
import { type Overlay, touchedBy } from './overlay.js';
import type { Ahead } from './protocol.js';

type ZkappCommand = Types.Json.ZkappCommand;

/** A command in flight before the one that is being made. */
export interface PendingCommand {
  /** Of what is built it is not known before the ledger is. */
  nonce: number;
  /** Of what is built it is a name that no command has. */
  hash: string;
  zkapp: ZkappCommand;
  isBuilt: boolean;
}

/** How many commands are remembered: the same ones come with each call. */
const mostRead = 100;
const read = new Map<string, { zkapp: ZkappCommand; hash: string }>(); // by what was signed, with its hash

/** The commands in flight before one attempt, in the order of their nonces. */
export class Pending {
  private constructor(readonly commands: readonly PendingCommand[]) {}

  /** Throws Retry at a command that it cannot read in full, that is not of this payer, or has no place. */
  static async read(ahead: readonly Ahead[], payer: string): Promise<Pending> {
    const commands: PendingCommand[] = [];
    for (const each of ahead) {
      if (each.built !== undefined) {
        const name = `of ${each.uid}, which is built`;
        commands.push({ nonce: NaN, hash: name, zkapp: readBuilt(each.built, name, payer), isBuilt: true });
        continue;
      }
      const { nonce, hash, signed } = each;
      if (commands.at(-1)?.isBuilt) throw new Retry(`the pending command with nonce ${nonce} is behind one without`);
      const zkapp = await readCommand(signed, hash);
      const { body } = zkapp.feePayer;
      if (body.publicKey !== payer || body.nonce !== String(nonce)) {
        throw new Retry(`the pending command with nonce ${nonce} is not this payer's at that nonce`);
      }
      commands.push({ nonce, hash, zkapp, isBuilt: false });
    }
    return new Pending(commands);
  }

  /** The nonce behind those that have one, undefined if none has. */
  get next(): number | undefined {
    const last = this.commands.findLast(({ isBuilt }) => !isBuilt);
    return last && last.nonce + 1;
  }

  /** What is built gets its nonces, from this one on. */
  placed(next: number): Pending {
    const placed = this.commands.map((command) => {
      if (!command.isBuilt) return command;
      const { feePayer, ...rest } = command.zkapp;
      const nonce = next++;
      const body = { ...feePayer.body, nonce: String(nonce), fee: '0' };
      return { ...command, nonce, zkapp: { ...rest, feePayer: { ...feePayer, body } } };
    });
    return new Pending(placed);
  }

  get accounts(): { publicKey: string; token: string }[] {
    return touchedBy(this.commands.map(({ zkapp }) => zkapp));
  }

  /** What they emit of an account, oldest first: an event is the fields that it consists of, in decimals. */
  events(publicKey: PublicKey | string, tokenId?: Field): string[][] {
    // An account update has its own the other way round.
    return this.updates(publicKey, tokenId).flatMap(({ body }) => [...body.events].reverse());
  }

  /** What they dispatch to an account, oldest first: the actions of each account update that has any. */
  actions(publicKey: PublicKey | string, tokenId?: Field): string[][][] {
    return this.updates(publicKey, tokenId)
      .map(({ body }) => body.actions)
      .filter(({ length }) => length > 0);
  }

  private updates(publicKey: PublicKey | string, tokenId?: Field): Types.Json.AccountUpdate[] {
    return this.commands.flatMap(({ zkapp }) => of(zkapp, publicKey, tokenId));
  }
}

/** The account updates of one account. */
function of(zkapp: ZkappCommand, publicKey: PublicKey | string, tokenId = TokenId.default): Types.Json.AccountUpdate[] {
  const key = typeof publicKey === 'string' ? publicKey : publicKey.toBase58();
  const token = TokenId.toBase58(tokenId);
  return zkapp.accountUpdates.filter(({ body }) => body.publicKey === key && body.tokenId === token);
}

/** What this o1js would not write as it is, it has not understood: of another era of Mina, say. */
async function readCommand(signed: string, hash: string): Promise<ZkappCommand> {
  const known = read.get(signed) ?? { zkapp: parseCommand(signed, hash), hash: await hashOf(signed, hash) };
  // Not only the first time: what a transaction is built on is told by the hash that was given.
  if (known.hash !== hash) throw new Retry(`the pending command ${hash} has the hash ${known.hash}`);
  read.set(signed, known);
  if (read.size > mostRead) read.delete(read.keys().next().value!);
  return known.zkapp;
}

async function hashOf(signed: string, name: string): Promise<string> {
  return Transaction.hash(signed).catch(() => {
    throw new Retry(`the pending command ${name} cannot be read`);
  });
}

/** Not remembered: it is asked for anew each time that what is ahead of it changes. */
function readBuilt(built: string, name: string, payer: string): ZkappCommand {
  const zkapp = parseCommand(built, name);
  const { feePayer } = zkapp;
  return { ...zkapp, feePayer: { ...feePayer, body: { ...feePayer.body, publicKey: payer } } };
}

function parseCommand(text: string, name: string): ZkappCommand {
  let zkapp: ZkappCommand;
  let again: unknown;
  try {
    zkapp = JSON.parse(text) as ZkappCommand;
    again = JSON.parse(Transaction.fromJSON(text).toJSON());
  } catch {
    throw new Retry(`the pending command ${name} cannot be read`);
  }
  if (!isDeepStrictEqual(zkapp, again)) throw new Retry(`the pending command ${name} holds what o1js does not know`);
  return zkapp;
}

/** What is laid over a network. */
export interface Cover {
  pending: Pending;
  /** What the ledger has passed, by hash, with the heights of the blocks where it stands. */
  passed: ReadonlyMap<string, number>;
  /** Of what the ledger has not passed. */
  overlay: Overlay;
  /** The first height that a pending command can have. */
  height: number;
  /** The payer's account as it is. */
  payer: Account;
}

/** A Mina instance as it will be when the pending commands have taken effect. */
export function covered(instance: MinaInstance, cover: Cover): MinaInstance {
  const { overlay } = cover;
  return {
    ...instance,
    hasAccount: (publicKey, tokenId) =>
      overlay.has(publicKey, tokenId)
        ? overlay.account(publicKey, tokenId) !== undefined
        : instance.hasAccount(publicKey, tokenId),
    getAccount(publicKey, tokenId) {
      if (!overlay.has(publicKey, tokenId)) return instance.getAccount(publicKey, tokenId);
      const account = overlay.account(publicKey, tokenId);
      if (account) return account;
      throw new Error(`getAccount: Could not find account for public key ${publicKey.toBase58()}`);
    },
    async fetchEvents(publicKey, tokenId, filter, headers) {
      const found = await instance.fetchEvents(publicKey, tokenId, filter, headers);
      return withEvents(found, cover, publicKey, tokenId, filter);
    },
    getActions(publicKey, states, tokenId) {
      const actions = pendingActions(cover, publicKey, states, tokenId);
      return actions.join(actions.skip ? [] : instance.getActions(publicKey, actions.states, tokenId));
    },
    async fetchActions(publicKey, states, tokenId, from, to, headers) {
      if (to !== undefined && to < cover.height)
        return instance.fetchActions(publicKey, states, tokenId, from, to, headers);
      const actions = pendingActions(cover, publicKey, states, tokenId);
      if (actions.skip) return actions.join([]);
      const found = await instance.fetchActions(publicKey, actions.states, tokenId, from, to, headers);
      return 'error' in found ? found : actions.join(found);
    },
  };
}

type Events = Awaited<ReturnType<MinaInstance['fetchEvents']>>;
type Filter = Parameters<MinaInstance['fetchEvents']>[2];

/**
 * What the ledger has passed stays as the archive has it, with its height. An archive may be
 * ahead of the node and have some of the rest, or behind it and lack some of what is passed.
 */
function withEvents(
  found: Events,
  { pending, passed, height }: Cover,
  key: PublicKey,
  tokenId?: Field,
  filter?: Filter,
): Events {
  const hashOf = (info: unknown) => (info as { hash?: string }).hash ?? '';
  const ahead = new Set(pending.commands.map(({ hash }) => hash).filter((hash) => !passed.has(hash)));
  const others = found
    .map((block) => ({ ...block, events: block.events.filter((each) => !ahead.has(hashOf(each.transactionInfo))) }))
    .filter((block, i) => block.events.length > 0 || found[i]!.events.length === 0);
  const standing = others.filter(({ chainStatus }) => chainStatus !== 'orphaned');
  const shown = new Set(standing.flatMap(({ events }) => events.map((each) => hashOf(each.transactionInfo))));
  const isAsked = (at: number) => at >= Number(filter?.from ?? 0) && (!filter?.to || at < Number(filter.to));
  const added = pending.commands.flatMap(({ hash, zkapp }) => {
    const at = passed.get(hash);
    if (shown.has(hash) || !isAsked(at ?? height)) return [];
    const transactionInfo = { hash, memo: zkapp.memo, status: 'pending' };
    const events = of(zkapp, key, tokenId).flatMap(({ body }) => body.events);
    if (events.length === 0) return [];
    return {
      events: events.map((data) => ({ data, transactionInfo })),
      blockHeight: UInt32.from(at || height),
      blockHash: '',
      parentBlockHash: '',
      globalSlot: UInt32.from(0),
      chainStatus: 'pending',
    };
  });
  return [...others, ...added];
}

type States = Parameters<MinaInstance['getActions']>[1];
type Actions = ReturnType<MinaInstance['getActions']>;

/** What is to be asked of the network, and how it goes together with what is pending. */
function pendingActions({ overlay }: Cover, publicKey: PublicKey, states: States, tokenId?: Field) {
  const lists = overlay.actions(publicKey, tokenId);
  const hashes = lists.map(({ hash }) => hash);
  const { endActionState, ...rest } = states ?? {};
  const from = hashes.indexOf(rest.fromActionState?.toString() ?? '');
  const end = hashes.indexOf(endActionState?.toString() ?? '');
  const added = lists.slice(from + 1, endActionState ? end + 1 : lists.length);
  return {
    skip: from >= 0,
    // The network does not know a state that only pending commands reach.
    states: end >= 0 ? rest : states,
    join: (found: Actions): Actions => {
      const kept = found.filter(({ hash }) => !hashes.includes(hash));
      const reached =
        kept.at(-1)?.hash ?? (rest.fromActionState ?? AccountUpdate.Actions.emptyActionState()).toString();
      // An archive that is not where the node is lacks some of what is between, or has others' in their place.
      if (from < 0 && added.length > 0 && reached !== added[0]!.before) {
        throw new Busy(`the archive is not at the action state of the node, for ${publicKey.toBase58()}`, retrySoon);
      }
      return [...kept, ...added];
    },
  };
}
