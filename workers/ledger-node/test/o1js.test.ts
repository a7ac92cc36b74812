import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AccountUpdate, Field, fetchAccount, fetchLastBlock, Lightnet, Mina, PrivateKey, Reducer, UInt32 } from 'o1js';
import type { Included } from '../src/chain.js';
import { startNode, withoutProofs, type RunningNode } from '../src/index.js';
import { Refusal } from '../src/refusal.js';
import { Counter } from './counter.js';

// Programs for o1js's own Mina.Network, as anybody writes them. Proofs are
// dummies, so nothing is compiled.

const WAIT = { interval: 50, maxAttempts: 1000 };
const FEE = 100_000_000;

interface Deployed {
  running: RunningNode;
  app: Counter;
  sender: PrivateKey;
}

const valueOf = (event: Event['event']) => (event.data as unknown as Field).toString();

async function deploy(): Promise<Deployed> {
  const running = await startNode({ port: 0, slotTime: 200, accounts: 2, proofs: false });
  const { graphql: mina, archive } = running.urls;
  const lightnetAccountManager = new URL(mina).origin;
  Mina.setActiveInstance(withoutProofs(Mina.Network({ mina, archive, lightnetAccountManager })));
  const { publicKey, privateKey: sender } = await Lightnet.acquireKeyPair();
  const key = PrivateKey.random();
  const app = new Counter(key.toPublicKey());
  const transaction = await Mina.transaction({ sender: publicKey, fee: FEE }, async () => {
    AccountUpdate.fundNewAccount(publicKey);
    await app.deploy();
  });
  await transaction.prove();
  await (await transaction.sign([sender, key]).send()).wait(WAIT);
  return { running, app, sender };
}

async function raise({ app, sender }: Deployed, by: number) {
  const transaction = await Mina.transaction({ sender: sender.toPublicKey(), fee: FEE }, () => app.raise(Field(by)));
  await transaction.prove();
  transaction.sign([sender]);
  return transaction;
}

describe('a program for Mina.Network', () => {
  let deployed: Deployed;

  before(async () => {
    deployed = await deploy();
  });

  after(() => deployed.running.close());

  test('deploys a contract, calls it, and reads state, events and actions', async () => {
    const { app, running } = deployed;
    for (const by of [1, 2, 3]) {
      const included = await (await (await raise(deployed, by)).send()).wait(WAIT);
      assert.equal(included.status, 'included');
    }
    await fetchAccount({ publicKey: app.address });
    assert.equal(app.count.get().toString(), '6');

    const events = await app.fetchEvents();
    assert.deepEqual(
      events.map(({ type, event }) => [type, valueOf(event)]),
      [
        ['raised', '1'],
        ['raised', '2'],
        ['raised', '3'],
      ],
    );
    const [first, second, third] = events as [Event, Event, Event];
    assert.equal(first.chainStatus, 'pending');
    const some = await app.fetchEvents(second.blockHeight, third.blockHeight);
    assert.deepEqual(
      some.map(({ event }) => valueOf(event)),
      ['2'],
    );

    const all = await app.reducer.fetchActions({ fromActionState: Reducer.initialActionState });
    assert.deepEqual(
      all.map((group) => group.map(String)),
      [['1'], ['2'], ['3']],
    );
    const states = (await Mina.fetchActions(app.address)) as { hash: string }[];
    assert.equal(states.at(-1)?.hash, String(Mina.getAccount(app.address).zkapp?.actionState[0]));
    const later = await Mina.fetchActions(app.address, { fromActionState: Field(states[0]!.hash) });
    assert.deepEqual(
      (later as { actions: string[][] }[]).map(({ actions }) => actions),
      [[['2']], [['3']]],
    );
    const between = { fromActionState: Field(states[0]!.hash), endActionState: Field(states[1]!.hash) };
    assert.equal(((await Mina.fetchActions(app.address, between)) as unknown[]).length, 1);

    const { blockchainLength } = await fetchLastBlock();
    assert.ok(blockchainLength.toBigint() <= BigInt(running.node.chain.tip.height));
  });

  test('is told why a call failed in its block, and the call puts out nothing', async () => {
    const { app, running } = deployed;
    running.node.paused = true;
    const before = (await app.fetchEvents()).length;
    const [winner, loser] = [await raise(deployed, 1), await raise(deployed, 2)];
    const { feePayer } = loser.transaction;
    feePayer.body.nonce = feePayer.body.nonce.add(UInt32.one);
    feePayer.lazyAuthorization = { kind: 'lazy-signature' };
    const first = await winner.send();
    const second = await loser.sign([deployed.sender]).send();
    running.node.paused = false;
    assert.equal((await first.safeWait(WAIT)).status, 'included');
    const rejected = await second.safeWait(WAIT);
    assert.equal(rejected.status, 'rejected');
    assert.match(JSON.stringify(rejected), /Account_app_state_0_precondition_unsatisfied|appState/);
    assert.equal((await app.fetchEvents()).length, before + 1);
  });

  test('is refused a proof where the contract is not deployed, or another one is', async (t) => {
    const strict = await startNode({ port: 0, manual: true, accounts: 2, proofs: true });
    t.after(() => strict.close());
    const { app, sender } = deployed;
    const [{ command: deployment }] = deployed.running.node.chain
      .path(Infinity)
      .flatMap(({ commands }) => commands) as [Included];
    const call = await raise(deployed, 1);
    const missing = new Refusal(`(invalid "Missing_verification_key: [${app.address.toBase58()}]")`);
    await assert.rejects(strict.node.send(JSON.parse(call.toJSON())), missing);

    await strict.node.send(deployment.zkapp); // in the pool is enough
    const unexpected = new Refusal(`(invalid "Unexpected_verification_key: [${app.address.toBase58()}]")`);
    call.transaction.accountUpdates[0]!.body.authorizationKind.verificationKeyHash = Field(1);
    const signed = Mina.Transaction.fromJSON(call.toJSON());
    signed.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
    await assert.rejects(strict.node.send(JSON.parse(signed.sign([sender]).toJSON())), unexpected);
  });
});

type Event = Awaited<ReturnType<Counter['fetchEvents']>>[0];
