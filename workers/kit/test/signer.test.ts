import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AccountUpdate, Field, PrivateKey } from 'o1js';
import { createWorker, type Dispatcher } from '../src/index.js';
import { call, collect, folder, makeWorld, serve } from './world.js';

// The worker has no key of its payer: the program of workers/signer has it, in a process of its own.

const program = fileURLToPath(new URL('../../../signer/bin/signer.js', import.meta.url));
const world = await makeWorld();
const accountId = world.payer.toBase58();
const secret = world.payer.key.toBase58();
const token = 'a-token-of-the-signer';

const policy = {
  maxFee: '1',
  maxFeesPerDay: '10',
  maxOutflow: '1',
  maxOutflowPerDay: '10',
  types: ['ADD', 'PAY'],
  zkApps: [world.counter.address.toBase58()],
};

type Test = Parameters<typeof folder>[0];

/** The signer, which can be killed and started again where it was. */
class Program {
  output = '';
  url = '';
  private child: ChildProcess | undefined;
  private constructor(
    private readonly at: string,
    private port = 0,
  ) {}

  static async start(t: Test, rules: object = {}): Promise<Program> {
    const signer = new Program(await folder(t));
    await writeFile(join(signer.at, 'policy.json'), JSON.stringify({ ...policy, ...rules }));
    await writeFile(join(signer.at, 'payer.key'), secret, { mode: 0o600 });
    t.after(() => signer.kill());
    await signer.start();
    return signer;
  }

  async start(): Promise<void> {
    this.child = spawn(process.execPath, [program], {
      cwd: this.at,
      env: { PATH: process.env.PATH, SIGNER_KEY_FILE: 'payer.key', SIGNER_TOKEN: token, PORT: `${this.port}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const line of createInterface(this.child.stdout!)) {
      this.output += `${line}\n`;
      if (!line.includes('listening')) continue;
      this.url = (JSON.parse(line) as { url: string }).url;
      this.port = Number(new URL(this.url).port);
      break;
    }
    this.child.stdout!.on('data', (part: Buffer) => (this.output += part.toString()));
  }

  async kill(): Promise<void> {
    if (!this.child || this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  async health(): Promise<{ fees: { spent: string }; outflow: { spent: string } }> {
    const response = await fetch(`${this.url}/health`, { headers: { Authorization: `Bearer ${token}` } });
    return (await response.json()) as never;
  }
}

/** Something between worker and signer. */
async function between(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Body {
  proved?: string;
}

async function bodyOf(request: Parameters<RequestListener>[0]): Promise<string> {
  let text = '';
  for await (const part of request as AsyncIterable<Buffer>) text += part.toString();
  return text;
}

async function start(t: Test, url: string, dispatchers: Record<string, Dispatcher>, store?: string) {
  const at = store ?? (await folder(t));
  const served = await serve(world, dispatchers, { payer: undefined, signer: { url, token, accountId }, store: at });
  t.after(() => served.worker.close());
  const count = (message: string) => served.lines.filter((line) => line.includes(`"message":"${message}"`)).length;
  return { ...served, count };
}

const add: Dispatcher = { dispatch: () => world.counter.add(Field(1)) };

test('a transaction is proved without the key, and signed by who has it', async (t) => {
  const signer = await Program.start(t, { zkApps: 'any' });
  const dispatcher: Dispatcher = {
    dispatch: async () => {
      await world.counter.addSigned(Field(10)); // the payer signs an account update, too
      const update = AccountUpdate.createSigned(world.other); // signs the whole command
      update.body.useFullCommitment = update.body.incrementNonce.not();
      return { data: { by: 10 } };
    },
    signers: () => [world.other.key],
  };
  const served = await start(t, signer.url, { ADD: dispatcher });
  const first = world.attempt();
  const proved = await served.post('/prove/ADD', call(world, 'signed', first));
  assert.equal(proved.body.error, null, proved.text);
  assert.match(proved.body.hash, /^5J/);
  assert.deepEqual(Object.keys(proved.body).sort(), ['data', 'done', 'error', 'hash', 'signed']);
  const again = await served.post('/prove/ADD', call(world, 'signed', first));
  assert.equal(again.text, proved.text);

  const previous = [{ number: 1, hash: proved.body.hash, nonce: first.nonce, fee: first.fee }];
  const second = { ...first, number: 2, fee: '250000000', previous };
  const asked = { ...call(world, 'signed', second), signed: proved.body.signed };
  const raised = await served.post('/resign/ADD', asked);
  assert.deepEqual([raised.body.error, raised.body.data], [null, { by: 10 }], raised.text);
  assert.notEqual(raised.body.hash, proved.body.hash);
  const before = world.count();
  await world.land(raised.body.signed!);
  assert.equal(world.count(), before + 10n);
  assert.equal(served.count('proved'), 1);

  // The raise has counted its difference.
  assert.equal((await signer.health()).fees.spent, '0.25');
  const health = JSON.parse((await served.get('/health')).text) as { capabilities: string[]; signer: string };
  assert.deepEqual([health.capabilities.includes('simulate'), health.signer], [false, new URL(signer.url).host]);
  const trial = await served.post('/simulate/ADD', call(world, 'trial', second));
  assert.match(trial.body.error!.message, /^a simulation has to be signed/);

  // What was not made here is not signed with the keys that are here.
  const foreign = await served.post('/resign/ADD', {
    ...call(world, 'foreign', { ...second, number: 3 }),
    signed: proved.body.signed,
  });
  assert.equal(foreign.status, 501, foreign.text);

  const logs = served.lines.join() + signer.output;
  for (const hidden of [secret, token, 'accountUpdates', proved.body.signed!.slice(0, 40)])
    assert.ok(!logs.includes(hidden), hidden);
  assert.match(logs, /"signed by the signer"/);
});

test('what the policy refuses is put down to whom it concerns', async (t) => {
  const signer = await Program.start(t, { maxFeesPerDay: '1' });
  let dispatched = 0;
  const count: Dispatcher = { dispatch: async () => void dispatched++ };
  const pay: Dispatcher = {
    dispatch: async ({ data }) => {
      await world.counter.add(Field(1));
      AccountUpdate.createSigned(world.payer).send({ to: world.counter.address, amount: Number(data.amount) });
    },
  };
  const served = await start(t, signer.url, { ADD: count, MINT: count, PAY: pay });
  const post = (type: string, uid: string, values: object = {}, data: object = {}) =>
    served.post(`/prove/${type}`, call(world, uid, world.attempt(values), data, type));

  const mint = await post('MINT', 'mint');
  assert.equal(mint.body.error?.code, '500');
  assert.match(
    mint.body.error.message,
    /^POLICY: the payer's signer does not sign this: it signs no MINT, only ADD, PAY$/,
  );
  const dear = await post('ADD', 'dear', { fee: '1000000001' });
  assert.equal(dear.body.error?.code, '502'); // the sequencer's fee, and no fault of the transaction
  assert.match(dear.body.error.message, /1.000000001 MINA is above the 1 .*set SEQUENCER_FEE_MAX/);
  assert.equal(dispatched, 0, 'known before anything is made');

  const much = await post('PAY', 'much', {}, { amount: 1_000_000_001 });
  assert.equal(much.body.error?.code, '500');
  assert.match(much.body.error.message, /^POLICY: .* 1.000000001 MINA would leave the payer's account/);
  assert.equal(much.body.signed, undefined);

  const paid = await post('PAY', 'paid', { fee: '600000000' }, { amount: 1_000_000_000 });
  assert.equal(paid.body.error, null, paid.text);
  const raise = { ...world.attempt({ fee: '1100000000' }), number: 2 };
  const previous = [{ number: 1, hash: paid.body.hash, nonce: raise.nonce, fee: '600000000' }];
  const raised = await served.post('/resign/PAY', {
    ...call(world, 'paid', { ...raise, previous }, {}, 'PAY'),
    signed: paid.body.signed,
  });
  assert.equal(raised.body.error?.code, '502', raised.text);
  await world.land(paid.body.signed!);

  const late = await post('ADD', 'late', { fee: '600000000' });
  assert.equal(late.status, 503, late.text);
  const wait = Number(late.headers.get('retry-after'));
  assert.ok(wait >= 1 && wait <= 600, `${wait}`);
  assert.equal(dispatched, 0);
  assert.match(served.lines.join(), /0.6 MINA of fees were signed on/);
});

test('a signer that is killed costs no proof, and nothing is signed twice', async (t) => {
  const signer = await Program.start(t);
  // Kills the signer before it has a proof, or when it has signed it.
  let kill: 'before' | 'after' | undefined;
  const killed: Promise<void>[] = [];
  const url = await between(t, (request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const isProof = (JSON.parse(body) as Body).proved !== undefined;
      const end = async (when: typeof kill) => {
        if (!isProof || kill !== when) return;
        kill = undefined;
        await signer.kill();
        killed.push(signer.start());
      };
      await end('before');
      const passed = await fetch(signer.url + request.url!, {
        method: 'POST',
        headers: request.headers as never,
        body,
      });
      const text = await passed.text();
      await end('after');
      if (killed.length > 0 && isProof) await killed.shift();
      else return response.writeHead(passed.status).end(text);
      return response.destroy(); // nobody hears what it has said
    })().catch(() => response.destroy());
  });
  const served = await start(t, url, { ADD: add });
  let spent = 0;
  for (const when of ['before', 'after', 'before', 'after'] as const) {
    kill = when;
    spent += 0.1;
    const { body, text } = await served.post('/prove/ADD', call(world, `killed-${spent}`, world.attempt()));
    assert.equal(body.error, null, text);
    assert.equal(kill, undefined);
    const before = world.count();
    await world.land(body.signed!);
    assert.equal(world.count(), before + 1n);
    assert.equal((await signer.health()).fees.spent, `${Math.round(spent * 10) / 10}`);
  }
  assert.equal(served.count('proved'), 4);
  assert.match(served.lines.join(), /what is proved is kept, and it is asked again/);
});

test('a proof outlives the worker that waits for its signer, and no signer means no proof', async (t) => {
  const signer = await Program.start(t);
  const store = await folder(t);
  let isAway = true;
  const asked: (() => void)[] = [];
  const url = await between(t, (request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      if (isAway && (JSON.parse(body) as Body).proved !== undefined) {
        asked.shift()?.();
        return response.destroy();
      }
      const passed = await fetch(signer.url + request.url!, {
        method: 'POST',
        headers: request.headers as never,
        body,
      });
      return response.writeHead(passed.status).end(await passed.text());
    })().catch(() => response.destroy());
  });
  const first = await start(t, url, { ADD: add }, store);
  const attempt = world.attempt();
  const waits = new Promise<void>((resolve) => asked.push(resolve));
  const answer = first.post('/prove/ADD', call(world, 'kept', attempt));
  await waits;
  const closed = first.worker.close();
  const put = await answer;
  assert.deepEqual([put.status, put.headers.get('retry-after')], [503, '5'], put.text);
  await closed;

  isAway = false;
  let dispatched = 0;
  const count: Dispatcher = { dispatch: () => (dispatched++, world.counter.add(Field(1))) };
  const second = await start(t, url, { ADD: count }, store);
  // Another attempt of the same number binds nobody, for nothing of the first was ever signed.
  const other = await second.post('/prove/ADD', call(world, 'kept', { ...attempt, validUntil: 999 }));
  assert.equal(other.body.error, null, other.text);
  assert.ok(dispatched > 0);
  const conflict = await second.post('/prove/ADD', call(world, 'kept', attempt));
  assert.equal(conflict.status, 409);

  isAway = true;
  const more = new Promise<void>((resolve) => asked.push(resolve));
  const lost = second.post('/prove/ADD', call(world, 'again', attempt));
  await more;
  await Promise.all([second.worker.close(), lost]);
  isAway = false;
  dispatched = 0;
  const third = await start(t, url, { ADD: count }, store);
  const same = await third.post('/prove/ADD', call(world, 'again', attempt));
  assert.equal(same.body.error, null, same.text);
  assert.equal(dispatched, 0, 'the same attempt is signed with the proof that there is');

  await signer.kill();
  const none = await third.post('/prove/ADD', call(world, 'none', attempt));
  assert.deepEqual([none.status, dispatched], [503, 0], none.text);
  assert.match(none.text, /the signer at 127\.0\.0\.1:\d+ does not answer/);
});

test('a signer that is not the right one is put down to the worker', async (t) => {
  let answer: [status: number, body: object] = [200, {}];
  const url = await between(t, (request, response) => {
    void bodyOf(request).then((body) => {
      const isProof = (JSON.parse(body) as Body).proved !== undefined;
      const [status, said] = isProof || answer[0] !== 200 ? answer : [200, {}];
      response.writeHead(status).end(JSON.stringify(said));
    });
  });
  const served = await start(t, url, { ADD: add });
  const cases: [typeof answer, number, string | undefined, RegExp][] = [
    [[401, { message: 'no token' }], 200, '502', /turns this worker away: 401 no token/],
    [[403, { message: 'another key' }], 200, '502', /turns this worker away: 403 another key/],
    [[400, { message: 'the fee' }], 200, '20202', /takes no such call: the fee/],
    [[200, { signed: '{}' }], 200, '502', /has answered another command/],
    [[200, {}], 200, '502', /has answered another command/],
  ];
  for (const [said, status, code, message] of cases) {
    answer = said;
    const got = await served.post('/prove/ADD', call(world, 'wrong', world.attempt()));
    assert.deepEqual([got.status, got.body.error?.code], [status, code], got.text);
    assert.match(got.body.error!.message, message);
    assert.ok(!JSON.stringify(got.body).includes('proved'));
  }
});

test('a worker has the key or a signer', async (t) => {
  const good = {
    network: { instance: world.local },
    proofsEnabled: false,
    dispatchers: { ADD: add },
    store: await folder(t),
    log: collect([]),
  };
  const signer = { url: 'http://127.0.0.1:3100', accountId };
  const cases: [object, RegExp][] = [
    [{}, /^give payer, .* or signer/],
    [{ payer: PrivateKey.random(), signer }, /not both$/],
    [{ signer: { ...signer, accountId: secret } }, /^signer.accountId: it is no public key/],
    [{ signer: { ...signer, url: 'signer' } }, /^signer.url: it is no URL/],
  ];
  for (const [options, message] of cases)
    await assert.rejects(createWorker({ ...good, ...options }), (error: Error) => {
      assert.match(error.message, message);
      return !error.message.includes(secret);
    });
});
