// How it went over the last hour, day or week: small pictures, and the same as a table.

import { get } from './api.js';
import { h, svg } from './dom.js';
import { count, mina, now, span, time } from './format.js';
import { table } from './table.js';

const spans = [['hour', 'Hour', 'minute'], ['day', 'Day', 'quarter of an hour'], ['week', 'Week', 'two hours']];
const pause = 15_000; // between two looks: parts are a minute long at least
const [width, height] = [300, 64];

export function history(refresh) {
  let over = 'hour', found = null, read = 0;
  const choose = (wanted) => {
    [over, read] = [wanted, 0];
    refresh();
  };
  return {
    async load() {
      if (Date.now() - read < pause) return;
      found = { over, ...await get('/history', { over }) };
      read = Date.now();
    },
    render: () => found && h('section', { class: 'card', key: 'history', 'aria-label': 'Over time' },
      h('div', { class: 'head' }, h('h2', null, 'Over time'), h('span', { class: 'buttons', role: 'group', 'aria-label': 'Over which time' },
        spans.map(([value, name]) => h('button', { type: 'button', key: value, 'aria-pressed': String(value === over), onclick: () => choose(value) }, name)))),
      found.items.length > 0 ? [pictures(found), asTable(found)] : h('p', { class: 'muted' }, 'Nothing is known yet: each process tells once a minute.')),
  };
}

/** The parts of the span, those of which nothing is known as null, the one under way the last. */
function parts({ seconds, parts: n, items }) {
  const current = Math.floor(now() / 1000 / seconds), all = Array(n).fill(null);
  for (const x of items) {
    const i = n - 1 - (current - Date.parse(x.at) / 1000 / seconds);
    if (i >= 0 && i < n) all[i] = x;
  }
  return all;
}

const sum = (all, of) => all.reduce((n, x) => n + (x ? of(x) : 0), 0);
const most = (all, of) => all.reduce((n, x) => Math.max(n, x ? of(x) : 0), 0);
const fees = (x) => Number(x.fees) / 1e9;

function pictures(found) {
  const all = parts(found), each = spans.find(([value]) => value === found.over)[2];
  const last = all.findLast((x) => x);
  const ended = (x) => x.done + x.failed;
  const picture = (name, said, ...drawn) => h('figure', { key: name }, h('figcaption', null, h('strong', null, name), ' ', h('span', { class: 'muted' }, said)),
    svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${name}: ${said}` }, svg('path', { class: 'ground', d: `M0 ${height - 0.5}H${width}` }), drawn));
  return h('div', { class: 'over' },
    picture('Done', `${count(sum(all, (x) => x.done))}, ${count(sum(all, (x) => x.failed))} failed or unresolved; at most ${count(most(all, ended))} in a ${each}`,
      bars(all, ended, most(all, ended), 'bad'), bars(all, (x) => x.done, most(all, ended), 'good')),
    picture('Waiting', last ? `${count(last.waiting)} now, at most ${count(most(all, (x) => x.waiting))}` : 'nothing is known yet', bars(all, (x) => x.waiting, most(all, (x) => x.waiting), 'muted')),
    picture('Time to Done', most(all, (x) => x.medianMs) ? `half within ${span(middle(all, (x) => x.medianMs))}, 95 of 100 within ${span(middle(all, (x) => x.slowMs))}, in the usual ${each}` : 'none became Done',
      bars(all, (x) => x.slowMs, most(all, (x) => x.slowMs), 'faint'), bars(all, (x) => x.medianMs, most(all, (x) => x.slowMs), 'accent')),
    picture('Fees', `${amount(sum(all, fees))} MINA taken by blocks, at most ${amount(most(all, fees))} in a ${each}`, bars(all, fees, most(all, fees), 'accent')),
    picture('At work', last ? `${count(last.bound)} with a sender now, at most ${count(most(all, (x) => x.bound))}` : 'nothing is known yet', bars(all, (x) => x.bound, most(all, (x) => x.bound), 'accent')));
}

const amount = (n) => n.toFixed(3).replace(/\.?0+$/, '');

/** What is in the middle of those parts that have any. */
function middle(all, of) {
  const known = all.filter((x) => x && of(x) > 0).map(of).sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)];
}

function bars(all, of, top, kind) {
  const wide = width / all.length;
  const d = all.map((x, i) => {
    const tall = x && top > 0 ? Math.max(of(x) > 0 ? 1.5 : 0, (of(x) / top) * (height - 4)) : 0;
    return tall > 0 ? `M${(i * wide + wide * 0.1).toFixed(2)} ${height}v-${tall.toFixed(2)}h${(wide * 0.8).toFixed(2)}v${tall.toFixed(2)}z` : '';
  }).join('');
  return svg('path', { class: 'bars ' + kind, d });
}

const none = (ms) => (ms ? span(ms) : '–');

function asTable(found) {
  return h('details', { key: 'table' }, h('summary', null, 'As a table'), table(
    ['From', '#Accepted', '#Done', '#Failed or unresolved', '#Tried again', '#Half done within', '#95 of 100 within', '#Fees', '#Waiting at its end', '#With a sender'],
    [...found.items].reverse().map((x) => [x.at, time(x.at), count(x.accepted), count(x.done), count(x.failed), count(x.retried), none(x.medianMs), none(x.slowMs), mina(x.fees), count(x.waiting), count(x.bound)]),
    ''));
}
