import type { Account } from './ledger.js';
import type { Payer } from './pool.js';

/** Nanomina that an account may spend in a slot. Mina: `liquid_balance_at_slot`. */
export function liquid({ balance, timing }: Account, slot: number): bigint {
  const total = BigInt(balance);
  if (!timing.isTimed) return total;
  let locked = BigInt(timing.initialMinimumBalance);
  const since = BigInt(slot) - BigInt(timing.cliffTime);
  if (since >= 0n) {
    const period = BigInt(timing.vestingPeriod) || 1n;
    locked -= BigInt(timing.cliffAmount) + (since / period) * BigInt(timing.vestingIncrement);
  }
  const spendable = total - (locked > 0n ? locked : 0n);
  return spendable > 0n ? spendable : 0n;
}

/** What the pool asks of a fee payer's account. */
export function payerOf(account: Account, slot: number): Payer {
  const { access, send, incrementNonce } = account.permissions;
  return {
    nonce: Number(account.nonce),
    liquid: liquid(account, slot),
    maySend: [access, send, incrementNonce].every((auth) => ['None', 'Either', 'Signature'].includes(auth)),
  };
}
