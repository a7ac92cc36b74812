import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sequencer } from '../src/index.js';

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
