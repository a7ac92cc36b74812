import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { body, call, folder, payer, policy, post, proved, secret } from './world.js';

const main = fileURLToPath(new URL('../../bin/signer.js', import.meta.url));

interface Program {
  child: ChildProcess;
  output(): string;
  /** When it listens. */
  url: Promise<string>;
  ended: Promise<number | null>;
}

/** Runs the signer in a folder that has a policy. */
function run(at: string, env: NodeJS.ProcessEnv): Program {
  const child = spawn(process.execPath, [main], { cwd: at, env: { PATH: process.env.PATH, PORT: '0', ...env } });
  let output = '';
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const url = new Promise<string>((resolve, reject) => {
    const take = (part: Buffer) => {
      output += part.toString();
      const [, found] = /"url":"([^"]+)"/.exec(output) ?? [];
      if (found) resolve(found);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    void ended.then(() => reject(new Error(output)));
  });
  url.catch(() => undefined);
  return { child, output: () => output, url, ended };
}

async function prepare(t: Parameters<typeof folder>[0]): Promise<string> {
  const at = await folder(t);
  await writeFile(join(at, 'policy.json'), JSON.stringify(policy));
  await writeFile(join(at, 'payer.key'), `${secret}\n`, { mode: 0o600 });
  return at;
}

test('the key comes from a file, the environment or a command, and is told nowhere', async (t) => {
  const at = await prepare(t);
  for (const env of [
    { SIGNER_KEY_FILE: 'payer.key' },
    { SIGNER_KEY: secret },
    { SIGNER_KEY_COMMAND: 'cat payer.key' },
  ]) {
    const program = run(at, { ...env, SIGNER_TOKEN: 'sesame' });
    t.after(() => program.child.kill('SIGKILL'));
    const url = await program.url;
    const answer = await post(url, '/sign/ADD', body({}, proved([call])), { Authorization: 'Bearer sesame' });
    assert.ok(answer.signed, answer.text);
    program.child.kill('SIGTERM');
    assert.equal(await program.ended, 0);
    assert.match(program.output(), new RegExp(`"accountId":"${payer}"`));
    for (const hidden of [secret, 'sesame', 'a-proof', 'accountUpdates']) assert.ok(!program.output().includes(hidden));
  }
  assert.deepEqual(await readdir(join(at, '.signer')), [`${payer}-devnet.json`]);
});

test('what is wrong with its configuration is said, without what was read', async (t) => {
  const at = await prepare(t);
  const broken = `${secret.slice(0, -2)}zz`;
  await writeFile(join(at, 'wide.key'), secret);
  await chmod(join(at, 'wide.key'), 0o640);
  await writeFile(join(at, 'empty.json'), '{}');
  const file = { SIGNER_KEY_FILE: 'payer.key' };
  const cases: [NodeJS.ProcessEnv, RegExp][] = [
    [{}, /^signer: set one of SIGNER_KEY_FILE, SIGNER_KEY and SIGNER_KEY_COMMAND/],
    [{ ...file, SIGNER_KEY: secret }, /^signer: set one of/],
    [{ SIGNER_KEY_FILE: 'wide.key' }, /^signer: SIGNER_KEY_FILE: others may read wide.key; run: chmod 600 wide.key/],
    [{ SIGNER_KEY: broken }, /^signer: SIGNER_KEY: it holds no secret key in base58/],
    [{ SIGNER_KEY_COMMAND: `echo ${secret}; exit 7` }, /^signer: SIGNER_KEY_COMMAND: the command has ended with 7/],
    [{ ...file, SIGNER_POLICY: 'none.json' }, /^signer: SIGNER_POLICY \(none.json\): ENOENT/],
    [
      { ...file, SIGNER_POLICY: 'empty.json' },
      /^signer: SIGNER_POLICY \(empty.json\): the policy's maxFee is no amount/,
    ],
    [{ ...file, HOST: '0.0.0.0' }, /^signer: HOST: 0.0.0.0 is reachable from outside; set SIGNER_TOKEN_FILE/],
    [{ ...file, PORT: '70000' }, /^signer: PORT/],
  ];
  const checks = cases.map(async ([env, message]) => {
    const program = run(at, env);
    assert.equal(await program.ended, 2, program.output());
    assert.match(program.output(), message);
    for (const hidden of [secret, broken]) assert.ok(!program.output().includes(hidden));
  });
  await Promise.all(checks);
});

test('kill -9 forgets nothing that was counted, and an older signer gives way to a newer one', async (t) => {
  const at = await prepare(t);
  const start = async () => {
    const program = run(at, { SIGNER_KEY_FILE: 'payer.key' });
    t.after(() => program.child.kill('SIGKILL'));
    return { ...program, url: await program.url };
  };
  const sign = (url: string, nonce: number) => post(url, '/sign/ADD', body({ nonce }, proved([call], { nonce })));
  const spent = async (url: string) =>
    ((await (await fetch(`${url}/health`)).json()) as { fees: { spent: string } }).fees.spent;

  let program = await start();
  for (const nonce of [1, 2]) {
    const answer = sign(program.url, nonce);
    const [other] = await Promise.all([answer, sign(program.url, nonce)]);
    assert.ok(other.signed, other.text);
    program.child.kill('SIGKILL');
    await program.ended;
    program = await start();
    assert.equal(await spent(program.url), `${nonce}`);
    const again = await sign(program.url, nonce);
    assert.equal(again.signed, other.signed);
    assert.equal(await spent(program.url), `${nonce}`);
  }
  const full = await sign(program.url, 3);
  assert.equal(full.error?.scope, 'day', full.text);

  const newer = await start();
  const late = await post(
    program.url,
    '/sign/ADD',
    body({ nonce: 2, fee: '1' }, proved([call], { nonce: 2, fee: '1' })),
  );
  assert.equal(late.status, 200, 'it counts nothing');
  assert.ok((await sign(newer.url, 1)).signed);
  const small = await post(
    program.url,
    '/sign/ADD',
    body({ nonce: 4, fee: '1' }, proved([call], { nonce: 4, fee: '1' })),
  );
  assert.deepEqual([small.status, small.code], [503, 'SUPERSEDED'], small.text);
  assert.equal(await program.ended, 1);
});
