// All queues: which wait longest, which are deep, which are paused.

import { can, list } from '../api.js';
import { h } from '../dom.js';
import { age, brief, chip, count, plural, queueLink, txnLink, until, word } from '../format.js';
import { table } from '../table.js';
import { pauseOrResume } from './queue.js';

export const title = () => 'Queues';
export const keep = true;
export const pace = 2000;

const most = 1000; // read at a time; who has more searches by name
const states = ['FREE', 'BLOCKED', 'INCLUSION', 'WAITING_INCLUSION', 'RETRY', 'DELAY'];
const orders = {
  age: (a, b) => born(a) - born(b) || b.counts.WAITING - a.counts.WAITING,
  depth: (a, b) => b.counts.WAITING - a.counts.WAITING || born(a) - born(b),
  name: (a, b) => (a.name < b.name ? -1 : 1),
};
const born = (q) => (q.oldestWaitingAt ? Date.parse(q.oldestWaitingAt) : Infinity);

export function open({ go, refresh }) {
  let found = null;
  const wish = () => new URLSearchParams(location.search);
  const choose = (name, value) => {
    const q = wish();
    if (value) q.set(name, value);
    else q.delete(name);
    go('/queues' + (q.size ? '?' + q : ''), true);
  };
  return {
    ready: () => found !== null,
    async load() {
      const prefix = wish().get('search') ?? '';
      found = await list('/queues', { prefix: /^[\w.:-]*$/.test(prefix) ? prefix : '' }, most);
    },
    render() {
      const q = wish();
      const [search, state, order] = [q.get('search') ?? '', q.get('state') ?? '', q.get('sort') ?? 'age'];
      const shown = found.items.filter((x) => x.name.startsWith(search) && (!state || (state === 'PAUSED' ? x.paused : x.state === state)));
      shown.sort(orders[order] ?? orders.age);
      return [
        h('div', { class: 'head' }, h('h1', null, 'Queues'), h('span', { class: 'muted' }, plural(found.items.length, 'queue'), found.nextCursor && ', and more: search by name')),
        h('form', { class: 'filters', role: 'search', onsubmit: (e) => e.preventDefault() },
          h('label', null, 'Name begins with', h('input', { type: 'search', name: 'search', value: search, autocomplete: 'off', spellcheck: 'false', oninput: (e) => choose('search', e.target.value) })),
          h('label', null, 'State', h('select', { name: 'state', onchange: (e) => choose('state', e.target.value) },
            h('option', { value: '' }, 'Any'), [...states, 'PAUSED'].map((s) => h('option', { value: s, selected: s === state }, word(s))))),
          h('label', null, 'Sort by', h('select', { name: 'sort', onchange: (e) => choose('sort', e.target.value) },
            [['age', 'Oldest waiting'], ['depth', 'Depth'], ['name', 'Name']].map(([v, name]) => h('option', { value: v, selected: v === order }, name))))),
        h('section', { class: 'card' }, rows(shown.slice(0, 200), refresh),
          shown.length > 200 && h('p', { class: 'muted' }, `The first 200 of ${count(shown.length)}. Filter to see others.`)),
      ];
    },
  };
}

function rows(shown, refresh) {
  return table(['Queue', 'State', '#Waiting', '#Oldest', 'Running', 'Sender', '#Done', '#Failed', can('admin') && '>Actions'], shown.map((q) => [
    q.name, queueLink(q.name),
    [q.paused ? chip('PAUSED') : chip(q.state), q.nextAt && h('small', { class: 'muted' }, ' ', until(q.nextAt))],
    count(q.counts.WAITING), age(q.oldestWaitingAt),
    [q.running ? txnLink(q.running, 20) : '–', q.retries > 0 && h('small', { class: 'muted' }, ' ', plural(q.retries, 'retry', 'retries'))],
    brief(q.sender, 14), count(q.counts.DONE), count(q.counts.FAILED + q.counts.UNRESOLVED), pauseOrResume(q, refresh),
  ]), 'No queue is like this.');
}
