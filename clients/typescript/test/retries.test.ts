import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sequencer, SequencerError, UnansweredError } from '../src/index.js';

const url = 'http://sequencer.test';
const retries = { tries: 3, pause: 1, longestPause: 2 };

/** A client of a service that answers so; each request by method and path, to be looked at. */
function scripted(answer: (request: Request, number: number) => Promise<Response> | Response) {
  const asked: Request[] = [];
  const fetch = async (request: Request) => {
    asked.push(request.clone());
    return answer(request, asked.length);
  };
  return { asked, sequencer: new Sequencer({ url, fetch, retries }) };
}

const lost = () => {
  throw new TypeError('fetch failed');
};
const status = (code: number) => () => new Response('{}', { status: code });
const body = { queue: 'q', type: 'COUNT', data: {} } as never;

for (const [name, trouble] of Object.entries({ lost, 502: status(502), 503: status(503), 504: status(504) })) {
  test(`what may have been done is sent again only if it is known by a uid: ${name}`, async () => {
    const { asked, sequencer } = scripted(trouble);
    const times = async (what: () => Promise<unknown>) => {
      asked.length = 0;
      await what().catch(() => undefined);
      return asked.length;
    };
    const { api } = sequencer;
    assert.equal(await times(() => api.POST('/api/v1/transactions', { body })), 1);
    assert.equal(await times(() => api.POST('/api/v1/transactions/batch', { body: [body] as never })), 1);
    const headers = { 'Idempotency-Key': 'k' };
    assert.equal(await times(() => api.POST('/api/v1/transactions', { body, headers })), 3);
    assert.equal(await times(() => sequencer.post(body)), 3);
    const [first, ...more] = await Promise.all(asked.map((request) => request.text()));
    assert.match(first ?? '', /"uid":"/);
    assert.ok(more.every((text) => text === first));
    assert.equal(await times(() => sequencer.postBatch([body])), 3);
    assert.equal(await times(() => api.GET('/api/v1/queues')), 3);
  });
}

test('429 took nothing, so anything is sent again', async () => {
  const { asked, sequencer } = scripted((_, n) => new Response('{}', { status: n < 3 ? 429 : 202 }));
  const { response } = await sequencer.api.POST('/api/v1/transactions', { body });
  assert.deepEqual([response.status, asked.length], [202, 3]);
});

/** A body that breaks off, or just ends, where the text does. */
function cut(text: string, how: 'broken' | 'ended'): Response {
  let sent = false;
  const stream = new ReadableStream({
    pull(controller) {
      if (!sent) {
        controller.enqueue(new TextEncoder().encode(text));
      } else if (how === 'broken') {
        controller.error(new TypeError('terminated'));
      } else {
        controller.close();
      }
      sent = true;
    },
  });
  return new Response(stream, { status: 200 });
}

const items = Array.from({ length: 7 }, (_, n) => ({ queue: 'q', type: 'COUNT', data: { n } }));

const uidsOf = async (request: Request) =>
  (await request.text()).split('\n').map((line) => (JSON.parse(line) as { uid: string }).uid);

for (const how of ['broken', 'ended'] as const) {
  test(`a batch goes on where its answer ${how === 'broken' ? 'breaks off' : 'ends early'}`, async () => {
    const accepted: string[] = [];
    // Everything is accepted, and but two answers and a half arrive each time; now and then nothing.
    const { asked, sequencer } = scripted(async (request, number) => {
      const uids = await uidsOf(request);
      const answer = uids.map((uid, index) => {
        const status = accepted.includes(uid) ? 200 : 202;
        return JSON.stringify({ index, status, transaction: { uid, text: 'é' } }) + '\n';
      });
      accepted.push(...uids.filter((uid) => !accepted.includes(uid)));
      return cut(number % 3 === 0 ? '' : answer.slice(0, 2).join('') + (answer[2]?.slice(0, 50) ?? ''), how);
    });
    const results = await sequencer.postBatch(items);
    assert.deepEqual([accepted.length, asked.length], [7, 5]);
    assert.deepEqual(
      results.map((r) => [r.index, r.uid, 'transaction' in r && r.transaction.uid]),
      accepted.map((uid, index) => [index, uid, uid]),
    );
  });
}

test('a batch stops at what cannot be taken now, and goes on there', async () => {
  const accepted: string[] = [];
  const answers = (few: number, trouble: number) => async (request: Request) => {
    const uids = await uidsOf(request);
    accepted.push(...uids.slice(0, few));
    const lines = uids.map((uid, index) =>
      JSON.stringify(
        index < few
          ? { index, status: 202, transaction: { uid } }
          : { index, status: trouble, problem: { code: 'X', title: 'No', detail: 'so' } },
      ),
    );
    return new Response(lines.join('\n'));
  };
  const turns = [answers(2, 503), answers(0, 503), answers(0, 503), answers(1, 503), answers(9, 0)];
  const { asked, sequencer } = scripted((request, number) => turns[number - 1]!(request));
  const results = await sequencer.postBatch(items);
  assert.deepEqual([accepted.length, asked.length], [7, 5]);
  assert.deepEqual(
    results.map((r) => [r.index, r.uid, r.status]),
    accepted.map((uid, index) => [index, uid, 202]),
  );
  for (const [status, times] of [
    [507, 1],
    [503, retries.tries],
  ] as const) {
    const stays = scripted(answers(0, status));
    assert.deepEqual(await told(stays.sequencer.postBatch(items), SequencerError), await uidsOf(stays.asked[0]!));
    assert.equal(stays.asked.length, times);
  }
  for (const refused of [429, 500]) {
    const results = await scripted(answers(3, refused)).sequencer.postBatch(items);
    assert.deepEqual(
      results.map(({ status }) => status),
      [202, 202, 202, refused, refused, refused, refused],
    );
  }
});

for (const [refused, trouble] of [
  [429, '503'],
  [429, 'a broken connection'],
  [500, '503'],
] as const) {
  test(`nothing of a batch overtakes what was refused with ${refused}: ${trouble}`, async () => {
    const mixed = ['full', 'free', 'full', 'free', 'full'].map((queue, n) => ({ ...items[n]!, queue, uid: `u${n}` }));
    const line = (index: number, status: number, what: object) => JSON.stringify({ index, status, ...what }) + '\n';
    const problem = { code: 'TOO_MANY_WAITING', title: 'The queue is full', detail: 'so' };
    const { asked, sequencer } = scripted(async (request, number) => {
      if (number === 1) {
        const rest = trouble === '503' ? line(1, 503, { problem }) : '';
        return cut(line(0, refused, { problem }) + rest, trouble === '503' ? 'ended' : 'broken');
      }
      // There would be room for all now.
      const uids = await uidsOf(request);
      return new Response(uids.map((uid, index) => line(index, 202, { transaction: { uid } })).join(''));
    });
    const results = await sequencer.postBatch(mixed);
    assert.deepEqual(await Promise.all(asked.slice(1).map(uidsOf)), [['u1', 'u3']]);
    assert.deepEqual(
      results.map((r) => [r.index, r.uid, r.status]),
      [refused, 202, refused, 202, refused].map((status, index) => [index, `u${index}`, status]),
    );
    assert.deepEqual(
      results.flatMap((r) => ('problem' in r ? [r.problem] : [])),
      [problem, problem, problem],
    );
  });
}

test('a result tells the uid of who posted it first', async () => {
  const { sequencer } = scripted(() => new Response('{"index":0,"status":200,"transaction":{"uid":"first"}}'));
  assert.deepEqual((await sequencer.postBatch([items[0]!]))[0]?.uid, 'first');
});

/** The uids that an error tells. */
async function told(what: Promise<unknown>, kind: typeof SequencerError | typeof UnansweredError): Promise<unknown> {
  const error: unknown = await what.catch((e: unknown) => e);
  assert.ok(error instanceof kind, String(error));
  return error.uids;
}

test('what is thrown tells the uids that were made up', async () => {
  const stop = new AbortController();
  const aborting = () => {
    stop.abort(new Error('enough'));
    throw stop.signal.reason;
  };
  const refusal = () => new Response('{"code":"BAD_REQUEST","title":"No","detail":"so"}', { status: 400 });
  for (const [kind, answer] of [
    [SequencerError, refusal],
    [SequencerError, status(503)],
    [UnansweredError, lost],
    [UnansweredError, () => cut('{"index":0', 'broken')],
    [UnansweredError, () => cut('<html>', 'ended')],
    [UnansweredError, aborting],
  ] as const) {
    const { asked, sequencer } = scripted(answer);
    const batch = await told(sequencer.postBatch(items, stop.signal), kind);
    assert.deepEqual(batch, await uidsOf(asked[0]!));
    asked.length = 0;
    const one = await told(sequencer.post(items[0]!, stop.signal), kind);
    assert.deepEqual(one, await uidsOf(asked[0]!));
  }
  const { sequencer } = scripted(lost);
  assert.deepEqual(await told(sequencer.post({ ...items[0]!, uid: 'mine' }), UnansweredError), ['mine']);
});

test('a post whose answer breaks off is posted again', async () => {
  const { asked, sequencer } = scripted((_, n) => (n < 3 ? cut('{"uid"', 'broken') : new Response('{"uid":"u"}')));
  assert.equal((await sequencer.post({ ...items[0]!, uid: 'u' })).uid, 'u');
  assert.equal(asked.length, 3);
});

const found = (state: string) => () => new Response(JSON.stringify({ uid: 'u', state }));

/** Answers with these, one after the other, and with the last from then on. */
const inTurn = (answers: (() => Response)[]) => scripted((_, n) => answers[Math.min(n, answers.length) - 1]!());

test('settled outlasts what passes once it has found its transaction', async () => {
  const patient = () => new Response('{}', { status: 503, headers: { 'Retry-After': '0' } });
  const trouble = [lost, status(500), status(502), status(503), patient, status(504), status(429), lost, lost];
  const broken = () => cut('{"uid":"u",', 'broken');
  const answers = [...trouble, found('WAITING'), ...trouble, broken, found('DONE')];
  const { asked, sequencer } = inTurn([lost, found('WAITING'), ...answers]);
  assert.equal((await sequencer.settled('u')).state, 'DONE');
  assert.equal(asked.length, answers.length + 2);
});

test('settled ends with its signal, and with what no patience mends', async () => {
  const stop = new AbortController();
  const { sequencer } = scripted((_, n) => {
    if (n === 10) {
      stop.abort(new Error('enough'));
      stop.signal.throwIfAborted();
    }
    return n === 1 ? found('WAITING')() : lost();
  });
  await assert.rejects(sequencer.settled('u', stop.signal), /enough/);
  const gone = inTurn([found('WAITING'), lost, status(404)]);
  await assert.rejects(gone.sequencer.settled('u'), SequencerError);
  const never = inTurn([lost]);
  await assert.rejects(never.sequencer.settled('u'), /fetch failed/);
  assert.deepEqual([gone.asked.length, never.asked.length], [3, retries.tries]);
});
