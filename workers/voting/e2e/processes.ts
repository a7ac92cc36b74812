import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

/** How long a program may take until it is ready; compiling contracts takes minutes. */
const READY_TIMEOUT = 10 * 60_000;
const STOP_TIMEOUT = 15_000;

/** A program that this test has started. */
export interface Program {
  /** What the pattern of readiness has matched. */
  ready: RegExpMatchArray;
  pid: number;
  /** All that it has written so far. */
  output(): string;
  /** Fulfilled when it has ended. */
  gone: Promise<void>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Asks it to end, and ends it if it does not. */
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
// Not to leave anything behind where the test itself is ended.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

/** Starts a program and waits until its output matches. Its output also goes to a file of its name. */
export async function start(
  name: string,
  [command, ...args]: [string, ...string[]],
  { env = {}, logs, ready }: { env?: NodeJS.ProcessEnv; logs: string; ready: RegExp },
): Promise<Program> {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  void gone.then(() => running.delete(child));

  const file = createWriteStream(join(logs, `${name}.log`), { flags: 'a' });
  let output = '';
  const match = await new Promise<RegExpMatchArray>((resolve, reject) => {
    const timer = setTimeout(() => fail('is not ready in time'), READY_TIMEOUT);
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${name} ${why}:\n${output.slice(-2000)}`));
    };
    const take = (chunk: Buffer) => {
      file.write(chunk);
      output += chunk.toString('utf8');
      const found = ready.exec(output);
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`has ended (${signal ?? code})`));
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT);
    await gone;
    clearTimeout(timer);
  };
  const pid = child.pid!;
  return { ready: match, pid, output: () => output, gone, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}

/** A port of 127.0.0.1 that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
