import { join } from 'node:path';
import { PublicKey } from 'o1js';
import type { FastifyInstance } from 'fastify';
import { sharedCache } from './cache.js';
import { Calls, type Lines } from './calls.js';
import { dummyProof } from './dummy.js';
import { asError, codes, Failure, failureOf } from './errors.js';
import { serve } from './http.js';
import { Line, overdue } from './line.js';
import { standardLog, withFields, type Log } from './log.js';
import { Maker, type Proves } from './maker.js';
import { Network } from './network.js';
import { readPayer, type Payer } from './payer.js';
import { preferNative, type Prover } from './prover.js';
import { Parent, Provers, type Role } from './provers.js';
import { Results } from './results.js';
import { Signer } from './signer.js';
import type { Dispatcher, WorkerOptions } from './types.js';
import { o1jsVersion } from './version.js';

/** A worker that has compiled its contracts. */
export interface Worker {
  /** The payer's public key: the sequencer's accountId; '' of a prover. */
  readonly accountId: string;
  /**
   * Serves the protocol and returns the URL. From then on SIGTERM and SIGINT
   * end the process once the running proofs are answered; a second one at once.
   * In a process that proves for another one, it serves that one and never returns.
   */
  listen(): Promise<string>;
  /** Takes nothing on any more, waits for the running proofs, and stops serving. */
  close(): Promise<void>;
}

/**
 * Reads the payer's key, compiles the contracts and opens the store. Throws
 * where the configuration is wrong or a contract does not compile. It needs no
 * Mina node to be there. With several `provers`, other processes compile and
 * prove, and this one does neither.
 */
export async function createWorker(options: WorkerOptions): Promise<Worker> {
  const parent = Parent.find();
  if (!parent) return createServer(options);
  try {
    return await createProver(options, parent);
  } catch (error) {
    return parent.refuse(error);
  }
}

async function createServer(options: WorkerOptions): Promise<Worker> {
  const log = options.log ?? standardLog();
  const { host, port, token } = address(options);
  const count = options.provers ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > 32) {
    throw new Error(`provers: ${String(count)} is no whole number from 1 to 32`);
  }
  const several = count > 1;
  const callSeconds = seconds('callSeconds', options.callSeconds ?? 1800);
  const callbackSeconds = seconds('callbackSeconds', options.callbackSeconds ?? 300);
  const joinSeconds = seconds('joinSeconds', options.joinSeconds ?? 25);
  const { payer, signer, network, role, prover } = await setUp(options, log);
  // Side by side with others: in processes of its own or, of a prover of a pool, in those of others.
  const builds = payer ? several && payer.key !== undefined : true;
  const store = join(options.store ?? '.worker-store', role.accountId || 'prover');
  const results = await Results.open(store, options.maxResults ?? 1000);
  const maxWaiting = options.maxWaiting ?? (payer ? 8 : 0);
  const maker = new Maker(options.dispatchers, payer, network, log, !several, signer);
  const limit = {
    seconds: callSeconds,
    late: () =>
      new Failure(
        codes.notSent,
        `${overdue(callSeconds)}, and nothing else can be made before: restart the worker, and have dispatch and signers give up by themselves, or set callSeconds`,
      ),
  };
  const proving = several ? new Line<Proves>(maxWaiting, []) : new Line<Proves>(maxWaiting, [maker], limit);
  const lines = { proving, signing: several ? new Line(maxWaiting, undefined, limit) : proving };
  let provers: Provers | undefined;
  if (several) provers = await Provers.start({ provers: count, role, line: proving, maker, log, callSeconds });
  else await compile(options, network.proofs, prover, log);

  const o1js = o1jsVersion();
  const describe = () => {
    const { rss, heapUsed } = process.memoryUsage();
    const memory = [{ rss, heapUsed }, ...(provers?.memory ?? [])].reduce((sum, each) => ({
      rss: sum.rss + each.rss,
      heapUsed: sum.heapUsed + each.heapUsed,
    }));
    return {
      ...role,
      // What is signed on trial would need the payer's key.
      capabilities: [
        'prove',
        'resign',
        ...(payer ? ['dispatch'] : []),
        'ahead',
        ...(payer?.key ? ['simulate'] : []),
        ...(several ? ['several'] : []),
        ...(builds ? ['builds'] : []),
      ],
      ...(signer && { signer: signer.name }),
      network: network.name,
      o1js,
      proofs: network.proofs,
      prover: prover.backend,
      provers: count,
      memory,
      proofsLastHour: calls.proofsLastHour,
    };
  };
  const calls = new Calls(maker, lines, results, log, joinSeconds);
  const { dispatchers } = options;
  const app = serve({ dispatchers, calls, maker, builds, line: proving, token, callbackSeconds, describe });
  return new RunningWorker(role.accountId, app, lines, calls, provers, signer, log, { host, port });
}

/** What a process does that proves for the one that has started it. */
async function createProver(options: WorkerOptions, parent: Parent): Promise<Worker> {
  const log = withFields(options.log ?? standardLog(), { process: parent.number });
  const { payer, network, role, prover } = await setUp(options, log);
  await compile(options, network.proofs, prover, log);
  const maker = new Maker(options.dispatchers, payer, network, log);
  return {
    accountId: role.accountId,
    listen: () => parent.serve(role, maker),
    close: () => Promise.resolve(), // it is for the parent to say when
  };
}

interface Means {
  /** Undefined of a prover. */
  payer: Payer | undefined;
  signer: Signer | undefined;
  network: Network;
  role: Role;
  prover: Prover;
}

/** What each process of a worker needs. */
async function setUp(options: WorkerOptions, log: Log): Promise<Means> {
  const prover = preferNative();
  const signer = options.signer && new Signer(options.signer);
  const payer = payerOf(options);
  const role = { accountId: payer?.publicKey.toBase58() ?? '', types: checkTypes(options.dispatchers) };
  const network = new Network(options.network, options.proofsEnabled ?? true);
  network.use();
  await network.open().catch((error: unknown) => {
    // It may come; until then calls are answered with the same message.
    const { message, exception } = failureOf(error, 'asking the Mina node');
    log.warn({ exception }, message);
  });
  return { payer, signer, network, role, prover };
}

function payerOf({ payer, signer, prover }: WorkerOptions): Payer | undefined {
  if ([payer, signer, prover || undefined].filter((given) => given !== undefined).length !== 1)
    throw new Error(
      'give payer, for the key of the fee payer, or signer, where another process has it, or prover, to prove for any without one; not both',
    );
  if (prover) return undefined;
  if (payer !== undefined) {
    const key = readPayer(payer);
    return { publicKey: key.toPublicKey(), key };
  }
  try {
    return { publicKey: PublicKey.fromBase58(signer!.accountId) };
  } catch {
    throw new Error('signer.accountId: it is no public key (B62…)');
  }
}

class RunningWorker implements Worker {
  private closing: Promise<void> | undefined;

  constructor(
    readonly accountId: string,
    private readonly app: FastifyInstance,
    private readonly lines: Lines,
    private readonly calls: Calls,
    private readonly provers: Provers | undefined,
    private readonly signer: Signer | undefined,
    private readonly log: Log,
    private readonly at: { host: string; port: number },
  ) {}

  async listen(): Promise<string> {
    const url = await this.app.listen(this.at);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, this.onSignal);
    this.log.info({ url, accountId: this.accountId }, 'listening');
    return url;
  }

  close(): Promise<void> {
    this.closing ??= (async () => {
      this.signer?.close();
      await Promise.all([this.lines.proving.close(), this.lines.signing.close()]);
      await this.calls.idle(); // who has asked may be gone, and asks the next process
      await this.app.close();
      await this.provers?.close();
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, this.onSignal);
    })();
    return this.closing;
  }

  private readonly onSignal = (signal: NodeJS.Signals) => {
    if (this.closing) process.exit(1);
    this.log.info({ signal, runningSeconds: this.lines.proving.runningSeconds }, 'shutting down');
    // o1js's threads would keep the process alive.
    void this.close().finally(() => process.exit(0));
  };
}

/** Compiles each contract once, unless proofs are off, and makes the dummy proof that simulations have. */
async function compile(
  { dispatchers, cache }: WorkerOptions,
  proofsEnabled: boolean,
  { backend, reason }: Prover,
  log: Log,
): Promise<void> {
  const contracts = [...new Set(Object.values(dispatchers).flatMap(({ contracts }) => contracts ?? []))];
  if (contracts.length > 0) await dummyProof(cache);
  if (!proofsEnabled) {
    log.warn({}, 'proofs are off: only networks that do not check them take these transactions');
    return;
  }
  if (backend === 'native') log.info({ prover: backend }, 'proves with native code');
  else log.warn({ prover: backend, reason }, 'proves without native code, about five times slower');
  for (const [i, contract] of contracts.entries()) {
    const { name } = contract;
    const progress = { contract: name, number: i + 1, of: contracts.length };
    log.info(progress, 'compiling');
    const begun = Date.now();
    try {
      await contract.compile({ cache: sharedCache(cache) });
    } catch (error) {
      const { message } = asError(error);
      throw new Error(`dispatchers: the contract ${name} does not compile: ${message}`, { cause: error });
    }
    log.info({ ...progress, ms: Date.now() - begun }, 'compiled');
  }
}

function checkTypes(dispatchers: Record<string, Dispatcher>): string[] {
  const types = Object.keys(dispatchers);
  if (types.length === 0) throw new Error('dispatchers: name at least one type');
  for (const type of types) {
    if (!/^[A-Za-z0-9._:-]{1,128}$/.test(type))
      throw new Error(`dispatchers: ${JSON.stringify(type)} is no type: use 1 to 128 of A-Z a-z 0-9 . _ : -`);
    const retries = dispatchers[type]!.maxRetries;
    if (retries !== undefined && !(Number.isInteger(retries) && retries >= 0)) {
      throw new Error(`dispatchers.${type}.maxRetries: ${retries} is no whole number from 0`);
    }
  }
  return types;
}

/** A timer cannot wait for longer than 24 days. */
function seconds(name: string, value: number): number {
  if (value > 0 && value <= 2_000_000) return value;
  throw new Error(`${name}: ${value} is no number of seconds above 0, and at most 2000000`);
}

/** A worker signs with a key, so it is not offered to a network without a token. */
function address({ host = '127.0.0.1', port, token }: WorkerOptions): { host: string; port: number; token: string } {
  const secret = (token ?? process.env.WORKER_TOKEN ?? '').trim();
  if (!secret && !['127.0.0.1', '::1', 'localhost'].includes(host)) {
    throw new Error(`host: ${host} is reachable from outside; set token, or WORKER_TOKEN in the environment, too`);
  }
  const number = port ?? Number(process.env.PORT ?? 3000);
  if (!Number.isInteger(number) || number < 0 || number > 65535) {
    throw new Error('port: it, or PORT in the environment, is no port number');
  }
  return { host, port: number, token: secret };
}
