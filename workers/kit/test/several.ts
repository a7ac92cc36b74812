import { writeSync } from 'node:fs';
import { AccountUpdate, Bool, Field, method, Mina, PrivateKey, PublicKey, SmartContract, UInt32 } from 'o1js';
import { createWorker, type Dispatcher } from '../src/index.js';
import { Busy } from '../src/line.js';
import { Counter } from './world.js';

/**
 * A worker as a program of its own, with PROVERS. Each process tells MEETING what it comes to, and
 * goes on when that answers.
 */
class Broken extends SmartContract {
  @method async fail() {
    throw new Error('this circuit cannot be made');
  }
}

const meet = async (what: string) => {
  await fetch(`${process.env.MEETING}/${what}?pid=${process.pid}`);
};
await meet('start');

const payer = PrivateKey.fromBase58(process.env.PAYER ?? '');
const other = PrivateKey.fromBase58(process.env.OTHER ?? '');
const network = process.env.MINA_URL ? { graphql: process.env.MINA_URL.split(',') } : { instance: await ownChain() };

const dispatchers: Record<string, Dispatcher> = {
  /** Takes as long as the meeting does. */
  MEET: {
    dispatch: async ({ uid, data }) => {
      await meet(uid);
      return { done: { met: data.digits as bigint } };
    },
  },
  /** A transaction that a key signs which only its dispatch knows. */
  SIGN: {
    dispatch: async ({ uid }, { log }) => {
      await meet(uid);
      log.info({}, 'signing');
      signedByOther();
      return { data: { by: process.pid }, signers: [other] };
    },
    onSuccess: async (_txn, _outcome, { payer, fetchAccount }) => {
      if (await fetchAccount(payer)) await meet('told');
    },
  },
  /** As where the chain is not as far as the sequencer. */
  BUSY: {
    dispatch: () => Promise.reject(new Busy('not yet', 7)),
  },
  /** Does nothing else any more, as o1js while it proves. */
  BLOCK: {
    dispatch: async ({ uid }) => {
      await meet(uid);
      writeSync(1, 'blocked\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  },
  ADD: {
    ...(process.env.PROOFS && { contracts: [Counter] }),
    dispatch: async ({ uid, data }) => {
      await meet(uid);
      await new Counter(PublicKey.fromBase58(data.counter as string)).add(Field(data.amount as number));
    },
    onSuccess: async ({ data }, _outcome, { fetchAccount }) => {
      const account = await fetchAccount(data.counter as string);
      await meet(`read-${account?.zkapp?.appState[0]?.toString()}`);
    },
  },
  ...(process.env.BROKEN && { BROKEN: { contracts: [Broken], dispatch: async () => {} } }),
};

const worker = await createWorker({
  payer: process.env.FICKLE ? PrivateKey.random() : payer,
  network,
  dispatchers,
  provers: Number(process.env.PROVERS),
  maxWaiting: 1,
  ...(process.env.CALL_SECONDS && { callSeconds: Number(process.env.CALL_SECONDS) }),
  ...(process.env.JOIN_SECONDS && { joinSeconds: Number(process.env.JOIN_SECONDS) }),
  cache: process.env.CACHE,
  proofsEnabled: Boolean(process.env.PROOFS),
});
await worker.listen();
await meet('listens');
if (process.env.CLOSES) {
  await meet('held-close');
  await worker.close();
  await meet('closed');
}

async function ownChain() {
  const local = await Mina.LocalBlockchain({ proofsEnabled: Boolean(process.env.BROKEN) });
  for (const key of [payer, other]) local.addAccount(Mina.TestPublicKey(key), '1000000000');
  return local;
}

/** A signature that covers the fee, so that it has to be made anew with it. */
function signedByOther(): void {
  const update = AccountUpdate.create(other.toPublicKey());
  update.requireSignature();
  update.body.useFullCommitment = Bool(true);
  update.body.incrementNonce = Bool(false);
  const { nonce } = update.body.preconditions.account;
  nonce.isSome = Bool(false);
  nonce.value = { lower: UInt32.zero, upper: UInt32.MAXINT() };
}
