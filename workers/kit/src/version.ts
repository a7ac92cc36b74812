import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The version of o1js that is used, which it does not export; `unknown` where it cannot be found. */
export function o1jsVersion(): string {
  let folder = dirname(createRequire(import.meta.url).resolve('o1js'));
  for (;;) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (name === 'o1js') return version ?? 'unknown';
    } catch {
      // no package.json here
    }
    if (dirname(folder) === folder) return 'unknown';
    folder = dirname(folder);
  }
}
