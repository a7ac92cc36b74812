import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PrivateKey } from 'o1js';
import { effectsOf } from '../src/effects.js';
import type { TxnResult } from '../src/index.js';
import { call, first, other, payer, spawned, start } from './meeting.js';
import { Node } from './node.js';

/** Many times what a test takes on an idle machine. */
const limit = { timeout: 10 * 60_000 };
const meet = (uid: string) => call('MEET', uid, { digits: 1 });

test('as many as there are provers are proved at a time, and the rest is as with one', limit, async (t) => {
  const { child, meeting, lines, post, health, said, store } = await start(t);
  await said('a prover is ready', 2);

  const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const signed = await post('/prove/SIGN', call('SIGN', 'sign'), trace);
  assert.equal(signed.body.error, null, signed.text);
  const big = '28948022309329048855892746252171976963363056481941560715954676764349967630336';

  await t.test('what a prover asks for, fails with or has made goes on from here', async () => {
    const { hash, signed: bytes } = signed.body;
    const soon = { ...first, nonce: 1, previous: [] };
    const ahead = [{ uid: 'sign', nonce: 0, hash, signed: bytes! }];
    const behind = await post('/prove/SIGN', { ...call('SIGN', 'behind', {}, soon), ahead });
    assert.deepEqual([behind.body.error, behind.body.on], [null, hash]);
    const late = { ...call('SIGN', 'late', {}, soon), ahead: [{ ...ahead[0]!, signed: '{}' }] };
    const { error } = (await post('/prove/SIGN', late)).body;
    assert.deepEqual([error?.code, error?.exception], ['20202', null]);
    assert.match(error!.message, /^the pending command 5J\w+ cannot be read/);
    const refused = await post('/prove/BUSY', call('BUSY', 'busy'));
    assert.deepEqual([refused.status, refused.retryAfter], [503, '7']);
    const sent = await post('/dispatch/SIGN', call('SIGN', 'sent'));
    assert.deepEqual([sent.status, sent.body.error, sent.body.signed], [200, null, undefined], sent.text);
    assert.match(sent.body.hash, /^5J/);
    const trial = await post('/simulate/SIGN', call('SIGN', 'trial'));
    const { ok, weight, seconds } = JSON.parse(trial.text) as { ok: boolean; weight: number; seconds: number };
    assert.deepEqual([ok, weight, seconds > 0], [true, 2, true], trial.text);
  });

  await t.test('what is built says what it will do, and is proved with its token', async () => {
    const building = ({ uid, type }: { uid: string; type: string }, ahead: object[] = []) => {
      const { number, memo, previous } = first;
      return { ...call(type, uid), attempt: { number, memo, previous }, ahead };
    };
    const one = (await post('/build/SIGN', building({ uid: 'built-1', type: 'SIGN' }))).body;
    assert.equal(one.error, null);
    const does = effectsOf(one.built!);
    const two = (
      await post('/build/SIGN', building({ uid: 'built-2', type: 'SIGN' }, [{ uid: 'built-1', built: one.built }]))
    ).body;
    assert.deepEqual([two.error, two.on], [null, does]);
    const nonces: [TxnResult, string, number, string?][] = [
      [one, 'built-1', 0],
      [two, 'built-2', 1, does],
    ];
    await Promise.all(
      nonces.map(async ([{ token, built }, uid, nonce, on]) => {
        const asked = { ...call('SIGN', uid, {}, { ...first, nonce, fee: '300000000' }), token };
        const { body, text } = await post('/prove/SIGN', asked);
        assert.deepEqual([body.error, body.on], [null, on], text);
        assert.equal(effectsOf(body.signed!), effectsOf(built!));
        const { feePayer } = JSON.parse(body.signed!) as { feePayer: { body: { nonce: string; fee: string } } };
        assert.deepEqual([feePayer.body.nonce, feePayer.body.fee], [String(nonce), '300000000']);
        assert.equal((await post('/prove/SIGN', asked)).body.signed, body.signed, 'asked again');
        const again = await post('/prove/SIGN', { ...asked, attempt: { ...asked.attempt, number: 9 } });
        assert.deepEqual([again.status, again.body], [410, { ...again.body, code: 'TOKEN_GONE' }]);
      }),
    );
    const done = call('MEET', 'built-done', { digits: 3 });
    const { token, done: met } = (
      await post('/build/MEET', { ...building({ uid: 'built-done', type: 'MEET' }), txData: done.txData })
    ).body;
    assert.deepEqual([token, met], [undefined, { met: 3 }], 'nothing is to be proved');
  });

  const a = call('MEET', 'held-a', { digits: `digits:${big}` });
  const running = [post('/prove/MEET', a), post('/prove/MEET', meet('held-b'))];
  const [one, two] = await Promise.all([meeting.of('held-a'), meeting.of('held-b')]);
  assert.equal(new Set([one, two, child.pid]).size, 3, 'each in a process of its own, at one nonce');

  await t.test('while all are at work nothing is simulated', async () => {
    const refused = await post('/simulate/SIGN', call('SIGN', 'trial'));
    assert.equal(refused.status, 503);
    assert.match(refused.retryAfter ?? '', /^[1-9]\d?$/);
  });

  await t.test('who asks again joins, and who asks for something else is refused', async () => {
    running.push(post('/prove/MEET', a));
    const conflict = await post('/prove/MEET', { ...a, attempt: { ...first, fee: '2' } });
    assert.deepEqual([conflict.status, conflict.body], [409, { ...conflict.body, code: 'ATTEMPT_CONFLICT' }]);
  });

  await t.test('more than that waits, and more than may wait is told when to come back', async () => {
    running.push(post('/prove/MEET', meet('held-c')));
    while ((await health()).waiting !== 1);
    const refused = await post('/prove/MEET', meet('held-d'));
    assert.equal(refused.status, 503);
    assert.match(refused.retryAfter ?? '', /^[1-9]\d?$/);
    assert.deepEqual(meeting.times('held-c'), []);
  });

  await t.test('health tells of all of them', async () => {
    const told = await health();
    assert.equal(told.provers, 2);
    assert.deepEqual(told.capabilities, ['prove', 'resign', 'dispatch', 'ahead', 'simulate', 'several', 'builds']);
    assert.equal(typeof told.runningSeconds, 'number');
    const { rss } = told.memory as { rss: number };
    const pages = Number((await readFile(`/proc/${child.pid}/statm`, 'utf8')).split(' ')[1]);
    assert.ok(rss > 1.5 * pages * 4096, `${rss} bytes are more than those of one process`);
  });

  await t.test('meanwhile it signs again, also with keys that only the dispatch in a prover knew', async () => {
    const { hash } = signed.body;
    const second = { ...first, number: 2, nonce: 7, fee: '3', previous: [{ number: 1, hash, nonce: 0, fee: '1' }] };
    const body = { ...call('SIGN', 'sign', {}, second), signed: signed.body.signed };
    const again = await post('/resign/SIGN', body);
    assert.deepEqual([again.body.error, again.body.data], [null, signed.body.data], again.text);
    const { feePayer } = JSON.parse(again.body.signed!) as { feePayer: { body: object } };
    assert.deepEqual({ ...feePayer.body, nonce: '7', fee: '3' }, feePayer.body);
    assert.equal((await post('/resign/SIGN', body)).text, again.text);
  });

  await t.test('and callbacks are made in the process that listens', async () => {
    const { txData, sender } = call('SIGN', 'sign');
    const told = await post('/on-success/SIGN', { txData, sender, result: { hash: '5J' } });
    assert.deepEqual([told.status, meeting.times('told')], [200, [child.pid]]);
  });

  meeting.let('held-a', 'held-b', 'held-c');
  const [answer, , repeated, waited] = await Promise.all(running);
  assert.ok(answer!.text.includes(`{"met":${big}}`), answer!.text);
  assert.equal(repeated!.text, answer!.text);
  assert.deepEqual(waited!.body.done, { met: 1 });
  assert.equal((await post('/prove/MEET', a)).text, answer!.text);
  assert.equal(meeting.times('held-a').length, meeting.times('held-b').length, 'asked for three times, made once');
  assert.equal(lines.filter(({ msg }) => msg === 'listening').length, 1);
  assert.deepEqual(meeting.times('listens'), [child.pid], 'what comes after listen runs once');

  const { process: prover, ...line } = lines.find(({ msg }) => msg === 'signing')!;
  assert.ok(prover === 1 || prover === 2);
  const expected = { uid: 'sign', type: 'SIGN', attempt: 1, trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' };
  assert.deepEqual({ ...line, ...expected }, line);

  const written = [JSON.stringify(lines)];
  for (const entry of await readdir(store, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) written.push(await readFile(join(entry.parentPath, entry.name), 'utf8'));
  }
  assert.ok(written.length > 3);
  for (const key of [payer, other]) assert.equal(written.join().includes(key.toBase58()), false, 'no key is written');
});

test('a prover that is killed fails its transaction for now, and another takes its place', limit, async (t) => {
  const { meeting, post, health, said } = await start(t);
  await said('a prover is ready', 2);
  const [failing, running] = ['held-a', 'held-b'].map((uid) => post('/prove/MEET', meet(uid)));
  const [killed, kept] = await Promise.all([meeting.of('held-a'), meeting.of('held-b')]);
  const waiting = post('/prove/MEET', meet('held-c'));
  while ((await health()).waiting !== 1);
  process.kill(killed, 'SIGKILL');
  const { status, body } = await failing!;
  assert.deepEqual([status, body.error?.code, body.hash, body.signed], [200, '20202', '', undefined]);
  assert.match(body.error!.message, /^the prover of this transaction ended by SIGKILL, perhaps for want of memory$/);
  await said('a prover is started again: it ended by SIGKILL');

  const next = await meeting.of('held-c');
  assert.equal(new Set([killed, kept, next]).size, 3);
  assert.equal(meeting.times('start').length, 4);
  meeting.let('held-a', 'held-b', 'held-c');
  const answers = [running!, waiting, post('/prove/MEET', meet('held-a'))];
  for (const answer of await Promise.all(answers)) assert.deepEqual(answer.body.done, { met: 1 }, answer.text);
});

for (const provers of ['1', '2']) {
  test(`callbacks read from the first node that is synced, with provers: ${provers}`, limit, async (t) => {
    const [first, second] = [new Node(), new Node()];
    for (const node of [first, second]) {
      t.after(await node.listen());
      node.accounts.set(payer.toPublicKey().toBase58(), null);
    }
    const counter = PrivateKey.random().toPublicKey().toBase58();
    const stands = (at: number) => [String(at), ...Array.from({ length: 7 }, () => '0')];
    first.accounts.set(counter, stands(5));
    second.accounts.set(counter, stands(6));
    const { meeting, post } = await start(t, { PROVERS: provers, MINA_URL: `${first.url},${second.url}` });
    const { attempt, ...made } = call('ADD', 'held', { counter, amount: 1 });
    const told = () => post('/on-success/ADD', { ...made, result: { hash: '5J' } });
    const proved = post('/prove/ADD', { ...made, attempt });
    await meeting.of('held');

    first.syncStatus = 'BOOTSTRAP';
    assert.equal((await told()).status, 200);
    meeting.let('held');
    const { error, signed } = (await proved).body;
    assert.equal(error, null);
    const [, builtOn] = /"state":\["(\d+)",/.exec(signed!) ?? [];
    assert.equal(builtOn, '5', 'the transaction in the making stays where it is');

    first.accounts.delete(counter);
    assert.equal((await told()).status, 200);
    first.broken = true;
    assert.equal((await told()).status, 200);
    assert.deepEqual(
      meeting.came.flatMap(({ what }) => (what.startsWith('read') ? [what] : [])),
      ['read-6', 'read-6', 'read-6'],
    );
    second.syncStatus = 'CATCHUP';
    assert.equal((await told()).status, 500, 'it is told again later');
  });
}

test('SIGTERM to all of them lets the running calls be answered, and nobody is left', limit, async (t) => {
  const { child, meeting, post, said, closed } = await start(t);
  const running = ['held-a', 'held-b'].map((uid) => post('/prove/MEET', meet(uid)));
  await Promise.all([meeting.of('held-a'), meeting.of('held-b')]);
  process.kill(-child.pid!, 'SIGTERM');
  await said('shutting down');
  meeting.let('held-a', 'held-b');
  for (const { body } of await Promise.all(running)) assert.deepEqual(body.done, { met: 1 });
  assert.deepEqual(await closed, [0, null]);
  assert.equal(meeting.times('start').length, 3);
});

test('a worker that is closed has no provers any more', limit, async (t) => {
  const { child, meeting, said } = await start(t, { CLOSES: '1' });
  await said('a prover is ready', 2);
  meeting.let('held-close');
  await meeting.of('closed');
  const provers = meeting.times('start').filter((pid) => pid !== child.pid);
  assert.equal(provers.length, 2);
  for (const pid of provers) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('provers end with a worker that is killed, also while they prove', limit, async (t) => {
  const { child, post, said, closed } = await start(t);
  await said('a prover is ready', 2);
  const lost = assert.rejects(post('/prove/BLOCK', call('BLOCK', 'block')));
  await said('blocked');
  child.kill('SIGKILL');
  await lost;
  assert.deepEqual(await closed, [null, 'SIGKILL']);
});

test('one prover is this process', limit, async (t) => {
  const { child, meeting, post, health } = await start(t, { PROVERS: '1' });
  meeting.let('held-a');
  assert.deepEqual((await post('/prove/MEET', meet('held-a'))).body.done, { met: 1 });
  assert.deepEqual([...new Set(meeting.came.map(({ pid }) => pid))], [child.pid]);
  const { provers, capabilities } = await health();
  assert.deepEqual([provers, capabilities], [1, ['prove', 'resign', 'dispatch', 'ahead', 'simulate']]);
});

test('a worker whose provers cannot start does not start', limit, async (t) => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ BROKEN: '1' }, /Error: dispatchers: the contract Broken does not compile: .*this circuit cannot be made/],
    [{ FICKLE: '1' }, /Error: provers: the program, run again, pays from B62\w+, not B62\w+: give payer/],
  ];
  for (const [env, message] of cases) {
    await t.test(Object.keys(env).join(), async (t) => {
      const { meeting, child, closed } = await spawned(t, env);
      let errors = '';
      child.stderr.on('data', (part: Buffer) => (errors += part.toString()));
      child.stdout.resume();
      assert.notEqual((await closed)[0], 0);
      assert.match(errors, message);
      assert.equal(errors.split('Error: ').length, 2, errors);
      assert.equal(meeting.times('start').length, 2);
    });
  }
});
