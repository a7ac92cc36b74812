import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type * as dummy from '../src/dummy.js';
import { folder } from './world.js';

/** The module as another process would load it. */
const loaded = (process: number) => import(`../src/dummy.js?process=${process}`) as Promise<typeof dummy>;
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('a dummy proof is made once for all processes of a folder', async (t) => {
  const path = await folder(t);
  const made = await (await loaded(1)).dummyProof(path);
  assert.ok(made.length > 10_000);
  const [name, ...others] = await readdir(path);
  assert.match(name!, /^dummy-proof-[23]\.\d+\.\d+/);
  assert.deepEqual(others, []);
  const file = join(path, name!);
  assert.equal(await readFile(file, 'utf8'), made);

  const kept = base64('((statement of another process');
  await writeFile(file, kept);
  assert.equal(await (await loaded(2)).dummyProof(path), kept);

  await writeFile(file, made.slice(100));
  assert.equal(await (await loaded(3)).dummyProof(path), made, 'half a file is none');
});
