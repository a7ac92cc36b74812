import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { PrivateKey, SmartContract, method } from 'o1js';
import { createWorker } from '../src/index.js';
import { Results } from '../src/results.js';
import { collect, folder } from './world.js';

const payer = PrivateKey.random();
const accountId = payer.toPublicKey().toBase58();

interface Program {
  child: ChildProcess;
  url: string;
  /** Its working directory. */
  store: string;
  /** Waits for a line of the output that holds text. */
  line: (text: string) => Promise<string>;
}

/** Starts the worker of program.ts on a free port. */
async function start(t: TestContext): Promise<Program> {
  const store = await folder(t);
  const child = spawn(process.execPath, [new URL('./program.js', import.meta.url).pathname], {
    cwd: store,
    env: { ...process.env, PAYER: payer.toBase58(), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (text: string) => {
    for (;;) {
      const { value, done } = (await lines.next()) as IteratorResult<string, undefined>;
      if (done) throw new Error(`the worker ended before it said ${text}`);
      if (value.includes(text)) return value;
    }
  };
  const { url } = JSON.parse(await line('listening')) as { url: string };
  return { child, url, store, line };
}

function prove(url: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/prove/ADD`, {
    method: 'POST',
    ...(signal && { signal }),
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      txData: { uid: 'u', type: 'ADD', data: {} },
      sender: { accountId, queue: 'q', retries: 0 },
      attempt: { number: 1, nonce: 0, fee: '1', validUntil: null, memo: '', previous: [] },
    }),
  });
}

test('SIGTERM ends an idle worker', async (t) => {
  const { child } = await start(t);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('SIGTERM lets the running call be answered', async (t) => {
  const { child, url, line } = await start(t);
  const ended = once(child, 'exit');
  const answer = prove(url);
  await line('dispatching');
  child.kill('SIGTERM');
  const { done } = (await (await answer).json()) as { done: object };
  assert.deepEqual(done, { whole: true });
  assert.deepEqual(await ended, [0, null]);
});

test('SIGTERM lets what is made be kept, though who has asked for it is gone', async (t) => {
  const { child, url, line, store } = await start(t);
  const ended = once(child, 'exit');
  const gone = new AbortController();
  const answer = prove(url, gone.signal);
  await line('dispatching');
  gone.abort();
  await assert.rejects(answer);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  const kept = await Results.open(join(store, '.worker-store', accountId), 10);
  assert.deepEqual((await kept.get('u', 1))?.done, { whole: true });
});

class Broken extends SmartContract {
  @method async fail() {
    throw new Error('this circuit cannot be made');
  }
}

test('a worker whose configuration is wrong does not start', async (t) => {
  const store = await folder(t);
  const good = {
    payer,
    network: { graphql: 'http://127.0.0.1:1' },
    proofsEnabled: false,
    dispatchers: { ADD: { dispatch: async () => {} } },
    store,
    log: collect([]),
  };
  const cases: [object, RegExp][] = [
    [{ payer: { env: 'TEST_NOTHING' } }, /^payer: the environment has no TEST_NOTHING/],
    [{ dispatchers: {} }, /^dispatchers: name at least one type/],
    [{ dispatchers: { 'A/B': good.dispatchers.ADD } }, /^dispatchers: "A\/B" is no type/],
    [{ dispatchers: { ADD: { ...good.dispatchers.ADD, maxRetries: -1 } } }, /^dispatchers\.ADD\.maxRetries: -1/],
    [{ port: 70000 }, /^port: /],
    ...[0, -1, NaN, 1e9].map((callbackSeconds): [object, RegExp] => [
      { callbackSeconds },
      /^callbackSeconds: .* above 0/,
    ]),
    ...[0, 33, 1.5, '2', NaN].map((provers): [object, RegExp] => [{ provers }, /^provers: .* from 1 to 32$/]),
    [{ host: '0.0.0.0' }, /^host: .* set token/],
    [
      { proofsEnabled: true, dispatchers: { ADD: { ...good.dispatchers.ADD, contracts: [Broken] } } },
      /^dispatchers: the contract Broken does not compile: .*this circuit cannot be made/,
    ],
  ];
  for (const [wrong, message] of cases) {
    await t.test(message.source, async () => {
      await assert.rejects(createWorker({ ...good, ...wrong }), (error: Error) => message.test(error.message));
    });
  }
});
