import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AccountUpdate,
  Field,
  method,
  Mina,
  PrivateKey,
  Provable,
  SmartContract,
  State,
  state,
  Transaction,
} from 'o1js';
import { sharedCache } from '../src/cache.js';
import {
  createWorker,
  preferNative,
  type Attempt,
  type Dispatcher,
  type Log,
  type TxnResult,
  type Worker,
  type WorkerOptions,
} from '../src/index.js';

export class Counter extends SmartContract {
  @state(Field) num: State<Field> = State<Field>();
  /** Called whenever `add` runs on values: when a transaction is built, and when it is proved. */
  static onAdd: () => void = () => undefined;

  override init() {
    super.init();
    this.num.set(Field(0));
  }

  @method async add(amount: Field) {
    const num = this.num.getAndRequireEquals();
    amount.assertNotEquals(Field(0), 'adding nothing is not allowed');
    Provable.asProver(() => Counter.onAdd());
    this.num.set(num.add(amount));
  }

  /** The payer's signature is part of what is proved. */
  @method async addSigned(amount: Field) {
    this.sender.getAndRequireSignature();
    const num = this.num.getAndRequireEquals();
    this.num.set(num.add(amount));
  }
}

/** A chain in process with a counter on it. */
export interface World {
  local: Awaited<ReturnType<typeof Mina.LocalBlockchain>>;
  payer: Mina.TestPublicKey;
  other: Mina.TestPublicKey;
  counter: Counter;
  /** What the counter stands at. */
  count(): bigint;
  /** An attempt with the payer's next nonce. */
  attempt(values?: Partial<Attempt>): Attempt;
  /** Brings signed bytes into a block; throws if a signature, a proof or the state is wrong. */
  land(signed: string): Promise<void>;
}

export async function makeWorld({
  proofsEnabled = false,
  cache,
}: { proofsEnabled?: boolean; cache?: string } = {}): Promise<World> {
  preferNative();
  const local = await Mina.LocalBlockchain({ proofsEnabled });
  Mina.setActiveInstance(local);
  if (proofsEnabled) await Counter.compile({ cache: sharedCache(cache) });
  const [payer, other, deployer] = local.testAccounts;
  const key = PrivateKey.random();
  const counter = new Counter(key.toPublicKey());
  const tx = await Mina.transaction({ sender: deployer, fee: 1e8 }, async () => {
    AccountUpdate.fundNewAccount(deployer);
    await counter.deploy();
  });
  await tx.prove();
  await tx.sign([deployer.key, key]).send();
  return {
    local,
    payer,
    other,
    counter,
    count: () => local.getAccount(counter.address).zkapp!.appState[0]!.toBigInt(),
    attempt: (values = {}) => ({
      number: 1,
      nonce: Number(local.getAccount(payer).nonce),
      fee: '100000000',
      validUntil: 1000,
      memo: 'sixteen-and-six-chars',
      previous: [],
      ...values,
    }),
    land: async (signed) => {
      Mina.setActiveInstance(local);
      await Transaction.fromJSON(signed).send();
    },
  };
}

/** A worker under test and what it logged. */
export interface Served {
  worker: Worker;
  url: string;
  lines: string[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: TxnResult;
}

/** Serves dispatchers for the world's payer on a free port. */
export async function serve(
  world: World,
  dispatchers: Record<string, Dispatcher>,
  options: Partial<WorkerOptions> = {},
): Promise<Served> {
  const lines: string[] = [];
  const worker = await createWorker({
    payer: world.payer.key,
    network: { instance: world.local },
    port: 0,
    dispatchers,
    log: collect(lines),
    ...options,
  });
  const url = await worker.listen();
  return {
    worker,
    url,
    lines,
    post: (path, body, headers = {}) =>
      ask(url + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path) => ask(url + path),
  };
}

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as TxnResult };
}

export function collect(lines: string[]): Log {
  const write = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }));
  return { info: write, warn: write, error: write };
}

/** A command as it is named to what is made behind it. */
export interface Ahead {
  uid: string;
  nonce: number;
  hash: string;
  signed: string;
}

export const pending = (uid: string, nonce: number, { hash, signed }: TxnResult): Ahead => ({
  uid,
  nonce,
  hash,
  signed: signed!,
});

/** The body of a call of the world's payer. */
export function call(world: World, uid: string, attempt: Attempt, data: object = {}, type = 'ADD') {
  return {
    txData: { uid, type, data },
    sender: { accountId: world.payer.toBase58(), queue: 'q', retries: 0 },
    attempt,
  };
}

/** A folder that is gone when the test is over. */
export async function folder(t: { after(work: () => Promise<void>): void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'worker-kit-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A promise and its key. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
