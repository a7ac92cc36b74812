// One queue: its line of transactions, in the order in which they take effect.

import { can, get, list, post } from '../api.js';
import { act, ask } from '../actions.js';
import { h } from '../dom.js';
import { age, brief, chip, count, mark, time, txnLink, until, word } from '../format.js';
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

const most = 50;

export function open({ args: [name], refresh }) {
  let q = null, running = null, waiting = [], past = [];
  return {
    ready: () => q !== null,
    onEvent: (kind, e) => e.queue === name,
    async load() {
      const [found, line, recent] = await Promise.all([
        get('/queues/' + encodeURIComponent(name)),
        list('/transactions', { queue: name, state: 'WAITING' }, most),
        get('/transactions', { queue: name, order: 'newest', limit: 2 * most }),
      ]);
      running = found.running ? await get('/transactions/' + encodeURIComponent(found.running)).catch((p) => { if (p.status !== 404) throw p; return null; }) : null;
      q = found;
      waiting = line.items;
      const ended = recent.items.filter((t) => ['DONE', 'FAILED', 'UNRESOLVED'].includes(t.state));
      past = ended.length > 0 || found.counts.DONE + found.counts.FAILED + found.counts.UNRESOLVED === 0 ? ended
        : (await list('/transactions', { queue: name, state: 'DONE', order: 'newest' }, most)).items;
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/queues' }, 'Queues')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, name), chip(q.paused ? 'PAUSED' : q.state), h('span', { class: 'buttons' }, can('admin') && pauseOrResume(q, refresh))),
      q.paused && h('p', { class: 'lead' }, 'Paused: ', q.reason, q.pausedUntil && [', until ', time(q.pausedUntil)]),
      h('dl', { class: 'figures' },
        figure('Waiting', count(q.counts.WAITING)), figure('Oldest', age(q.oldestWaitingAt)), figure('Done', count(q.counts.DONE)),
        figure('Failed', count(q.counts.FAILED)), figure('Unresolved', count(q.counts.UNRESOLVED)), figure('Sender', brief(q.sender, 16)),
        q.nextAt && figure('Next', until(q.nextAt))),
      h('section', { class: 'card' }, h('h2', null, 'Its line'), line(past, running, waiting, q)),
      h('section', { class: 'card' }, h('h2', null, 'Running and waiting'), rows([...(running && !past.some((t) => t.uid === running.uid) ? [running] : []), ...waiting], 'Nothing waits here.'),
        q.counts.WAITING > waiting.length && h('p', { class: 'muted' }, `And ${count(q.counts.WAITING - waiting.length)} more behind them.`)),
      h('section', { class: 'card' }, h('h2', null, 'Ended, the newest first'), rows(past.slice(0, most), 'Nothing has ended here.'),
        h('p', null, h('a', { href: '/transactions?queue=' + encodeURIComponent(name) }, 'All of its transactions'))),
    ],
  };
}

const figure = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));

/** The queue as a row: what is over to the left, what runs, what waits to the right. */
function line(past, running, waiting, q) {
  const car = (t, kind) => h('a', { key: t.uid, class: `car s-${t.state} ${kind}`, href: '/transactions/' + encodeURIComponent(t.uid), title: `${t.uid}: ${word(t.state)}`, 'aria-label': `${t.uid}: ${word(t.state)}` }, mark(t.state));
  const over = past.slice(0, 12).reverse().filter((t) => t.uid !== running?.uid);
  const more = q.counts.WAITING - Math.min(waiting.length, 20);
  if (over.length + waiting.length === 0 && !running) return h('p', { class: 'muted' }, 'Empty.');
  return h('div', { class: 'line' },
    over.map((t) => car(t, 'over')), running && car(running, 'running'), waiting.slice(0, 20).map((t) => car(t, 'waits')),
    more > 0 && h('span', { class: 'muted' }, '+', count(more)));
}

function rows(ts, none) {
  return table(['Transaction', 'State', 'Type', '#Sequence', '#Received', '#Retries'], ts.map((t) => [
    t.uid, txnLink(t.uid), chip(t.state), h('small', null, t.type), count(t.sequence), time(t.receivedAt), String(t.retries),
  ]), none);
}
