import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { keyPairs } from '../src/genesis.js';

const BIN = fileURLToPath(new URL('../../bin/ledger-node.js', import.meta.url));

/** Starts the program, after what the shell is told `before`, and returns what it prints until it is ready. */
async function run(t: TestContext, args: string[], before = '', errors: 'inherit' | 'pipe' = 'inherit') {
  const command = ['-c', `${before} exec "$@"`, 'sh', process.execPath, BIN, '--port', '0', ...args];
  const child = spawn('sh', command, { stdio: ['ignore', 'pipe', errors] });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for await (const line of createInterface(child.stdout!)) {
    output += `${line}\n`;
    if (line.startsWith('Ready')) break;
  }
  return { child, output };
}

test('the program prints its addresses and keys, and comes back where it was killed', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ledger-node-'));
  t.after(() => rmSync(data, { recursive: true }));
  const args = ['--block-time', 'manual', '--accounts', '3', '--data', data];
  const first = await run(t, args);
  assert.match(first.output, /GraphQL {3}http:\/\/127\.0\.0\.1:\d+\/graphql/);
  assert.equal(first.output.match(/B62q\w{51} {2}EK\w{50} {2}1000 MINA/g)?.length, 3);
  const control = /http:\S+\/control/.exec(first.output)![0];
  await fetch(`${control}/block`, { method: 'POST' });
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');

  const second = await run(t, args);
  assert.match(second.output, /at height 2\./);
  second.child.kill('SIGTERM');
  const [code] = (await once(second.child, 'exit')) as [number];
  assert.equal(code, 0);
});

test('a node whose disk is full goes on without blocks, and keeps those that it has', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ledger-node-'));
  t.after(() => rmSync(data, { recursive: true }));
  const args = ['--accounts', '1', '--data', data];
  // A limit on the size of files, in the place of that of a disk.
  const full = await run(t, [...args, '--block-time', '100ms'], 'ulimit -f 4;', 'pipe');
  let empty = 0;
  for await (const line of createInterface(full.child.stderr!)) {
    if (line.includes('a slot stays empty: Error: EFBIG') && ++empty === 2) break;
  }
  assert.equal(empty, 2, 'it has ended');
  const [control] = /http:\S+\/control/.exec(full.output)!;
  const { height } = (await (await fetch(`${control}/pause`, { method: 'POST' })).json()) as { height: number };
  assert.ok(height > 1);
  const log = readFileSync(join(data, 'blocks.jsonl'), 'utf8');
  assert.ok(log.endsWith('\n'));
  assert.equal(log.split('\n').length - 1, height);
  full.child.kill('SIGTERM');
  await once(full.child, 'exit');

  const again = await run(t, [...args, '--block-time', 'manual']);
  assert.match(again.output, new RegExp(`at height ${height}\\.`));
});

test('options that are wrong are named, with the remedy', async () => {
  const cases: [string[], RegExp][] = [
    [['--port', 'x'], /--port is a whole number from 0 to 65535/],
    [['--proofs', 'maybe'], /--proofs is on or off/],
    [['--block-time', '5'], /--block-time is from 100ms to 60m, as in 500ms, 5s or 3m, or "manual"/],
    [['--block-time', '0s'], /--block-time is from/],
    [['--accounts', '-1'], /--accounts/],
    [['--fill', '0'], /--fill is a number from 0.01 to 1/],
    [['--limits', 'none'], /--limits is mesa or berkeley/],
    [['--block-commands', '129'], /--block-commands is a whole number from 1 to 128/],
    [['--prot', '1'], /--prot/],
  ];
  await Promise.all(
    cases.map(([args, message]) =>
      assert.rejects(
        promisify(execFile)(process.execPath, [BIN, ...args]),
        (error: { code: number; stderr: string }) => {
          assert.equal(error.code, 1);
          assert.match(error.stderr, message);
          return true;
        },
      ),
    ),
  );
});

test("the keys that the workers' README has people copy are those of the funded accounts", () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const keys = new Set(readme.match(/\b(B62q|EK)\w{48,51}\b/g));
  const [first, second] = keyPairs(2);
  assert.deepEqual([...keys].sort(), [first!.publicKey, first!.privateKey, second!.publicKey].sort());
});
