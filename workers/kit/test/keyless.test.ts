import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Field, Transaction } from 'o1js';
import { effectsOf } from '../src/effects.js';
import type { Dispatcher } from '../src/index.js';
import { call, folder, makeWorld, serve } from './world.js';

// A prover of a pool: whoever asks has what it answers signed elsewhere.

const world = await makeWorld();

test('a prover tells what it would prove, and proves that for the token', async (t) => {
  const options = { payer: undefined, prover: true, store: await folder(t) };
  const served = await serve(world, { ADD: { dispatch: () => world.counter.add(Field(3)) } }, options);
  t.after(() => served.worker.close());
  const attempt = world.attempt();
  const { number, memo, previous } = attempt;
  const building = (uid: string, ahead: object[]) => ({
    ...call(world, uid, attempt),
    attempt: { number, memo, previous },
    ahead,
  });
  const { error, built, token } = (await served.post('/build/ADD', building('apart', []))).body;
  assert.equal(error, null);
  const { body, text } = await served.post('/prove/ADD', { ...call(world, 'apart', attempt), token });
  assert.deepEqual([body.error, body.signed], [null, undefined], text);
  assert.equal(effectsOf(body.proved!), effectsOf(built!));
  // What a signer has signed has no hash: the next is built on what it does.
  const next = (await served.post('/build/ADD', building('next', [{ uid: 'apart', built: body.proved }]))).body;
  assert.deepEqual([next.error, next.on], [null, effectsOf(built!)]);
});

test('what is proved, or was, is found again by who builds it once more, upon the same', async (t) => {
  const options = { payer: undefined, prover: true, store: await folder(t) };
  let runs = 0;
  let go = () => {};
  const waits = new Promise<void>((resolve) => (go = resolve));
  const dispatcher: Dispatcher = {
    dispatch: () => (runs++, world.counter.add(Field(4))),
    signers: async () => (await waits, []), // of a proof: it stands for one that takes its time
  };
  const served = await serve(world, { ADD: dispatcher }, options);
  t.after(() => served.worker.close());
  const attempt = { ...world.attempt(), base: 'b' };
  const building = ({ number, memo, previous, base } = attempt) => ({
    ...call(world, 'again', attempt),
    attempt: { number, memo, previous, base },
    ahead: [],
  });
  const build = async (of = attempt) => served.post('/build/ADD', building(of));
  const prove = (token: string | undefined, of = attempt) =>
    served.post('/prove/ADD', { ...call(world, 'again', of), token });
  const first = (await build()).body;
  const once = runs;
  const proved = prove(first.token);
  let second = (await build()).body;
  for (; second.token === undefined; second = (await build()).body);
  assert.deepEqual([second.built, second.token], [first.built, first.token]);
  assert.equal((await build({ ...attempt, base: 'other' })).status, 503);
  go();
  const made = await proved;
  assert.equal((await prove(second.token)).text, made.text);
  // Those ahead are others by now, and leave the same.
  const ahead = [{ uid: 'x', built: first.built }];
  const third = (await served.post('/build/ADD', { ...building(), ahead })).body;
  assert.equal(third.on, effectsOf(first.built!));
  assert.equal(effectsOf(third.built!), effectsOf(first.built!));
  assert.deepEqual((await prove(third.token)).body, { ...made.body, on: third.on });
  assert.equal(runs, once);
  // Of another fee it is made anew.
  const dearer = { ...attempt, fee: '250000000' };
  assert.equal((await prove(third.token, dearer)).status, 410);
  const { token } = (await build()).body;
  assert.ok((await prove(token, dearer)).body.proved!.includes('250000000'));
  assert.equal(runs, 2 * once);
});

test('a prover has no key, serves any sender, and signs again what its own keys have signed', async (t) => {
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      await world.counter.add(Field(5));
      const update = AccountUpdate.createSigned(world.other); // signs the whole command
      update.body.useFullCommitment = update.body.incrementNonce.not();
      return { data: { by: 5 } };
    },
    signers: () => [world.other.key],
  };
  const served = await serve(world, { ADD: dispatcher }, { payer: undefined, prover: true, store: await folder(t) });
  t.after(() => served.worker.close());
  const health = JSON.parse((await served.get('/health')).text) as Record<string, unknown>;
  assert.deepEqual(
    [health.accountId, health.capabilities, health.types, health.proofsLastHour],
    ['', ['prove', 'resign', 'ahead', 'builds'], ['ADD'], 0],
  );
  const sign = (proved: string) => {
    const tx = Transaction.fromJSON(proved);
    tx.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
    return tx.sign([world.payer.key]).toJSON();
  };

  const first = world.attempt();
  const made = await served.post('/prove/ADD', call(world, 'pooled', first));
  assert.deepEqual([made.body.error, made.body.hash, made.body.data], [null, '', { by: 5 }], made.text);
  assert.equal(made.body.signed, undefined);
  const { feePayer } = JSON.parse(made.body.proved!) as { feePayer: { authorization: string } };
  assert.equal(feePayer.authorization, '');
  const again = await served.post('/prove/ADD', call(world, 'pooled', first));
  assert.equal(again.text, made.text);
  const signed = sign(made.body.proved!);

  // A dearer one, for which the other's key signs anew.
  const previous = [{ number: 1, hash: '5J', nonce: first.nonce, fee: first.fee }];
  const second = { ...first, number: 2, fee: '250000000', previous };
  const raised = await served.post('/resign/ADD', { ...call(world, 'pooled', second), signed });
  assert.equal(raised.body.error, null, raised.text);
  const before = world.count();
  await world.land(sign(raised.body.proved!));
  assert.equal(world.count(), before + 5n);

  // What was not made here is not signed with the keys that are here, nor what is another sender's.
  const stranger = { ...call(world, 'pooled', { ...second, number: 3 }), signed };
  stranger.sender.accountId = world.other.toBase58();
  assert.equal((await served.post('/resign/ADD', stranger)).status, 501);
  const another = call(world, 'pooled', { ...first, nonce: 0 });
  another.sender.accountId = world.other.toBase58();
  const theirs = await served.post('/prove/ADD', another);
  assert.equal(theirs.body.error, null, theirs.text);
  assert.ok(theirs.body.proved!.includes(`"publicKey":"${world.other.toBase58()}","fee"`), theirs.text);
  assert.equal((await served.post('/dispatch/ADD', call(world, 'pooled', first))).status, 404);
  assert.equal((JSON.parse((await served.get('/health')).text) as Record<string, unknown>).proofsLastHour, 2);
  assert.ok(!served.lines.join().includes('accountUpdates'));
});
