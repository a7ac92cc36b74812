// What others pay for a place in a block, what ours would pay, and what was spent.

import { get } from '../api.js';
import { h } from '../dom.js';
import { brief, count, mina, senderLink, time } from '../format.js';
import { table } from '../table.js';
import { estimated } from '../words.js';

export const title = () => 'Fees';

export function open() {
  let found = null;
  return {
    ready: () => found !== null,
    async load() { found = await get('/fees'); },
    render: () => [
      h('div', { class: 'head' }, h('h1', null, 'Fees')),
      pool(found.pool),
      h('section', { class: 'card' }, h('h2', null, 'A first attempt now'), table(['Type', '#Weight', '#Fee', '#For each unit', '*Why'], found.types.map((t) => [
        t.type, h('code', null, brief(t.type, 40)), t.weight ?? '', mina(t.fee), t.feePerWeight ? mina(t.feePerWeight) : '', estimated(t.why),
      ]), 'No type is known.')),
      spent('By sender', 'Sender', found.spent.filter((s) => s.sender), (s) => senderLink(s.sender, 24)),
      spent('By queue', 'Queue', found.spent.filter((s) => s.queue), (s) => h('a', { href: '/queues/' + encodeURIComponent(s.queue) }, brief(s.queue, 40))),
    ],
  };
}

function pool(p) {
  if (!p) return h('section', { class: 'card' }, h('h2', null, 'The pool'), h('p', { class: 'muted' }, 'Nobody has looked at it: SEQUENCER_FEE is a number, or there was no work.'));
  return h('section', { class: 'card' },
    h('h2', null, 'The pool'),
    h('p', null, `${count(p.size)} commands wait as of `, time(p.at), `; a block takes ${count(p.capacity)} zkApp commands, those first that pay most for each unit of weight.`),
    table(['#Blocks', '#Others pay, for each unit'], p.ranks.map((r) => [r.blocks, count(r.blocks), mina(r.feePerWeight)]), 'All that waits fits into a block.'));
}

function spent(name, of, rows, cell) {
  return h('section', { class: 'card' }, h('h2', null, 'Spent ' + name.toLowerCase()), table(['Day', of, '#Fees'], rows.map((s) => [
    s.day + (s.sender ?? s.queue), s.day, cell(s), mina(s.fee),
  ]), 'Nothing in the last seven days.'));
}
