import type { PrivateKey } from 'o1js';
import { payerOf } from './account.js';
import { Chain, type Block, type Recipe } from './chain.js';
import { ManualClock, WallClock, type Clock } from './clock.js';
import { accountId, checkWellFormed, MIN_FEE, parseCommand, readCommand, type Command } from './command.js';
import { payout } from './faucet.js';
import { hasFrontier, Trouble, type Faults } from './faults.js';
import { checkGenesis, keyPairs, makeGenesis, treasuryKey, type KeyPair } from './genesis.js';
import { Ledger, type Account } from './ledger.js';
import { LIMITS, type Limits } from './limits.js';
import { Pool, type Payer } from './pool.js';
import { Refusal } from './refusal.js';
import { Store, type BlockRecord, type Genesis } from './store.js';
import { Turns } from './turns.js';
import { Verifier, type Keys } from './verifier.js';

/** How a node is made. */
export interface NodeOptions {
  /** Milliseconds of a slot; default 5000. A data directory keeps the one it was made with. */
  slotTime?: number;
  /** No timer: slots and blocks come by `produce` and `skipSlot` only. */
  manual?: boolean;
  /** The share of slots that get a block, above 0 and at most 1; default 1. */
  fill?: number;
  /** Whether proofs are verified; default true. Signatures always are. */
  proofs?: boolean;
  /** How many funded accounts there are; default 10. */
  accounts?: number;
  /** Nanomina of each funded account; default 1000 MINA. */
  balance?: bigint;
  /** Depth of the transition frontier; default 290. */
  k?: number;
  /** What a command and a block may hold; default mainnet's, LIMITS.mesa. */
  limits?: Limits;
  /** Where the blocks are kept; without it, in memory only. */
  data?: string;
}

/** A rival chain. */
export interface Reorg {
  depth: number; // blocks it abandons
  exclude?: string[]; // hashes that no rival block takes
  empty?: boolean; // rival blocks take nothing
}

const MAX_PAYOUT = 1_000_000_000_000_000n; // 10^6 MINA
const MAX_WAITING = 2048; // Mina: sends that wait for the pool

/** A Mina node over o1js's ledger: pool, chain, clock and what is stored of them. */
export class LedgerNode {
  readonly chain: Chain;
  readonly pool = new Pool();
  readonly slotTime: number;
  readonly k: number;
  readonly accounts: KeyPair[];
  readonly started = Date.now();
  readonly trouble = new Trouble();
  paused = false;
  sent = 0;

  readonly #genesis: Genesis;
  readonly #verifier: Verifier;
  readonly #clock: Clock;
  readonly #fill: number;
  readonly #limits: Limits;
  readonly #treasury: PrivateKey;
  readonly #store?: Store;
  readonly #blocks = new Turns(); // making blocks
  readonly #sends = new Turns(); // verifying and faucet
  readonly #seen = new Map<string, number>(); // slot in which a command came first, by hash
  #waiting = 0;

  private constructor(options: NodeOptions, genesis: Genesis, empty: Ledger, store?: Store) {
    const ledger = empty.fork();
    this.#genesis = genesis;
    this.slotTime = genesis.slotTime;
    this.k = options.k ?? 290;
    this.#fill = options.fill ?? 1;
    this.#limits = options.limits ?? LIMITS.mesa;
    this.#store = store;
    this.#verifier = new Verifier(empty, options.proofs ?? true);
    this.#clock = options.manual ? new ManualClock() : new WallClock(genesis.time, genesis.slotTime);
    this.#treasury = treasuryKey();
    this.accounts = keyPairs(genesis.accounts.length - 1);
    for (const { publicKey, balance } of genesis.accounts) ledger.addAccount(publicKey, BigInt(balance));
    this.chain = new Chain(ledger, genesis.time, JSON.stringify(genesis));
  }

  /**
   * Makes a node, from its data directory if there is anything in it.
   * `onReplay` hears of progress. Throws if the data cannot be used.
   */
  static async open(options: NodeOptions = {}, onReplay?: (done: number, of: number) => void): Promise<LedgerNode> {
    const empty = await Ledger.create();
    const store = options.data === undefined ? undefined : new Store(options.data);
    try {
      const { genesis, blocks = [] } = store?.read() ?? { genesis: undefined };
      if (genesis) checkGenesis(genesis, options);
      const node = new LedgerNode(options, genesis ?? makeGenesis(options), empty, store);
      if (!genesis) store?.append(node.#genesis);
      for (const [i, record] of blocks.entries()) {
        node.#replay(record, i + 1);
        onReplay?.(i + 1, blocks.length);
      }
      return node;
    } catch (error) {
      store?.close();
      throw error;
    }
  }

  #replay(record: BlockRecord, number: number): void {
    const parent = this.chain.find(record.parent);
    if (!parent) throw new Error(`block ${number} of the log has no parent`);
    const commands = record.commands.map(({ hash, zkapp }) => parseCommand(zkapp, hash));
    const { slot, time, salt } = record;
    const block = this.chain.rebuild(parent, { slot, time, salt }, commands);
    if (block.hash !== record.hash) throw new Error(`block ${number} of the log is not what it says it is`);
    this.chain.adopt(block);
    this.#clock.used(block.recipe.slot);
  }

  /** Starts the timer, unless the node was made without one. */
  start(): void {
    if (!(this.#clock instanceof WallClock)) return;
    this.#clock.start(async () => {
      if (!this.paused && Math.random() < this.#fill) await this.produce();
    });
  }

  /** Stops the timer, lets the block in the making become done, and closes the log. */
  async close(): Promise<void> {
    if (this.#clock instanceof WallClock) this.#clock.stop();
    await this.#blocks.take(async () => this.#store?.close());
  }

  get faults(): Faults {
    return this.trouble.faults;
  }

  /** The slot that the next block can have at the earliest. */
  get slot(): number {
    return this.#clock.slot();
  }

  /** The block that answers come from. */
  get visibleTip(): Block {
    return this.chain.below(this.chain.tip, this.faults.lag);
  }

  /** The nonce after those of the account's pooled commands. */
  inferredNonce(account: Account): number {
    const last = this.pool.list(account.publicKey).at(-1);
    return last ? last.nonce + 1 : Number(account.nonce);
  }

  /** Lets a slot pass without a block, on a node without a timer. */
  skipSlot(): void {
    this.#clock.used(this.#clock.slot());
    this.#revalidate();
  }

  /**
   * Admits a command to the pool. The same one again is admitted again.
   * Throws a Refusal, or another Error if the command cannot be read or the
   * node is not ready.
   */
  async send(input: unknown): Promise<Command> {
    const refusal = this.trouble.refusal();
    if (refusal !== undefined) throw new Refusal(refusal);
    if (!hasFrontier(this.faults)) throw new Error('Daemon is bootstrapping');
    if (this.#waiting >= MAX_WAITING) throw Refusal.pool('Overloaded');
    this.#waiting++;
    try {
      return await this.#sends.take(() => this.#admit(input));
    } finally {
      this.#waiting--;
    }
  }

  async #admit(input: unknown): Promise<Command> {
    const command = await readCommand(input);
    const pooled = this.pool.find(command.hash);
    if (pooled) return pooled;
    checkWellFormed(command, this.#limits);
    await this.#verifier.check(command, (publicKey, token) => this.#keysOf(publicKey, token));
    this.pool.add(command, this.#payer(command.payer), this.slot);
    if (!this.#seen.has(command.hash)) this.#seen.set(command.hash, this.slot);
    this.sent++;
    return command;
  }

  /** The keys of an account in the ledger, and those that pooled commands will give it. */
  #keysOf(publicKey: string, token: string): Keys {
    const keys: Keys = new Map();
    const key = this.chain.tip.ledger.account(publicKey, token)?.zkapp?.verificationKey;
    if (key) keys.set(key.hash, key.data);
    const id = accountId(publicKey, token);
    for (const { zkapp } of this.pool.list()) {
      for (const { body } of zkapp.accountUpdates) {
        const set = body.update.verificationKey;
        if (set && accountId(body.publicKey, body.tokenId) === id) keys.set(set.hash, set.data);
      }
    }
    return keys;
  }

  #payer(publicKey: string): Payer | undefined {
    const account = this.chain.tip.ledger.account(publicKey);
    return account && payerOf(account, this.slot);
  }

  #revalidate(): void {
    this.pool.revalidate((publicKey) => this.#payer(publicKey), this.slot);
  }

  /** Makes the next block from the pool. */
  produce(): Promise<Block> {
    return this.#blocks.take(async () => {
      const { tip } = this.chain;
      const block = await this.chain.build(
        tip,
        this.#recipe(this.slot, tip),
        this.pool.list(),
        this.#limits.blockCommands,
      );
      this.#adopt(block);
      this.#revalidate();
      return block;
    });
  }

  #recipe(slot: number, parent: Block): Recipe {
    return { slot: Math.max(slot, parent.recipe.slot + 1), time: Date.now(), salt: crypto.randomUUID() };
  }

  // Written down before it is seen: what a client was told survives a crash.
  #adopt(block: Block): void {
    this.#store?.append({
      ...block.recipe,
      hash: block.hash,
      parent: block.parent!.hash,
      commands: block.commands.map(({ command: { hash, zkapp } }) => ({ hash, zkapp })),
    });
    this.chain.adopt(block);
    this.#clock.used(block.recipe.slot);
  }

  /**
   * Abandons the last blocks for a rival chain that is one block longer. What
   * the rival does not include returns to the pool. Throws if the chain is not
   * that deep.
   */
  reorg({ depth, exclude = [], empty = false }: Reorg): Promise<Block> {
    return this.#blocks.take(async () => {
      const { tip } = this.chain;
      if (!Number.isInteger(depth) || depth < 1 || depth >= tip.height) {
        throw new Error(`depth is a whole number from 1 to ${tip.height - 1}, the blocks after genesis`);
      }
      const abandoned = this.chain.path(depth);
      const returned = abandoned.flatMap((block) => block.commands.map(({ command }) => command));
      let open = [...returned, ...this.pool.list()];
      const rivals: Block[] = [];
      let parent = this.chain.below(tip, depth);
      for (let i = 0; i <= depth; i++) {
        const recipe = this.#recipe(abandoned[i]?.recipe.slot ?? this.slot, parent);
        // A rival's producer knew what was there in its slot, and no more.
        const known = open.filter(({ hash }) => !exclude.includes(hash) && (this.#seen.get(hash) ?? 0) <= recipe.slot);
        parent = await this.chain.build(parent, recipe, empty ? [] : known, this.#limits.blockCommands);
        const taken = new Set(parent.commands.map(({ command }) => command.hash));
        open = open.filter(({ hash }) => !taken.has(hash));
        rivals.push(parent);
      }
      for (const block of rivals) this.#adopt(block);
      const left = new Set(open.map(({ hash }) => hash));
      this.pool.restore(returned.filter(({ hash }) => left.has(hash)));
      this.#revalidate();
      return parent;
    });
  }

  /** Whether a payout that waits will make the account. */
  #isCreated(publicKey: string): boolean {
    const waiting = this.pool.list(this.#treasury.toPublicKey().toBase58());
    return waiting.some(({ zkapp }) => zkapp.accountUpdates.some(({ body }) => body.publicKey === publicKey));
  }

  /**
   * Pays nanomina from the treasury, in the next block. Returns the hash of
   * the command. Throws if the amount is out of range or `to` is no public key.
   */
  async faucet(to: string, amount: bigint): Promise<string> {
    if (amount <= 0n || amount > MAX_PAYOUT) throw new Error('amount is from 1 nanomina to 1000000 MINA');
    return this.#sends.take(async () => {
      const from = this.chain.tip.ledger.account(this.#treasury.toPublicKey().toBase58())!;
      const nonce = this.inferredNonce(from);
      const isNew = !this.chain.tip.ledger.account(to) && !this.#isCreated(to);
      return (await this.#admit(payout({ from: this.#treasury, to, amount, fee: MIN_FEE * 100n, nonce, isNew }))).hash;
    });
  }
}
