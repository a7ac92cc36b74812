import { AccountUpdate, Bool, Field, Mina, PrivateKey, PublicKey, UInt32, UInt64 } from 'o1js';
import type { ZkappCommand } from '../src/command.js';
import { derivePrivateKey } from '../src/formats.js';

/** What a test wants to send. Amounts in nanomina. */
export interface Plan {
  payer: string; // private key
  nonce: number;
  fee?: number;
  validUntil?: number;
  updates?: AccountUpdate[];
  keys?: string[]; // that sign, besides the payer's
}

/** Writes and signs a command. Without updates it has one that changes nothing. */
export function signed({ payer, nonce, fee = 100_000_000, validUntil, updates, keys = [] }: Plan): ZkappCommand {
  const privateKey = PrivateKey.fromBase58(payer);
  const publicKey = privateKey.toPublicKey();
  const transaction = Mina.Transaction.fromJSON({
    feePayer: {
      body: {
        publicKey: publicKey.toBase58(),
        fee: `${fee}`,
        nonce: `${nonce}`,
        validUntil: validUntil?.toString() ?? null,
      },
      authorization: '',
    },
    accountUpdates: [],
    memo: 'E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH',
  });
  transaction.transaction.accountUpdates = updates ?? [AccountUpdate.default(publicKey)];
  transaction.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
  transaction.sign([payer, ...keys].map((key) => PrivateKey.fromBase58(key)));
  return JSON.parse(transaction.toJSON()) as ZkappCommand;
}

/** An account update that its account signs. */
export function update(publicKey: string, change: (update: AccountUpdate) => void = () => undefined): AccountUpdate {
  const made = AccountUpdate.default(PublicKey.fromBase58(publicKey));
  made.body.useFullCommitment = Bool(true);
  made.body.authorizationKind.isSigned = Bool(true);
  made.lazyAuthorization = { kind: 'lazy-signature' };
  change(made);
  return made;
}

/** An account update, signed by its account, that puts out events and actions. */
export function emitting(publicKey: string, events: string[][], actions: string[][] = []): AccountUpdate {
  const json = update(publicKey).toJSON();
  const made = AccountUpdate.fromJSON({ ...json, body: { ...json.body, events, actions } });
  made.lazyAuthorization = { kind: 'lazy-signature' };
  return made;
}

/** An account update that nobody signs. */
export function unsigned(publicKey: string, change: (update: AccountUpdate) => void = () => undefined): AccountUpdate {
  const made = AccountUpdate.default(PublicKey.fromBase58(publicKey));
  change(made);
  return made;
}

export const setState = (value: number) => (made: AccountUpdate) => {
  AccountUpdate.setValue(made.update.appState[0]!, Field(value));
};

export const expectState = (value: number) => (made: AccountUpdate) => {
  made.body.preconditions.account.state[0] = { isSome: Bool(true), value: Field(value) };
};

export const expectNonce = (value: number) => (made: AccountUpdate) => {
  const nonce = UInt32.from(value);
  made.body.preconditions.account.nonce = { isSome: Bool(true), value: { lower: nonce, upper: nonce } };
};

export const addBalance = (nanomina: number) => (made: AccountUpdate) => {
  if (nanomina < 0) made.balance.subInPlace(UInt64.from(-nanomina));
  else made.balance.addInPlace(UInt64.from(nanomina));
};

/** A key pair that no account has, by number. */
export function stranger(number: number): { publicKey: string; privateKey: string } {
  const privateKey = derivePrivateKey(`stranger ${number}`);
  return { privateKey, publicKey: PrivateKey.fromBase58(privateKey).toPublicKey().toBase58() };
}
