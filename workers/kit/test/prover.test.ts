import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Prover } from '../src/index.js';

const kit = new URL('../src/index.js', import.meta.url).href;

/** What preferNative returns in a process of its own, for o1js starts once in each. */
async function preferred({ before = '', addon = '', env = {} } = {}): Promise<Prover> {
  const program = `
    import { preferNative } from '${kit}';
    import { getBackendPreference, initializeBindings, Mina } from 'o1js';
    ${before}
    const prover = preferNative(${addon});
    await initializeBindings();
    if (getBackendPreference() !== prover.backend) throw new Error('o1js uses another backend');
    console.log(JSON.stringify(prover));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    cwd: new URL('.', import.meta.url),
  });
  return JSON.parse(stdout) as Prover;
}

test('the native prover is the default where it loads', async () => {
  assert.deepEqual(await preferred(), { backend: 'native' });
  assert.deepEqual(await preferred({ before: 'preferNative();' }), { backend: 'native' });
});

test('without it o1js proves as it does by itself, and it is said why', async () => {
  const { backend, reason } = await preferred({ addon: "'@o1js/native-none'" });
  assert.equal(backend, 'wasm');
  assert.match(reason ?? '', /^@o1js\/native-none does not load: Cannot find module/);
});

test('the environment has the last word', async () => {
  const wasm = await preferred({ env: { O1JS_BACKEND: 'wasm' } });
  assert.deepEqual(wasm, { backend: 'wasm', reason: 'O1JS_BACKEND is wasm' });
  assert.deepEqual(await preferred({ env: { O1JS_BACKEND: 'native' } }), { backend: 'native' });
});

test('an o1js that has started stays as it is', async () => {
  const { backend, reason } = await preferred({ before: 'await Mina.LocalBlockchain();' });
  assert.equal(backend, 'wasm');
  assert.match(reason ?? '', /^o1js had started before/);
});
