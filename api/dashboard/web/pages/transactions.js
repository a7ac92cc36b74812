// Transactions by what they are, and those that failed by why.

import { act, ask, failed, tell } from '../actions.js';
import { can, get, list, post } from '../api.js';
import { h } from '../dom.js';
import { age, chip, count, plural, queueLink, senderLink, time, txnLink, word } from '../format.js';
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

const fields = ['state', 'queue', 'type', 'sender', 'hash', 'zkApp'];

export function open({ state, go, refresh }) {
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
      for (const name of fields) wanted[name] = q.get(name);
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
        can('admin') && bulk(q, refresh),
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
  const all = ![...q.keys()].some((name) => name !== 'state' && name !== 'error'); // which is what is counted
  const href = (state) => {
    const to = new URLSearchParams(q);
    to.delete('error');
    if (state) to.set('state', state);
    else to.delete('state');
    return '/transactions' + (to.size ? '?' + to : '');
  };
  return h('nav', { class: 'tabs', 'aria-label': 'By state' },
    h('a', { href: href(''), 'aria-current': now === '' && 'page' }, 'All'),
    states.map((s) => h('a', { href: href(s), 'aria-current': now === s && 'page', class: 's-' + s }, word(s), all && counts?.[s] > 0 && h('span', { class: 'badge', title: 'of all queues' }, count(counts[s])))));
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
    if (accounts.test(uid)) go('/transactions?zkApp=' + encodeURIComponent(uid));
    else if (uid) go(hashes.test(uid) ? '/transactions?hash=' + uid : '/transactions/' + encodeURIComponent(uid));
  };
  return h('form', { class: 'filters', role: 'search', onsubmit: find },
    h('label', null, 'Go to uid, hash or zkApp', h('input', { type: 'search', name: 'uid', size: 18, autocomplete: 'off', spellcheck: 'false' })),
    q.get('hash') && field('hash', 'Hash', 18), q.get('zkApp') && field('zkApp', 'zkApp', 18), field('queue', 'Queue', 18), field('type', 'Type', 20), field('sender', 'Sender', 18),
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

const hashes = /^(5J[1-9A-HJ-NP-Za-km-z]{40,60}|[0-9a-f]{128})$/; // of Mina; the id of a batch is found as one, too
const accounts = /^B62[1-9A-HJ-NP-Za-km-z]{52}(:[1-9A-HJ-NP-Za-km-z]{40,60})?$/; // of any token, or of one

/** What may be done to all that the filter chooses, once it chooses something. */
const commands = [
  ['Retry', 'retry', ['FAILED', 'UNRESOLVED', ''], 'Each gets fresh retries, at its old place in its queue.'],
  ['Cancel', 'cancel', ['WAITING', 'DISPATCHING', 'REVISION', 'RETRY', ''], 'What waits ends at once. Where an attempt may still land, no further one is made.'],
  ['Delete', 'delete', ['FAILED', 'UNRESOLVED', 'DONE', ''], 'They are forgotten, and nothing brings them back.'],
];

function bulk(q, refresh) {
  const filter = {};
  for (const name of ['state', 'queue', 'type', 'sender', 'error']) if (q.get(name)) filter[name] = q.get(name);
  for (const [name, at] of Object.entries(times(q))) if (at) filter[name] = at;
  if (Object.keys(filter).length === 0 || q.get('hash') || q.get('zkApp') || filter.error === nameless) return null;
  const fitting = commands.filter(([, , states]) => states.includes(filter.state ?? ''));
  return h('div', { class: 'buttons', key: 'bulk', role: 'group', 'aria-label': 'All that the filter chooses' },
    fitting.map(([name, command, , text]) => h('button', { type: 'button', key: command, class: command === 'retry' ? null : 'danger', onclick: () => doAll(name, command, text, filter, refresh) }, `${name} all of these…`)));
}

/** Counts, asks, and does it, page by page as the service wants it. */
async function doAll(name, command, text, filter, refresh) {
  const steps = async (dryRun) => {
    const sum = { matched: 0, done: 0, refused: 0, refusals: {} };
    for (let cursor = null, first = true; first || cursor; first = false) {
      const step = await post('/transactions/' + command, { filter, dryRun, cursor });
      for (const key of ['matched', 'done', 'refused']) sum[key] += step[key];
      for (const [why, n] of Object.entries(step.refusals)) sum.refusals[why] = (sum.refusals[why] ?? 0) + n;
      cursor = step.nextCursor;
    }
    return sum;
  };
  let counted, chosen = Object.entries(filter).map(([field, value]) => `${field} ${value}`).join(', ');
  try {
    counted = (await steps(true)).matched;
  } catch (problem) {
    return failed(problem);
  }
  if (counted === 0) return tell(`Nothing of this can be ${past[command]} now: ${chosen}.`);
  const yes = await ask({ title: `${name} ${plural(counted, 'transaction')}?`, text: `Those with ${chosen}. ${text}`, action: `${name} ${count(counted)}`, danger: command !== 'retry' });
  if (yes === null) return;
  await act(command + ' all', async () => {
    const sum = await steps(false);
    await refresh();
    const queue = command === 'retry' && filter.queue && await get('/queues/' + encodeURIComponent(filter.queue)).catch(() => null);
    return { ...sum, paused: queue && queue.paused };
  }, (sum) => [
    `${plural(sum.done, 'transaction')} ${past[command]}`, ...Object.entries(sum.refusals).map(([why, n]) => `${count(n)} refused with ${why}`),
  ].join(', ') + '.' + (sum.paused ? ` Their queue is paused: resume ${filter.queue}, too.` : ''));
}

const past = { retry: 'retried', cancel: 'cancelled', delete: 'deleted' };

const nameless = 'without an error';

const code = (t) => t.error?.code ?? nameless;

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
    ended ? [h('code', null, code(t)), ' ', h('small', { class: 'muted' }, meaning(t.error) || t.error?.message)] : senderLink(t.sender, 14),
    String(t.retries), time(t.receivedAt), age(t.receivedAt),
  ]), cursor ? 'None of those is like this.' : 'No transaction is like this.');
}
