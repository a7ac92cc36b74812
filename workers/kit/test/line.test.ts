import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Joined } from '../src/join.js';
import { Busy, Line } from '../src/line.js';
import { gate } from './world.js';

/** When all that follows from what has happened has been done. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

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

test('what is for idle places alone waits for none', async () => {
  const line = new Line(10);
  const first = gate();
  const working = line.run(() => first.opened);
  await assert.rejects(
    line.run(async () => assert.fail('it has begun'), { idle: true }),
    Busy,
  );
  first.open();
  await working;
  await settled();
  assert.equal(await line.run(async () => 'done', { idle: true }), 'done');
});

test('each place has work of its own, and what waits goes to the first that is free', async () => {
  const line = new Line(10, ['a']);
  const gates = [gate(), gate(), gate()];
  const begun: [number, string][] = [];
  const all = gates.map(({ opened }, i) =>
    line.run(async (place) => {
      begun.push([i, place]);
      await opened;
    }),
  );
  line.add('b');
  assert.deepEqual(begun.flat(), [0, 'a', 1, 'b']);
  assert.equal(line.waiting, 1);
  gates[1]!.open();
  await settled();
  assert.deepEqual(begun[2], [2, 'b']);
  line.remove('b');
  const last = line.run((place) => Promise.resolve(place));
  gates[2]!.open();
  await settled();
  assert.equal(line.waiting, 1, 'the place is gone');
  gates[0]!.open();
  assert.equal(await last, 'a');
  await Promise.all(all);
});

test('without a place nothing is taken on, and nothing waits', async () => {
  const line = new Line<string>(10, []);
  const work = () => line.run((place) => Promise.resolve(place));
  await assert.rejects(work(), Busy);
  line.add('a');
  const first = gate();
  const running = line.run(() => first.opened);
  const waiting = assert.rejects(work(), Busy);
  line.remove('a');
  await waiting;
  first.open();
  await running;
  await assert.rejects(work(), Busy);
});

test('what has been running longest is told of', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const line = new Line(10, ['a', 'b']);
  const gates = [gate(), gate()];
  const running = gates.map(({ opened }) => {
    const work = line.run(() => opened);
    t.mock.timers.tick(5000);
    return work;
  });
  assert.equal(line.runningSeconds, 10);
  gates[0]!.open();
  await settled();
  assert.equal(line.runningSeconds, 5);
  gates[1]!.open();
  await running[1];
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
