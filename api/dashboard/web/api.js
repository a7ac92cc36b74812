// All that the pages know comes through here, from the public HTTP API.

const base = '/api/v1';

/** What went wrong, in the words of the API. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.title);
    Object.assign(this, { status, code: body.code, type: body.type, title: body.title, detail: body.detail, errors: body.errors ?? [] });
  }

  /** The server was not reached. */
  get offline() { return this.code === 'OFFLINE'; }

  /** The server was reached, and its Redis was not. */
  get storeDown() { return this.code === 'STORE_UNAVAILABLE'; }
}

export const session = { required: false, name: null, scope: null, queues: null };

/** Whether the key is limited to some queues: then nothing tells it of all. */
export const limited = () => session.queues !== null;

const scopes = ['read', 'submit', 'admin'];

/** Whether who is logged in may do what the scope allows. */
export function can(scope) { return scopes.indexOf(session.scope) >= scopes.indexOf(scope); }

async function request(method, path, body) {
  let response, text;
  try {
    response = await fetch(base + path, {
      method, body: body === undefined ? undefined : JSON.stringify(body),
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(15_000),
    });
    text = await response.text();
  } catch {
    throw new Problem(0, { code: 'OFFLINE', title: 'The server does not answer', detail: 'It is not reached from here.' });
  }
  if (response.ok) return text === '' ? null : exact(text);
  let problem;
  try {
    problem = JSON.parse(text);
  } catch {
    problem = { code: 'OFFLINE', title: 'Something else answers', detail: `Status ${response.status} from what stands before the server.` };
  }
  if (response.status === 401 && path !== '/session') {
    session.scope = session.name = session.queues = null;
    dispatchEvent(new Event('loggedout'));
  }
  throw new Problem(response.status, problem);
}

export const get = (path, params) => request('GET', path + query(params));
export const post = (path, body) => request('POST', path, body);
export const patch = (path, body) => request('PATCH', path, body);
export const remove = (path) => request('DELETE', path);

/** A query of those parameters that have a value. */
export function query(params) {
  const q = new URLSearchParams(Object.entries(params ?? {}).filter(([, v]) => v !== '' && v !== null && v !== undefined));
  return q.size ? '?' + q : '';
}

/**
 * Follows a list through its pages until it ends, there are enough, or so many pages
 * were short: each may have looked at ten thousand that the filter does not choose.
 */
export async function list(path, params, most, shorts = 20) {
  const items = [];
  let cursor = params?.cursor ?? null, pages = 0;
  do {
    const limit = Math.min(500, most - items.length);
    const page = await get(path, { ...params, cursor, limit });
    items.push(...page.items);
    cursor = page.nextCursor;
    pages++;
    if (page.items.length < limit) shorts--;
  } while (cursor && items.length < most && shorts > 0);
  return { items, nextCursor: cursor, pages };
}

export async function readSession() { Object.assign(session, await request('GET', '/session')); }

export async function logIn(key) {
  Object.assign(session, await request('POST', '/session', { key }));
}

export async function logOut() {
  await request('DELETE', '/session');
  await readSession();
}

/** A number as it is written in JSON, where a float64 would not be the same. */
export class Exact {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const mark = 'exact ' + crypto.getRandomValues(new Uint32Array(4)).join(' ') + ' '; // no string of anybody's begins so

/** Reads JSON, and keeps as they are written the numbers that do not fit. */
export function exact(text) {
  const marked = text.replace(token, (t) => (t[0] === '"' || String(Number(t)) === t ? t : `"${mark}${t}"`));
  return JSON.parse(marked, (_, v) => (typeof v === 'string' && v.startsWith(mark) ? new Exact(v.slice(mark.length)) : v));
}

/** Calls back with every event, and when it has to be assumed that some were missed. */
export function follow({ onEvent, onGap, onState }) {
  let source, again, pause = 1000, wanted = true;
  const open = () => {
    clearTimeout(again);
    source?.close();
    if (!wanted || document.hidden) return;
    source = new EventSource(base + '/events');
    source.onopen = () => { pause = 1000; onState(true); onGap(); };
    source.onerror = () => {
      onState(false);
      if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
      again = setTimeout(open, pause);
      pause = Math.min(2 * pause, 10_000);
    };
    for (const kind of ['transaction', 'queue', 'sender']) {
      source.addEventListener(kind, (e) => onEvent(kind, JSON.parse(e.data)));
    }
  };
  // A browser has few connections for all its tabs: those that nobody sees need none.
  const visibility = () => {
    if (document.hidden) source?.close();
    else open();
  };
  document.addEventListener('visibilitychange', visibility);
  open();
  return () => {
    wanted = false;
    clearTimeout(again);
    source?.close();
    document.removeEventListener('visibilitychange', visibility);
  };
}
