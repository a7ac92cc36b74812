import assert from 'node:assert/strict';
import { fetchAccount, Mina, Bool, PublicKey, type Field, type PrivateKey } from 'o1js';
import { networkArchive, type EmittedEvent } from '../src/archive.js';
import { ClaimState } from '../src/claim-voting.js';
import { claimField, uidField } from '../src/fields.js';
import type { Keys } from '../src/keys.js';
import { PlanState } from '../src/voting-batches.js';

/** A funded account of the node. */
export interface Account {
  publicKey: string;
  privateKey: string;
}

/** The ledger node as the test sees it: contracts, blocks and control. */
export class Ledger {
  readonly graphql: string;
  readonly archive: string;
  readonly #base: string;
  readonly #keys: Keys;

  constructor(base: string, keys: Keys) {
    this.#base = base;
    this.#keys = keys;
    this.graphql = `${base}/graphql`;
    this.archive = `${base}/archive`;
    Mina.setActiveInstance(Mina.Network({ mina: this.graphql, archive: this.archive }));
  }

  /** The state of a claim's account. */
  async claim(claimUid: string): Promise<{ address: PublicKey; state: ClaimState }> {
    const { address, fields } = await this.#contract(this.#keys.name('claim', claimField(claimUid)));
    return { address, state: ClaimState.fromFields(fields) };
  }

  /** The state of a plan's account. */
  async plan(planUid: string): Promise<{ address: PublicKey; state: PlanState }> {
    const { address, fields } = await this.#contract(this.#keys.name('plan', uidField(planUid)));
    return { address, state: PlanState.fromFields(fields) };
  }

  /** The fields of state of an account. */
  state(address: string): Promise<Field[]> {
    return this.#state(PublicKey.fromBase58(address));
  }

  async #contract(name: PrivateKey): Promise<{ address: PublicKey; fields: Field[] }> {
    const [x, isOdd] = await this.#state(name.toPublicKey());
    const address = PublicKey.from({ x: x!, isOdd: Bool(isOdd!.toBigInt() === 1n) });
    return { address, fields: await this.#state(address) };
  }

  async #state(publicKey: PublicKey): Promise<Field[]> {
    const { account } = await fetchAccount({ publicKey });
    assert.ok(account?.zkapp, `${publicKey.toBase58()} has no state`);
    return account.zkapp.appState;
  }

  /** The events of a contract, as the archive has them. */
  events(address: PublicKey): Promise<EmittedEvent[]> {
    return networkArchive.events(address, () => false);
  }

  /** In nanomina; 0 if there is no such account. */
  async balance(publicKey: string): Promise<bigint> {
    const { account } = await fetchAccount({ publicKey });
    return account?.balance.toBigInt() ?? 0n;
  }

  /** How many commands of this payer are in blocks. */
  async nonce(payer: string): Promise<number> {
    const { account } = await fetchAccount({ publicKey: payer });
    return Number(account!.nonce.toBigint());
  }

  /** Whether the youngest block has no commands. */
  async isTipEmpty(): Promise<boolean> {
    const { bestChain } = await this.#query<{ bestChain: { transactions: { zkappCommands: object[] } }[] }>(
      '{bestChain(maxLength:1){transactions{zkappCommands{hash}}}}',
    );
    return bestChain[0]!.transactions.zkappCommands.length === 0;
  }

  /** Hashes of what waits in the pool. */
  async pooled(): Promise<string[]> {
    const { pooledZkappCommands } = await this.#query<{ pooledZkappCommands: { hash: string }[] }>(
      '{pooledZkappCommands{hash}}',
    );
    return pooledZkappCommands.map(({ hash }) => hash);
  }

  /** The slot by the node's clock. */
  async slot(): Promise<number> {
    return ((await this.#json('/control/state')) as { slot: number }).slot;
  }

  async accounts(): Promise<Account[]> {
    return (await this.#json('/control/accounts')) as Account[];
  }

  async control(order: 'pause' | 'resume' | 'reorg' | 'faucet' | 'faults' | 'heal', body: object = {}): Promise<void> {
    await this.#json(`/control/${order}`, body);
  }

  async #query<T>(query: string): Promise<T> {
    return ((await this.#json('/graphql', { query })) as { data: T }).data;
  }

  async #json(path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#base}${path}`, {
      ...(body && {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  }
}
