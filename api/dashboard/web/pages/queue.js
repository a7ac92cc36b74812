// One queue: its line of transactions, in the order in which they take effect.

import { can, get, list, post } from '../api.js';
import { act, ask, tell } from '../actions.js';
import { h } from '../dom.js';
import { age, chip, count, mark, senderLink, time, txnLink, until, word } from '../format.js';
import { raw } from '../raw.js';
import { table } from '../table.js';

export const title = ([name]) => name;

/** The button that fits a queue. */
export function pauseOrResume(q, refresh) {
  const path = '/queues/' + encodeURIComponent(q.name);
  if (q.paused) {
    return h('button', { type: 'button', 'aria-label': `Resume ${q.name}`, onclick: () => act('pause ' + q.name, async () => { await post(path + '/resume'); await refresh(); }, `${q.name} goes on.`) }, 'Resume');
  }
  return h('button', {
    type: 'button', 'aria-label': `Pause ${q.name}`, onclick: async () => {
      const reason = await ask({ title: `Pause ${q.name}?`, text: 'What runs goes on to its end; nothing new is bound until it is resumed.', input: 'Why (optional)', action: 'Pause' });
      if (reason === null) return;
      await act('pause ' + q.name, async () => { await post(path + '/pause', reason ? { reason } : {}); await refresh(); }, `${q.name} is paused.`);
    },
  }, 'Pause');
}

/** Asks how many of a queue may be in flight, and says so. */
function widen(q, refresh) {
  return h('button', {
    type: 'button', 'aria-label': `Width of ${q.name}`, onclick: async () => {
      const answer = await ask({ title: `How many of ${q.name} may be in flight?`, text: 'So many may be on their way and in no block: 1 to 24, or nothing for as many as the service is set to. If one fails in a block, those behind it fail too, and each pays its fee.', input: `Width, now ${q.width}`, action: 'Set' });
      if (answer === null) return;
      const typed = answer.trim();
      if (!/^\d*$/.test(typed)) return tell(`“${typed}” is no width. Nothing is changed: give a number from 1 to 24, or nothing.`, true);
      const width = typed === '' ? null : Number(typed);
      await act('width ' + q.name, async () => { await post('/queues/' + encodeURIComponent(q.name) + '/width', { width }); await refresh(); }, `The width of ${q.name} is set.`);
    },
  }, 'Width');
}

const most = 50;

export function open({ args: [name], refresh }) {
  let q = null, running = [], waiting = [], past = [];
  return {
    ready: () => q !== null,
    onEvent: (kind, e) => e.queue === name,
    async load() {
      const [found, line, recent] = await Promise.all([
        get('/queues/' + encodeURIComponent(name)),
        list('/transactions', { queue: name, state: 'WAITING' }, most),
        get('/transactions', { queue: name, order: 'newest', limit: 2 * most }),
      ]);
      const flying = await Promise.all(found.inFlight.map((uid) => get('/transactions/' + encodeURIComponent(uid)).catch((p) => { if (p.status !== 404) throw p; return null; })));
      running = flying.filter((t) => t !== null);
      q = found;
      waiting = line.items;
      const ended = recent.items.filter((t) => ['DONE', 'FAILED', 'UNRESOLVED'].includes(t.state));
      past = ended.length > 0 || found.counts.DONE + found.counts.FAILED + found.counts.UNRESOLVED === 0 ? ended
        : (await list('/transactions', { queue: name, state: 'DONE', order: 'newest' }, most)).items;
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/queues' }, 'Queues')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, name), chip(q.paused ? 'PAUSED' : q.state), h('span', { class: 'buttons' }, can('admin') && [widen(q, refresh), pauseOrResume(q, refresh)])),
      q.paused && h('p', { class: 'lead' }, 'Paused: ', q.reason, q.pausedUntil && [', until ', time(q.pausedUntil)]),
      h('dl', { class: 'figures' },
        figure('Waiting', count(q.counts.WAITING)), figure('Oldest', age(q.oldestWaitingAt)), figure('Done', count(q.counts.DONE)),
        figure('Failed', count(q.counts.FAILED)), figure('Unresolved', count(q.counts.UNRESOLVED)), figure('Sender', senderLink(q.sender, 16)), figure('Width', String(q.width)),
        q.nextAt && figure('Next', until(q.nextAt))),
      h('section', { class: 'card' }, h('h2', null, 'Its line'), line(past, running, waiting, q)),
      running.length > 1 && h('section', { class: 'card' }, h('h2', null, 'In flight, in their order'), train(running)),
      h('section', { class: 'card' }, h('h2', null, 'Running and waiting'), rows([...running.filter((r) => !past.some((t) => t.uid === r.uid)), ...waiting], 'Nothing waits here.'),
        q.counts.WAITING > waiting.length && h('p', { class: 'muted' }, `And ${count(q.counts.WAITING - waiting.length)} more behind them.`)),
      h('section', { class: 'card' }, h('h2', null, 'Ended, the newest first'), rows(past.slice(0, most), 'Nothing has ended here.'),
        h('p', null, h('a', { href: '/transactions?queue=' + encodeURIComponent(name) }, 'All of its transactions'))),
      raw(q),
    ],
  };
}

const figure = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));

/** The queue as a row: what is over to the left, what runs, what waits to the right. */
function line(past, running, waiting, q) {
  const car = (t, kind) => h('a', { key: t.uid, class: `car s-${t.state} ${kind}`, href: '/transactions/' + encodeURIComponent(t.uid), title: `${t.uid}: ${word(t.state)}`, 'aria-label': `${t.uid}: ${word(t.state)}` }, mark(t.state));
  const over = past.slice(0, 12).reverse().filter((t) => !running.some((r) => r.uid === t.uid));
  const more = q.counts.WAITING - Math.min(waiting.length, 20);
  if (over.length + waiting.length + running.length === 0) return h('p', { class: 'muted' }, 'Empty.');
  return h('div', { class: 'line' },
    over.map((t) => car(t, 'over')), running.map((t) => car(t, 'running')), waiting.slice(0, 20).map((t) => car(t, 'waits')),
    more > 0 && h('span', { class: 'muted' }, '+', count(more)));
}

/** What is in flight: each is made on what those ahead of it leave, and lands after them. */
function train(ts) {
  return table(['#Place', 'Transaction', 'State', '#Nonce', 'Ahead', '#Block'], ts.map((t, i) => {
    const attempt = t.attempts.at(-1);
    return [t.uid, String(i + 1), txnLink(t.uid), chip(t.state), attempt ? String(attempt.nonce) : '–',
      i === 0 ? 'the first' : txnLink(ts[i - 1].uid), attempt?.blockHeight ? count(attempt.blockHeight) : '–'];
  }), 'Nothing is in flight.');
}

function rows(ts, none) {
  return table(['Transaction', 'State', 'Type', '#Sequence', '#Received', '#Retries'], ts.map((t) => [
    t.uid, txnLink(t.uid), chip(t.state), h('small', null, t.type), count(t.sequence), time(t.receivedAt), String(t.retries),
  ]), none);
}
