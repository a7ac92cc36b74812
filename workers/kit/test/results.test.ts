import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { codes } from '../src/errors.js';
import { parseJSON, toJSON } from '../src/json.js';
import { Conflict, Results, type CallKey } from '../src/results.js';
import type { TxnResult } from '../src/types.js';
import { folder } from './world.js';

const call = (uid: string, number = 1, fee = '1'): CallKey => ({
  uid,
  attempt: { number, nonce: 1, fee, validUntil: null, memo: '', previous: [] },
});

const result = (hash: string): TxnResult => ({
  hash,
  done: null,
  error: null,
  data: { big: 2n ** 200n },
  signed: '{}',
});

test('a result outlives the process', async (t) => {
  const path = await folder(t);
  const before = await Results.open(path, 10);
  await before.keep(call('../../a b'), result('5Ja'));
  const after = await Results.open(path, 10);
  assert.deepEqual(await after.find(call('../../a b')), result('5Ja'));
  assert.deepEqual(await after.get('../../a b', 1), result('5Ja'));
  assert.equal(await after.find(call('../../a b', 2)), undefined);
  assert.equal(await after.find(call('b')), undefined);
});

test('another attempt under the same number is refused', async (t) => {
  const results = await Results.open(await folder(t), 10);
  await results.keep(call('a'), result('5Ja'));
  await assert.rejects(results.find(call('a', 1, '2')), Conflict);
});

test('the oldest results go, also those of an earlier process', async (t) => {
  const path = await folder(t);
  const before = await Results.open(path, 10);
  for (const [i, uid] of ['a', 'b', 'c'].entries()) {
    await before.keep(call(uid), result(uid));
    for (const name of await readdir(path)) {
      const { mtimeMs } = await stat(join(path, name));
      if (mtimeMs > 1e9) await utimes(join(path, name), i, i);
    }
  }
  const after = await Results.open(path, 3);
  await after.keep(call('d'), result('d'));
  assert.equal(await after.find(call('a')), undefined);
  assert.equal((await after.find(call('b')))?.hash, 'b');
  assert.equal((await after.find(call('d')))?.hash, 'd');
  assert.equal((await readdir(path)).length, 3);
});

test('a disk that cannot be read blames no transaction', async (t) => {
  const path = await folder(t);
  const results = await Results.open(path, 10);
  await results.keep(call('a'), result('a'));
  const [name] = await readdir(path);
  await rm(join(path, name!));
  await mkdir(join(path, name!)); // reading it fails for root, too
  await assert.rejects(results.find(call('a')), { code: codes.unavailable, message: /cannot be read/ });
});

test('keeping a result again does not count twice', async (t) => {
  const results = await Results.open(await folder(t), 2);
  await results.keep(call('a'), result('1'));
  await results.keep(call('b'), result('b'));
  await results.keep(call('b'), result('2'));
  assert.equal((await results.find(call('a')))?.hash, '1');
  assert.equal((await results.find(call('b')))?.hash, '2');
});

test('what a crash or somebody else left behind does no harm', async (t) => {
  const path = await folder(t);
  const before = await Results.open(path, 10);
  await before.keep(call('a'), result('a'));
  const [name] = await readdir(path);
  await writeFile(join(path, name!), '{"uid":"a","attem');
  await writeFile(join(path, 'half.tmp'), '{');
  await utimes(join(path, 'half.tmp'), 1, 1);
  await writeFile(join(path, 'notes.txt'), 'mine');
  const after = await Results.open(path, 10);
  assert.equal(await after.find(call('a')), undefined);
  await after.keep(call('a'), result('again'));
  assert.equal((await after.find(call('a')))?.hash, 'again');
  assert.deepEqual((await readdir(path)).sort(), [name, 'notes.txt'].sort());
});

test('a start leaves alone what another process on the same folder is writing', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, 'written-now.tmp'), '{');
  await Results.open(path, 10);
  assert.deepEqual(await readdir(path), ['written-now.tmp']);
});

test('a result that there is no room for leaves nothing behind', async (t) => {
  const path = await folder(t);
  const program = `
    const { Results } = await import(process.argv[1]);
    const results = await Results.open(process.argv[2], 10);
    const attempt = { number: 1, nonce: 1, fee: '1', validUntil: null, memo: '', previous: [] };
    const made = { hash: '5J', done: null, error: null, data: null };
    const keep = (uid, signed) => results.keep({ uid, attempt }, { ...made, signed });
    await keep('big', 'x'.repeat(1 << 20)).catch(({ code }) => console.log(code));
    await keep('small', '{}');`;
  const args = [process.execPath, '--input-type=module', '-e', program, import.meta.resolve('../src/results.js'), path];
  // A limit on the size of files, in the place of that of a disk.
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -f 64; exec "$@"', 'sh', ...args]);
  assert.equal(stdout, 'EFBIG\n');
  assert.match((await readdir(path)).join(), /^[^,]+\.json$/);
});

test('results are readable to their owner alone', async (t) => {
  const parent = await folder(t);
  await chmod(parent, 0o755);
  const path = join(parent, 'store');
  await mkdir(path, { mode: 0o700 });
  const results = await Results.open(path, 10);
  await results.keep(call('a'), result('a'));
  const [name] = await readdir(path);
  assert.equal((await stat(join(path, name!))).mode & 0o777, 0o600);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
});

test('JSON keeps every digit of an integer', () => {
  const text =
    '{"a":28948022309329048855892746252171976963363056481941560715954676764349967630336,"b":-9007199254740993,"c":1.5,"d":[7,1e3],"e":"9"}';
  const value = parseJSON(text) as Record<string, unknown>;
  assert.equal(value.a, 28948022309329048855892746252171976963363056481941560715954676764349967630336n);
  assert.equal(value.b, -9007199254740993n);
  assert.deepEqual([value.c, value.d, value.e], [1.5, [7, 1000], '9']);
  assert.equal(toJSON(value), text.replace('1e3', '1000'));
});

test('of a name given twice JSON keeps the last, at any depth', () => {
  const text = '{"a":{"b":1,"c":[{"d":"x","d":null}],"b":{"e":2,"e":3}},"f":true,"a":7,"g":{"h":1,"h":[2]}}';
  assert.deepEqual(parseJSON(text), JSON.parse(text));
});

test('JSON from outside reaches no prototype', () => {
  const value = parseJSON('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as Record<
    string,
    unknown
  >;
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.equal(value.polluted, undefined);
});
