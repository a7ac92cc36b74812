import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { EventsGoneError, Sequencer, SequencerError } from '../src/index.js';
import { follow } from '../src/events.js';
import { end, freePort, Rig, take, type Program } from './rig.js';

const retries = { tries: 1000, pause: 20, longestPause: 200 };
let rig: Rig;
let env: Record<string, string>;
let port: number;
let serve: Program;
let sequencer: Sequencer;

before(async () => {
  rig = new Rig();
  port = await freePort();
  env = {
    SEQUENCER_REDIS_URL: await rig.redis(),
    SEQUENCER_MINA_URL: 'http://127.0.0.1:9/graphql', // nobody is there, so all that is posted waits
    SEQUENCER_WORKER_TYPES: 'COUNT',
    SEQUENCER_API_KEYS: 'test:admin:0123456789abcdef',
    SEQUENCER_SHUTDOWN_TIMEOUT: '1s',
  };
  serve = await rig.sequencer(['serve'], env, port);
  sequencer = new Sequencer({ url: serve.url, key: '0123456789abcdef', retries });
});
after(() => rig.stop());

const post = (queue: string, uid: string) => sequencer.post({ queue, uid, type: 'COUNT', data: {} });

/** Where the events stand now. */
async function position(): Promise<string> {
  const stop = new AbortController();
  let at = '';
  const onOpen = (id: string) => {
    at = id;
    stop.abort();
  };
  await assert.rejects(take(sequencer.events({ signal: stop.signal, onOpen }), 1), { name: 'AbortError' });
  return at;
}

test('events go on over restarts, each once', async () => {
  const from = sequencer.events({ queue: 'restarts', after: await position() });
  const seen: string[] = [];
  const posted: string[] = [];
  for (const [round, signal] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
    const uids = Array.from({ length: 5 }, (_, i) => `restart-${round}-${i}`);
    for (const uid of uids.slice(0, 3)) {
      await post('restarts', uid);
    }
    seen.push(...(await take(from, 2)).map((e) => e.uid ?? ''));
    await end(serve.child, signal);
    // Posts that are under way while nobody answers arrive once somebody does.
    const late = uids.slice(3).map((uid) => post('restarts', uid));
    serve = await rig.sequencer(['serve'], env, port);
    await Promise.all(late);
    seen.push(...(await take(from, 3)).map((e) => e.uid ?? ''));
    posted.push(...uids);
    assert.deepEqual([...seen].sort(), posted);
  }
  await from.return();
});

test('events that are gone are an error of their own', async () => {
  await assert.rejects(take(sequencer.events({ after: '7-1' }), 1), EventsGoneError);
});

test('what no patience mends ends the iteration', async () => {
  const refusal = (code: string) => (error: unknown) => error instanceof SequencerError && error.code === code;
  await assert.rejects(take(sequencer.events({ queue: 'a b' }), 1), refusal('BAD_REQUEST'));
  await assert.rejects(take(sequencer.events({ after: 'x' }), 1), refusal('BAD_REQUEST'));
  await assert.rejects(take(new Sequencer({ url: serve.url, key: 'wrong' }).events(), 1), refusal('UNAUTHORIZED'));
  await assert.rejects(new Sequencer({ url: serve.url }).transaction('u'), refusal('UNAUTHORIZED'));
});

test('a signal ends the iteration', async () => {
  const stop = new AbortController();
  const events = sequencer.events({ signal: stop.signal, uid: 'none', onOpen: () => stop.abort(new Error('enough')) });
  await assert.rejects(take(events, 1), /enough/);
  await assert.rejects(take(sequencer.events({ signal: AbortSignal.abort(new Error('before')) }), 1), /before/);
});

const stream = (answer: ServerResponse, text: string, then: () => void) => {
  answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
  answer.write(text, then);
};
const event = (n: number) => `id: 1-${n}\nevent: transaction\ndata: {"id":"1-${n}","code":"é"}\n\n`;

test('streams that break, stall or stutter are followed without a gap', async () => {
  const asked: string[] = [];
  const server = createServer((request, answer) => {
    const last = (request.headers['last-event-id'] as string | undefined) ?? '';
    asked.push(last);
    if (asked.length === 1) {
      answer.writeHead(503, { 'Retry-After': '0' }).end('{}');
    } else if (asked.length === 2) {
      answer.destroy();
    } else if (last === '' || last === '1-0') {
      // Cut within an event: it is sent again.
      stream(answer, `: hello\nretry: 10\nid: 1-0\n\n${event(1)}${event(2).slice(0, 30)}`, () => answer.destroy());
    } else if (last === '1-1') {
      // Told to come again, and from further on.
      stream(answer, `${event(2)}: come again\nretry: 10\nid: 1-7\n\n`, () => answer.end());
    } else if (last === '1-7') {
      // Byte by byte, within a character as well; and then nothing more.
      answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
      for (const byte of Buffer.from(event(8))) {
        answer.write(Buffer.of(byte));
      }
    } else {
      stream(answer, event(9), () => undefined);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = (last: string | undefined, signal: AbortSignal) =>
    fetch(url, { headers: last === undefined ? {} : { 'Last-Event-ID': last }, signal });
  const events = await take(follow(open, {}, retries, 500), 4);
  server.closeAllConnections();
  server.close();
  assert.deepEqual(
    events.map((e) => [e.id, e.code]),
    ['1-1', '1-2', '1-8', '1-9'].map((id) => [id, 'é']),
  );
  assert.deepEqual(
    [...new Set(asked)].filter((last) => last !== '1-0'),
    ['', '1-1', '1-7', '1-8'],
  );
});
