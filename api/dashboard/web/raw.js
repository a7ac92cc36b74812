// What the API has answered, as it has: for who wants to see what no page shows.

import { copy } from './actions.js';
import { Exact } from './api.js';
import { h } from './dom.js';

/** JSON with its numbers as they were posted. */
export function pretty(v, indent = '') {
  if (v instanceof Exact) return v.text;
  if (v === null || typeof v !== 'object') return JSON.stringify(v);
  const [open, close] = Array.isArray(v) ? '[]' : '{}';
  const deeper = indent + '  ';
  const parts = Array.isArray(v) ? v.map((x) => pretty(x, deeper)) : Object.entries(v).map(([k, x]) => `${JSON.stringify(k)}: ${pretty(x, deeper)}`);
  return parts.length === 0 ? open + close : `${open}\n${deeper}${parts.join(',\n' + deeper)}\n${indent}${close}`;
}

/** A document to be unfolded. */
export function raw(document) {
  const text = pretty(document);
  return h('details', { class: 'card raw', key: 'raw' }, h('summary', null, 'Raw JSON'), copy(text, 'the JSON'), h('pre', { tabindex: '0', 'aria-label': 'The JSON' }, text));
}
