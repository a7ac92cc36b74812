import type { Context } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Bool, Permissions, PublicKey, type Field, type PrivateKey } from 'o1js';

// The account of a claim has the key of the transaction that created it, which
// later transactions do not know. So each creation also writes a name: a small
// account whose own key follows from the claim's uid, and whose state is the
// address. It is created once and never changed, so the ledger itself says where
// the account is, and that there is one only.

/** Where the account of this name is, undefined if it has not been created. */
export async function lookUp(context: Context, name: PublicKey): Promise<PublicKey | undefined> {
  const state = (await context.fetchAccount(name))?.zkapp?.appState;
  const [x, isOdd] = state ?? [];
  if (x === undefined || isOdd === undefined) return undefined;
  return PublicKey.from({ x, isOdd: Bool(isOdd.equals(1).toBoolean()) });
}

/** The contract of this name and its state, undefined if it has not been created. */
export async function findContract(
  context: Context,
  name: PrivateKey,
): Promise<{ address: PublicKey; state: Field[] } | undefined> {
  const address = await lookUp(context, name.toPublicKey());
  const state = address && (await context.fetchAccount(address))?.zkapp?.appState;
  return state && { address, state };
}

/** Writes the name, as part of the transaction that creates the account; fails in a block if it is taken. */
export function writeName(name: PrivateKey, address: PublicKey): void {
  const update = AccountUpdate.createSigned(name.toPublicKey());
  update.account.isNew.requireEquals(Bool(true));
  address.toFields().forEach((value, i) => {
    update.body.update.appState[i] = { isSome: Bool(true), value };
  });
  update.account.permissions.set({ ...Permissions.allImpossible(), access: Permissions.none() });
}
