// The endpoints of others that are told every event, and how that goes.

import { can, get, list, post, remove } from '../api.js';
import { act, ask } from '../actions.js';
import { h } from '../dom.js';
import { age, brief, count, mark, plural, time, txnLink, until } from '../format.js';
import { table } from '../table.js';

export const title = ([id]) => id ?? 'Webhooks';

const path = (id) => '/webhooks/' + encodeURIComponent(id);

export function open({ args: [id], refresh }) {
  return id === undefined ? openAll(refresh) : openOne(id, refresh);
}

function openAll(refresh) {
  let found = null;
  return {
    ready: () => found !== null,
    async load() { found = await get('/webhooks'); },
    render: () => [
      h('div', { class: 'head' }, h('h1', null, 'Webhooks'), h('span', { class: 'muted' }, plural(found.items.length, 'endpoint'))),
      h('section', { class: 'card' }, table(['Endpoint', '*State', '#Behind', '#Parked', '#Dropped', '*Address', can('admin') && '>Actions'], found.items.map((w) => [
        w.id, h('a', { href: '/webhooks/' + encodeURIComponent(w.id) }, brief(w.id, 28)), health(w), count(w.behind), count(w.parked), count(w.dropped), brief(w.url, 60),
        buttons(w, refresh),
      ]), 'There is none. Add one with sequencer webhook add, POST /api/v1/webhooks, or in SEQUENCER_WEBHOOKS_FILE.')),
    ],
  };
}

const reasons = {
  GONE: 'Disabled: it answered that it wants no more (410)',
  DISABLED: 'Disabled by a person',
  UNCONFIGURED: 'Disabled: its file names it no longer',
};

function health(w) {
  if (!w.enabled) return h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' ', reasons[w.reason], ', ', age(w.disabledAt), ' ago');
  if (w.waiting > 0) return h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' ', plural(w.waiting, 'line'), ' of events tried for the last time');
  if (w.restsUntil) return h('span', { class: 'health s-RETRY' }, mark('OUT'), ' Asked for patience, tried again ', until(w.restsUntil));
  if (w.parked > 0) return h('span', { class: 'health s-RETRY' }, mark('OUT'), ' Some events are tried again');
  return h('span', { class: 'health s-DONE' }, mark('DONE'), ' Well');
}

function button(w, refresh, name, does, done) {
  return h('button', {
    type: 'button', 'aria-label': `${name} ${w.id}`, onclick: () => act(name + ' ' + w.id, async () => { const x = await does(); await refresh(); return x; }, done),
  }, name);
}

function buttons(w, refresh) {
  return [
    button(w, refresh, 'Ping', async () => {
      const d = await post(path(w.id) + '/ping');
      if (!d.delivered) throw { title: `${w.id} did not take it`, detail: d.failure ?? `It answered ${d.status}.` };
    }, `${w.id} took a test event.`), ' ',
    w.parked > 0 && [button(w, refresh, 'Replay', () => post(path(w.id) + '/replay', {}), `What is parked of ${w.id} is tried now.`), ' '],
    w.enabled
      ? button(w, refresh, 'Disable', () => post(path(w.id) + '/disable'), `${w.id} is told nothing.`)
      : button(w, refresh, 'Enable', () => post(path(w.id) + '/enable'), `${w.id} is told again.`),
  ];
}

function openOne(id, refresh) {
  let w = null, tries = [], parked = null;
  return {
    ready: () => w !== null,
    async load() {
      [w, tries, parked] = await Promise.all([get(path(id)), get(path(id) + '/deliveries', { limit: 50 }), list(path(id) + '/parked', {}, 50)]);
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/webhooks' }, 'Webhooks')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, id), health(w), h('span', { class: 'buttons' }, can('admin') && buttons(w, refresh))),
      h('p', { class: 'lead' }, w.url),
      h('dl', { class: 'figures' },
        figure('Behind', count(w.behind)), figure('Since', age(w.behindSince)), figure('Parked', count(w.parked)), figure('Dropped', count(w.dropped)),
        figure('Types', w.types?.join(', ') ?? 'all'), figure('Queues', w.queues?.join(', ') ?? 'all'), figure('States', w.states?.join(', ') ?? 'all')),
      h('section', { class: 'card' }, h('h2', null, 'Parked'), table(['Of', '#Events', 'First', '#Tries', 'Next try', can('admin') && '>Actions'], parked.items.map((p) => [
        p.lane, p.of === 'transaction' ? txnLink(p.name) : `${p.of} ${brief(p.name)}`, count(p.events), h('code', null, p.first), count(p.tries),
        p.nextAt ? until(p.nextAt) : 'on replay', discard(id, p, refresh),
      ]), 'Nothing waits for another try.')),
      h('section', { class: 'card' }, h('h2', null, 'The last tries'), table(['At', 'Event', '#Try', 'Answer', '#ms'], tries.items.map((d, i) => [
        d.event + d.at + i, time(d.at), h('code', null, d.event), count(d.try),
        h('span', { class: 'health ' + (d.delivered ? 's-DONE' : 's-FAILED') }, mark(d.delivered ? 'DONE' : 'FAILED'), ' ', String(d.status ?? d.failure)), count(d.tookMs),
      ]), 'Nothing was sent yet.')),
    ],
  };
}

const figure = (name, value) => h('div', null, h('dt', null, name), h('dd', null, value));

function discard(id, p, refresh) {
  return h('button', {
    type: 'button', 'aria-label': `Discard ${p.lane}`, onclick: async () => {
      const yes = await ask({ title: `Discard ${plural(p.events, 'event')} of ${p.name}?`, text: 'The endpoint never gets them. Later events of it go on.', action: 'Discard', danger: true });
      if (yes !== null) await act('discard ' + p.lane, async () => { await remove(path(id) + '/parked?lane=' + encodeURIComponent(p.lane)); await refresh(); }, 'They are discarded.');
    },
  }, 'Discard');
}
