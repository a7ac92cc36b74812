import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountUpdate, Bool, Field, Mina, PrivateKey, TokenId, Transaction, UInt32 } from 'o1js';
import { Unresolvable, type Dispatcher } from '../src/index.js';
import { check } from '../src/transaction.js';
import { call, Counter, folder, makeWorld, serve, type World } from './world.js';

const world = await makeWorld();

const add: Dispatcher = {
  dispatch: async ({ data }) => {
    await world.counter.add(Field((data as { amount: number }).amount));
    return { data: { amount: (data as { amount: number }).amount } };
  },
};

/** What the sequencer checks before it stores signed bytes. */
interface Command {
  feePayer: {
    body: { publicKey: string; fee: string; nonce: string; validUntil: string | null };
    authorization: string;
  };
  accountUpdates: { body: { publicKey: string }; authorization: { proof: string | null; signature: string | null } }[];
  memo: string;
}

const commandOf = (signed: string | undefined) => JSON.parse(signed!) as Command;

/** A signature of the other account that covers the whole command. */
function signedByOther({ other }: World): void {
  const update = AccountUpdate.create(other);
  update.requireSignature();
  update.body.useFullCommitment = Bool(true);
  update.body.incrementNonce = Bool(false);
  const { nonce } = update.body.preconditions.account;
  nonce.isSome = Bool(false);
  nonce.value = { lower: UInt32.zero, upper: UInt32.MAXINT() };
}

test('prove makes the attempt that was asked for', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  for (const validUntil of [null, 4321]) {
    const attempt = world.attempt({ fee: '18446744073709', validUntil, memo: 'yRb0n7AhtRBpGx2ySl1N_w', nonce: 7 });
    const { status, body } = await served.post(
      '/prove/ADD',
      call(world, `fields-${validUntil}`, attempt, { amount: 3 }),
    );
    assert.equal(status, 200);
    assert.deepEqual([body.error, body.done, body.data], [null, null, { amount: 3 }]);
    const command = commandOf(body.signed);
    assert.deepEqual(command.feePayer.body, {
      publicKey: world.payer.toBase58(),
      fee: '18446744073709',
      validUntil: validUntil === null ? null : '4321',
      nonce: '7',
    });
    assert.equal(Transaction.fromJSON(body.signed!).transaction.memo, 'yRb0n7AhtRBpGx2ySl1N_w');
    assert.equal(body.hash, await Transaction.hash(body.signed!));
    assert.equal(command.accountUpdates.length, 1);
    assert.equal(command.accountUpdates[0]!.body.publicKey, world.counter.address.toBase58());
  }
});

test('what prove made lands, and prove sends nothing', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const before = world.count();
  const { body } = await served.post('/prove/ADD', call(world, 'lands', world.attempt(), { amount: 5 }));
  assert.equal(world.count(), before);
  await world.land(body.signed!);
  assert.equal(world.count(), before + 5n);
});

test('dispatch sends', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const before = world.count();
  const { body, text } = await served.post('/dispatch/ADD', call(world, 'sent', world.attempt(), { amount: 2 }));
  assert.equal(body.error, null, text);
  assert.match(body.hash, /^5J/);
  assert.equal(body.signed, undefined);
  assert.equal(world.count(), before + 2n);
});

test('dispatch says when the node does not take it', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const attempt = world.attempt();
  const { body } = await served.post(
    '/dispatch/ADD',
    call(world, 'refused', { ...attempt, nonce: attempt.nonce + 4 }, { amount: 2 }),
  );
  assert.equal(body.error?.code, '20203');
  assert.match(body.error.exception ?? '', /nonce/i);
  assert.deepEqual([body.hash, body.data], ['', null]);
});

test('resign keeps the proof and makes every signature anew that covers the fee', async (t) => {
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      await world.counter.addSigned(Field(10));
      signedByOther(world);
      AccountUpdate.createSigned(world.local.testAccounts[3]); // signs the account updates alone
    },
    signers: () => [world.other.key, world.local.testAccounts[3].key],
  };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const first = world.attempt({ validUntil: 500 });
  const proved = (await served.post('/prove/ADD', call(world, 'resigned', first))).body;
  assert.equal(proved.error, null);

  const second = {
    ...first,
    number: 2,
    fee: '150000000',
    validUntil: 900,
    previous: [{ number: 1, hash: proved.hash, nonce: first.nonce, fee: first.fee }],
  };
  const again = (await served.post('/resign/ADD', { ...call(world, 'resigned', second), signed: proved.signed })).body;
  assert.equal(again.error, null);
  assert.notEqual(again.hash, proved.hash);
  const [before, after] = [commandOf(proved.signed), commandOf(again.signed)];
  assert.deepEqual(after.feePayer.body, { ...before.feePayer.body, fee: '150000000', validUntil: '900' });
  assert.notEqual(after.feePayer.authorization, before.feePayer.authorization);
  assert.deepEqual(
    after.accountUpdates.map(({ body }) => body),
    before.accountUpdates.map(({ body }) => body),
  );
  const changed = after.accountUpdates.map(({ authorization }, i) => {
    const { proof, signature } = before.accountUpdates[i]!.authorization;
    assert.equal(authorization.proof, proof);
    return authorization.signature !== signature;
  });
  assert.deepEqual(changed, [false, true, true, false], 'proof, payer, other, signature of the updates alone');

  const count = world.count();
  await world.land(again.signed!);
  assert.equal(world.count(), count + 10n);
  await assert.rejects(world.land(proved.signed!), /nonce/i);
});

test('a resigned transaction carries the data of the one that was proved', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const first = world.attempt();
  const proved = (await served.post('/prove/ADD', call(world, 'data', first, { amount: 9 }))).body;
  const second = {
    ...first,
    number: 2,
    fee: '2',
    previous: [{ number: 1, hash: proved.hash, nonce: first.nonce, fee: first.fee }],
  };
  const again = await served.post('/resign/ADD', {
    ...call(world, 'data', second, { amount: 9 }),
    signed: proved.signed,
  });
  assert.deepEqual(again.body.data, { amount: 9 });
});

test('it is the data of its own bytes, where several attempts were proved', async (t) => {
  let said = 0;
  const counting: Dispatcher = {
    dispatch: async (txn, context) => {
      await add.dispatch(txn, context);
      return { data: { attempt: context.attempt!.number, said: ++said } };
    },
  };
  const served = await serve(world, { ADD: counting }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const attempt = (number: number) => {
    const { nonce, ...rest } = world.attempt({ number, fee: String(number) });
    const previous = Array.from({ length: number - 1 }, (_, i) => ({ number: i + 1, hash: '', nonce, fee: '1' }));
    return { ...rest, nonce, previous };
  };
  const prove = async (number: number) =>
    (await served.post('/prove/ADD', call(world, 'twice', attempt(number), { amount: number }))).body;
  const resign = async (number: number, signed: string) =>
    (await served.post('/resign/ADD', { ...call(world, 'twice', attempt(number)), signed })).body;
  const [first, second] = [await prove(1), await prove(2)];
  assert.notDeepEqual(first.data, second.data);
  const third = await resign(3, first.signed!);
  assert.deepEqual(third.data, first.data);
  assert.deepEqual((await resign(4, second.signed!)).data, second.data);
  assert.deepEqual((await resign(5, third.signed!)).data, first.data, 'also of what was signed again');
  const elsewhere = await served.post('/prove/ADD', call(world, 'other', attempt(1), { amount: 3 }));
  assert.equal((await resign(6, elsewhere.body.signed!)).data, null);
});

test('only what this worker signed is signed again', async (t) => {
  const served = await serve(world, { ADD: add }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const attempt = world.attempt();
  const { signed } = (await served.post('/prove/ADD', call(world, 'own', attempt, { amount: 1 }))).body;
  const forge = (change: (command: Command) => void) => {
    const command = commandOf(signed);
    change(command);
    return JSON.stringify(command);
  };
  const cases: [string, string, RegExp][] = [
    [
      'an account update was added',
      forge((c) => c.accountUpdates.push(structuredClone(c.accountUpdates[0]!))),
      /not carry the signature/,
    ],
    ['the fee was changed', forge((c) => (c.feePayer.body.fee = '1')), /not carry the signature/],
    [
      'the fee payer was changed',
      forge((c) => (c.feePayer.body.publicKey = world.other.toBase58())),
      /not carry the signature/,
    ],
    ['it is not JSON', '{{', /not a zkappCommand/],
    ['it is another JSON', '{"feePayer":{}}', /not a zkappCommand/],
  ];
  for (const [name, bytes, message] of cases) {
    await t.test(name, async () => {
      const { status, body } = await served.post('/resign/ADD', {
        ...call(world, 'own', { ...attempt, number: 2 }),
        signed: bytes,
      });
      assert.equal(status, 501);
      assert.match((body as unknown as { message: string }).message, message);
      assert.equal(body.signed, undefined);
    });
  }
  await t.test('it is another transaction', async () => {
    const { status, text } = await served.post('/resign/ADD', {
      ...call(world, 'own', { ...attempt, number: 2, memo: 'another' }),
      signed,
    });
    assert.equal(status, 501);
    assert.match(text, /memo/);
  });
});

test('a signature without its key is an error, not a dummy', async (t) => {
  const dispatcher: Dispatcher = { dispatch: async () => signedByOther(world) };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  const { body } = await served.post('/prove/ADD', call(world, 'keyless', world.attempt()));
  assert.equal(body.error?.code, '500');
  assert.match(body.error.message, new RegExp(`no key to sign for ${world.other.toBase58()}`));
});

test('keys that a dispatch returned sign again until the worker restarts, then it is proved afresh', async (t) => {
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      signedByOther(world);
      return { signers: [world.other.key] };
    },
  };
  const store = await folder(t);
  const first = await serve(world, { ADD: dispatcher }, { store });
  const attempt = world.attempt();
  const { signed } = (await first.post('/prove/ADD', call(world, 'memory', attempt))).body;
  const again = await first.post('/resign/ADD', { ...call(world, 'memory', { ...attempt, number: 2 }), signed });
  assert.equal(again.body.error, null);
  await first.worker.close();

  const second = await serve(world, { ADD: dispatcher }, { store });
  t.after(() => second.worker.close());
  const lost = await second.post('/resign/ADD', { ...call(world, 'memory', { ...attempt, number: 3 }), signed });
  assert.equal(lost.status, 501);
});

test('what a dispatcher throws or leaves out ends as the protocol says', async (t) => {
  const attempts: [string, Dispatcher['dispatch'], string, RegExp][] = [
    [
      'unresolvable',
      async () => {
        throw new Unresolvable('the claim is closed');
      },
      '500',
      /^the claim is closed$/,
    ],
    [
      'any error',
      async () => {
        throw new Error('try me later');
      },
      '20202',
      /^making ADD: try me later$/,
    ],
    ['an assertion of the contract', async () => world.counter.add(Field(0)), '20202', /adding nothing is not allowed/],
    [
      'an account that is not there',
      async () => {
        const key = PrivateKey.random().toPublicKey();
        await new Counter(key).add(Field(1));
      },
      '20202',
      /the account for public key B62\w+ is not on the chain: deploy it/,
    ],
    ['nothing', async () => {}, '500', /made no account update/],
    [
      'a second nonce',
      async () => {
        const u = AccountUpdate.create(world.payer);
        u.body.incrementNonce = Bool(true);
        u.requireSignature();
        u.body.incrementNonce = Bool(true);
      },
      '500',
      /second nonce of the fee payer/,
    ],
  ];
  for (const [name, dispatch, code, message] of attempts) {
    await t.test(name, async (t) => {
      const served = await serve(world, { ADD: { dispatch } }, { store: await folder(t) });
      t.after(() => served.worker.close());
      const { status, body } = await served.post('/prove/ADD', call(world, 'thrown', world.attempt()));
      assert.deepEqual([status, body.hash, body.signed, body.data], [200, '', undefined, null]);
      assert.equal(body.error?.code, code);
      assert.match(body.error.message, message);
    });
  }
});

test('done finishes without a transaction', async (t) => {
  const dispatcher: Dispatcher = { dispatch: async () => ({ done: { already: true }, data: { seen: 1 } }) };
  const served = await serve(world, { ADD: dispatcher }, { store: await folder(t) });
  t.after(() => served.worker.close());
  for (const path of ['/prove/ADD', '/dispatch/ADD']) {
    const { body } = await served.post(path, call(world, 'done', world.attempt()));
    assert.deepEqual(body, { hash: '', done: { already: true }, error: null, data: { seen: 1 } });
  }
});

test("the nonce of a payer's token is another than the one that it pays with", async () => {
  const token = TokenId.derive(world.other);
  for (const tokenId of [token, TokenId.default]) {
    const update = AccountUpdate.default(world.payer, tokenId);
    update.body.incrementNonce = Bool(true);
    const { transaction } = await Mina.transaction(async () => AccountUpdate.attachToTransaction(update));
    const checked = () => check('ADD', world.payer, transaction);
    if (tokenId === token) checked();
    else assert.throws(checked, Unresolvable);
  }
});
