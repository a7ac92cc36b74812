import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = new URL('../../../../', import.meta.url);

/** Programs of this test, in a folder of their own. stop ends them all. */
export class Rig {
  private readonly dir = mkdtempSync(join(tmpdir(), 'sequencer-client-'));
  private readonly running = new Set<ChildProcess>();
  private readonly binary = process.env.SEQUENCER_BINARY ?? join(this.dir, 'sequencer');

  constructor() {
    if (!process.env.SEQUENCER_BINARY) {
      execFileSync('go', ['build', '-o', this.binary, './cmd/sequencer'], { cwd: root, stdio: 'inherit' });
    }
  }

  /** Starts a sequencer with a command of it; it answers at url before this returns. */
  async sequencer(command: string[], env: Record<string, string>, port: number): Promise<Program> {
    const child = this.start(this.binary, command, { ...env, SEQUENCER_ADDR: `127.0.0.1:${port}` });
    const url = `http://127.0.0.1:${port}`;
    await until(`${command[0]} answers`, child, async () => (await fetch(`${url}/readyz`)).ok);
    return { child, url };
  }

  /** Starts a Redis of its own. */
  async redis(): Promise<string> {
    const socket = join(this.dir, 'redis.sock');
    const child = this.start(
      'redis-server',
      ['--port', '0', '--unixsocket', socket, '--save', '', '--dir', this.dir],
      {},
    );
    await until('redis listens', child, () => Promise.resolve(existsSync(socket)));
    return `unix://${socket}`;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running].map((child) => end(child, 'SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true });
  }

  private start(file: string, args: string[], env: Record<string, string>): ChildProcess {
    const { PATH, HOME, TMPDIR } = process.env;
    const child = spawn(file, args, {
      cwd: this.dir,
      env: Object.assign({ PATH, HOME, XDG_CACHE_HOME: join(this.dir, 'cache') }, TMPDIR ? { TMPDIR } : {}, env),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    this.running.add(child);
    child.once('exit', () => this.running.delete(child));
    return child;
  }
}

export interface Program {
  child: ChildProcess;
  url: string;
}

/** Ends a program and waits until it is gone. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }
}

/** A port that nobody has, and that is given to nobody who does not ask for it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (free) {
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
  }
}

/** Asks until it is so; the test's own time limit ends it otherwise. */
async function until(what: string, child: ChildProcess, ask: () => Promise<boolean>): Promise<void> {
  while (!(await ask().catch(() => false))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`it ended before ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The next n of what is iterated. */
export async function take<T>(iterator: AsyncIterator<T>, n: number): Promise<T[]> {
  const items: T[] = [];
  while (items.length < n) {
    const { done, value } = await iterator.next();
    if (done) {
      break;
    }
    items.push(value);
  }
  return items;
}
