import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Field, fetchAccount, Mina, PrivateKey } from 'o1js';
import { startNode } from '../../src/index.js';
import { Counter } from '../counter.js';

// With real proofs: some minutes, and up to two gigabytes.

const WAIT = { interval: 100, maxAttempts: 1000 };
const FEE = 100_000_000;

test('a real proof is accepted, also after a raise of the fee, and one of another call is refused', async (t) => {
  const running = await startNode({ port: 0, slotTime: 1000, accounts: 1, proofs: true });
  const { urls, node } = running;
  t.after(() => running.close());
  Mina.setActiveInstance(Mina.Network({ mina: urls.graphql, archive: urls.archive }));
  await Counter.compile();
  const key = PrivateKey.fromBase58(node.accounts[0]!.privateKey);
  const sender = { sender: key.toPublicKey(), fee: FEE };
  const account = PrivateKey.random();
  const app = new Counter(account.toPublicKey());
  const deployment = await Mina.transaction(sender, async () => {
    AccountUpdate.fundNewAccount(sender.sender);
    await app.deploy();
  });
  await (await deployment.sign([key, account]).send()).wait(WAIT);

  const call = async (by: number) => {
    const transaction = await Mina.transaction(sender, () => app.raise(Field(by)));
    await transaction.prove();
    transaction.sign([key]);
    return transaction;
  };
  const [good, other] = [await call(1), await call(2)];

  // The state differs from what the proof says, and the payer signs that.
  const forged = Mina.Transaction.fromJSON(other.toJSON());
  const [update] = forged.transaction.accountUpdates as [AccountUpdate];
  update.authorization.proof = good.transaction.accountUpdates[0]!.authorization.proof;
  forged.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
  const { errors } = await forged.sign([key]).safeSend();
  assert.match(errors.join(), /Stale verification key detected/); // what o1js makes of Invalid_proof

  await (await good.send()).wait(WAIT);
  await fetchAccount({ publicKey: app.address });
  assert.equal(app.count.get().toString(), '1');

  // A fee raised after proving: the proof stays good, the signature is made anew.
  const raised = await call(3);
  await raised.setFee(raised.transaction.feePayer.body.fee.mul(2));
  await (await raised.sign([key]).send()).wait(WAIT);
  await fetchAccount({ publicKey: app.address });
  assert.equal(app.count.get().toString(), '4');
});
