// The accounts that pay, the workers that sign for them, and the provers without a key: all of them, and each
// sender by itself.

import { can, get, list, post } from '../api.js';
import { act, ask, copy } from '../actions.js';
import { h, svg } from '../dom.js';
import { age, chip, count, mark, mina, plural, queueLink, senderLink, shorten, time, txnLink, until } from '../format.js';
import { generate } from '../lean-qr.js';
import { raw } from '../raw.js';
import { claim } from '../held.js';
import { table } from '../table.js';
import { why } from '../words.js';

export const title = ([account]) => (account ? shorten(account, 16) : 'Senders');

export function open({ args: [account], refresh }) {
  return account === undefined ? openAll(refresh) : openOne(account, refresh);
}

function openAll(refresh) {
  let found = null, provers = null;
  return {
    ready: () => found !== null,
    async load() { [found, provers] = await Promise.all([list('/senders', {}, 1000), list('/provers', {}, 1000)]); },
    render: () => [
      h('div', { class: 'head' }, h('h1', null, 'Senders'), h('span', { class: 'muted' }, plural(found.items.length, 'sender'))),
      h('section', { class: 'card' }, table(['Account', 'State', 'Queue', '#Nonce', '#Balance', '*Worker', can('admin') && '>Actions'], found.items.map((s) => [
        s.accountId, senderLink(s.accountId, 20), standing(s),
        queueLink(s.queue, 24), s.nonce === null ? '–' : count(s.nonce), mina(s.balance), worker(s), button(s, refresh),
      ]), 'There is none: nothing can be sent. Register one with POST /api/v1/senders, or in SEQUENCER_SENDERS.')),
      provers.items.length > 0 && h('section', { class: 'card', key: 'provers' }, h('h2', null, plural(provers.items.length, 'prover'), ' without a key'),
        table(['Prover', 'State', 'Types', '#At work', '#Memory', '#Proofs in an hour', '*In use', can('admin') && '>Actions'], provers.items.map((p) => [
          p.id, h('span', { class: 'mono' }, p.id), chip(p.available || p.load > 0 ? p.state : 'OUT'), p.types.join(', ') || '–',
          `${p.load} of ${p.atOnce}`, p.memory === null ? '–' : `${(p.memory / 2 ** 30).toFixed(1)} GiB`, count(p.proofsLastHour), use(p), proverButton(p, refresh),
        ]), '')),
    ],
  };
}

/** Whether a prover is in use, and why not. */
function use(p) {
  const is = p.available
    ? h('span', { class: 'health s-DONE' }, mark('DONE'), ' In use')
    : h('span', { class: 'health s-RETRY' }, mark('OUT'), ' ', why(p.reason), p.since && [', since ', time(p.since)], p.until && [', asked again ', until(p.until)]);
  return [is, p.detail && h('small', { class: 'muted block' }, p.detail), h('small', { class: 'muted block' }, p.url)];
}

function proverButton(p, refresh) {
  const [verb, name] = p.reason ? ['resume', 'Resume'] : ['drain', 'Drain'];
  return h('button', {
    type: 'button', key: verb, 'aria-label': `${name} ${p.id}`, onclick: async () => {
      if (verb === 'drain' && await ask({ title: `Drain ${p.id}?`, text: 'It ends the proofs that it is at work on, and is given no others until it is resumed.', action: 'Drain' }) === null) return;
      await act('prover ' + p.id, async () => { const r = await post('/provers/' + encodeURIComponent(p.id) + '/' + verb); await refresh(); return r; }, `${p.id} is ${verb}${verb === 'drain' ? 'ed' : 'd'}.`);
    },
  }, name);
}

const last = 20;

function openOne(account, refresh) {
  let s = null, carried = null, spent = [];
  const slot = !account.startsWith('B62'); // of a ledger: nobody pays
  return {
    ready: () => s !== null,
    onEvent: (kind, e) => e.sender === account || e.queue === s?.queue,
    async load() {
      const [found, ts, fees] = await Promise.all([
        get('/senders/' + encodeURIComponent(account)), list('/transactions', { sender: account, order: 'newest' }, last, 1), slot ? null : get('/fees'),
      ]);
      [s, carried, spent] = [found, ts, fees?.spent.filter((x) => x.sender === account) ?? []];
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/senders' }, 'Senders')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, account), copy(account, 'the address'), standing(s), h('span', { class: 'buttons' }, can('admin') && button(s, refresh))),
      s.reason && h('section', { class: 'card trouble', 'aria-label': 'Why it takes nothing' },
        h('p', { class: 'lead' }, why(s.reason), s.since && [', since ', time(s.since), ' (', age(s.since), ')'], s.until && [', tried again ', until(s.until)], '.'),
        s.detail && h('p', null, s.detail),
        s.remedy && h('p', null, 'To do: ', s.remedy, '. ', s.command && h('span', { class: 'whole' }, h('code', null, s.command), copy(s.command, 'the command')))),
      h('dl', { class: 'figures' },
        figure('Balance to spend', mina(s.balance)), figure('Next nonce', s.nonce === null ? '–' : count(s.nonce)), figure('Queue it serves', queueLink(s.queue, 40)),
        figure('Retries of what it carries', String(s.retries)), figure('Worker', s.workerUrl ?? '–')),
      h('div', { class: 'columns' },
        h('section', { class: 'card' }, h('h2', null, 'Its last ', String(last)), rows(carried)),
        !slot && h('div', { class: 'first' },
          h('section', { class: 'card', key: 'fund' }, h('h2', null, 'Its address, to fund it'), qr(account), h('p', { class: 'mono address' }, account)),
          h('section', { class: 'card', key: 'spent' }, h('h2', null, 'Fees of its attempts, by day (UTC)'), table(['Day', '#Fees'], spent.map((x) => [x.day, x.day, mina(x.fee)]), 'Nothing in the last seven days.')))),
      raw(s),
    ],
  };
}

const figure = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));

function standing(s) {
  return [chip(s.available || s.state !== 'FREE' ? s.state : 'OUT'), s.retries > 0 && h('small', { class: 'muted' }, ' ', plural(s.retries, 'retry', 'retries'))];
}

function rows({ items, nextCursor }) {
  return [
    table(['Transaction', 'State', 'Queue', '#Received'], items.map((t) => [t.uid, txnLink(t.uid, 24), chip(t.state), queueLink(t.queue, 20), time(t.receivedAt)]), 'It has carried nothing.'),
    nextCursor && items.length < last && h('p', { class: 'muted' }, 'Looked through the newest 10\u202f000.'),
  ];
}

const drawn = new Map(); // a code is worked out once for each address

/** An address as a code that the camera of a phone reads: dark on light, whatever the theme. */
function qr(account) {
  if (!drawn.has(account)) {
    const code = generate(account), quiet = 4;
    let path = '';
    for (let y = 0; y < code.size; y++) for (let x = 0; x < code.size; x++) if (code.get(x, y)) path += `M${x + quiet} ${y + quiet}h1v1h-1z`;
    drawn.set(account, [code.size + 2 * quiet, path]);
  }
  const [size, path] = drawn.get(account);
  return svg('svg', { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': 'QR code of the address', 'shape-rendering': 'crispEdges' },
    svg('path', { d: `M0 0h${size}v${size}h-${size}z`, fill: '#fff' }), svg('path', { d: path, fill: '#000' }));
}

function worker(s) {
  const health = s.available
    ? h('span', { class: 'health s-DONE' }, mark('DONE'), ' In use')
    : h('span', { class: 'health s-RETRY' }, mark('OUT'), ' ', why(s.reason), s.until && [', tried again ', until(s.until)]);
  return [health, s.detail && h('small', { class: 'muted block' }, s.detail), s.claim && h('small', { class: 'muted block' }, claim(s.claim)), h('small', { class: 'muted block' }, s.workerUrl)];
}

function button(s, refresh) {
  const path = '/senders/' + encodeURIComponent(s.accountId);
  const name = s.accountId.slice(0, 10) + '…' + s.accountId.slice(-4);
  if (s.reason === 'OUTCOME_UNKNOWN') return null; // which resuming does not end
  if (s.reason && s.reason !== 'NO_PROCESS') { // which is no matter of the sender
    return h('button', {
      type: 'button', key: 'resume', 'aria-label': `Resume ${name}`, onclick: async () => {
        if (s.reason === 'STOPPED_NONCE' && await ask({
          title: `Resume ${name}?`, text: `${s.detail ? s.detail + '. ' : ''}Its next nonce is forgotten, and taken from the chain. See first what has used the account: it must not go on.`, action: 'Resume',
        }) === null) return;
        await act('sender ' + s.accountId, async () => { const r = await post(path + '/resume'); await refresh(); return r; },
          (r) => (r.available ? `${name} is back in use.` : `${name} stays out of use. ${why(r.reason)}.`));
      },
    }, 'Resume');
  }
  return h('button', {
    type: 'button', key: 'drain', 'aria-label': `Drain ${name}`, onclick: async () => {
      const yes = await ask({ title: `Drain ${name}?`, text: 'It finishes its transaction, retries included, and takes no new one until it is resumed.', action: 'Drain' });
      if (yes !== null) await act('sender ' + s.accountId, async () => { await post(path + '/drain'); await refresh(); }, `${name} is drained.`);
    },
  }, 'Drain');
}
