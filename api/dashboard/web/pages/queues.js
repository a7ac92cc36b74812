// All queues: the service chooses and orders them, and gives them page by page.

import { can, list } from '../api.js';
import { h } from '../dom.js';
import { age, brief, chip, count, plural, queueLink, txnLink, until, word } from '../format.js';
import { table } from '../table.js';
import { pauseOrResume } from './queue.js';

export const title = () => 'Queues';
export const keep = true;
export const pace = 2000;

const page = 100;
const states = ['FREE', 'BLOCKED', 'INCLUSION', 'WAITING_INCLUSION', 'RETRY', 'DELAY', 'PAUSED'];
const orders = [['oldest', 'Oldest first, active ones'], ['turn', 'As they are taken, active ones'], ['name', 'Name, all']];

/** What is wanted; sort is '' where nobody has said. */
function wish() {
  const q = new URLSearchParams(location.search);
  const [search, state] = [q.get('search') ?? '', q.get('state') ?? ''];
  return { q, search, state, sort: state === 'PAUSED' ? 'name' : q.get('sort') ?? '' };
}

/** Asks the service for what is wanted. */
async function ask({ search, state }, sort, most) {
  if (!/^[\w.:-]{0,128}$/.test(search)) return { items: [], nextCursor: null, sort }; // no name begins so
  const found = await list('/queues', {
    prefix: search, ...(state === 'PAUSED' ? { paused: 'true' } : { state }),
    order: sort === 'oldest' ? 'oldest' : '', active: sort === 'turn' ? 'true' : '',
  }, most, 2);
  return { ...found, sort };
}

export function open({ go, refresh }) {
  let found = null, length = page;
  const choose = (name, value) => {
    const { q } = wish();
    if (value) q.set(name, value);
    else q.delete(name);
    length = page;
    go('/queues' + (q.size ? '?' + q : ''), true);
  };
  const more = () => {
    length += page;
    refresh();
  };
  return {
    ready: () => found !== null,
    async load() {
      const w = wish();
      const first = w.sort || (w.search || w.state ? 'name' : 'oldest');
      found = await ask(w, first, length);
      if (!w.sort && first !== 'name' && found.items.length === 0 && !found.nextCursor) found = await ask(w, 'name', length); // nothing is left to do
    },
    render() {
      const { search, state } = wish();
      return [
        h('div', { class: 'head' }, h('h1', null, 'Queues'), h('span', { class: 'muted' }, found.nextCursor ? `The first ${count(found.items.length)}` : plural(found.items.length, 'queue'))),
        h('form', { class: 'filters', role: 'search', onsubmit: (e) => e.preventDefault() },
          h('label', null, 'Name begins with', h('input', { type: 'search', name: 'search', value: search, autocomplete: 'off', spellcheck: 'false', oninput: (e) => choose('search', e.target.value) })),
          h('label', null, 'State', h('select', { name: 'state', onchange: (e) => choose('state', e.target.value) },
            h('option', { value: '' }, 'Any'), states.map((s) => h('option', { value: s, selected: s === state }, word(s))))),
          h('label', null, 'Show', h('select', { name: 'sort', disabled: state === 'PAUSED', onchange: (e) => choose('sort', e.target.value) },
            orders.map(([v, name]) => h('option', { value: v, selected: v === found.sort }, name))))),
        h('section', { class: 'card' }, rows(found, refresh),
          found.items.length === 0 && found.sort !== 'name' && h('p', null, h('a', { href: '/queues?sort=name' }, 'Show all queues')),
          found.nextCursor && h('p', { class: 'buttons' }, h('button', { type: 'button', id: 'more', onclick: more }, 'Show more'))),
      ];
    },
  };
}

function rows({ items, nextCursor, sort }, refresh) {
  const none = nextCursor ? 'None of those looked through so far is like this.' : sort === 'name' ? 'No queue is like this.' : 'No queue in which something waits or is under way is like this.';
  return table(['Queue', 'State', '#Waiting', '#Oldest', 'Running', 'Sender', '#Done', '#Failed', can('admin') && '>Actions'], items.map((q) => [
    q.name, queueLink(q.name),
    [q.paused ? chip('PAUSED') : chip(q.state), q.nextAt && h('small', { class: 'muted' }, ' ', until(q.nextAt))],
    count(q.counts.WAITING), age(q.oldestWaitingAt),
    [q.running ? txnLink(q.running, 20) : '–', q.retries > 0 && h('small', { class: 'muted' }, ' ', plural(q.retries, 'retry', 'retries'))],
    brief(q.sender, 14), count(q.counts.DONE), count(q.counts.FAILED + q.counts.UNRESOLVED), pauseOrResume(q, refresh),
  ]), none);
}
