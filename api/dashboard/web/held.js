// Who drives a transaction, and what became of telling its worker how it ended, in words.

import { h } from './dom.js';
import { brief, time, until } from './format.js';

/** A callback: whether it was answered, and with what. */
export function callback(c, pretty) {
  if (!c.told) return [c.name, c.tries === 0 ? ' is to be told' : [' was told ', String(c.tries), ' times in vain, last at ', time(c.at)], c.error && h('small', { class: 'muted block' }, c.error)];
  return [c.name, ' was answered at ', time(c.at), c.answer && h('pre', { tabindex: '0', 'aria-label': 'Answer to the callback' }, pretty(c.answer)), c.error && h('small', { class: 'muted block' }, c.error)];
}

/** A claim: by which process, since when, and until when it lasts. */
export const claim = (c) => ['process ', h('code', null, brief(c.process, 14)), ' since ', time(c.since), c.expires && [', lapses ', until(c.expires), ' unless it is renewed']];
