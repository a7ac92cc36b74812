// Transactions by what they are, and those that failed by why.

import { list } from '../api.js';
import { h } from '../dom.js';
import { age, brief, chip, count, plural, queueLink, time, txnLink, word } from '../format.js';
import { table } from '../table.js';
import { meaning } from '../words.js';

export const title = () => 'Transactions';
export const keep = true;
export const pace = 1000;

const states = ['WAITING', 'DISPATCHING', 'REVISION', 'RETRY', 'DONE', 'FAILED', 'UNRESOLVED'];
const spans = [['', 'Any time'], ['15m', 'Last 15 minutes'], ['1h', 'Last hour'], ['24h', 'Last day'], ['168h', 'Last week'], ['between', 'Between…']];
const page = 50;
const grouped = 1000; // of the failed ones, how many are read to group them

const look = 10_000; // how many a request looks through at most

export function open({ state, go }) {
  let items = null, cursor = null, length = page, asked = '', params, pages = 0;
  let further = false, since = null; // who has looked further keeps what was found, as it was then
  const wish = () => new URLSearchParams(location.search);
  const again = () => go(location.pathname + location.search, true);
  const choose = (name, value) => {
    const q = wish();
    if (value) q.set(name, value);
    else q.delete(name);
    if (name === 'state') q.delete('error');
    length = page;
    go('/transactions' + (q.size ? '?' + q : ''), true);
  };
  return {
    ready: () => items !== null,
    async load() {
      const q = wish();
      const ended = overIn(q);
      if (further && cursor && asked === askedBy(q)) {
        further = false;
        const found = await list('/transactions', { ...params, cursor }, ended ? grouped : Math.max(length - items.length, page), 5);
        [items, cursor, pages] = [[...items, ...found.items], found.nextCursor, pages + found.pages];
        since ??= new Date().toISOString();
        return;
      }
      further = false;
      if (since && asked === askedBy(q)) return;
      const wanted = { order: 'newest', ...times(q) };
      for (const name of ['state', 'queue', 'type', 'sender']) wanted[name] = q.get(name);
      const found = await list('/transactions', wanted, ended ? Math.max(grouped, length) : length, 1);
      [items, cursor, asked, params, pages, since] = [found.items, found.nextCursor, askedBy(q), wanted, found.pages, null];
    },
    render() {
      const q = wish();
      const ended = overIn(q);
      const error = q.get('error');
      const shown = ended && error ? items.filter((t) => code(t) === error) : items;
      const more = () => {
        further = shown.length < length;
        length += 2 * page;
        further ||= since !== null && shown.length < length;
        again();
      };
      const anew = () => {
        [since, asked, length] = [null, '', page];
        again();
      };
      return [
        h('div', { class: 'head' }, h('h1', null, 'Transactions')),
        tabs(q, state.overview?.counts),
        filters(q, choose, go),
        ended && groups(items, cursor, q),
        h('section', { class: 'card' },
          asked === askedBy(q) || items.length > 0 ? rows(shown.slice(0, length), ended, cursor) : h('p', { class: 'muted' }, 'Reading…'),
          (since || cursor && shown.length < length) && h('p', { class: 'muted' },
            cursor ? `Looked through the newest ${count(pages * look)} at most.` : 'Looked through all.', since && [' As it was at ', time(since), '.']),
          (since || cursor || shown.length > length) && h('p', { class: 'buttons' },
            (cursor || shown.length > length) && h('button', { type: 'button', id: 'more', onclick: more }, 'Show more'),
            since && h('button', { type: 'button', onclick: anew }, 'Look anew'))),
      ];
    },
  };
}

const overIn = (q) => q.get('state') === 'FAILED' || q.get('state') === 'UNRESOLVED';

/** What the server is asked for: by their errors transactions are told apart here. */
function askedBy(q) {
  const asked = new URLSearchParams(q);
  asked.delete('error');
  return asked.toString();
}

function tabs(q, counts) {
  const now = q.get('state') ?? '';
  const href = (state) => {
    const to = new URLSearchParams(q);
    to.delete('error');
    if (state) to.set('state', state);
    else to.delete('state');
    return '/transactions' + (to.size ? '?' + to : '');
  };
  return h('nav', { class: 'tabs', 'aria-label': 'By state' },
    h('a', { href: href(''), 'aria-current': now === '' && 'page' }, 'All'),
    states.map((s) => h('a', { href: href(s), 'aria-current': now === s && 'page', class: 's-' + s }, word(s), counts?.[s] > 0 && h('span', { class: 'badge' }, count(counts[s])))));
}

function filters(q, choose, go) {
  const field = (name, label, size) => h('label', null, label, h('input', {
    type: 'search', name, value: q.get(name) ?? '', size, autocomplete: 'off', spellcheck: 'false', onchange: (e) => choose(name, e.target.value.trim()),
  }));
  const time = q.get('time') ?? '';
  const moment = (name, label) => h('label', null, label, h('input', { type: 'datetime-local', name, value: q.get(name) ?? '', onchange: (e) => choose(name, e.target.value) }));
  // The other fields are looked for as soon as they are left.
  const find = (e) => {
    e.preventDefault();
    const uid = e.target.elements.uid.value.trim();
    if (uid) go('/transactions/' + encodeURIComponent(uid));
  };
  return h('form', { class: 'filters', role: 'search', onsubmit: find },
    h('label', null, 'Go to uid', h('input', { type: 'search', name: 'uid', size: 18, autocomplete: 'off', spellcheck: 'false' })),
    field('queue', 'Queue', 18), field('type', 'Type', 20), field('sender', 'Sender', 18),
    h('label', null, 'Received', h('select', { name: 'time', onchange: (e) => choose('time', e.target.value) }, spans.map(([v, name]) => h('option', { value: v, selected: v === time }, name)))),
    time === 'between' && [moment('from', 'From'), moment('to', 'To')],
    h('button', { type: 'submit' }, 'Find'));
}

/** The times that a filter means, to the minute, so that pages of one list fit together. */
function times(q) {
  const time = q.get('time');
  if (time === 'between') {
    const at = (name) => (q.get(name) ? new Date(q.get(name)).toISOString() : null);
    return { since: at('from'), until: at('to') };
  }
  const m = /^(\d+)([mh])$/.exec(time ?? '');
  if (!m) return {};
  const minute = 60_000;
  const from = Date.now() - m[1] * (m[2] === 'h' ? 60 : 1) * minute;
  return { since: new Date(Math.floor(from / minute) * minute).toISOString() };
}

const code = (t) => t.error?.code ?? 'without an error';

function groups(items, cursor, q) {
  const by = new Map();
  for (const t of items) by.set(code(t), [...(by.get(code(t)) ?? []), t]);
  if (by.size === 0) return null;
  const link = (error) => {
    const to = new URLSearchParams(q);
    if (q.get('error') === error) to.delete('error');
    else to.set('error', error);
    return '/transactions?' + to;
  };
  const sorted = [...by].sort((a, b) => b[1].length - a[1].length);
  return h('section', { class: 'card', key: 'groups' }, h('h2', null, 'By error'), h('ul', { class: 'groups' }, sorted.map(([error, ts]) => h('li', { key: error },
    h('a', { href: link(error), 'aria-current': q.get('error') === error && 'true' }, h('span', { class: 'badge' }, count(ts.length)), ' ', h('code', null, error)),
    h('span', { class: 'muted' }, meaning(ts[0].error) || ts[0].error?.message)))),
  cursor && h('p', { class: 'muted' }, `Of the newest ${plural(items.length, 'transaction')}; there are more.`));
}

function rows(ts, ended, cursor) {
  return table(['Transaction', 'State', 'Queue', 'Type', ended ? '*Error' : 'Sender', '#Retries', '#Received', '#Age'], ts.map((t) => [
    t.uid, txnLink(t.uid), chip(t.state), queueLink(t.queue, 24), h('small', null, t.type),
    ended ? [h('code', null, code(t)), ' ', h('small', { class: 'muted' }, meaning(t.error) || t.error?.message)] : brief(t.sender, 14),
    String(t.retries), time(t.receivedAt), age(t.receivedAt),
  ]), cursor ? 'None of those is like this.' : 'No transaction is like this.');
}
