// The frame around the pages: navigation, what is live, what is down, who is logged in.

import { follow, get, limited, logOut, readSession, session } from './api.js';
import { failed, tell } from './actions.js';
import { h, show } from './dom.js';
import { count, setClock, time } from './format.js';
import * as fees from './pages/fees.js';
import * as login from './pages/login.js';
import * as nowhere from './pages/nowhere.js';
import * as overview from './pages/overview.js';
import * as queue from './pages/queue.js';
import * as queues from './pages/queues.js';
import * as senders from './pages/senders.js';
import * as transaction from './pages/transaction.js';
import * as transactions from './pages/transactions.js';
import * as webhooks from './pages/webhooks.js';

const routes = [
  [/^\/$/, overview], [/^\/queues$/, queues], [/^\/queues\/([^/]+)$/, queue], [/^\/transactions$/, transactions],
  [/^\/transactions\/([^/]+)$/, transaction], [/^\/senders(?:\/([^/]+))?$/, senders], [/^\/fees$/, fees], [/^\/webhooks(?:\/([^/]+))?$/, webhooks], [/^\/login$/, login],
];
const icon = new URL('icon.svg', import.meta.url).pathname;
const calm = 5000; // between two looks at what no event tells of: balances, the chain
const hasty = 1500; // while something is down
const gather = 400; // events that come together make one look; a page that reads much takes longer
const patient = 4000; // between two looks while the key has used up its rate

const header = document.getElementById('header');
const banner = document.getElementById('banner');
const main = document.getElementById('main');

/** What the pages share. */
const state = { overview: null, down: null, seen: null, live: false };
let page = null; // the one shown: { module, view, number }
let opened = 0;
let timer, unfollow;

/** Goes to another page of this site. */
export function go(href, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  return enter();
}

async function enter() {
  const path = location.pathname;
  if (session.scope === null && path !== '/login') {
    return go('/login?to=' + encodeURIComponent(path + location.search), true);
  }
  if (limited() && path === '/') return go('/queues', true); // the overview is of all
  if (path === '/failed') return go('/transactions?state=FAILED', true);
  const [module, args] = match(path);
  const same = page?.module === module && module.keep; // only the filters have changed
  const number = ++opened;
  page = { module, number, view: same ? page.view : module.open({ args, state, refresh, go, render }) };
  document.title = module.title(args) + ' · Sequencer';
  if (!same) {
    main.replaceChildren();
    scrollTo(0, 0);
    if (number > 1) main.focus({ preventScroll: true });
  }
  frame();
  return refresh();
}

function match(path) {
  for (const [pattern, module] of routes) {
    const m = pattern.exec(path);
    if (m) return [module, m.slice(1).map((part) => part && decodeURIComponent(part))];
  }
  return [nowhere, []];
}

let reading = false, wanted = false, strained = false;

/** Reads anew what the page shows. Calls that come meanwhile make one more. */
async function refresh() {
  wanted = true;
  if (reading) return;
  reading = true;
  try {
    while (wanted) {
      wanted = false;
      await read();
    }
  } finally {
    reading = false;
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, state.down ? hasty : calm);
}

async function read() {
  const { number, view } = page;
  if (document.hidden || session.scope === null && page.module !== login) return;
  try {
    await Promise.all([session.scope !== null && !limited() && readOverview(), view.load?.()]);
    state.down = page.problem = null;
    strained = false;
    state.seen = new Date().toISOString();
  } catch (problem) {
    if (number !== opened) return;
    strained = problem.status === 429;
    state.down = problem.offline || problem.storeDown ? problem : null;
    if (!strained && !state.down && problem.status !== 401) page.problem = problem;
  }
  if (number === opened) render();
}

async function readOverview() {
  state.overview = await get('/overview');
  setClock(state.overview.at);
}

/** Shows what is known. A page that cannot be shown says so, and is read again like any. */
function render() {
  frame();
  const { view } = page;
  const ready = !view.ready || view.ready();
  let shown = null;
  try {
    shown = ready && view.render();
  } catch (problem) {
    page.problem = problem;
    reportError(problem);
  }
  const { problem } = page;
  show(main,
    problem && h('section', { class: 'card trouble', key: 'trouble' }, h('h2', null, problem.title ?? 'This page failed'), h('p', null, problem.detail ?? String(problem), problem.type && [' ', h('a', { href: problem.type }, 'What that means')])),
    shown,
    !ready && !problem && !state.down && h('p', { class: 'muted' }, 'Reading…'));
}

function frame() {
  const counts = state.overview?.counts;
  const path = location.pathname;
  const link = (href, text, current, more) => h('a', { href, 'aria-current': current && 'page' }, text, more);
  const listing = path === '/transactions' && new URLSearchParams(location.search).get('state');
  const troubled = listing === 'FAILED' || listing === 'UNRESOLVED';
  const ending = (name, text) => link('/transactions?state=' + name, text, listing === name,
    counts?.[name] > 0 && h('span', { class: 'badge' }, count(counts[name])));
  show(header,
    h('a', { href: '/', class: 'brand' }, h('img', { src: icon, alt: '', width: 24, height: 24 }), 'Sequencer'),
    session.scope !== null && h('nav', { 'aria-label': 'Pages' },
      !limited() && link('/', 'Overview', path === '/'),
      link('/queues', 'Queues', path.startsWith('/queues')),
      link('/transactions', 'Transactions', path.startsWith('/transactions') && !troubled),
      ending('FAILED', 'Failed'),
      (counts?.UNRESOLVED > 0 || listing === 'UNRESOLVED') && ending('UNRESOLVED', 'Unresolved'),
      !limited() && link('/senders', 'Senders', path.startsWith('/senders')),
      !limited() && link('/fees', 'Fees', path === '/fees'),
      !limited() && link('/webhooks', 'Webhooks', path.startsWith('/webhooks'))),
    h('div', { class: 'tools' },
      session.scope !== null && h('span', { class: 'live' + (state.live && !state.down ? ' on' : ''), id: 'live' }, state.live && !state.down ? 'Live' : 'Not live'),
      h('button', { type: 'button', class: 'quiet', onclick: switchTheme, 'aria-label': 'Switch between light and dark' }, dark() ? '☀' : '☾'),
      session.scope !== null && h('a', { href: '/docs', class: 'who muted' }, 'API'),
      session.required && session.scope !== null && h('span', { class: 'who muted' }, [session.name, session.scope, session.queues?.map((q) => q + '…').join(' ')].filter(Boolean).join(' · ')),
      session.required && session.scope !== null && h('button', { type: 'button', class: 'quiet', onclick: leave }, 'Log out')));
  show(banner, (state.down || strained) && h('div', { class: 'down' },
    h('strong', null, !state.down ? 'Too many requests with this key.' : state.down.offline ? 'The server does not answer.' : 'Redis does not answer.'), ' ',
    state.seen ? ['What you see is from ', time(state.seen), '. '] : '', 'It is tried again all the time; this goes away by itself.'));
}

const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

function switchTheme() {
  const theme = dark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  render();
}

async function leave() {
  try {
    await logOut();
  } catch (problem) {
    return failed(problem);
  }
  dispatchEvent(new Event('loggedout'));
}

// Whoever may read follows the events, and only then.
let soon = null;

function listen() {
  unfollow?.();
  if (session.scope === null) return;
  const look = () => { soon ??= setTimeout(() => { soon = null; refresh(); }, strained ? patient : page?.module.pace ?? gather); };
  unfollow = follow({
    onEvent(kind, event) {
      if (page.view.onEvent?.(kind, event) !== false) look();
    },
    onGap: look,
    onState(live) {
      state.live = live;
      frame();
      if (!live) look();
    },
  });
}

addEventListener('loggedin', () => {
  listen();
  const to = new URLSearchParams(location.search).get('to');
  go(to?.startsWith('/') && !to.startsWith('//') ? to : '/', true);
});

addEventListener('loggedout', () => {
  unfollow?.();
  Object.assign(state, { overview: null, live: false, down: null });
  strained = false;
  if (location.pathname !== '/login') enter();
});

addEventListener('popstate', enter);
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); });

document.addEventListener('click', (e) => {
  const a = e.target.closest('a');
  if (!a || a.target || a.origin !== location.origin || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
  if (a.hash && a.pathname === location.pathname) return;
  if (a.pathname !== '/failed' && !routes.some(([pattern]) => pattern.test(a.pathname))) return;
  e.preventDefault();
  go(a.pathname + a.search);
});

document.addEventListener('keydown', (e) => {
  if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, select, textarea')) return;
  const field = document.querySelector('input[type=search]');
  if (field) {
    e.preventDefault();
    field.focus();
  }
});

async function start() {
  try {
    await readSession();
  } catch (problem) {
    state.down = problem;
    frame();
    setTimeout(start, hasty);
    return;
  }
  state.down = null;
  listen();
  enter();
}

start();
tell.into(document.getElementById('toasts'));
