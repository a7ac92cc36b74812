import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Joined } from '../src/join.js';
import { Busy, Line } from '../src/line.js';
import { gate } from './world.js';

test('work runs in single file, in its order, the short ones first', async () => {
  const line = new Line(10);
  const done: string[] = [];
  const first = gate();
  let running = 0;
  const work = (name: string, wait?: Promise<void>) => async () => {
    assert.equal(++running, 1);
    await wait;
    running--;
    done.push(name);
  };
  const all = [
    line.run(work('a', first.opened)),
    line.run(work('b')),
    line.run(work('c')),
    line.run(work('short'), { first: true }),
  ];
  assert.equal(line.waiting, 3);
  assert.notEqual(line.runningSeconds, null);
  first.open();
  await Promise.all(all);
  assert.deepEqual(done, ['a', 'short', 'b', 'c']);
  assert.equal(line.runningSeconds, null);
});

test('work that fails holds nobody up', async () => {
  const line = new Line(10);
  const failed = line.run(() => Promise.reject(new Error('no')));
  const next = line.run(() => Promise.resolve(1));
  await assert.rejects(failed, /no/);
  assert.equal(await next, 1);
});

test('too much work is refused with a time', async () => {
  const line = new Line(1);
  const first = gate();
  const running = line.run(() => first.opened);
  const waiting = line.run(() => Promise.resolve());
  await assert.rejects(
    line.run(() => Promise.resolve()),
    (error) => error instanceof Busy && error.retryAfterSeconds >= 1 && error.retryAfterSeconds <= 60,
  );
  first.open();
  await Promise.all([running, waiting]);
  await line.run(() => Promise.resolve());
});

test('closing ends the running work, refuses what waits, and takes nothing on', async () => {
  const line = new Line(10);
  const first = gate();
  const running = line.run(async () => {
    await first.opened;
    return 'whole';
  });
  const waiting = assert.rejects(
    line.run(() => Promise.resolve()),
    Busy,
  );
  let closed = false;
  const closing = line.close().then(() => (closed = true));
  await waiting;
  await assert.rejects(
    line.run(() => Promise.resolve()),
    Busy,
  );
  assert.equal(closed, false);
  first.open();
  assert.equal(await running, 'whole');
  await closing;
});

test('who wants the same at the same time shares it', async () => {
  const joined = new Joined<number>();
  const first = gate();
  let times = 0;
  const work = async () => {
    await first.opened;
    return ++times;
  };
  const all = [joined.do('a', work), joined.do('a', work), joined.do('b', work)];
  first.open();
  assert.deepEqual(await Promise.all(all), [1, 1, 2]);
  assert.equal(await joined.do('a', work), 3);
});
