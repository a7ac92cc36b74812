import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { AccountUpdate, Field, getBackendPreference, method, Mina, PrivateKey, SmartContract } from 'o1js';
import * as program from './meeting.js';
import { Node } from './node.js';
import { call, Counter, folder, makeWorld, serve } from './world.js';

/** Real proofs are left to the later lanes, and to the round with proofs that every change gets. */
const later = process.env.TEST_LANE ? {} : { skip: 'in a later lane: TEST_LANE=all' };

/** The first of two tests with real proofs. It compiles and proves once, in half a minute or so with native code. */
test('a proof is kept where only the signature is made anew', later, async (t) => {
  const cache = await folder(t);
  const world = await makeWorld({ proofsEnabled: true, cache });
  const store = await folder(t);
  const dispatcher = { contracts: [Counter], dispatch: () => world.counter.add(Field(4)) };
  const served = await serve(world, { ADD: dispatcher }, { store, cache });
  t.after(() => served.worker.close());
  const compiled = served.lines.map((line) => JSON.parse(line) as { message: string; contract?: string; of?: number });
  assert.deepEqual(
    compiled.filter(({ contract }) => contract === 'Counter').map(({ message, of }) => [message, of]),
    [
      ['compiling', 1],
      ['compiled', 1],
    ],
  );

  const said = served.lines.map((line) => JSON.parse(line) as { message: string; prover?: string });
  const prover = getBackendPreference();
  assert.deepEqual(
    said.filter((line) => line.prover).map((line) => [line.prover, / native code$/.test(line.message)]),
    [[prover, prover === 'native']],
  );

  const cached = await readdir(cache);
  assert.ok(cached.some((name) => name.startsWith('step-pk-')));
  assert.deepEqual(
    cached.filter((name) => name.startsWith('.writing-')),
    [],
  );

  const first = world.attempt();
  const proved = await timed(() => served.post('/prove/ADD', call(world, 'proved', first)));
  assert.equal(proved.body.error, null, proved.text);
  const second = {
    ...first,
    number: 2,
    fee: '150000000',
    previous: [{ number: 1, hash: proved.body.hash, nonce: first.nonce, fee: first.fee }],
  };
  const again = await timed(() =>
    served.post('/resign/ADD', { ...call(world, 'proved', second), signed: proved.body.signed }),
  );
  assert.equal(again.body.error, null, again.text);
  t.diagnostic(`proved in ${proved.ms} ms, signed again in ${again.ms} ms`);

  const [before, after] = [proofOf(proved.body.signed), proofOf(again.body.signed)];
  assert.ok(before && before.length > 10_000);
  assert.equal(after, before);

  const tampered = tamper(again.body.signed!);
  await assert.rejects(world.land(tampered), /Invalid proof for account update/);
  assert.equal(world.count(), 0n);
  await world.land(again.body.signed!);
  assert.equal(world.count(), 4n);

  await t.test('and what is made on pending commands has proofs that are valid', async () => {
    const ahead: { uid: string; nonce: number; hash: string; signed: string }[] = [];
    const { nonce } = world.attempt();
    for (const uid of ['train-1', 'train-2']) {
      const body = { ...call(world, uid, world.attempt({ nonce: nonce + ahead.length })), ahead };
      const { body: made, text } = await served.post('/prove/ADD', body);
      assert.equal(made.error, null, text);
      ahead.push({ uid, nonce: nonce + ahead.length, hash: made.hash, signed: made.signed! });
    }
    const [one, two] = ahead.map(({ signed }) => signed) as [string, string];
    await world.land(one);
    await assert.rejects(world.land(tamper(two)), /Invalid proof for account update/);
    await world.land(two);
    assert.equal(world.count(), 12n);
  });

  await t.test('and a proof that fails says why', async () => {
    let building = false;
    Counter.onAdd = () => {
      if (!building) throw new Error('the witness is not there any more');
    };
    const broken = {
      dispatch: async () => {
        building = true;
        await world.counter.add(Field(4));
        building = false;
      },
    };
    const other = await serve(world, { ADD: broken }, { store: await folder(t), cache });
    t.after(() => other.worker.close());
    const failed = await other.post('/prove/ADD', call(world, 'fails', world.attempt()));
    assert.deepEqual([failed.status, failed.body.signed], [200, undefined]);
    assert.equal(failed.body.error?.code, '20202');
    assert.match(failed.body.error.message, /^proving ADD: the witness is not there any more/);
    Counter.onAdd = () => undefined;
    const next = await other.post('/prove/ADD', call(world, 'next', world.attempt()));
    assert.equal(next.body.error, null, next.text);
  });
});

test('several proofs are made at a time, and signed again for their places', later, async (t) => {
  const cache = await folder(t);
  const world = await makeWorld({ proofsEnabled: true, cache });
  const key = PrivateKey.random();
  const counters = [world.counter, new Counter(key.toPublicKey())];
  const tx = await Mina.transaction({ sender: world.other, fee: 1e8 }, async () => {
    AccountUpdate.fundNewAccount(world.other);
    await counters[1]!.deploy();
  });
  await tx.prove();
  await tx.sign([world.other.key, key]).send();
  const node = new Node();
  t.after(await node.listen());
  node.accounts.set(world.payer.toBase58(), null);
  for (const { address } of counters) {
    const { appState, verificationKey } = world.local.getAccount(address).zkapp!;
    node.accounts.set(address.toBase58(), appState.map(String));
    node.keys.set(address.toBase58(), verificationKey!);
  }

  const env = { PAYER: world.payer.key.toBase58(), MINA_URL: node.url, CACHE: cache, PROOFS: '1' };
  const { post, said, meeting, lines } = await program.start(t, env);
  await said('a prover is ready', 2);
  const compiling = lines.filter(({ contract }) => contract === 'Counter').map(({ msg, process }) => [msg, process]);
  assert.deepEqual(compiling, [
    ['compiling', 1],
    ['compiled', 1],
    ['compiling', 2],
    ['compiled', 2],
  ]);

  const provisional = world.attempt();
  const [one, two] = counters.map(({ address }, i) =>
    program.call('ADD', `held-${i}`, { counter: address.toBase58(), amount: i + 1 }, provisional, world.payer),
  ) as [ReturnType<typeof program.call>, ReturnType<typeof program.call>];
  const proving = [post('/prove/ADD', one), post('/prove/ADD', two)];
  assert.notEqual(await meeting.of('held-0'), await meeting.of('held-1'));
  meeting.let('held-0', 'held-1');
  const [first, second] = (await Promise.all(proving)).map(({ body }) => body);
  assert.deepEqual([first!.error, second!.error], [null, null]);
  await world.land(first!.signed!);
  const { hash } = second!;
  const { nonce, fee } = provisional;
  const placed = { ...provisional, number: 2, nonce: nonce + 1, previous: [{ number: 1, hash, nonce, fee }] };
  const again = await post('/resign/ADD', { ...two, attempt: placed, signed: second!.signed });
  assert.equal(again.body.error, null, again.text);
  await assert.rejects(world.land(tamper(again.body.signed!)), /Invalid proof for account update/);
  await world.land(again.body.signed!);
  assert.deepEqual(
    counters.map(({ address }) => world.local.getAccount(address).zkapp!.appState[0]!.toBigInt()),
    [1n, 2n],
  );
});

test('a contract that was not compiled is named to the developer', async (t) => {
  const world = await makeWorld();
  const local = Object.assign(world.local, { proofsEnabled: true });
  const forgotten = { dispatch: () => new Uncompiled(world.counter.address).nothing() };
  const served = await serve({ ...world, local }, { NOTHING: forgotten }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { error } = (await served.post('/prove/NOTHING', call(world, 'forgotten', world.attempt(), {}, 'NOTHING')))
    .body;
  assert.equal(error?.code, '500');
  assert.match(error.message, /dispatcher of NOTHING.* not compiled: name it in its contracts/);
});

class Uncompiled extends SmartContract {
  @method async nothing() {}
}

interface Command {
  accountUpdates: { authorization: { proof: string | null } }[];
}

const proofOf = (signed: string | undefined) => (JSON.parse(signed!) as Command).accountUpdates[0]!.authorization.proof;

/** Replaces the proof by one of the same form that proves nothing. */
function tamper(signed: string): string {
  const command = JSON.parse(signed) as Command;
  const text = Buffer.from(command.accountUpdates[0]!.authorization.proof!, 'base64').toString('latin1');
  // A field element in the middle of the proof, one digit changed.
  const at = text.search(/0x[0-9A-F]{63}/) + 40;
  assert.ok(at > 40, 'the proof holds field elements in hexadecimal');
  const digit = text[at] === '1' ? '2' : '1';
  command.accountUpdates[0]!.authorization.proof = Buffer.from(
    text.slice(0, at) + digit + text.slice(at + 1),
    'latin1',
  ).toString('base64');
  return JSON.stringify(command);
}

async function timed<T extends object>(work: () => Promise<T>): Promise<T & { ms: number }> {
  const begun = Date.now();
  return Object.assign(await work(), { ms: Date.now() - begun });
}
