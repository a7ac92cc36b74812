import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Account,
  AccountUpdate,
  AccountUpdateForest,
  Bool,
  Field,
  method,
  Mina,
  Permissions,
  PrivateKey,
  PublicKey,
  Reducer,
  TokenContract,
  TokenId,
  type Types,
  UInt32,
  UInt64,
  VerificationKey,
} from 'o1js';
import { idOf, Overlay, touchedBy } from '../src/overlay.js';
import { Counter, makeWorld } from './world.js';

type ZkappCommand = Types.Json.ZkappCommand;

const world = await makeWorld();
const { local } = world;
const CREATION_FEE = local.getNetworkConstants().accountCreationFee.toBigInt();

/** What the accounts of commands are now. */
function snapshot(commands: ZkappCommand[]): Map<string, Account | undefined> {
  return new Map(
    touchedBy(commands).map(({ publicKey, token }) => [idOf(publicKey, token), current(publicKey, token)]),
  );
}

function current(publicKey: string, token: string): Account | undefined {
  const [key, tokenId] = [PublicKey.fromBase58(publicKey), TokenId.fromBase58(token)];
  return local.hasAccount(key, tokenId) ? local.getAccount(key, tokenId) : undefined;
}

/** How many values an overlay refuses to tell. */
let untold = 0;

/** An account in JSON, with the ledger's values where the overlay refuses to tell. */
function told(account: Account | undefined, ledger: Account | undefined): unknown {
  if (!account) return null;
  const fill = <T>(value: T, from: T | undefined): T => {
    try {
      void (value as { value?: unknown }).value;
      return value;
    } catch {
      untold++;
      return from!;
    }
  };
  const { zkapp } = account;
  if (zkapp) {
    zkapp.actionState = zkapp.actionState.map((state, i) => fill(state, ledger?.zkapp?.actionState[i]));
    zkapp.lastActionSlot = fill(zkapp.lastActionSlot, ledger?.zkapp?.lastActionSlot);
  }
  return Account.toJSON({ ...account, receiptChainHash: fill(account.receiptChainHash, ledger?.receiptChainHash) });
}

/** Compares what an overlay says of the accounts with what the ledger does, after it has applied the commands. */
function compare(overlay: Overlay, commands: ZkappCommand[]): void {
  for (const { publicKey, token } of touchedBy(commands)) {
    const ledger = current(publicKey, token);
    const predicted = overlay.account(PublicKey.fromBase58(publicKey), TokenId.fromBase58(token));
    assert.deepEqual(told(predicted, ledger), ledger ? Account.toJSON(ledger) : null);
  }
}

/** Applies what makes transactions one by one, and returns them with the accounts as they were before the first. */
class Run {
  readonly commands: ZkappCommand[] = [];
  readonly before = new Map<string, Account | undefined>();

  /** Each is made on the ledger that the one before it leaves, and must take effect. */
  async add(keys: PrivateKey[], body: () => Promise<void>, sender: Mina.TestPublicKey = world.payer): Promise<void> {
    const tx = await Mina.transaction({ sender, fee: 1e8 + this.commands.length }, body);
    await tx.prove();
    tx.sign([sender.key, ...keys]);
    const command = JSON.parse(tx.toJSON()) as ZkappCommand;
    for (const [id, account] of snapshot([command])) if (!this.before.has(id)) this.before.set(id, account);
    this.commands.push(command);
    await tx.send();
  }

  get overlay(): Overlay {
    return new Overlay(this.before, this.commands, CREATION_FEE);
  }

  /** Checks all of it, and that each way to be wrong is noticed. */
  check(): void {
    compare(this.overlay, this.commands);
  }
}

/** A token, and what it is used by knows nothing of overlays. */
class Token extends TokenContract {
  @method override async approveBase(forest: AccountUpdateForest) {
    this.checkZeroBalanceChange(forest);
  }

  @method async mint(to: PublicKey, amount: UInt64) {
    this.internal.mint({ address: to, amount });
  }

  @method async burn(from: PublicKey, amount: UInt64) {
    this.internal.burn({ address: from, amount });
  }
}

class Log extends Counter {
  reducer = Reducer({ actionType: Field });
  override events = { logged: Field };

  /** Sets all of the state by a proof. */
  // eslint-disable-next-line @typescript-eslint/no-misused-promises -- o1js awaits it
  @method override async init() {
    super.init();
  }

  @method async log(value: Field) {
    this.reducer.dispatch(value);
    this.reducer.dispatch(value.add(1));
    this.emitEvent('logged', value);
  }
}

test('a contract that counts', async () => {
  const run = new Run();
  for (const amount of [2, 3, 5]) await run.add([], () => world.counter.add(Field(amount)));
  run.check();
  assert.equal(run.overlay.account(world.counter.address)?.zkapp?.appState[0]?.toString(), '10');
});

test('a token, its accounts and what moves between them as children', async () => {
  const [key, holder, other] = [PrivateKey.random(), PrivateKey.random(), PrivateKey.random()];
  const token = new Token(key.toPublicKey());
  const [one, two] = [holder.toPublicKey(), other.toPublicKey()];
  const run = new Run();
  await run.add([key], async () => {
    AccountUpdate.fundNewAccount(world.payer);
    await token.deploy();
  });
  await run.add([], async () => {
    AccountUpdate.fundNewAccount(world.payer);
    await token.mint(one, UInt64.from(1000));
  });
  await run.add([holder], async () => {
    AccountUpdate.fundNewAccount(world.payer);
    await token.transfer(one, two, UInt64.from(300));
  });
  await run.add([holder], () => token.transfer(one, two, UInt64.from(1)));
  await run.add([other], () => token.burn(two, UInt64.from(100)));
  await run.add([], async () => {
    AccountUpdate.fundNewAccount(world.payer);
    await token.mint(PrivateKey.random().toPublicKey(), UInt64.from(5)); // never signs anything
  });
  run.check();
  assert.equal(run.overlay.account(two, token.deriveTokenId())?.balance.toString(), '201');
});

test('a contract that is deployed, proves its state, emits and dispatches', async () => {
  const key = PrivateKey.random();
  const log = new Log(key.toPublicKey());
  const run = new Run();
  await run.add([key], async () => {
    AccountUpdate.fundNewAccount(world.payer);
    await log.deploy();
  });
  await run.add([], () => log.add(Field(4)));
  assert.equal(local.getAccount(log.address).zkapp!.provedState.toBoolean(), true);
  for (const value of [7, 8]) await run.add([], () => log.log(Field(value)));
  await run.add([key], async () => AccountUpdate.createSigned(log.address).account.tokenSymbol.set('LOG'));
  run.check();
  const [now, before] = run.overlay.account(log.address)!.zkapp!.actionState as [Field, Field];
  assert.equal(now.toString(), local.getAccount(log.address).zkapp!.actionState[0]!.toString());
  assert.throws(() => before.toString(), /earlier action states of B62.* is not known/);
  const lists = run.overlay.actions(log.address);
  assert.deepEqual(
    lists.map(({ actions }) => actions),
    [
      [['8'], ['7']],
      [['9'], ['8']],
    ],
  );
  assert.equal(lists.at(-1)!.hash, local.getAccount(log.address).zkapp!.actionState[0]!.toString());
});

/** A generator of numbers that can be run again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const verificationKey = await VerificationKey.dummy();

/** One account update of a command, with a few things of all that there are. */
function anything(pick: (below: number) => number, key: PrivateKey, isTimed: boolean): void {
  const update = AccountUpdate.create(key.toPublicKey());
  // Some with the whole command's signature, some with an own nonce.
  if (pick(2) === 0) update.requireSignature();
  else {
    update.body.useFullCommitment = update.body.useFullCommitment.or(true);
    update.requireSignature();
  }
  const { body } = update;
  const state = body.update.appState;
  const changes = [
    () => state.forEach((field, i) => pick(2) && AccountUpdate.setValue(field, Field(i * 100 + pick(9)))),
    () => state.forEach((field) => AccountUpdate.setValue(field, Field(0))),
    () => update.account.tokenSymbol.set(['', 'A', 'SIXSIX'][pick(3)]!),
    () => update.account.zkappUri.set(['', 'https://x', 'é"\\'][pick(3)]!),
    () => update.account.votingFor.set(Field(pick(5))),
    () => AccountUpdate.setValue(body.update.delegate, key.toPublicKey()),
    () => AccountUpdate.setValue(body.update.delegate, world.other),
    () => update.account.verificationKey.set(verificationKey),
    () => update.account.permissions.set({ ...Permissions.initial(), setTiming: Permissions.proofOrSignature() }),
    () => (body.actions = actions([[Field(pick(9))], [Field(1), Field(2)]])),
    () => (body.events = events([[Field(pick(9))]])),
    () => isTimed || AccountUpdate.setValue(body.update.timing, timing(pick)),
  ];
  for (let i = pick(4); i >= 0; i--) changes[pick(changes.length)]!();
}

const actions = (list: Field[][]) =>
  list.reduce((all, each) => AccountUpdate.Actions.pushEvent(all, each), AccountUpdate.Actions.empty());
const events = (list: Field[][]) =>
  list.reduce((all, each) => AccountUpdate.Events.pushEvent(all, each), AccountUpdate.Events.empty());
const timing = (pick: (below: number) => number) => ({
  initialMinimumBalance: UInt64.from(pick(1000)),
  cliffTime: UInt32.from(pick(10)),
  cliffAmount: UInt64.from(pick(100)),
  vestingPeriod: UInt32.from(1 + pick(5)),
  vestingIncrement: UInt64.from(pick(7)),
});

const someKeys = () => Array.from({ length: 4 }, () => PrivateKey.random());

/** A few random commands, all of which take effect. */
async function randomRun(pick: (below: number) => number, keys = someKeys()): Promise<Run> {
  const run = new Run();
  for (let n = 1 + pick(5); n >= 0; n--) {
    const chosen = [pick(4), pick(4)];
    await run.add(
      chosen.map((i) => keys[i]!),
      async () => {
        for (const i of new Set(chosen)) {
          const key = keys[i]!.toPublicKey();
          const isNew = !local.hasAccount(key);
          const pays = AccountUpdate.createSigned(world.payer);
          const amount = UInt64.from(10_000 + pick(1000));
          // Paid for by what it gets, or by the payer.
          const implicit = isNew && pick(2) === 0;
          if (isNew && !implicit) pays.balance.subInPlace(UInt64.from(CREATION_FEE));
          const receiver = pays.send({ to: key, amount: implicit ? amount.add(UInt64.from(CREATION_FEE)) : amount });
          receiver.body.implicitAccountCreationFee = Bool(implicit);
          anything(pick, keys[i]!, !isNew && local.getAccount(key).timing.isTimed.toBoolean());
        }
      },
    );
  }
  return run;
}

test('random commands', async (t) => {
  const seeds = Number(process.env.OVERLAY_SEEDS ?? (process.env.TEST_LANE ? 12 : 3));
  let commands = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const [pick, keys] = [random(seed), someKeys()];
    for (const accounts of ['new', 'known']) {
      const run = await randomRun(pick, keys);
      commands += run.commands.length;
      await t.test(`seed ${seed}, ${accounts} accounts`, () => run.check());
    }
  }
  t.diagnostic(`${commands} commands, ${untold} values that nobody can know`);
});

test('an overlay that is wrong is noticed', async (t) => {
  const run = await randomRun(random(1));
  await run.add([], () => world.counter.add(Field(9)));
  const wrong: [string, (commands: ZkappCommand[]) => void][] = [
    ['one command less', (commands) => commands.pop()],
    ['one account update less', (commands) => commands[0]!.accountUpdates.splice(0, 1)],
    ['another state', (commands) => (commands.at(-1)!.accountUpdates[0]!.body.update.appState[0] = '77')],
    ['another fee', (commands) => (commands[0]!.feePayer.body.fee = '1')],
    ['another amount', (commands) => (commands[0]!.accountUpdates[0]!.body.balanceChange.magnitude = '3')],
  ];
  for (const [name, spoil] of wrong) {
    await t.test(name, () => {
      const commands = structuredClone(run.commands);
      spoil(commands);
      const overlay = new Overlay(run.before, commands, CREATION_FEE);
      assert.throws(() => compare(overlay, run.commands), assert.AssertionError);
    });
  }
});

test('what nobody can know is refused, not guessed', async () => {
  const run = new Run();
  await run.add([], () => world.counter.add(Field(1)));
  const account = run.overlay.account(world.counter.address)!;
  assert.throws(() => account.receiptChainHash.toString(), /receipt chain hash of B62.* is not known before/);
  assert.throws(() => account.receiptChainHash.toBigInt(), /not known/);
  const again = structuredClone(run.commands);
  assert.throws(() => new Overlay(run.before, [...run.commands, ...again], CREATION_FEE), /with nonce .* has no place/);
  again[0]!.accountUpdates[0]!.body.balanceChange = { magnitude: '5', sgn: 'Negative' };
  assert.throws(() => new Overlay(run.before, again, CREATION_FEE), /spends more than B62.* has/);
});
