import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Cache, type CacheHeader } from 'o1js';
import { sharedCache } from '../src/cache.js';
import { folder } from './world.js';

const header = (uniqueId: string) =>
  ({ persistentId: 'step-pk', uniqueId, dataType: 'string', version: 1, kind: 'srs' }) as unknown as CacheHeader;
const bytes = (text: string) => new TextEncoder().encode(text);

test('what is written is read, by o1js too, and nothing else is left', async (t) => {
  const path = await folder(t);
  const cache = sharedCache(path);
  cache.write(header('a'), bytes('one'));
  assert.deepEqual(Cache.FileSystem(path).read(header('a')), bytes('one'));
  cache.write(header('b'), bytes('two'));
  assert.equal(cache.read(header('a')), undefined);
  assert.deepEqual(cache.read(header('b')), bytes('two'));
  assert.deepEqual((await readdir(path)).sort(), ['step-pk', 'step-pk.header']);
});

test('data without its header is not read', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, 'step-pk'), 'half');
  assert.equal(sharedCache(path).read(header('a')), undefined);
});

test('a write that fails leaves what was there', async (t) => {
  const path = await folder(t);
  const cache = sharedCache(path);
  cache.write(header('a'), bytes('one'));
  assert.throws(() => cache.write(header('b'), {} as Uint8Array));
  assert.deepEqual(cache.read(header('a')), bytes('one'));
  assert.deepEqual((await readdir(path)).sort(), ['step-pk', 'step-pk.header']);
});
