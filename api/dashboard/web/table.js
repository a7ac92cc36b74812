// Tables: on a phone each row becomes a block that names its cells.

import { h } from './dom.js';

/**
 * Makes a table. A head is a name, with # before it over numbers and * before it
 * over text that may wrap; a column without a head is left out. A row is
 * [key, ...cells].
 */
export function table(heads, rows, none) {
  if (rows.length === 0) return h('p', { class: 'muted' }, none);
  const kinds = heads.map((x) => x && { '#': 'num', '*': 'wide', '>': 'end' }[x[0]]);
  const names = heads.map((x) => x && x.replace(/^[#*>]/, ''));
  return h('div', { class: 'scroll' }, h('table', null,
    h('thead', null, h('tr', null, names.map((name, i) => name && h('th', { scope: 'col', class: kinds[i] }, kinds[i] === 'end' ? h('span', { class: 'hidden' }, name) : name)))),
    h('tbody', null, rows.map(([key, ...cells]) => h('tr', { key }, cells.map((cell, i) => names[i] && h('td', { class: kinds[i], 'data-name': names[i] }, h('span', null, cell))))))));
}
