// The whole at a glance: how the work flows, what runs, what just happened.

import { act, ask, copy } from '../actions.js';
import { can, get, post } from '../api.js';
import { h, svg } from '../dom.js';
import { age, chip, count, mark, now, plural, queueLink, senderLink, shorten, span, time, txnLink, word } from '../format.js';
import { history } from '../history.js';
import { table } from '../table.js';
import { why } from '../words.js';

export const title = () => 'Overview';

const most = 12; // rows of each list
const ways = { DISPATCHING: 'to-dispatching', REVISION: 'to-revision', DONE: 'to-done', RETRY: 'to-retry', FAILED: 'to-failed', UNRESOLVED: 'to-failed', WAITING: 'to-waiting' };

export function open({ state, refresh }) {
  let running = [];
  const past = history(refresh);
  return {
    ready: () => state.overview !== null,
    async load() {
      const [, ...lists] = await Promise.all([past.load(), ...['DISPATCHING', 'REVISION', 'RETRY'].map((s) => get('/transactions', { state: s, limit: most }))]);
      running = lists.flatMap((l) => l.items).sort((a, b) => a.sequence - b.sequence);
    },
    onEvent(kind, event) {
      if (kind === 'transaction' && event.from === event.to && !event.code) return; // only its queue moved on
      if (kind === 'transaction' && event.from !== event.to) move(ways[event.to]);
    },
    render: () => [
      h('h1', { class: 'hidden' }, 'Overview'),
      attention(state.overview, refresh),
      flow(state.overview),
      facts(state.overview),
      ledgers(state.overview.ledgers),
      h('div', { class: 'columns' },
        h('section', { class: 'card' }, h('h2', null, 'Running now'), runningTable(running)),
        h('section', { class: 'card' }, h('h2', null, 'Just now'), feed(state.overview.recent))),
      past.render(),
    ],
  };
}

/** Sends a dot along one of the ways of the picture. */
function move(way) {
  const dot = way && document.querySelector(`[data-way="${way}"] i`);
  if (!dot || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  dot.animate([{ offsetDistance: '0%', opacity: 0 }, { opacity: 1, offset: 0.2 }, { opacity: 1, offset: 0.8 }, { offsetDistance: '100%', opacity: 0 }],
    { duration: 700, easing: 'ease-in-out' });
}

const passing = ['RESTED', 'NO_PROCESS']; // what ends by itself; of the rest the service names each

/** What a person has to see to, with the command, and for who may the button, that ends it. */
function trouble(t, i, refresh) {
  const about = t.queue ? '/queues/' + encodeURIComponent(t.queue) : t.sender && '/senders/' + encodeURIComponent(t.sender);
  const resume = async () => {
    if (await ask({ title: `Resume ${t.queue ?? shorten(t.sender, 16)}?`, text: t.detail + '.', action: 'Resume' }) === null) return;
    await act(t.command, async () => { await post(about + '/resume'); await refresh(); }, `${t.queue ?? shorten(t.sender, 16)} is resumed.`);
  };
  return h('li', { key: `trouble-${t.code}-${t.queue ?? t.sender ?? i}` }, mark('OUT'),
    linked(t.detail, t.queue ?? t.sender, about), '. ',
    t.command && h('span', { class: 'whole' }, h('code', null, t.command), copy(t.command, 'the command')),
    t.command && can('admin') && [' ', h('button', { type: 'button', 'aria-label': `Resume ${t.queue ?? t.sender}`, onclick: resume }, 'Resume')]);
}

/** A text with the name in it that is its subject as a link. */
function linked(text, name, href) {
  const at = name ? text.indexOf(name) : -1;
  return at < 0 ? text : [text.slice(0, at), h('a', { href }, name), text.slice(at + name.length)];
}

function attention(o, refresh) {
  const lines = [];
  const { FAILED, UNRESOLVED } = o.counts;
  if (UNRESOLVED) lines.push(h('li', null, mark('UNRESOLVED'), h('a', { href: '/transactions?state=UNRESOLVED' }, plural(UNRESOLVED, 'transaction')), ' unresolved: no retry can mend them, or only a person can say what became of them.'));
  if (FAILED) lines.push(h('li', null, mark('FAILED'), h('a', { href: '/transactions?state=FAILED' }, plural(FAILED, 'transaction')), ' failed: retries used up, or cancelled.'));
  for (const reason of passing.filter((r) => o.senders.reasons[r])) {
    lines.push(h('li', { key: 'out-' + reason }, mark('OUT'), h('a', { href: '/senders' }, plural(o.senders.reasons[reason], 'sender')), ' out of use for now. ', why(reason), '.'));
  }
  if (o.counts.WAITING && !o.senders.free && !o.senders.bound) lines.push(h('li', null, mark('OUT'), 'Nothing moves: no sender is free or at work.'));
  for (const s of o.stops.filter((stop) => stop.reason && !(Date.parse(stop.until) <= now()))) {
    lines.push(h('li', { key: 'stop-' + s.prefix }, mark('OUT'), h('a', { href: '/queues?search=' + encodeURIComponent(s.prefix) }, 'Queues ', s.prefix, '…'),
      ' are paused since ', time(s.since), s.by && [' by ', s.by], ', and so are those that come to be later: ', s.reason, '. They go on ',
      s.until ? ['at ', time(s.until), ', or '] : '', 'when somebody resumes them (sequencer queue resume --prefix ', s.prefix, ').'));
  }
  if (o.recovering) lines.push(h('li', null, mark('OUT'), 'Nothing is bound or sent: ', o.recovering, '.'));
  o.troubles.forEach((t, i) => lines.push(trouble(t, i, refresh)));
  if (o.chain && !o.chain.ok) lines.push(h('li', null, mark('OUT'), 'The chain: ', o.chain.detail ?? 'no quorum of synced nodes', '. Nothing new is bound meanwhile.'));
  else if (o.chain?.detail) lines.push(h('li', { key: 'nodes' }, mark('OUT'), 'A Mina node has no vote: ', o.chain.detail, '. See to it before another one goes; ', h('code', null, 'sequencer doctor'), ' says what to do.'));
  for (const l of o.ledgers) {
    if (l.ok === false) lines.push(h('li', { key: 'ledger-' + l.name }, mark('OUT'), 'Ledger ', l.name, ' is away: ', l.detail, '. Its batches wait for it.'));
  }
  return lines.length > 0 && h('section', { class: 'card attention', key: 'attention', 'aria-label': 'Worth a look' }, h('ul', null, lines));
}

/** A number counted over some seconds: per minute, unless that is far from what was seen. */
function rate(n, seconds) {
  if (seconds < 20) return [count(n), ` in ${Math.max(1, seconds)} s`];
  const perMinute = (n * 60) / seconds;
  return [perMinute >= 10 || perMinute === 0 ? count(Math.round(perMinute)) : perMinute.toFixed(1), ' a minute'];
}

function flow(o) {
  const r = o.rates;
  const stage = (state, note) => h('a', { class: 'stage s-' + state, href: '/transactions?state=' + state, id: 'stage-' + state },
    h('span', { class: 'name' }, mark(state), word(state)),
    h('span', { class: 'number' }, count(o.counts[state])),
    h('span', { class: 'note' }, note));
  return h('section', { class: 'flow card', 'aria-label': 'The flow of transactions' },
    stage('WAITING', `not begun · ${plural(o.queues, 'queue')} in all`),
    arrow('to-dispatching'),
    stage('DISPATCHING', 'with a worker, or being sent'),
    arrow('to-revision'),
    stage('REVISION', 'on the way into a block'),
    arrow('to-done'),
    stage('DONE', `kept · ${rate(r.done, r.seconds).join('')}`),
    h('span', { class: 'entry', 'data-way': 'to-waiting' }, h('b', null, rate(r.accepted, r.seconds)[0]), ' new', rate(r.accepted, r.seconds)[1], h('i')),
    h('div', { class: 'loop', 'data-way': 'to-retry' }, h('i'), stage('RETRY', `tried again ${rate(r.retried, r.seconds).join('')}`)),
    h('div', { class: 'ends', 'data-way': 'to-failed' }, h('i'), stage('FAILED', 'given up'), stage('UNRESOLVED', 'for a person')));
}

function arrow(way) {
  return h('span', { class: 'arrow', 'data-way': way, 'aria-hidden': 'true' },
    svg('svg', { viewBox: '0 0 40 12', preserveAspectRatio: 'none' }, svg('path', { d: 'M0 6h38' })),
    svg('svg', { class: 'tip', viewBox: '0 0 8 12' }, svg('path', { d: 'M1 1l6 5-6 5' })), h('i'));
}

function fact(name, number, note, more) {
  return h('section', { class: 'card fact' }, h('h2', null, name), h('p', { class: 'number' }, number), h('p', { class: 'note' }, note), more);
}

function facts(o) {
  const { free, bound, out } = o.senders;
  const c = o.chain, r = o.rates;
  return h('div', { class: 'facts' },
    fact('Oldest unfinished', o.oldestAt ? age(o.oldestAt) : 'none', o.oldestAt ? ['received ', time(o.oldestAt), '; paused queues left out'] : 'nothing is at work, and nothing could be'),
    fact('Senders', [String(bound), h('small', null, ' of ', String(free + bound + out), ' at work')],
      [`${free} free`, out > 0 && `, ${out} out of use`],
      h('div', { class: 'bar', 'aria-hidden': 'true' }, ...segments(bound, 'bound'), ...segments(free, 'free'), ...segments(out, 'out'))),
    c && fact('Chain', c.height ? ['block ', count(c.height)] : 'not seen yet',
      [c.slot ? ['slot ', count(slotNow(c))] : 'no slot known', ' · ', `${c.synced} of ${plural(c.nodes, 'node')} synced`, c.network && ` · ${c.network}`,
        c.slot && c.slot > c.tipSlot + 1 ? ` · tip ${plural(c.slot - c.tipSlot, 'slot')} behind` : '']),
    fact('Pace', [rate(r.done, r.seconds)[0], h('small', null, ' done', rate(r.done, r.seconds)[1])],
      `${count(r.accepted)} accepted, ${count(r.retried)} retried, ${count(r.failed)} failed or unresolved in ${span(r.seconds * 1000)}`));
}

/** The ledgers that take batches. Whether one answers is the word of the process that was asked. */
function ledgers(all) {
  return all.length > 0 && h('section', { class: 'card', key: 'ledgers', id: 'ledgers' }, h('h2', null, 'Ledgers'),
    table(['Ledger', '*State', '#In flight', '#Waiting', '#Oldest', '#Asked'], all.map((l) => [
      l.name, l.name, standing(l), [count(l.inFlight), h('small', { class: 'muted' }, ' of ', plural(l.slots, 'slot'), l.slotsOut > 0 && `, ${l.slotsOut} out of use`)],
      count(l.waiting), age(l.oldestAt), l.at ? [age(l.at), ' ago'] : 'never',
    ]), ''));
}

function standing(l) {
  if (l.ok === null) return h('span', { class: 'health muted' }, 'Not asked by this process');
  if (l.ok) return h('span', { class: 'health s-DONE' }, mark('DONE'), ' Answers');
  return [h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' Away'), h('small', { class: 'muted block' }, l.detail)];
}

const segments = (n, kind) => Array.from({ length: Math.min(n, 40) }, () => h('span', { class: kind }));

/** The slot by the clock: the nodes are not asked again while nothing is under way. */
function slotNow(c) {
  return c.slotMillis > 0 ? c.slot + Math.max(0, Math.floor((now() - Date.parse(c.at)) / c.slotMillis)) : c.slot;
}

function runningTable(running) {
  return table(['Transaction', 'State', '#For', 'Queue', 'Sender'], running.slice(0, most).map((t) => [
    t.uid, txnLink(t.uid, 20), chip(t.state), age(t.attempts.at(-1)?.startedAt ?? t.receivedAt), queueLink(t.queue, 20), senderLink(t.sender, 14),
  ]), 'Nothing is bound to a sender.');
}

function feed(events) {
  const told = events.filter((e) => !e.uid || e.from !== e.to || e.code); // else only its queue moved on
  if (told.length === 0) return h('p', { class: 'muted' }, 'Changes appear here as they happen.');
  return h('ol', { class: 'feed' }, told.slice(0, most).map((e) => h('li', { key: e.id }, h('span', { class: 'at num' }, time(e.at)), said(e))));
}

function said(e) {
  const code = e.code && h('code', null, e.code);
  if (!e.uid && e.queue) return [queueLink(e.queue, 24), ' ', code];
  if (!e.uid) return ['sender ', senderLink(e.sender, 14), ' ', code];
  if (e.to === null) return [e.uid, ' removed'];
  if (e.from === e.to) return [txnLink(e.uid, 24), ' ', chip(e.queueFrom === e.queueTo ? e.to : e.queueTo), ' ', code];
  return [txnLink(e.uid, 24), ' ', e.from ? [word(e.from), ' → '] : 'posted ', chip(e.to), ' ', code];
}
