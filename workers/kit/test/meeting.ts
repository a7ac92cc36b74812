import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { PrivateKey } from 'o1js';
import type { Attempt, TxnResult } from '../src/index.js';
import { folder, gate } from './world.js';

export const payer = PrivateKey.random();
export const other = PrivateKey.random();

const groups = new Set<number>();
const endGroup = (pid: number) => {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // they are gone
  }
};
// Not to leave anything behind where the test itself is ended.
process.on('exit', () => groups.forEach(endGroup));
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

/** Where the processes of several.ts tell what they come to. What begins with `held` waits there for its turn. */
class Meeting {
  readonly came: { what: string; pid: number }[] = [];
  private readonly held = new Map<string, ReturnType<typeof gate>>();
  private next = gate();
  url = '';

  static async open(t: TestContext): Promise<Meeting> {
    const meeting = new Meeting();
    const server = createServer(({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, meeting.url);
      const what = pathname.slice(1);
      meeting.came.push({ what, pid: Number(searchParams.get('pid')) });
      meeting.next.open();
      meeting.next = gate();
      const turn = what.startsWith('held') ? meeting.gate(what).opened : Promise.resolve();
      // Else this end may close a connection after its 5 s of idleness just as it is used again.
      void turn.then(() => response.setHeader('Connection', 'close').end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    meeting.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return meeting;
  }

  /** The process that has come to something, when one has. */
  async of(what: string): Promise<number> {
    for (;;) {
      const [first] = this.times(what);
      if (first !== undefined) return first;
      await this.next.opened;
    }
  }

  /** The processes that have come to something so far. */
  times(what: string): number[] {
    return this.came.filter((each) => each.what === what).map(({ pid }) => pid);
  }

  /** Lets whoever is held here go on. */
  let(...held: string[]): void {
    for (const what of held) this.gate(what).open();
  }

  private gate(what: string) {
    if (!this.held.has(what)) this.held.set(what, gate());
    return this.held.get(what)!;
  }
}

interface Line {
  msg: string;
  process?: number;
  [field: string]: unknown;
}

interface Program {
  child: ChildProcess;
  url: string;
  store: string;
  meeting: Meeting;
  /** Of the output of all processes, so far. */
  lines: Line[];
  /** Waits until so many lines of the output hold text. */
  said: (text: string, times?: number) => Promise<void>;
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  health: () => Promise<Record<string, unknown>>;
}

interface Answer {
  status: number;
  retryAfter: string | null;
  text: string;
  body: TxnResult;
}

/** Starts several.ts as a process group of its own. It is `closed` when no process holds its output any more. */
export async function spawned(t: TestContext, env: Record<string, string>) {
  const meeting = await Meeting.open(t);
  const store = await folder(t);
  const child = spawn(process.execPath, [new URL('./several.js', import.meta.url).pathname], {
    cwd: store,
    env: {
      ...process.env,
      PAYER: payer.toBase58(),
      OTHER: other.toBase58(),
      PROVERS: '2',
      MEETING: meeting.url,
      PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  groups.add(child.pid!);
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  t.after(async () => {
    endGroup(child.pid!);
    await closed;
    groups.delete(child.pid!);
  });
  return { meeting, store, child, closed };
}

export async function start(t: TestContext, env: Record<string, string> = {}) {
  const { meeting, store, child, closed } = await spawned(t, env);
  child.stderr.pipe(process.stderr);
  const lines: Line[] = [];
  let news = gate();
  createInterface(child.stdout).on('line', (text) => {
    lines.push(text.startsWith('{') ? (JSON.parse(text) as Line) : { msg: text });
    news.open();
    news = gate();
  });
  const ended = closed.then(() => {
    throw new Error('the worker ended');
  });
  ended.catch(() => undefined);
  const said = async (text: string, times = 1) => {
    while (lines.filter(({ msg }) => msg.includes(text)).length < times) await Promise.race([news.opened, ended]);
  };
  await said('listening');
  const url = lines.find(({ msg }) => msg === 'listening')!.url as string;
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body).replace(/"digits:(\d+)"/, '$1'),
    });
    const text = await response.text();
    const retryAfter = response.headers.get('Retry-After');
    return { status: response.status, retryAfter, text, body: JSON.parse(text) as TxnResult };
  };
  const health = async () => (await (await fetch(`${url}/health`)).json()) as Record<string, unknown>;
  const program: Program = { child, url, store, meeting, lines, said, post, health };
  return { ...program, closed };
}

export const first: Attempt = { number: 1, nonce: 0, fee: '1', validUntil: null, memo: '', previous: [] };

export function call(type: string, uid: string, data: object = {}, attempt = first, by = payer.toPublicKey()) {
  const sender = { accountId: by.toBase58(), queue: 'q', retries: 0 };
  return { txData: { uid, type, data }, sender, attempt };
}
