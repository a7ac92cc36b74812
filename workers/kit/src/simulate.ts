import { type Account, Mina, type PrivateKey, PublicKey, TokenId, type Types } from 'o1js';
import type { Cover } from './ahead.js';
import type { Network } from './network.js';
import { idOf, touchedBy } from './overlay.js';
import { Scratch, type PartFailure } from './scratch.js';
import { signature, type Unsigned } from './transaction.js';

/** What a transaction would do, by the accounts as they are, or as what is ahead of it leaves them. */
export interface Simulated {
  ok: boolean;
  failure: {
    /** Of the account update from 1 on, 0 of the fee payer; null where it did not come to account updates. */
    index: number | null;
    /** Mina's name of it, or one of the protocol's. */
    code: string;
    message: string;
  } | null;
  /** 1 + account updates; 0 where there are none. */
  weight: number;
  touched: { publicKey: string; tokenId: string; creates: boolean }[];
}

/** What no block can hold, for its fee payer's part fails. */
const feePayerFails = 'FEE_PAYER';

/** Applies what is made to a copy of the accounts that it touches. Nothing that is signed here leaves. */
export async function tryOut(network: Network, tx: Unsigned, keys: PrivateKey[], cover?: Cover): Promise<Simulated> {
  await Scratch.ready();
  const names = touchedBy([JSON.parse(tx.toJSON()) as Types.Json.ZkappCommand]);
  const [accounts, { state, creationFee }] = await Promise.all([accountsOf(network, names, cover), network.view()]);
  const there = new Set(
    accounts.map(({ publicKey, tokenId }) => idOf(publicKey.toBase58(), TokenId.toBase58(tokenId))),
  );
  const touched = names.map(({ publicKey, token }) => ({
    publicKey,
    tokenId: token,
    creates: !there.has(idOf(publicKey, token)),
  }));
  const { accountUpdates } = tx.transaction;
  const made = { weight: 1 + accountUpdates.length, touched };
  return asDevnet(() => {
    const ledger = new Scratch(accounts, state);
    const command = signature(tx, keys);
    let failures: PartFailure[];
    try {
      failures = ledger.apply(command, creationFee);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { ok: false, failure: { index: 0, code: feePayerFails, message }, ...made };
    }
    return { ok: failures.length === 0, failure: failureOf(failures, tx), ...made };
  });
}

/** The accounts of these names that there are: as what is ahead leaves them, or as they are. */
async function accountsOf(network: Network, names: ReturnType<typeof touchedBy>, cover?: Cover): Promise<Account[]> {
  const left: typeof names = [];
  const supposed = names.map((name) => {
    const [key, token] = [PublicKey.fromBase58(name.publicKey), TokenId.fromBase58(name.token)];
    if (cover?.overlay.has(key, token)) return cover.overlay.supposed(key, token);
    left.push(name);
    return undefined;
  });
  return [...supposed.filter((account) => account !== undefined), ...(await network.accounts(left))];
}

/** Has work sign for devnet, as o1js's own ledger wants it on whatever network. */
function asDevnet<T>(work: () => T): T {
  const { activeInstance } = Mina;
  Mina.setActiveInstance({ ...activeInstance, getNetworkId: () => 'devnet' });
  try {
    return work();
  } finally {
    Mina.setActiveInstance(activeInstance);
  }
}

/** The first that is a cause; what has none of its own is cancelled with it. */
function failureOf(failures: PartFailure[], { transaction: { accountUpdates } }: Unsigned): Simulated['failure'] {
  const causes = failures
    .map(({ index, names }) => ({ index, names: names.filter((name) => name !== 'Cancelled') }))
    .filter(({ names }) => names.length > 0);
  const [first] = causes;
  if (!first) return failures.length > 0 ? { index: null, code: 'Cancelled', message: 'Cancelled' } : null;
  const parts = causes.map(({ index, names }) => {
    const who = index === 0 ? 'the fee payer' : accountUpdates[index - 1]?.publicKey.toBase58();
    const part = index === 0 ? who : `account update ${index} of ${accountUpdates.length} (${who})`;
    return `${part}: ${names.join(', ')}`;
  });
  return { index: first.index, code: first.names[0]!, message: parts.join('; ') };
}
