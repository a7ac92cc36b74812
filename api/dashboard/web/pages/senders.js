// The accounts that pay, and the workers that sign for them.

import { can, list, post } from '../api.js';
import { act, ask } from '../actions.js';
import { h } from '../dom.js';
import { brief, chip, count, mark, mina, plural, queueLink, until } from '../format.js';
import { claim } from '../held.js';
import { table } from '../table.js';
import { why } from '../words.js';

export const title = () => 'Senders';

export function open({ refresh }) {
  let found = null;
  return {
    ready: () => found !== null,
    async load() { found = await list('/senders', {}, 1000); },
    render: () => [
      h('div', { class: 'head' }, h('h1', null, 'Senders'), h('span', { class: 'muted' }, plural(found.items.length, 'sender'))),
      h('section', { class: 'card' }, table(['Account', 'State', 'Queue', '#Nonce', '#Balance', '*Worker', can('admin') && '>Actions'], found.items.map((s) => [
        s.accountId, h('code', null, brief(s.accountId, 20)),
        [chip(s.available || s.state !== 'FREE' ? s.state : 'OUT'), s.retries > 0 && h('small', { class: 'muted' }, ' ', plural(s.retries, 'retry', 'retries'))],
        queueLink(s.queue, 24), s.nonce === null ? '–' : count(s.nonce), mina(s.balance), worker(s), button(s, refresh),
      ]), 'There is none: nothing can be sent. Register one with POST /api/v1/senders, or in SEQUENCER_SENDERS.')),
    ],
  };
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
      type: 'button', 'aria-label': `Resume ${name}`, onclick: async () => {
        if (s.reason === 'STOPPED_NONCE' && await ask({
          title: `Resume ${name}?`, text: `${s.detail ? s.detail + '. ' : ''}Its next nonce is forgotten, and taken from the chain. See first what has used the account: it must not go on.`, action: 'Resume',
        }) === null) return;
        await act('sender ' + s.accountId, async () => { const r = await post(path + '/resume'); await refresh(); return r; },
          (r) => (r.available ? `${name} is back in use.` : `${name} stays out of use. ${why(r.reason)}.`));
      },
    }, 'Resume');
  }
  return h('button', {
    type: 'button', 'aria-label': `Drain ${name}`, onclick: async () => {
      const yes = await ask({ title: `Drain ${name}?`, text: 'It finishes its transaction, retries included, and takes no new one until it is resumed.', action: 'Drain' });
      if (yes !== null) await act('sender ' + s.accountId, async () => { await post(path + '/drain'); await refresh(); }, `${name} is drained.`);
    },
  }, 'Drain');
}
