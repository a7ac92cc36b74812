import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { preferNative } from '@mina-sequencer/worker-kit';
import { PrivateKey } from 'o1js';
import { Keys } from '../src/keys.js';
import type { Crash } from './crash.js';
import { Gate, type Hook } from './gate.js';
import { Ledger, type Account } from './ledger.js';
import { freePort, start, type Program } from './processes.js';
import { Sequencer } from './sequencer.js';

const WORKERS = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const SEQUENCER = join(WORKERS, '../bin/sequencer');
const SIGNER = join(WORKERS, 'signer/bin/signer.js');

/** Seconds between two blocks, where a test says nothing else. */
const SLOT = 2;
/** How deep a failure must stand before the transaction is proved again. */
const SETTLE_DEPTH = 3;
/** Slots in the pool after which the sequencer raises the fee. */
const BUMP_AFTER = 3;

/** The electors of the round; their keys are known, for they sign batches. */
export const electorKeys = Array.from({ length: 8 }, (_, i) => PrivateKey.fromBigInt(2000n + BigInt(i)));

/** A worker program, and the gate before it. */
export class VotingWorker {
  readonly gate: Gate;
  #program?: Program;
  readonly #run: () => Promise<Program>;

  constructor(
    readonly accountId: string,
    port: number,
    run: () => Promise<Program>,
  ) {
    this.gate = new Gate(port);
    this.#run = run;
  }

  async start(): Promise<void> {
    this.#program = await this.#run();
    await this.gate.open();
  }

  get pid(): number {
    return this.#program!.pid;
  }

  /** kill -9 */
  async kill(): Promise<void> {
    await this.#program?.kill();
  }

  /** Starts it again once it is dead; connections are refused in between. */
  async restart(): Promise<void> {
    await this.#program?.gone;
    await this.gate.close();
    await this.start();
  }

  /** The same, but the gate keeps calls until the worker is back. */
  restartHeld(): Promise<void> {
    const restarted = (async () => {
      await this.#program?.gone;
      this.#program = await this.#run();
    })();
    this.gate.hold(restarted);
    return restarted;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#program?.stop(), this.gate.close()]);
  }

  /** Lines of its log with this message about this transaction, since its last start. */
  logged(message: string, uid: string): Record<string, unknown>[] {
    return (this.#program?.output() ?? '')
      .split('\n')
      .filter((line) => line.includes(`"${message}"`) && line.includes(`"uid":"${uid}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

/** Everything that runs: Redis, a Mina node, voting workers and the sequencer. */
export class World {
  readonly workers: VotingWorker[] = [];
  ledger!: Ledger;
  sequencer!: Sequencer;

  readonly #folder: string;
  /** on or off. */
  readonly proofs: string;
  readonly #programs: Program[] = [];
  #redis = 0;
  readonly #secret = randomBytes(32).toString('base64url');
  readonly #token = randomBytes(16).toString('hex');
  readonly #keys = new Keys(Buffer.from(this.#secret, 'utf8'));

  readonly #slot: number;
  readonly #electors: PrivateKey[];

  /** Whatever the programs write goes into the folder. A slot is in seconds. */
  constructor(folder: string, proofs: boolean, { slot = SLOT, electors = electorKeys } = {}) {
    this.#folder = folder;
    this.proofs = proofs ? 'on' : 'off';
    this.#slot = slot;
    this.#electors = electors;
  }

  /** Starts everything, with a worker for each funded account. */
  async start(workers: number, env = {}): Promise<void> {
    await this.startChain(workers);
    // One after the other, so that the second finds the first one's compiled contracts.
    for (const account of await this.ledger.accounts()) await this.startWorker(account);
    await this.startSequencer(
      this.workers.map(({ accountId, gate }) => [accountId, gate.url]),
      env,
    );
  }

  /** Starts everything, with one sender whose worker only signs, and so many provers without a key. */
  async startPool(provers: number, env = {}): Promise<Account> {
    await this.startChain(1);
    const [payer] = (await this.ledger.accounts()) as [Account];
    const port = await freePort();
    const [key, policy] = ['payer.key', 'policy.json'].map((name) => join(this.#folder, name)) as [string, string];
    await writeFile(key, payer.privateKey, { mode: 0o600 });
    const limits = { maxFee: '5', maxFeesPerDay: '100', maxOutflow: '2', maxOutflowPerDay: '20', zkApps: 'any' };
    await writeFile(policy, JSON.stringify({ ...limits, types: 'any' }));
    await this.#start('signer', [process.execPath, SIGNER], /"listening"/, {
      PORT: `${port}`,
      SIGNER_KEY_FILE: key,
      SIGNER_POLICY: policy,
      SIGNER_STATE: join(this.#folder, 'signer'),
      SIGNER_TOKEN: this.#token,
    });
    for (let i = 0; i < provers; i++) {
      const more = { PAYER_KEY: undefined, PROVER: 'on', PROVERS: '1', WORKER_STORE: join(this.#folder, `store-${i}`) };
      await this.startWorker({ publicKey: `prover ${i}`, privateKey: '' }, more);
    }
    const urls = this.workers.map(({ gate }) => gate.url).join();
    await this.startSequencer([[payer.publicKey, `http://127.0.0.1:${port}`]], { SEQUENCER_PROVERS: urls, ...env });
    return payer;
  }

  /** Starts Redis and a Mina node with so many funded accounts. */
  async startChain(accounts: number): Promise<void> {
    this.#redis = await freePort();
    const [node] = await Promise.all([this.#startNode(accounts), this.#startRedis(this.#redis)]);
    this.ledger = new Ledger(node, this.#keys);
    const electors = this.#electors.map((key) => key.toPublicKey().toBase58());
    await writeFile(join(this.#folder, 'electors.json'), JSON.stringify(electors));
  }

  /** Starts a worker for an account, which `env` may make a wrong one; by default the voting worker. */
  async startWorker({ publicKey, privateKey }: Account, env = {}, program = 'src/worker.js'): Promise<VotingWorker> {
    const worker = await this.#worker(publicKey, privateKey, env, program);
    this.workers.push(worker);
    await worker.start();
    return worker;
  }

  /** Starts the sequencer with senders, each an account and the URL of a worker. */
  async startSequencer(senders: [accountId: string, url: string][], env = {}): Promise<void> {
    this.sequencer = new Sequencer(await this.#serve(senders, env));
  }

  /** Sets what happens to calls on their way, at every worker. */
  hook(hook: Hook): void {
    for (const { gate } of this.workers) gate.hook = hook;
  }

  /** Has the worker crash that makes this transaction. */
  async crash(crash: Crash): Promise<void> {
    await writeFile(this.#crashFile, JSON.stringify(crash));
  }

  workerBehind(gate: Gate): VotingWorker {
    return this.workers.find((worker) => worker.gate === gate)!;
  }

  get #crashFile(): string {
    return join(this.#folder, 'crash.json');
  }

  /** Ends everything that was started, the sequencer first. */
  async stop(): Promise<void> {
    await this.#programs.pop()?.stop();
    await Promise.all([...this.workers, ...this.#programs].map((each) => each.stop()));
  }

  async #startRedis(port: number): Promise<void> {
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', this.#folder];
    await this.#start('redis', ['redis-server', ...args], /Ready to accept connections/);
  }

  async #startNode(accounts: number): Promise<string> {
    const args = [
      '--port',
      '0',
      '--block-time',
      `${this.#slot}s`,
      '--proofs',
      this.proofs,
      '--accounts',
      `${accounts}`,
    ];
    const program = join(WORKERS, 'ledger-node/dist/src/bin.js');
    const { ready } = await this.#start(
      'node',
      [process.execPath, program, ...args],
      /GraphQL\s+(http\S+)\/graphql[^]*Ready after/,
      { O1JS_BACKEND: preferNative().backend },
    );
    return ready[1]!;
  }

  async #worker(accountId: string, privateKey: string, more: object, main: string): Promise<VotingWorker> {
    const port = await freePort();
    const name = `worker-${this.workers.length + 1}`;
    const env = {
      PORT: `${port}`,
      MINA_URL: this.ledger.graphql,
      ARCHIVE_URL: this.ledger.archive,
      PAYER_KEY: privateKey,
      VOTING_ACCOUNT_SECRET: this.#secret,
      VOTING_ELECTORS_FILES: join(this.#folder, 'electors.json'),
      WORKER_TOKEN: this.#token,
      WORKER_STORE: join(this.#folder, 'store'),
      PROOFS: this.proofs,
      PROVERS: process.env['PROVERS'] ?? '1',
      CRASH_FILE: this.#crashFile,
      ...more,
    };
    const [crash, program] = ['e2e/crash.js', main].map((file) => join(WORKERS, 'voting/dist', file));
    return new VotingWorker(accountId, port, () =>
      start(name, [process.execPath, '--import', crash!, program!], { env, logs: this.#folder, ready: /"listening"/ }),
    );
  }

  async #serve(senders: [accountId: string, url: string][], more: object): Promise<string> {
    const env = {
      SEQUENCER_ADDR: '127.0.0.1:0',
      SEQUENCER_REDIS_URL: `redis://127.0.0.1:${this.#redis}`,
      SEQUENCER_MINA_URL: this.ledger.graphql,
      SEQUENCER_ARCHIVE_URL: this.ledger.archive,
      SEQUENCER_SENDERS: senders.map((sender) => sender.join('=')).join(','),
      SEQUENCER_WORKER_TOKEN: this.#token,
      SEQUENCER_CYCLE_INTERVAL: '1s',
      SEQUENCER_INCLUSION_INTERVAL: '500ms',
      SEQUENCER_SETTLE_DEPTH: `${SETTLE_DEPTH}`,
      SEQUENCER_BUMP_AFTER: `${BUMP_AFTER}`,
      SEQUENCER_RETRY_DELAY: '1s',
      SEQUENCER_RETRY_DELAY_MAX: '3s',
      SEQUENCER_LOG_FORMAT: 'json',
      SEQUENCER_LOG_LEVEL: 'debug',
      ...more,
    };
    const { ready } = await this.#start('sequencer', [SEQUENCER, 'serve'], /"msg":"serving","addr":"([^"]+)"/, env);
    return ready[1]!;
  }

  async #start(name: string, command: [string, ...string[]], ready: RegExp, env = {}): Promise<Program> {
    const program = await start(name, command, { env, logs: this.#folder, ready });
    this.#programs.push(program);
    return program;
  }
}
