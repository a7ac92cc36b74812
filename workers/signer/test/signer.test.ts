import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPolicy, Spent } from '../src/index.js';
import {
  attempt,
  body,
  bySignature,
  byProof,
  call,
  folder,
  isGood,
  pays,
  payer,
  policy,
  post,
  proved,
  secret,
  start,
  stranger,
  update,
  zkApp,
} from './world.js';

const one = 1_000_000_000n;

/** What moves the payer's MINA by whatever authorization counts. */
const withProof = (each: Record<string, unknown>) => ({
  ...each,
  authorization: { proof: 'a-proof', signature: null },
});

interface Command {
  feePayer: { body: object; authorization: string };
  accountUpdates: { authorization: { proof: string | null; signature: string | null } }[];
}

test('it signs for the payer what the policy allows, in the form of either era', async (t) => {
  const { sign, lines } = await start(t);
  for (const fields of [8, 32] as const) {
    const proof = update(zkApp, byProof, { proof: 'a-proof' }, fields);
    const answer = await sign({ nonce: fields }, [proof, pays(one, {}, fields)]);
    assert.equal(answer.error, undefined, answer.text);
    assert.ok(isGood(answer.signed!, fields));
    const { feePayer, accountUpdates } = JSON.parse(answer.signed!) as Command;
    const { fee, validUntil } = attempt;
    assert.deepEqual(feePayer.body, { publicKey: payer, fee, nonce: `${fields}`, validUntil: `${validUntil}` });
    assert.equal(accountUpdates[0]!.authorization.proof, 'a-proof');
    assert.match(accountUpdates[1]!.authorization.signature ?? '', /^7m/);
  }
  const all = lines.join('\n');
  assert.match(
    all,
    /"uid":"u","type":"ADD","attempt":1,"nonce":8,"fee":"1000000000","outflow":"1000000000","message":"signed"/,
  );
  for (const hidden of [secret, 'a-proof', 'accountUpdates', '7mX']) assert.ok(!all.includes(hidden), hidden);
});

test('each thing that the policy forbids is refused with words, and counts nothing', async (t) => {
  const { sign, lines, spent, url } = await start(t);
  const token = 'xBxjFpJkbWpbGua7Lf36S1NLhffFoEChyP3pz6SYKnx7dFCTwg';
  const receives = (publicKey: string) => update(publicKey, { balanceChange: { magnitude: '1', sgn: 'Positive' } });
  const wide = { permissions: null, delegate: stranger };
  const cases: [rule: string, message: RegExp, Parameters<typeof sign>[0], Parameters<typeof sign>[1]][] = [
    ['types', /^it signs no MINT, only ADD, PAY$/, { type: 'MINT' }, [call]],
    ['maxFee', /^a fee of 1.000000001 MINA is above the 1 that/, { fee: '1000000001' }, [call]],
    ['zkApps', new RegExp(`^it touches ${stranger}, which is not among zkApps$`), {}, [call, receives(stranger)]],
    ['maxOutflow', /^3.000000001 MINA would leave the payer's account beside/, {}, [call, pays(3n * one + 1n)]],
    ['maxOutflow', /^4 MINA would leave/, {}, [pays(2n * one), call, pays(2n * one)]],
    ['maxOutflow', /^4 MINA would leave/, {}, [pays(4n * one, byProof), call].map(withProof)],
    [
      'payer',
      /^account update 2 of 2 changes delegate of the payer's own account$/,
      {},
      [call, pays(0n, { update: wide })],
    ],
    [
      'payer',
      /^account update 1 of 1 changes appState of/,
      {},
      [pays(0n, { update: { appState: ['1', ...Array<null>(7).fill(null)] } })],
    ],
    ['payer', /changes zkappUri/, {}, [pays(0n, { tokenId: token, update: { zkappUri: { data: 'x', hash: '1' } } })]],
    ['nonce', /^account update 2 of 2 spends a second nonce/, {}, [call, pays(0n, { incrementNonce: true })]],
  ];
  for (const [rule, message, values, updates] of cases) {
    await t.test(`${rule}: ${message.source}`, async () => {
      const { status, error, signed } = await sign(values, updates);
      assert.deepEqual(
        [status, error?.code, error?.rule, error?.scope, error?.until],
        [200, 'POLICY', rule, 'command', null],
      );
      assert.match(error!.message, message);
      assert.equal(signed, undefined);
      assert.match(lines.at(-1)!, new RegExp(`"rule":"${rule}"`));
    });
  }
  // What comes back in counts against what leaves, and a token of another kind is no MINA: what the key has of
  // it is an account with a nonce of its own.
  const other = pays(9n * one, { tokenId: token, incrementNonce: true });
  const back = await sign({}, [pays(5n * one), pays(-2n * one), call, other]);
  assert.ok(back.signed, back.text);
  assert.deepEqual([spent.day.fees, spent.day.outflow], [one, 3n * one]);
  const health = (await (await fetch(`${url}/health`)).json()) as Record<string, unknown>;
  assert.deepEqual(health, {
    accountId: payer,
    capabilities: ['signs'],
    network: 'devnet',
    types: policy.types,
    zkApps: policy.zkApps,
    maxFee: '1',
    maxOutflow: '3',
    day: new Date().toISOString().slice(0, 10),
    fees: { spent: '1', max: '2.5' },
    outflow: { spent: '3', max: '5' },
  });
});

test('what is not what the attempt says, or not whole, is not signed', async (t) => {
  const { url, spent, lines } = await start(t);
  const good = proved([call]);
  const cases: [message: RegExp, command: string, values?: object][] = [
    [/^proved has another fee payer/, proved([call], { payer: stranger })],
    [/^the fee of proved is not the attempt's/, proved([call], { fee: '999999999' })],
    [/^the nonce of proved/, proved([call], { nonce: 8 })],
    [/^the validUntil of proved/, proved([call], { validUntil: null })],
    [/^the validUntil of proved/, good, { validUntil: null }],
    [/^the memo of proved/, proved([call], { memo: 'order-4712' })],
    [/^account update 1 of 1 \(B62\w+\) has no proof/, proved([update(zkApp, byProof)])],
    [/^account update 2 of 2 \(B62\w+\) has no signature/, proved([call, update(zkApp, bySignature)])],
    [/no zkApp command in JSON with account updates/, proved([])],
    [/no zkApp command in JSON with account updates/, '{"feePayer": a-proof'],
    [/^proved has account updates of a form/, proved([update(zkApp, byProof, { proof: 'a-proof' }, 9)])],
    [/^proved is no zkApp command that mina-signer signs/, proved([update('a-proof', byProof, { proof: 'a-proof' })])],
    [/^proved is no zkApp command that mina-signer signs/, proved([call, update(zkApp, { callDepth: 7 })])],
  ];
  for (const [message, command, values = {}] of cases) {
    await t.test(message.source, async () => {
      const answer = await post(url, '/sign/ADD', body(values, command));
      assert.deepEqual([answer.status, answer.code, answer.signed], [400, 'MISMATCH', undefined], answer.text);
      assert.match(answer.message!, message);
      assert.ok(!answer.text.includes('a-proof'));
    });
  }
  assert.equal(spent.day.fees, 0n);
  assert.ok(!lines.join().includes('a-proof'));
});

test('a day has its limits, and a nonce counts with the dearest of its commands', async (t) => {
  let now = new Date('2026-12-01T23:00:00Z');
  const state = join(await folder(t), 'state.json');
  const first = await start(t, { state, now: () => now });
  const half = '500000000';
  const spends = async (signer: typeof first, values: object, updates: object[], fees: bigint, outflow: bigint) => {
    const answer = await signer.sign(values, updates as never);
    assert.ok(answer.signed, answer.text);
    assert.deepEqual([signer.spent.day.fees, signer.spent.day.outflow], [fees, outflow]);
    return answer;
  };
  const once = await spends(first, { nonce: 1, fee: half }, [call, pays(3n * one)], one / 2n, 3n * one);
  const again = await spends(first, { nonce: 1, fee: half }, [call, pays(3n * one)], one / 2n, 3n * one);
  assert.equal(again.signed, once.signed);
  await spends(first, { nonce: 1 }, [call, pays(3n * one)], one, 3n * one); // raised
  await spends(first, { nonce: 1, fee: half }, [call], one, 3n * one);

  // Another process goes on from there, and the one before signs nothing more.
  const second = await start(t, { state, now: () => now });
  await spends(second, { nonce: 2 }, [call, pays(2n * one)], 2n * one, 5n * one);
  const late = await first.sign({ nonce: 3 }, [call]);
  assert.deepEqual([late.status, late.code, first.superseded.length > 0], [503, 'SUPERSEDED', true], late.text);

  const until = '2026-12-02T00:00:00.000Z';
  const over = async (rule: string, message: RegExp, values: object, updates?: object[]) => {
    const { error } = await second.sign(values, updates as never);
    assert.deepEqual([error?.code, error?.rule, error?.scope, error?.until], ['POLICY', rule, 'day', until]);
    assert.match(error!.message, message);
  };
  const fees = /^2 MINA of fees were signed on 2026-12-01 \(UTC\); with 1 more it would be above the 2.5 of a day$/;
  await over('maxFeesPerDay', fees, { nonce: 3 }, [call]);
  await over('maxFeesPerDay', fees, { nonce: 3 });
  await over('maxOutflowPerDay', /^5 MINA of outflow .* 0.000000001 more/, { nonce: 3, fee: half }, [call, pays(1n)]);
  assert.deepEqual(await second.sign({ nonce: 3, fee: half }), { status: 200, text: '{}' });
  // What no day allows is said to be so, also when the day is full.
  const hopeless = await second.sign({ nonce: 3 }, [call, pays(4n * one)]);
  assert.equal(hopeless.error?.scope, 'command');

  now = new Date('2026-12-02T00:00:00Z');
  await spends(second, { nonce: 3 }, [call, pays(3n * one)], one, 3n * one);
  now = new Date('2026-12-01T12:00:00Z');
  await spends(second, { nonce: 4 }, [call], 2n * one, 3n * one);
  const file = await readFile(state, 'utf8');
  assert.deepEqual((JSON.parse(file) as { day: string }).day, '2026-12-02');
  assert.ok(!file.includes(secret));
});

test('many at once are counted one after the other', async (t) => {
  const { sign, spent } = await start(t, { rules: { maxFeesPerDay: '5' } });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, nonce) => sign({ nonce }, [call])));
  assert.equal(answers.filter(({ signed }) => signed).length, 5);
  assert.equal(answers.filter(({ error }) => error?.scope === 'day').length, 3);
  assert.equal(spent.day.fees, 5n * one);
});

test('a nonce that is long gone is forgotten, and would count again', async (t) => {
  const limits = { maxFeesPerDay: 1n << 60n, maxOutflowPerDay: 0n };
  const file = join(await folder(t), 'state.json');
  const spent = await Spent.open(file, limits);
  for (const nonce of [0, 1, 1000, 1]) await spent.take({ nonce, fee: 1n, outflow: 0n });
  assert.equal(spent.day.fees, 3n);
  await spent.take({ nonce: 0, fee: 1n, outflow: 0n });
  assert.equal(spent.day.fees, 4n);
});

test('a state that is broken is not taken for an empty one', async (t) => {
  const file = join(await folder(t), 'state.json');
  const limits = { maxFeesPerDay: 0n, maxOutflowPerDay: 0n };
  for (const text of [
    '',
    '{',
    '{}',
    '{"writer":"w","day":"2026-12-01","fees":"x","outflow":"0","nonces":{}}',
    'null',
  ]) {
    await writeFile(file, text);
    await assert.rejects(Spent.open(file, limits), /is not what a signer has counted/, text);
  }
});

test('only who may is answered, and only what it knows', async (t) => {
  const open = await start(t);
  const closed = await start(t, { token: 'sesame' });
  const bearer = { Authorization: 'Bearer sesame' };
  const asked = body({}, proved([call]));
  assert.equal((await post(closed.url, '/sign/ADD', asked)).status, 401);
  assert.equal((await post(closed.url, '/sign/ADD', asked, { Authorization: 'Bearer sesam' })).status, 401);
  assert.equal((await fetch(`${closed.url}/health`)).status, 401);
  assert.ok((await post(closed.url, '/sign/ADD', asked, bearer)).signed);
  assert.equal((await post(open.url, '/prove/ADD', asked)).status, 404);
  assert.equal((await fetch(`${open.url}/sign/ADD`)).status, 404);
  const other = await post(open.url, '/sign/ADD', { ...asked, sender: { accountId: stranger } });
  assert.deepEqual([other.status, other.code], [403, 'WRONG_ACCOUNT']);
  const wrong: [unknown, RegExp][] = [
    ['{"proved": "a-proof', /^the body is no JSON$/],
    [null, /^txData.uid /],
    [body({ uid: '' }), /^txData.uid /],
    [body({ type: 'PAY' }), /^txData.type is not the type of the path/],
    [body({ nonce: -1 }), /^attempt.nonce /],
    [body({ nonce: 2 ** 32 }), /^attempt.nonce /],
    [body({ fee: '0.1' }), /^attempt.fee /],
    [body({ memo: 'x'.repeat(33) }), /^attempt.memo /],
    [{ ...body(), proved: {} }, /^proved is no text/],
  ];
  for (const [content, message] of wrong) {
    const answer = await post(open.url, '/sign/ADD', content);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.message!, message);
  }
});

test('a policy says everything, and nothing else', () => {
  const wrong: [object, RegExp][] = [
    [{ maxFee: undefined }, /maxFee is no amount of MINA/],
    [{ maxFee: 1 }, /maxFee is no amount of MINA: write it as "0.1"/],
    [{ maxOutflow: '1.0000000001' }, /maxOutflow is no amount/],
    [{ types: undefined }, /types is no list: name each, or write "any"/],
    [{ types: ['A/B'] }, /types: "A\/B" is no type/],
    [{ zkApps: ['B62'] }, /zkApps: "B62" is no public key/],
    [{ maxFees: '1' }, /knows no maxFees/],
    [{ maxFee: '3' }, /maxFee is above its maxFeesPerDay/],
    [{ maxOutflowPerDay: '0' }, /maxOutflow is above its maxOutflowPerDay/],
  ];
  for (const [change, message] of wrong)
    assert.throws(() => readPolicy(JSON.stringify({ ...policy, ...change })), message);
  for (const text of ['', '[]', 'null']) assert.throws(() => readPolicy(text), /the policy is no JSON/);
  const any = readPolicy(JSON.stringify({ ...policy, types: 'any', zkApps: 'any', maxFee: '0.1' }));
  assert.deepEqual([any.types, any.zkApps, any.maxFee], ['any', 'any', 100_000_000n]);
});
