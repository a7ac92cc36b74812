import { AccountUpdate, Bool, Int64, Mina, type PrivateKey, PublicKey, UInt64 } from 'o1js';
import type { ZkappCommand } from './command.js';
import { CREATION_FEE } from './ledger.js';

/** An order to pay out. Amounts in nanomina. */
export interface Payout {
  from: PrivateKey;
  to: string;
  amount: bigint;
  fee: bigint;
  nonce: number;
  isNew: boolean; // the account paid to does not exist yet
}

/** Writes and signs a zkApp command that pays, for the ledger here knows no other kind of payment. */
export function payout({ from, to, amount, fee, nonce, isNew }: Payout): ZkappCommand {
  const payer = from.toPublicKey();
  const cost = isNew ? amount + CREATION_FEE : amount;
  const transaction = Mina.Transaction.fromJSON({
    feePayer: {
      body: { publicKey: payer.toBase58(), fee: fee.toString(), nonce: nonce.toString(), validUntil: null },
      authorization: '',
    },
    accountUpdates: [change(payer, cost, -1).toJSON(), change(PublicKey.fromBase58(to), amount, 1).toJSON()],
    memo: EMPTY_MEMO,
  });
  const { feePayer, accountUpdates } = transaction.transaction;
  for (const part of [feePayer, accountUpdates[0]!]) part.lazyAuthorization = { kind: 'lazy-signature' };
  return JSON.parse(transaction.sign([from]).toJSON()) as ZkappCommand;
}

function change(publicKey: PublicKey, amount: bigint, sign: 1 | -1): AccountUpdate {
  const update = AccountUpdate.default(publicKey);
  const magnitude = Int64.fromUnsigned(UInt64.from(amount));
  update.body.balanceChange = sign === 1 ? magnitude : magnitude.neg();
  if (sign === -1) {
    update.body.useFullCommitment = Bool(true);
    update.body.authorizationKind.isSigned = Bool(true);
  }
  return update;
}

const EMPTY_MEMO = 'E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH';
