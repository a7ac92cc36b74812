import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PrivateKey } from 'o1js';
import { readPayer } from '../src/payer.js';
import { folder } from './world.js';

const key = PrivateKey.random();
const secret = key.toBase58();

test('a key comes from itself, a file or the environment', async (t) => {
  const file = join(await folder(t), 'payer.key');
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  process.env.TEST_PAYER = secret;
  for (const option of [key, { file }, { env: 'TEST_PAYER' }]) assert.equal(readPayer(option).toBase58(), secret);
});

test('a file that others may read is refused', async (t) => {
  const file = join(await folder(t), 'payer.key');
  await writeFile(file, secret);
  for (const mode of [0o644, 0o640, 0o604, 0o620]) {
    await chmod(file, mode);
    assert.throws(() => readPayer({ file }), /others may read .*chmod 600/);
  }
});

test('no error quotes what was read', async (t) => {
  const file = join(await folder(t), 'payer.key');
  const broken = `${secret.slice(0, -2)}zz`;
  await writeFile(file, broken, { mode: 0o600 });
  process.env.TEST_BROKEN = broken;
  for (const option of [{ file }, { env: 'TEST_BROKEN' }]) {
    assert.throws(
      () => readPayer(option),
      (error: Error) => /holds no secret key/.test(error.message) && !error.message.includes(broken) && !error.cause,
    );
  }
  assert.throws(() => readPayer({ env: 'TEST_NOT_SET' }), /has no TEST_NOT_SET/);
  assert.throws(() => readPayer({ file: join(file, 'nothing') }), /ENOTDIR|ENOENT/);
  assert.throws(() => readPayer({} as { env: string }), /give a PrivateKey/);
});
