import { readFileSync, rmSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

// Loaded into the workers of this test, to end one as a crash would at a moment
// that cannot be hit from outside: once, at the point that the file CRASH_FILE
// names.

/** Where a worker may crash, while it makes the transaction `uid`. */
export interface Crash {
  /**
   * `asking`: it builds, and has asked the node for an account. `signed`: it has
   * signed, and its result is not on disk yet.
   */
  at: 'asking' | 'signed';
  uid: string;
}

const file = process.env['CRASH_FILE'];

function crashIf(wanted: (crash: Crash) => boolean): void {
  let crash: Crash;
  try {
    crash = JSON.parse(readFileSync(file!, 'utf8')) as Crash;
  } catch {
    return; // none is wanted
  }
  if (!wanted(crash)) return;
  rmSync(file!);
  process.kill(process.pid, 'SIGKILL');
}

if (file !== undefined) {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    const asked = fetch(input, init);
    if (typeof init?.body === 'string' && init.body.includes('account(')) crashIf(({ at }) => at === 'asking');
    return asked;
  };
  const { rename } = promises;
  promises.rename = (from, to) => {
    crashIf(({ at, uid }) => at === 'signed' && readFileSync(from, 'utf8').includes(`"uid":"${uid}"`));
    return rename(from, to);
  };
  syncBuiltinESMExports();
}
