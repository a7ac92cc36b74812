import { fork, type ChildProcess } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import { PrivateKey } from 'o1js';
import { asError, codes, Failure, TokenGone } from './errors.js';
import { parseJSON, toJSON } from './json.js';
import { Busy, overdue, type Line } from './line.js';
import type { Log } from './log.js';
import type { Maker, Proves } from './maker.js';
import type { BuildBody, CallBody } from './protocol.js';
import type { Simulated } from './simulate.js';
import { currentTrace, within } from './trace.js';
import type { TxnResult } from './types.js';

/** In the environment of a prover: its number, and the id of the process that started it. */
const marker = 'WORKER_PROVER';
/** How long to wait before a prover is started again, doubled each time. */
const shortestRest = 1000;
const longestRest = 60_000;
/** A prover that has lived so long begins with the shortest rest again. */
const goodLife = 60_000;
/** How often the log says that a prover is not ready yet. */
const slowStart = 10 * 60_000;
/** How long an idle prover may take to end. */
const endTimeout = 2000;

/** For whom a process proves; the same in the one that it belongs to. */
export interface Role {
  accountId: string;
  types: string[];
}

export interface Memory {
  rss: number;
  heapUsed: number;
}

/** What a prover is asked to do: a CallBody or BuildBody in JSON, which keeps every digit. The keys are in base58. */
interface Ask {
  to: 'prove' | 'build' | 'simulate';
  body: string;
  signers: string[];
  trace: string | undefined;
}

/** What a prover says. One call is under way at a time, so an answer is that call's. */
type Said =
  | { is: 'ready'; role: Role }
  | { is: 'unfit'; message: string }
  | { is: 'made'; result: string; signers: string[] }
  | { is: 'busy'; message: string; retryAfterSeconds: number }
  | { is: 'gone'; message: string }
  | { is: 'failed'; message: string };

/** A message with neither is the program's own. */
interface Message {
  ask?: Ask;
  said?: Said & { memory: Memory };
}
const messageOf = (message: unknown) => (message as { workerKit?: Message } | null)?.workerKit ?? {};

export interface ProversOptions {
  provers: number;
  role: Role;
  line: Line<Proves>;
  maker: Maker;
  log: Log;
  /** How long a prover may be at work on one transaction. */
  callSeconds: number;
}

/**
 * Processes that prove, each with its own o1js: the program of this one, run again, where
 * `createWorker` finds that it is a prover. Those that end are started again. No key that a
 * dispatch has returned leaves memory: it comes over the channel between parent and child,
 * which no other process has.
 */
export class Provers {
  private readonly running = new Map<number, ProverProcess>();
  private readonly closing = new AbortController();
  private readonly onExit = () => {
    for (const prover of this.running.values()) prover.kill();
  };

  private constructor(private readonly options: ProversOptions) {
    process.on('exit', this.onExit);
  }

  /**
   * Returns when the first prover is ready; the others follow one by one, so that they find
   * compiled what it has compiled. Throws what `createWorker` has thrown there.
   */
  static async start(options: ProversOptions): Promise<Provers> {
    const provers = new Provers(options);
    try {
      await provers.keep(1);
    } catch (error) {
      await provers.close();
      throw error;
    }
    void provers.startOthers();
    return provers;
  }

  /** As each prover has told last. */
  get memory(): Memory[] {
    return [...this.running.values()].map(({ memory }) => memory);
  }

  /** Whether no prover is worth a start any more. */
  private get isOver(): boolean {
    return this.closing.signal.aborted || this.options.line.isClosed;
  }

  /** Ends all provers. Whatever they do is lost, so their work has to be over. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.running.values()].map((prover) => prover.end()));
    process.off('exit', this.onExit);
  }

  private async startOthers(): Promise<void> {
    for (let number = 2; number <= this.options.provers && !this.isOver; number++) {
      await this.keep(number).catch(() => undefined); // it will be tried again
    }
  }

  /** Returns when a prover is ready, or throws; whenever it ends from then on, it is started again. */
  private keep(number: number): Promise<void> {
    return new Promise((resolve, reject) => void this.startAgainAndAgain(number, resolve, reject));
  }

  private async startAgainAndAgain(number: number, started: () => void, failed: (error: Error) => void): Promise<void> {
    const { log } = this.options;
    for (let rest = shortestRest; !this.isOver; rest = Math.min(rest * 2, longestRest)) {
      let prover: ProverProcess | undefined;
      let readyAt = Infinity;
      let why: string;
      try {
        prover = new ProverProcess(number, this.options);
        this.running.set(number, prover);
        const { pid } = prover;
        const slow = setInterval(() => log.warn({ process: number, pid }, 'a prover is not ready yet'), slowStart);
        await prover.ready.finally(() => clearInterval(slow));
        readyAt = Date.now();
        log.info({ process: number, pid: prover.pid }, 'a prover is ready');
        started();
        why = `it ended ${await prover.ended}`;
      } catch (thrown) {
        const error = asError(thrown);
        failed(error);
        why = error.message;
        await prover?.end();
      }
      if (this.isOver) return;
      if (Date.now() - readyAt > goodLife) rest = shortestRest;
      log.error({ process: number, pid: prover?.pid, restMs: rest }, `a prover is started again: ${why}`);
      await after(rest, undefined, { signal: this.closing.signal }).catch(() => undefined);
    }
  }
}

/** One of them, as the process sees it that has started it. */
class ProverProcess implements Proves {
  /** When it takes calls. Throws if it does not come to that. */
  readonly ready: Promise<void>;
  /** In words. */
  readonly ended: Promise<string>;
  memory: Memory = { rss: 0, heapUsed: 0 };
  private readonly child: ChildProcess;
  private call: { uid: string; resolve(result: unknown): void; reject(error: Error): void } | undefined;
  private isReady = false;
  private isLate = false;
  private hasEnded = false;

  constructor(
    number: number,
    private readonly options: ProversOptions,
  ) {
    const [, program, ...args] = process.argv;
    if (!program) throw new Error('provers: several need a program in a file, for each process runs it again');
    const child = fork(program, args, {
      env: { ...process.env, [marker]: `${number}/${process.pid}` },
      execArgv: process.execArgv,
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(this.onEnd(signal ? `by ${signal}` : `with exit code ${code}`)));
      child.on('error', (error) => {
        if (child.pid === undefined) resolve(this.onEnd(`before it began: ${error.message}`));
        else this.kill(); // its channel is broken
      });
    });
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (message) => {
        const { said } = messageOf(message);
        if (!said) return;
        this.memory = said.memory;
        if (said.is === 'ready') {
          const wrong = this.differs(said.role);
          if (wrong) return reject(new Error(wrong));
          this.isReady = true;
          options.line.add(this);
          resolve();
        } else if (said.is === 'unfit') reject(new Error(said.message));
        else this.onAnswer(said);
      });
      void this.ended.then((how) => reject(new Error(`a prover ended ${how} before it took calls`)));
    });
    this.ready.catch(() => undefined); // whoever needs it looks
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  prove(body: CallBody): Promise<TxnResult> {
    return this.ask<TxnResult>('prove', body);
  }

  build(body: BuildBody): Promise<TxnResult> {
    return this.ask<TxnResult>('build', body);
  }

  simulate(body: CallBody): Promise<Simulated> {
    return this.ask<Simulated>('simulate', body);
  }

  private ask<T>(to: Ask['to'], body: CallBody | BuildBody): Promise<T> {
    const { uid } = body.txData;
    const signers = toBase58(this.options.maker.remembered(uid));
    const timer = setTimeout(() => {
      this.isLate = true;
      this.kill();
    }, this.options.callSeconds * 1000);
    return new Promise<T>((resolve, reject) => {
      this.call = { uid, resolve: (result) => resolve(result as T), reject };
      const workerKit: Message = { ask: { to, body: toJSON(body), signers, trace: currentTrace() } };
      this.child.send({ workerKit }, (error) => error && this.kill());
    }).finally(() => clearTimeout(timer));
  }

  /** Ends it, at once unless it is idle. */
  async end(): Promise<void> {
    if (!this.isReady) this.kill();
    else if (this.child.connected) this.child.disconnect();
    const late = setTimeout(() => this.kill(), endTimeout);
    await this.ended;
    clearTimeout(late);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Before its call is answered it has left the line, for its place would be free. */
  private onEnd(how: string): string {
    if (this.hasEnded) return how;
    this.hasEnded = true;
    this.memory = { rss: 0, heapUsed: 0 };
    if (this.isReady) this.options.line.remove(this);
    const message = this.isLate
      ? `${overdue(this.options.callSeconds)}, so its prover was ended: have dispatch give up by itself, or set callSeconds`
      : `the prover of this transaction ended ${how}, perhaps for want of memory`;
    // A retry counts: a transaction that no prover survives would end them for ever.
    this.call?.reject(new Failure(codes.notSent, message));
    return how;
  }

  private onAnswer(said: Exclude<Said, { is: 'ready' | 'unfit' }>): void {
    const { call } = this;
    this.call = undefined;
    if (!call) return;
    switch (said.is) {
      case 'made':
        this.options.maker.remember(call.uid, fromBase58(said.signers));
        return call.resolve(parseJSON(said.result));
      case 'busy':
        return call.reject(new Busy(said.message, said.retryAfterSeconds));
      case 'gone':
        return call.reject(new TokenGone(said.message));
      case 'failed':
        return call.reject(new Error(said.message));
    }
  }

  /** A program that is not the same one each time it runs cannot prove for itself. */
  private differs(role: Role): string | undefined {
    const { accountId, types } = this.options.role;
    if (role.accountId !== accountId)
      return `provers: the program, run again, pays from ${role.accountId}, not ${accountId}: give payer a file or env, or signer the same accountId`;
    if (role.types.join() !== types.join())
      return `provers: the program, run again, makes ${role.types.join(', ')}, not ${types.join(', ')}`;
    return undefined;
  }
}

/** The process that has started this one as a prover. */
export class Parent {
  private constructor(readonly number: number) {}

  /** Undefined in a process that is no prover. */
  static find(): Parent | undefined {
    const [number, pid] = (process.env[marker] ?? '').split('/').map(Number);
    if (!number || !process.send) return undefined; // a program that a prover has started has its environment
    if (process.ppid !== pid || !process.connected) process.exit(1);
    const parent = new Parent(number);
    process.on('disconnect', () => process.exit(0));
    dieWith(pid);
    // A terminal and a service manager send these to all processes; the parent ends this one in its time.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
    return parent;
  }

  /** Tells the parent why this process cannot prove, and ends. */
  refuse(error: unknown): Promise<never> {
    return new Promise(() => this.say({ is: 'unfit', message: asError(error).message }, () => process.exit(1)));
  }

  /** Proves what the parent asks for, until the parent ends this process. */
  serve(role: Role, maker: Maker): Promise<never> {
    process.on('message', (message) => {
      const { ask } = messageOf(message);
      if (ask) void within(ask.trace, () => this.answer(ask, maker));
    });
    this.say({ is: 'ready', role });
    return new Promise(() => undefined);
  }

  private async answer({ to, body: text, signers }: Ask, maker: Maker): Promise<void> {
    try {
      const body = parseJSON(text) as CallBody;
      const { uid } = body.txData;
      maker.remember(uid, fromBase58(signers));
      const made = {
        prove: () => maker.attempt(body, () => maker.prove(body)),
        build: () => maker.attempt(body, () => maker.build(body)),
        simulate: () => maker.simulate(body),
      };
      const result = await made[to]();
      this.say({ is: 'made', result: toJSON(result), signers: toBase58(maker.remembered(uid)) });
    } catch (error) {
      if (error instanceof Busy) {
        const { message, retryAfterSeconds } = error;
        this.say({ is: 'busy', message, retryAfterSeconds });
      } else if (error instanceof TokenGone) this.say({ is: 'gone', message: error.message });
      else this.say({ is: 'failed', message: asError(error).message });
    }
  }

  private say(said: Said, then: () => void = () => undefined): void {
    const { rss, heapUsed } = process.memoryUsage();
    const workerKit: Message = { said: { ...said, memory: { rss, heapUsed } } };
    process.send!({ workerKit }, undefined, undefined, then); // without a parent this process ends anyway
  }
}

const toBase58 = (keys: PrivateKey[]) => keys.map((key) => key.toBase58());
const fromBase58 = (keys: string[]) => keys.map((key) => PrivateKey.fromBase58(key));

/** Ends this process with its parent, also while o1js proves, when nothing else runs in this thread. */
function dieWith(pid: number): void {
  const watch = `setInterval(() => { if (process.ppid !== ${pid}) process.kill(process.pid, 'SIGKILL'); }, 500)`;
  new Thread(watch, { eval: true, execArgv: [] }).unref();
}
