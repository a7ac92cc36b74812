// How things are written.

import { copy } from './actions.js';
import { limited } from './api.js';
import { h, svg } from './dom.js';

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });

let skew = 0; // of this clock, by the server's

/** Ages are by the server's clock; this one may be wrong. */
export function setClock(at) { skew = Date.now() - Date.parse(at); }
export const now = () => Date.now() - skew;

/** A time of day, with the date if it is not of today. */
export function time(at) {
  if (!at) return '–';
  const t = new Date(at);
  const today = new Date().toDateString() === t.toDateString();
  return h('time', { datetime: at, title: at }, (today ? clock : day).format(t));
}

/** A span of time in its two largest units. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  const [whole, unit, part, smaller] = s < 3600 ? [60, 'min', 1, 's'] : s < 86400 ? [3600, 'h', 60, 'min'] : [86400, 'd', 3600, 'h'];
  const rest = Math.floor((s % whole) / part);
  return `${Math.floor(s / whole)} ${unit}` + (rest ? ` ${rest} ${smaller}` : '');
}

export const age = (at) => (at ? span(now() - Date.parse(at)) : '–');

/** How long until then, or that it is due. */
export function until(at) {
  const ms = Date.parse(at) - now();
  return ms > 0 ? `in ${span(ms)}` : 'now';
}

/** Whole numbers in groups of three. */
export function count(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f'); }

export function plural(n, one, many = one + 's') { return `${count(n)} ${n === 1 ? one : many}`; }

/** Nanomina, a decimal string, as MINA: every digit of it. */
export function mina(nano) {
  if (nano === null || nano === undefined) return '–';
  const text = String(nano).padStart(10, '0');
  const fraction = text.slice(-9).replace(/0+$/, '');
  return count(text.slice(0, -9)) + (fraction ? '.' + fraction : '') + ' MINA';
}

/** A long name, short enough for a table; all of it on hovering. A worker's may be no text. */
export function brief(name, most = 16) {
  const text = String(name ?? '–');
  if (text.length <= most) return text;
  return h('span', { title: text }, shorten(text, most));
}

export const shorten = (text, most) => (text.length <= most ? text : text.slice(0, most - 5) + '…' + text.slice(-4));

const drawings = {
  WAITING: [['circle', { cx: 8, cy: 8, r: 5.5 }]],
  DISPATCHING: [['circle', { cx: 8, cy: 8, r: 5.5 }], ['path', { d: 'M8 2.5a5.5 5.5 0 0 1 0 11z', class: 'full' }]],
  REVISION: [['path', { d: 'M8 1.8 14.2 8 8 14.2 1.8 8z' }]],
  RETRY: [['path', { d: 'M13 5.6A5.6 5.6 0 1 0 13.6 9' }], ['path', { d: 'M13.6 2.4v3.4h-3.4' }]],
  DONE: [['path', { d: 'M2.5 8.6 6.3 12.4 13.5 4' }]],
  FAILED: [['path', { d: 'M3.5 3.5l9 9M12.5 3.5l-9 9' }]],
  UNRESOLVED: [['path', { d: 'M8 2 14.5 13.5H1.5z' }], ['path', { d: 'M8 6.5v3.2M8 11.6v.1' }]],
};
drawings.FREE = drawings.WAITING;
drawings.BLOCKED = drawings.DISPATCHING;
drawings.INCLUSION = drawings.WAITING_INCLUSION = drawings.REVISION;
drawings.DELAY = drawings.RETRY;
drawings.PAUSED = [['path', { d: 'M5 3v10M11 3v10' }]];
drawings.OUT = drawings.UNRESOLVED;

const words = {
  WAITING: 'Waiting', DISPATCHING: 'Dispatching', REVISION: 'In revision', RETRY: 'Retry', DONE: 'Done', FAILED: 'Failed', UNRESOLVED: 'Unresolved',
  FREE: 'Free', BLOCKED: 'Dispatching', INCLUSION: 'Sent', WAITING_INCLUSION: 'Waiting for a block', DELAY: 'Waiting to retry', PAUSED: 'Paused', OUT: 'Out of use',
};

export const word = (state) => words[state] ?? state;

export function mark(state) {
  return svg('svg', { class: 'mark', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, (drawings[state] ?? []).map(([tag, props]) => svg(tag, props)));
}

/** A state by colour, by shape and by word. */
export function chip(state) { return h('span', { class: 'chip s-' + state }, mark(state), word(state)); }

/** A code, linked to what the service says of it; one that is of a worker's own making is not among those. */
export function explained(kind, code) {
  const shown = h('code', null, code);
  return /^[A-Z_]+$|^[A-Z][a-z]+(_[a-z]+)+$/.test(code) ? h('a', { href: `/docs/codes#${kind}.${code}`, title: 'What it means' }, shown) : shown;
}

/** A hash, linked to the block explorer if one is configured; the id of a batch is in none. */
export function hash(text, most = 20) {
  if (!text) return '–';
  const explorer = document.querySelector('meta[name=explorer]').content;
  const shown = explorer && text.length !== 128
    ? h('a', { href: explorer.replace('{hash}', encodeURIComponent(text)), target: '_blank', rel: 'noopener noreferrer', title: text + ', in the block explorer' }, h('code', null, shorten(text, most)))
    : h('code', null, brief(text, most));
  return whole(shown, text, `hash ${shorten(text, 16)}`);
}

/** What is shown of something, with the button that takes all of it along. */
const whole = (shown, text, what) => h('span', { class: 'whole' }, shown, copy(text, what));

/** An account that a command touches, linked to all that touch it. */
export function accountLink({ publicKey, tokenId }, most = 18) {
  const account = tokenId === minaToken ? publicKey : `${publicKey}:${tokenId}`;
  const to = '/transactions?zkApp=' + encodeURIComponent(account);
  const token = tokenId === minaToken ? null : [' of token ', brief(tokenId, most)];
  return whole(h('a', { href: to }, h('code', null, brief(publicKey, most)), token), account, `account ${shorten(account, 16)}`);
}

const minaToken = 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf';

export const txnLink = (uid, most = 28) => whole(h('a', { href: '/transactions/' + encodeURIComponent(uid) }, brief(uid, most)), uid, `uid ${uid}`);
export const queueLink = (name, most = 28) => (name ? h('a', { href: '/queues/' + encodeURIComponent(name) }, brief(name, most)) : '–');

/** A sender, linked to its page for who may see that. */
export function senderLink(account, most = 18) {
  if (!account) return '–';
  const code = h('code', null, brief(account, most));
  return whole(limited() ? code : h('a', { href: '/senders/' + encodeURIComponent(account) }, code), account, `address ${shorten(account, 16)}`);
}
