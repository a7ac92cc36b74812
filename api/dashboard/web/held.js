// What became of telling a worker how a transaction ended, in words.

import { h } from './dom.js';
import { time } from './format.js';

/** A callback: whether it was answered, and with what. */
export function callback(c, pretty) {
  if (!c.told) return [c.name, c.tries === 0 ? ' is to be told' : [' was told ', String(c.tries), ' times in vain, last at ', time(c.at)], c.error && h('small', { class: 'muted block' }, c.error)];
  return [c.name, ' was answered at ', time(c.at), c.answer && h('pre', { tabindex: '0', 'aria-label': 'Answer to the callback' }, pretty(c.answer)), c.error && h('small', { class: 'muted block' }, c.error)];
}
