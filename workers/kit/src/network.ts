import {
  Account,
  addCachedAccount,
  fetchAccount,
  fetchLastBlock,
  Mina,
  PublicKey,
  TokenId,
  type Field,
  type NetworkId,
} from 'o1js';
import { type Cover, covered, type Pending } from './ahead.js';
import { asError, nameByHost, unavailable, Unreadable } from './errors.js';
import { Busy, retrySoon } from './line.js';
import { idOf, Overlay } from './overlay.js';
import { ask, heightQuery, Nodes, statusTimeout } from './nodes.js';
import { accountName, isLooking, Reads } from './reads.js';

/** One of o1js's Mina instances, such as a LocalBlockchain. */
export type MinaInstance = Parameters<typeof Mina.setActiveInstance>[0];

/**
 * Where transactions are built on and signed for. Of several daemons that are synced the
 * first at the highest block is used, for all of a transaction; one that has just failed, or
 * has been behind, only where the others lack blocks. `networkId` is what
 * signatures are made for, default devnet. `instance` is for tests in process.
 */
export type NetworkOption =
  { graphql: string | string[]; archive?: string | string[]; networkId?: NetworkId } | { instance: MinaInstance };

/** How long it may take to give blocks. */
const blocksTimeout = 60_000;
/** How many blocks are looked through for commands: first a few, then a daemon's whole frontier. */
const depths = [20, 290];

type Range = NonNullable<Parameters<MinaInstance['getActions']>[1]>;
type Found = Promise<Account | undefined>;
type Actions = ReturnType<MinaInstance['getActions']>;

interface Tip {
  stateHash: string;
  protocolState: { consensusState: { blockHeight: string } };
}

interface Block {
  protocolState: { consensusState: { blockHeight: string } };
  transactions: { zkappCommands: { hash: string; failureReason: object[] | null }[] };
}

/** The network as this worker knows it. There is one per process, as o1js has one. */
export class Network {
  private readonly nodes: Nodes | undefined; // none in process
  private readonly proofsEnabled: boolean;
  private readonly reads = new Reads();
  private networkId: string;
  private instance: MinaInstance | undefined; // in use, as it is without what is pending
  private url = ''; // of the node in use

  constructor(
    private readonly option: NetworkOption,
    proofsEnabled: boolean,
  ) {
    if ('instance' in option) {
      this.nodes = undefined;
      this.proofsEnabled = option.instance.proofsEnabled;
      this.networkId = `mina:${nameOf(option.instance.getNetworkId())}`;
    } else {
      const urls = [option.graphql].flat();
      if (urls.length === 0)
        throw new Error('network.graphql: name at least one daemon, such as http://127.0.0.1:3085/graphql');
      [...urls, ...[option.archive ?? []].flat()].forEach(checkURL);
      this.nodes = new Nodes(urls, (networkID) => this.checkNetwork(networkID));
      this.proofsEnabled = proofsEnabled;
      this.networkId = `mina:${nameOf(option.networkId ?? 'devnet')}`;
    }
  }

  /** As the node names it, or, before one has answered, as the configuration does. */
  get name(): string {
    return this.networkId;
  }

  get proofs(): boolean {
    return this.proofsEnabled;
  }

  /**
   * Makes a synced node of the right network o1js's own, for one transaction.
   * What was read for earlier ones does not count from here on.
   */
  async open(): Promise<void> {
    this.reads.begin();
    this.use('instance' in this.option ? undefined : await this.synced());
  }

  /** Makes a node o1js's own, without asking it anything. Signatures need no more than that. */
  use(url = this.nodes?.urls[0]): void {
    if ('instance' in this.option) this.instance = this.option.instance;
    else if (url !== undefined) {
      const { archive, networkId } = this.option;
      const node = Mina.Network({ mina: url, ...(archive && { archive }), ...(networkId && { networkId }) });
      this.instance = this.reading(node);
      this.url = url;
    }
    if (this.instance) Mina.setActiveInstance(this.instance);
  }

  /** A node of which a transaction uses only what was read for it. Outside of one it is o1js's own. */
  private reading(node: MinaInstance): MinaInstance {
    const isOutside = () => !Mina.currentTransaction();
    // The names are taken at once: a key that is a variable of a circuit has no value later.
    const account = (publicKey: PublicKey, tokenId = TokenId.default, needed = true) => {
      const [key, token] = [publicKey.toBase58(), TokenId.toBase58(tokenId)];
      return this.reads.take(accountName(key, token), () => this.readAccount(key, token), { needed });
    };
    const state = () => this.reads.take('the last block', () => this.readState()) ?? node.getNetworkState();
    return {
      ...node,
      proofsEnabled: this.proofsEnabled,
      // o1js asks it for a signer's nonce, and would neither mark the account to be fetched nor see its age.
      hasAccount: (publicKey, tokenId) => {
        if (isOutside()) return node.hasAccount(publicKey, tokenId);
        return isKnown(publicKey) && account(publicKey, tokenId, false) !== undefined;
      },
      getAccount: (publicKey, tokenId) => {
        if (isOutside()) return node.getAccount(publicKey, tokenId);
        const found = account(publicKey, tokenId);
        if (found) return { ...found }; // o1js sets the payer's nonce in it
        if (isLooking()) return { ...Account.empty(), publicKey };
        const name = accountName(publicKey.toBase58(), TokenId.toBase58(tokenId ?? TokenId.default));
        throw new Error(`getAccount: Could not find ${name}`);
      },
      getNetworkState: () => (isOutside() ? node.getNetworkState() : state()),
      currentSlot: () => (isOutside() ? node.currentSlot() : state().globalSlotSinceGenesis),
      getActions: (publicKey, states, tokenId = TokenId.default) => {
        if (isOutside()) return node.getActions(publicKey, states, tokenId);
        this.checkArchive();
        const range = {
          ...(states?.fromActionState && { fromActionState: states.fromActionState.toConstant() }),
          ...(states?.endActionState && { endActionState: states.endActionState.toConstant() }),
        };
        const [key, token] = [publicKey.toBase58(), TokenId.toBase58(tokenId)];
        const ends = [range.fromActionState, range.endActionState].map((end) => end?.toString() ?? '');
        // The range is part of the name: o1js would take what it has of another one.
        const name = `the actions of ${accountName(key, token)} from ${ends.join(' to ')}`;
        return this.reads.take(name, () => this.readActions(node, key, token, range)) ?? [];
      },
      fetchActions: async (...asked) => {
        this.checkArchive();
        return node.fetchActions(...asked);
      },
      fetchEvents: async (...asked) => {
        this.checkArchive();
        return node.fetchEvents(...asked);
      },
    };
  }

  private checkArchive(): void {
    if ('graphql' in this.option && [this.option.archive ?? []].flat().length === 0) {
      throw unavailable('the transaction reads events or actions, and this worker has no archive: set network.archive');
    }
  }

  /** Has make build a transaction of what the network says now. It awaits `before` in each run of the dispatch. */
  building<T>(make: (before: () => Promise<void>) => Promise<T>): Promise<T> {
    return this.reads.building(make);
  }

  /**
   * Throws Unreadable where the node does not know the payer, and Busy where it is behind what the
   * sequencer knows. What is proved on an older state fails in its block, at the price of its fee.
   */
  async checkPayer(payer: PublicKey, nonce: number): Promise<void> {
    const account = await this.payerAccount(payer);
    if ('instance' in this.option) return;
    if (Number(account.nonce) < nonce) throw this.isBehind(Number(account.nonce), nonce);
  }

  isBehind(shown: number, nonce: number): Busy {
    this.nodes?.rest(this.url);
    const shows = `the node shows the payer at nonce ${shown}, and this command has ${nonce}`;
    return new Busy(`${shows} with nothing ahead of it: the node is behind`, retrySoon);
  }

  /** The payer's account as it is. Throws Unreadable where the node does not know it. */
  async payerAccount(payer: PublicKey): Promise<Account> {
    const account = await this.fetchAccount(payer);
    if (!account) throw this.unknown(payer);
    return account;
  }

  /** A view of the chain in JSON, and what a new account costs. */
  async view(): Promise<{ state: string; creationFee: bigint }> {
    const state = 'instance' in this.option ? this.option.instance.getNetworkState() : await this.readState();
    return { state: JSON.stringify(state), creationFee: creationFeeOf(this.instance!) };
  }

  /** The accounts of these names that there are: as this transaction has read them, else as they are now. */
  async accounts(names: { publicKey: string; token: string }[]): Promise<Account[]> {
    const read = names.map(async ({ publicKey, token }) => {
      const known = this.reads.known(accountName(publicKey, token));
      return known ? (known.value as Account | undefined) : this.fetchAccount(publicKey, TokenId.fromBase58(token));
    });
    return (await Promise.all(read)).filter((account) => account !== undefined);
  }

  private unknown(payer: PublicKey): Unreadable {
    this.nodes?.rest(this.url); // it may be behind one that does
    return new Unreadable(
      `the node does not know the payer's account ${payer.toBase58()}: fund it, or wait for the node`,
    );
  }

  /**
   * Has o1js see the network as it will be when the pending commands of a payer have taken
   * effect, for work, which makes the command behind them. Throws Busy where the ledger and what is pending do not lead up to it.
   */
  async covering<T>(pending: Pending, payer: PublicKey, work: (cover: Cover) => Promise<T>): Promise<T> {
    const cover = await this.look(pending, payer);
    Mina.setActiveInstance(covered(this.instance!, cover));
    try {
      return await work(cover);
    } finally {
      Mina.setActiveInstance(this.instance!);
      // o1js remembers the payer's account as the last transaction saw it.
      addCachedAccount(cover.payer);
    }
  }

  /** Reads the accounts that pending commands touch, all at one tip. */
  private async look(asked: Pending, payer: PublicKey): Promise<Cover> {
    for (let tries = 3; tries > 0; tries--) {
      const tip = await this.tip();
      const accounts = new Map<string, Account | undefined>();
      const read = asked.accounts.map(async ({ publicKey, token }) => {
        accounts.set(idOf(publicKey, token), await this.fetchAccount(publicKey, TokenId.fromBase58(token)));
      });
      await Promise.all(read);
      const account = accounts.get(idOf(payer.toBase58(), TokenId.toBase58(TokenId.default)));
      if (!account) throw this.unknown(payer);
      const reached = Number(account.nonce);
      const pending = asked.placed(asked.next ?? reached);
      const first = pending.commands[0]!.nonce;
      if (reached < first || reached > (asked.next ?? reached)) {
        this.nodes!.rest(this.url);
        throw new Busy(`the ledger is at nonce ${reached}, and what is pending begins at ${first}`, retrySoon);
      }
      const passed = pending.commands.filter((command) => command.nonce < reached);
      const landed = await this.landed(passed.map(({ hash }) => hash));
      if ((await this.tip()).hash !== tip.hash) continue;
      const left = pending.commands.slice(passed.length).map(({ zkapp }) => zkapp);
      return {
        pending,
        passed: landed,
        overlay: new Overlay(accounts, left, creationFeeOf(this.instance!)),
        height: tip.height + 1,
        payer: account,
      };
    }
    throw new Busy('the chain moves on while it is read', retrySoon);
  }

  /** The heights at which commands stand. A nonce may have been spent by a failure, or by something else. */
  private async landed(hashes: string[]): Promise<Map<string, number>> {
    const heights = new Map<string, number>();
    if (hashes.length === 0) return heights;
    if ('instance' in this.option) return new Map(hashes.map((hash) => [hash, 0])); // it has all events itself
    const left = new Set(hashes);
    for (const most of depths) {
      const query = `{ bestChain(maxLength: ${most}) { protocolState { consensusState { blockHeight } } transactions { zkappCommands { hash failureReason { index } } } } }`;
      for (const { protocolState, transactions } of await this.bestChain<Block>(query, blocksTimeout)) {
        for (const { hash, failureReason } of transactions.zkappCommands) {
          if (!left.has(hash)) continue;
          if (failureReason?.length) {
            throw new Busy(`the command ${hash} before this one has failed in a block`, retrySoon);
          }
          left.delete(hash);
          heights.set(hash, Number(protocolState.consensusState.blockHeight));
        }
      }
      if (left.size === 0) return heights;
    }
    throw new Busy(`the ledger has passed ${[...left].join(', ')}, which stands in no block`, retrySoon);
  }

  private async tip(): Promise<{ hash: string; height: number }> {
    if ('instance' in this.option) {
      return { hash: '', height: Number(this.option.instance.getNetworkState().blockchainLength) };
    }
    const query = `{ bestChain(maxLength: 1) { stateHash ${heightQuery} } }`;
    const last = (await this.bestChain<Tip>(query, statusTimeout)).at(-1)!;
    return { hash: last.stateHash, height: Number(last.protocolState.consensusState.blockHeight) };
  }

  private async bestChain<T>(query: string, timeout: number): Promise<T[]> {
    try {
      const { bestChain } = (await ask(this.url, query, timeout)) as { bestChain?: T[] | null };
      if (bestChain?.length) return bestChain;
      throw new Error('it shows no chain');
    } catch (error) {
      this.nodes!.rest(this.url);
      throw new Unreadable('the node did not answer for its chain', asError(error).message);
    }
  }

  /**
   * Reads an account from the chain, or from what covers it; undefined if it does not exist.
   * Beside what is being made it asks a node that is synced now, and leaves that as it is.
   */
  async fetchAccount(publicKey: PublicKey | string, tokenId?: Field, cover?: Cover, isBeside = false): Found {
    const key = typeof publicKey === 'string' ? PublicKey.fromBase58(publicKey) : publicKey;
    if (cover?.overlay.has(key, tokenId)) return cover.overlay.account(key, tokenId);
    if ('instance' in this.option) {
      const { instance } = this.option;
      return instance.hasAccount(key, tokenId) ? instance.getAccount(key, tokenId) : undefined;
    }
    const [name, token] = [key.toBase58(), TokenId.toBase58(tokenId ?? TokenId.default)];
    if (isBeside) return this.readAccount(name, token, await this.synced());
    const account = await this.readAccount(name, token);
    this.reads.note(accountName(name, token), account);
    return account;
  }

  private async readAccount(publicKey: string, tokenId: string, url = this.url): Found {
    const { account, error } = await fetchAccount({ publicKey, tokenId }, url);
    if (account) return account;
    // o1js's own words for a node's answer without it. A gateway says 404, too.
    if (error?.statusCode === 404 && error.statusText.startsWith('fetchAccount: ')) return undefined;
    this.nodes!.rest(url);
    throw new Unreadable(`the node did not answer for the account ${publicKey}`, error?.statusText);
  }

  private async readState(): Promise<ReturnType<MinaInstance['getNetworkState']>> {
    const { url } = this;
    return fetchLastBlock(url).catch((error: unknown) => {
      this.nodes!.rest(url);
      throw new Unreadable('the node did not answer for its last block', asError(error).message);
    });
  }

  private async readActions(node: MinaInstance, publicKey: string, tokenId: string, range: Range): Promise<Actions> {
    const silent = `the archive did not answer for the actions of ${publicKey}`;
    const found = await node
      .fetchActions(PublicKey.fromBase58(publicKey), range, TokenId.fromBase58(tokenId))
      .catch((error: unknown) => {
        throw unavailable(silent, asError(error).message); // what it says may not fit together
      });
    if ('error' in found) throw unavailable(silent, found.error.statusText);
    return found;
  }

  /** The node to build on. */
  private async synced(): Promise<string> {
    const { url, networkID } = await this.nodes!.fit();
    this.networkId = networkID;
    return url;
  }

  /** Signatures for mainnet and for all else differ, and those of custom networks from each other. */
  private checkNetwork(networkID: string): void {
    const ours = ('networkId' in this.option && this.option.networkId) || 'devnet';
    const theirs = networkID.replace(/^mina:/, '');
    const same = typeof ours === 'object' ? theirs === ours.custom : (theirs === 'mainnet') === (ours === 'mainnet');
    if (!same) {
      throw unavailable(
        `the node is of the network ${networkID}, and this worker signs for ${nameOf(ours)}: correct network.networkId or network.graphql`,
      );
    }
  }
}

const creationFeeOf = (instance: MinaInstance) => instance.getNetworkConstants().accountCreationFee.toBigInt();

/** A variable of a circuit has a value only for its prover. */
function isKnown(publicKey: PublicKey): boolean {
  try {
    publicKey.toBase58();
    return true;
  } catch {
    return false;
  }
}

/** The daemon calls devnet "testnet", as o1js did before. */
function nameOf(id: NetworkId): string {
  if (typeof id === 'object') return id.custom;
  return id === 'mainnet' ? 'mainnet' : 'testnet';
}

/** Errors and logs name a node by its host alone: a path may hold an access key. */
function checkURL(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') {
    throw new Error('network: every node is an http or https URL, such as http://127.0.0.1:3085/graphql');
  }
  if (parsed.username || parsed.password)
    throw new Error(`network: the URL of ${parsed.host} must not hold a user or password`);
  nameByHost(url);
}
