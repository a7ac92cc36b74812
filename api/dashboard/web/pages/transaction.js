// One transaction: where it stands, what was tried, and what can be done.

import { can, get, post } from '../api.js';
import { act, ask, copy } from '../actions.js';
import { h } from '../dom.js';
import { accountLink, age, brief, chip, count, explained, hash, mark, mina, now, queueLink, senderLink, span, time, until } from '../format.js';
import { callback, claim } from '../held.js';
import { pretty, raw } from '../raw.js';
import { action, estimated, meaning, outcome } from '../words.js';

export const title = ([uid]) => uid;

export function open({ args: [uid], refresh, render }) {
  let t = null, said = null, usual = null;
  const path = '/transactions/' + encodeURIComponent(uid);
  const change = (name, what, done) => act(name + uid, async () => { const r = await what(); await refresh(); return r; }, done);
  return {
    ready: () => t !== null,
    onEvent: (kind, e) => e.uid === uid || e.queue === t?.queue,
    async load() {
      [t, said] = await Promise.all([get(path), get(path + '/explain')]);
      usually(t.type).then((all) => { usual = all; render(); }, () => {}); // it is shown without, too
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/transactions' }, 'Transactions')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, uid), chip(t.state), copy(uid, 'the uid'), h('span', { class: 'buttons' }, buttons(t, path, change))),
      h('section', { class: 'card explain', 'aria-label': 'Where it stands' },
        h('p', { class: 'lead' }, said.summary),
        h('p', { class: 'muted' }, [
          said.next.action !== 'NONE' && ['Next: ', lower(action(said.next.action)), said.next.at && [' ', until(said.next.at)], '. '],
          said.waitingFor.detail && !said.summary.includes(said.waitingFor.detail) && ['Waits for: ', said.waitingFor.detail, said.waitingFor.until && [', at most ', until(said.waitingFor.until).replace('in ', '')], '. '],
          'So since ', time(said.since), ' (', age(said.since), ').']),
        t.cancelRequested && !final(t) && h('p', null, 'It was asked to be cancelled: no further attempt is made.'),
        t.reopened && h('p', null, 'Its block left the chain once; it was taken up again.'),
        t.error && trouble(t.error)),
      h('div', { class: 'columns' },
        h('section', { class: 'card' }, h('h2', null, 'Attempts'), took(t, usual), timeline(t, said)),
        h('div', null,
          h('section', { class: 'card' }, h('h2', null, 'About it'), about(t)),
          t.posted && data('What was posted', t.posted),
          data(t.posted ? 'What its worker gave back' : 'What was posted', t.data))),
      raw(t),
    ],
  };
}

const data = (name, doc) => h('section', { class: 'card', key: name }, h('h2', null, name, ' ', copy(pretty(doc), name.toLowerCase())), h('pre', { tabindex: '0', 'aria-label': name }, pretty(doc)));

const lower = (words) => words.charAt(0).toLowerCase() + words.slice(1);

const final = (t) => ['DONE', 'FAILED', 'UNRESOLVED'].includes(t.state);

/** Each has a key: one that asks must not become, under the pointer, one that does not. */
function buttons(t, path, change) {
  const unknown = t.attempts.findLast((a) => a.outcome === 'unknown');
  return [
    can('admin') && (t.state === 'FAILED' || t.state === 'UNRESOLVED') && h('button', {
      type: 'button', class: 'primary', id: 'retry', key: 'retry', onclick: () => change('retry', async () => { await post(path + '/retry'); return get('/queues/' + encodeURIComponent(t.queue)); },
        (q) => (q.paused ? `It waits again, at its old place. Its queue is paused: resume ${t.queue}, too.` : 'It waits again, at its old place.')),
    }, 'Retry'),
    can('admin') && unknown && h('button', { type: 'button', id: 'resolve', key: 'resolve', onclick: () => resolve(unknown, path, change) }, 'Resolve'),
    can('submit') && !final(t) && !t.cancelRequested && h('button', {
      type: 'button', class: 'danger', id: 'cancel', key: 'cancel', onclick: async () => {
        const yes = await ask({ title: 'Cancel it?', text: 'What waits ends at once. Where an attempt may still land, no further one is made.', action: 'Cancel the transaction', danger: true });
        if (yes !== null) await change('cancel', () => post(path + '/cancel'), (r) => (final(r) ? 'It is cancelled.' : 'No further attempt is made. It ends when the last one has landed or died.'));
      },
    }, 'Cancel'),
  ];
}

async function resolve(a, path, change) {
  const answer = await ask({
    title: 'What became of it?', text: `Nobody knows whether attempt ${a.number} was sent. Look for it on the chain first; what the chain contradicts is refused.`,
    choices: [['landed', 'It landed: it took effect'], ['dead', 'It is dead: it can no longer land']], action: 'Resolve',
  });
  if (answer !== null) await change('resolve', () => post(path + '/resolve', { outcome: answer, ...(a.hash ? { hash: a.hash } : {}) }), 'It is settled.');
}

function trouble(e) {
  return h('div', { class: 'error' }, mark('FAILED'), h('div', null,
    h('p', null, meaning(e) || e.message, ' ', explained('error', e.code)),
    meaning(e) && e.message && h('p', { class: 'muted' }, e.message),
    e.exception && h('details', null, h('summary', null, 'The exception'), h('pre', null, e.exception))));
}

/** What its steps took; the one under way, so far. Beside each what it usually takes with its type. */
function took(t, usual) {
  const all = steps(t).filter(({ ms }) => ms !== null);
  return all.length > 0 && [
    h('dl', { class: 'figures', key: 'took' }, all.map(({ name, ms, going }) => h('div', { key: name }, h('dt', null, name),
      h('dd', null, span(ms), going && ' so far', usual?.[name] !== undefined && h('small', { class: 'muted block' }, 'median ', span(usual[name])))))),
    usual && h('p', { class: 'muted', key: 'usual' }, `Median: of the last ${usual.of} of type ${t.type} that became Done.`),
  ];
}

function steps(t) {
  const begun = t.attempts[0]?.startedAt, last = t.attempts.at(-1)?.startedAt, batch = t.type === 'SUBMIT_BATCH';
  const sent = t.submittedAt >= last ? t.submittedAt : null; // else it was an earlier attempt that was sent first
  const step = (name, from, to, going) => ({ name, going: !to && going, ms: from && (to || going) ? (to ? Date.parse(to) : now()) - Date.parse(from) : null });
  return [
    step('Waited', t.notBefore > t.receivedAt ? t.notBefore : t.receivedAt, begun, t.state === 'WAITING' && !(Date.parse(t.notBefore) > now())),
    step('Earlier tries', t.attempts.length > 1 ? begun : null, last),
    step(batch ? 'Handed over' : 'Built, proved and signed', last, sent, t.state === 'DISPATCHING'),
    step(batch ? 'At its ledger, until committed' : 'In a pool, until its block', t.submittedAt, t.state === 'DONE' ? t.doneAt : null, t.state === 'REVISION'),
    step('Watched, until final', t.doneAt, t.finalAt, t.state === 'DONE'),
  ];
}

const known = new Map(); // what steps usually take, by type, and when that was read
const fresh = 60_000, some = 3;

/** The medians of the last that became Done of a type, by the name of a step; null where they are few. */
async function usually(type) {
  const kept = known.get(type);
  if (kept && Date.now() - kept.read < fresh) return kept.usual;
  const { items } = await get('/transactions', { type, state: 'DONE', order: 'newest', limit: 20 });
  const taken = {};
  for (const { name, ms, going } of items.flatMap(steps)) if (ms !== null && !going) (taken[name] ??= []).push(ms);
  const usual = items.length < some ? null : { of: items.length };
  for (const [name, all] of Object.entries(taken)) if (usual && all.length >= some) usual[name] = all.sort((a, b) => a - b)[all.length >> 1];
  known.set(type, { usual, read: Date.now() });
  return usual;
}

function timeline(t, said) {
  const seen = new Map(said.attempts.map((a) => [a.number, a]));
  const attempts = t.attempts.map((a) => attempt(a, seen.get(a.number))).reverse();
  return h('ol', { class: 'timeline' },
    t.finalAt && point('final', 'DONE', 'Final: its block is deep enough', t.finalAt),
    t.doneAt && point('ended', t.state, { DONE: 'Done', FAILED: 'Failed', UNRESOLVED: 'Unresolved' }[t.state] ?? 'Ended', t.doneAt),
    attempts,
    point('received', 'WAITING', 'Accepted', t.receivedAt));
}

const point = (key, state, text, at) => h('li', { key, class: 's-' + state }, mark(state), h('div', null, h('strong', null, text), ' ', h('span', { class: 'muted num' }, time(at))));

function attempt(a, seen) {
  const [state, text] = outcome(a);
  const row = (name, value) => value && h('div', null, h('dt', null, name), h('dd', null, value));
  return h('li', { key: 'attempt' + a.number, class: 's-' + state }, mark(state), h('div', null,
    h('p', null, h('strong', null, 'Attempt ', String(a.number)), ' ', text, seen?.open && h('span', { class: 'tag' }, 'may still land')),
    h('dl', { class: 'pairs' },
      row('Hash', hash(a.hash)), row('Fee', mina(a.fee)),
      row('Estimate', a.estimate && [mina(a.estimate.fee), ': ', estimated(a.estimate.why)]), row('Weight', a.weight), row('Nonce', String(a.nonce ?? '–')), row('Sender', senderLink(a.sender, 18)),
      row('Block', a.blockHeight && [count(a.blockHeight), a.confirmations > 0 && ` · ${a.confirmations} deep`]), row('Valid until', a.validUntil && `slot ${count(a.validUntil)}`),
      row('Touches', a.touched.length > 0 && a.touched.map((account) => h('div', null, accountLink(account)))),
      row('From', [time(a.startedAt), a.endedAt && [' to ', time(a.endedAt)]]),
      seen && seen.open && row('Seen', seen.detail)),
    a.error && trouble(a.error)));
}

function about(t) {
  const row = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));
  return h('dl', { class: 'pairs' },
    row('Queue', queueLink(t.queue, 40)), row('Type', t.type), row('Sequence', count(t.sequence)), row('Retries', String(t.retries)),
    row('Sender', senderLink(t.sender, 24)), row('Hash', hash(t.hash, 24)), row('Received', time(t.receivedAt)), t.notBefore && row('Not before', time(t.notBefore)),
    t.expiresAt && row('Deadline', time(t.expiresAt)), t.maxFee && row('At most', mina(t.maxFee)), row('Submitted', time(t.submittedAt)),
    t.retriedAt && row('Last retried', time(t.retriedAt)), row('Ended', time(t.doneAt)), t.done && row('Result', result(t.done)),
    t.claim && row('Claimed by', claim(t.claim)), t.callback && row('Callback', callback(t.callback, pretty)));
}

/** Its block, or what its worker answered when it finished without one. */
function result(done) {
  if (!done.blockHeight) return h('code', null, pretty(done));
  return ['block ', count(done.blockHeight), ' ', h('span', { class: 'whole' }, h('code', null, brief(done.stateHash, 18)), copy(done.stateHash, 'state hash'))];
}
