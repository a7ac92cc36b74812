// The endpoints of others that are told every event, and how that goes.

import { can, get, list, patch, post, remove } from '../api.js';
import { act, ask, fill, reveal } from '../actions.js';
import { h } from '../dom.js';
import { age, brief, count, mark, plural, time, txnLink, until } from '../format.js';
import { raw } from '../raw.js';
import { table } from '../table.js';

export const title = ([id]) => id ?? 'Webhooks';

const path = (id) => '/webhooks/' + encodeURIComponent(id);

export function open({ args: [id], refresh, go }) {
  return id === undefined ? openAll(refresh) : openOne(id, refresh, go);
}

function openAll(refresh) {
  let found = null;
  return {
    ready: () => found !== null,
    async load() { found = await get('/webhooks'); },
    render: () => [
      h('div', { class: 'head' }, h('h1', null, 'Webhooks'), h('span', { class: 'muted' }, plural(found.items.length, 'endpoint')),
        can('admin') && h('span', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', onclick: () => add(refresh) }, 'Add an endpoint'))),
      h('section', { class: 'card' }, table(['Endpoint', '*State', '#Events behind', '#Parked', '#Lost', '*Address', can('admin') && '>Actions'], found.items.map((w) => [
        w.id, h('a', { href: '/webhooks/' + encodeURIComponent(w.id) }, brief(w.id, 28)), health(w), count(w.behind), count(w.parked), count(w.dropped), brief(w.url, 60),
        buttons(w, refresh),
      ]), 'There is none. Add one here, with sequencer webhook add, POST /api/v1/webhooks, or in SEQUENCER_WEBHOOKS_FILE.')),
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
  if (w.health === 'REFUSED_ADDRESS') return h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' Nothing gets there: its address is not public, and not among SEQUENCER_WEBHOOKS_PRIVATE');
  if (w.waiting > 0) return h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' ', plural(w.waiting, 'line'), ' of events tried for the last time');
  if (w.restsUntil) return h('span', { class: 'health s-RETRY' }, mark('OUT'), ' Asked for patience, tried again ', until(w.restsUntil));
  if (w.parked > 0) return h('span', { class: 'health s-RETRY' }, mark('OUT'), ' Some events are tried again');
  if (w.dropped > 0) return h('span', { class: 'health s-FAILED' }, mark('FAILED'), ' ', plural(w.dropped, 'event'), ' lost for want of room');
  if (w.health !== 'WELL') return h('span', { class: 'health s-RETRY' }, mark('OUT'), ' The last try failed');
  return h('span', { class: 'health s-DONE' }, mark('DONE'), ' Well');
}

const texts = [['types', 'Only these types (with spaces between; none: all)'], ['queues', 'Only these queues (plan-* for all that begin so)'], ['states', 'Only what comes to these states (DONE FAILED UNRESOLVED)']];

/** The lists that were entered; null for an empty one, which chooses everything. */
function lists(entered) {
  return Object.fromEntries(texts.map(([name]) => {
    const words = entered[name].split(/[\s,]+/).filter(Boolean);
    return [name, words.length > 0 ? words : null];
  }));
}

async function add(refresh) {
  const entered = await fill({
    title: 'Add an endpoint', text: 'It is told what happens from then on, as a POST by Standard Webhooks 1.0.', action: 'Add',
    fields: [['id', 'Id', '', true], ['url', 'Address (https://…)', '', true], ...texts],
  });
  if (entered === null) return;
  let made = null;
  await act('add webhook', async () => {
    made = await post('/webhooks', { id: entered.id, url: entered.url, ...lists(entered) });
    await refresh();
  }, `${entered.id} is added.`);
  if (made) await reveal(`The secret of ${made.id}`, 'What is sent there is signed with it. It is shown only here.', made.secret, 'the secret');
}

async function edit(w, refresh) {
  const entered = await fill({
    title: `Edit ${w.id}`, text: 'Its secret stays, and so does what is parked of it.', action: 'Save',
    fields: [['url', `Address (empty: it stays ${w.url})`], ...texts.map(([name, label]) => [name, label, w[name]?.join(' ')])],
  });
  if (entered === null) return;
  await act('edit ' + w.id, async () => { await patch(path(w.id), { ...(entered.url && { url: entered.url }), ...lists(entered) }); await refresh(); }, `${w.id} is changed.`);
}

async function rotate(w, refresh) {
  const yes = await ask({ title: `A new secret for ${w.id}?`, text: 'What is sent is signed with both, the new one and the one before, for a day.', action: 'Make one' });
  if (yes === null) return;
  let made = null;
  await act('rotate ' + w.id, async () => { made = await post(path(w.id) + '/secret', {}); await refresh(); }, `${w.id} has a new secret.`);
  if (made) await reveal(`The new secret of ${w.id}`, 'It is shown only here.', made.secret, 'the secret');
}

async function drop(w, go) {
  const yes = await ask({ title: `Remove ${w.id}?`, text: 'It is told nothing more, and what is parked of it is forgotten.', action: 'Remove', danger: true });
  if (yes !== null) await act('remove ' + w.id, async () => { await remove(path(w.id)); await go('/webhooks'); }, `${w.id} is removed.`);
}

function button(w, refresh, name, does, done) {
  return h('button', {
    type: 'button', 'aria-label': `${name} ${w.id}`, onclick: () => act(name + ' ' + w.id, async () => { const x = await does(); await refresh(); return x; }, done),
  }, name);
}

function buttons(w, refresh) {
  return [
    button(w, refresh, 'Test', async () => {
      const d = await post(path(w.id) + '/ping');
      if (!d.delivered) throw { title: `${w.id} did not take it`, detail: d.failure ?? `It answered ${d.status}.` };
    }, `${w.id} took a test event.`), ' ',
    w.parked > 0 && [button(w, refresh, 'Replay', () => post(path(w.id) + '/replay', {}), `What is parked of ${w.id} is tried now.`), ' '],
    w.enabled
      ? button(w, refresh, 'Disable', () => post(path(w.id) + '/disable'), `${w.id} is told nothing.`)
      : button(w, refresh, 'Enable', () => post(path(w.id) + '/enable'), `${w.id} is told again.`),
  ];
}

function openOne(id, refresh, go) {
  let w = null, tries = [], parked = null;
  return {
    ready: () => w !== null,
    async load() {
      [w, tries, parked] = await Promise.all([get(path(id)), get(path(id) + '/deliveries', { limit: 50 }), list(path(id) + '/parked', {}, 50)]);
    },
    render: () => [
      h('p', { class: 'crumb' }, h('a', { href: '/webhooks' }, 'Webhooks')),
      h('div', { class: 'head' }, h('h1', { class: 'mono' }, id), health(w), h('span', { class: 'buttons' }, can('admin') && [buttons(w, refresh), w.source === 'api' && ['Edit', 'Rotate', 'Remove'].map((name, i) => [' ', h('button', {
        type: 'button', key: name, 'aria-label': name === 'Rotate' ? `New secret for ${w.id}` : `${name} ${w.id}`, class: name === 'Remove' ? 'danger' : null, onclick: () => [edit, rotate, drop][i](w, name === 'Remove' ? go : refresh),
      }, name === 'Rotate' ? 'New secret' : name)])])),
      h('p', { class: 'lead' }, w.url),
      h('dl', { class: 'figures' },
        figure('Events behind', count(w.behind)), figure('The first of them', age(w.behindSince)), figure('Events parked', count(w.parked)), figure('Events lost', count(w.dropped)),
        figure('Types', w.types?.join(', ') ?? 'all'), figure('Queues', w.queues?.join(', ') ?? 'all'), figure('States', w.states?.join(', ') ?? 'all')),
      h('section', { class: 'card' }, h('h2', null, 'Parked'), table(['Of', '#Events', 'First', '#Tries', 'Next try', can('admin') && '>Actions'], parked.items.map((p) => [
        p.lane, p.of === 'transaction' ? txnLink(p.name) : `${p.of} ${brief(p.name)}`, count(p.events), h('code', null, p.first), count(p.tries),
        p.nextAt ? until(p.nextAt) : 'on replay', discard(id, p, refresh),
      ]), 'Nothing waits for another try.')),
      h('section', { class: 'card' }, h('h2', null, 'The last tries'), table(['At', 'Event', '#Try', 'Answer', '#ms'], tries.items.map((d, i) => [
        d.event + d.at + i, time(d.at), h('code', null, d.event), count(d.try),
        h('span', { class: 'health ' + (d.delivered ? 's-DONE' : 's-FAILED') }, mark(d.delivered ? 'DONE' : 'FAILED'), ' ', String(d.status ?? d.failure)), count(d.tookMs),
      ]), 'Nothing was sent yet.')),
      raw(w),
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
