import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Cache } from 'o1js';

/**
 * A folder of compiled contracts that several workers may fill at the same time.
 * o1js writes its files in place, where another worker may read half of one.
 * Here they appear whole. undefined takes o1js's own folder.
 */
export function sharedCache(folder = Cache.FileSystemDefault.cacheDirectory): Cache {
  if (folder === undefined) return Cache.FileSystemDefault;
  const cache = Cache.FileSystem(folder);
  return {
    ...cache,
    write(header, value) {
      mkdirSync(folder, { recursive: true });
      const own = mkdtempSync(join(folder, '.writing-'));
      try {
        Cache.FileSystem(own).write(header, value);
        // The header says that the data is there, so it goes first and comes last.
        const [data, mark] = [header.persistentId, `${header.persistentId}.header`];
        rmSync(join(folder, mark), { force: true });
        renameSync(join(own, data), join(folder, data));
        renameSync(join(own, mark), join(folder, mark));
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    },
  };
}
