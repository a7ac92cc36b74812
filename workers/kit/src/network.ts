import { fetchAccount, Mina, PublicKey, TokenId, type Account, type Field, type NetworkId } from 'o1js';
import { asError, Failure, unavailable } from './errors.js';

/** One of o1js's Mina instances, such as a LocalBlockchain. */
export type MinaInstance = Parameters<typeof Mina.setActiveInstance>[0];

/**
 * Where transactions are built on and signed for. Of several daemons the first
 * one that is synced is used, for all of a transaction. `networkId` is what
 * signatures are made for, default devnet. `instance` is for tests in process.
 */
export type NetworkOption =
  { graphql: string | string[]; archive?: string | string[]; networkId?: NetworkId } | { instance: MinaInstance };

/** How long a node may take to say that it is there. */
const statusTimeout = 10_000;

/** The network as this worker knows it. There is one per process, as o1js has one. */
export class Network {
  private readonly urls: string[];
  private readonly proofsEnabled: boolean;
  private accounts = new WeakSet<object>();
  private seen: object[] = [];
  private networkId: string;

  constructor(
    private readonly option: NetworkOption,
    proofsEnabled: boolean,
  ) {
    if ('instance' in option) {
      this.urls = [];
      this.proofsEnabled = option.instance.proofsEnabled;
      this.networkId = `mina:${nameOf(option.instance.getNetworkId())}`;
    } else {
      this.urls = [option.graphql].flat();
      if (this.urls.length === 0)
        throw new Error('network.graphql: name at least one daemon, such as http://127.0.0.1:3085/graphql');
      [...this.urls, ...[option.archive ?? []].flat()].forEach(checkURL);
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
   * What was read for earlier ones counts as stale from here on.
   */
  async open(): Promise<void> {
    for (const account of this.seen) this.accounts.add(account);
    this.seen = [];
    this.use('instance' in this.option ? undefined : await this.synced());
  }

  /** Makes a node o1js's own, without asking it anything. Signatures need no more than that. */
  use(url = this.urls[0]): void {
    if ('instance' in this.option) {
      Mina.setActiveInstance(this.option.instance);
      return;
    }
    if (url === undefined) return;
    const { archive, networkId } = this.option;
    const node = Mina.Network({ mina: url, ...(archive && { archive }), ...(networkId && { networkId }) });
    Mina.setActiveInstance({
      ...node,
      proofsEnabled: this.proofsEnabled,
      getAccount: (publicKey, tokenId) => this.fresh(publicKey, node.getAccount(publicKey, tokenId)),
    });
  }

  /** Reads an account from the chain; undefined if it does not exist. */
  async fetchAccount(publicKey: PublicKey | string, tokenId?: Field): Promise<Account | undefined> {
    const key = typeof publicKey === 'string' ? PublicKey.fromBase58(publicKey) : publicKey;
    if ('instance' in this.option) {
      const { instance } = this.option;
      return instance.hasAccount(key, tokenId) ? instance.getAccount(key, tokenId) : undefined;
    }
    const { account, error } = await fetchAccount({ publicKey: key, tokenId: tokenId ?? TokenId.default });
    if (account) return account;
    if (error?.statusCode === 404) return undefined;
    throw unavailable(`the node did not answer for the account ${key.toBase58()}`, error?.statusText);
  }

  /**
   * o1js goes on with what it has cached when a node does not answer. An account
   * that an earlier transaction has used already has not been read again.
   */
  private fresh(publicKey: PublicKey, account: Account): Account {
    if (this.accounts.has(account)) {
      if (Mina.currentTransaction()?.fetchMode === 'cached') {
        throw unavailable(`the node did not answer for the account ${publicKey.toBase58()}`);
      }
    } else {
      this.seen.push(account);
    }
    return account;
  }

  /** The first node that is fit to build on. */
  private async synced(): Promise<string> {
    const reasons: string[] = [];
    for (const url of this.urls) {
      const host = new URL(url).host;
      try {
        const { syncStatus, networkID } = await askStatus(url);
        if (syncStatus !== 'SYNCED') throw new Error(`it is ${syncStatus}`);
        this.checkNetwork(networkID);
        this.networkId = networkID;
        return url;
      } catch (error) {
        if (error instanceof Failure) throw error;
        reasons.push(`${host}: ${asError(error).message}`);
      }
    }
    throw unavailable('no Mina node is there to build on', reasons.join('; '));
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

async function askStatus(url: string): Promise<{ syncStatus: string; networkID: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: '{ syncStatus networkID }' }),
    redirect: 'error',
    signal: AbortSignal.timeout(statusTimeout),
  }).catch((error: Error) => {
    const cause = error.cause as { code?: string } | undefined;
    throw new Error(cause?.code ?? error.name);
  });
  if (!response.ok) throw new Error(`it answered HTTP ${response.status}`);
  const answer = (await response.json()) as { data?: { syncStatus?: unknown; networkID?: unknown } };
  const { syncStatus, networkID } = answer.data ?? {};
  if (typeof syncStatus !== 'string' || typeof networkID !== 'string')
    throw new Error('it does not say whether it is synced');
  return { syncStatus, networkID };
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
}
