import { Account, AccountUpdate, Field, Permissions, type PublicKey, TokenId, type Types } from 'o1js';
import { Retry } from './errors.js';

type AccountJson = Types.Json.Account;
type Zkapp = NonNullable<AccountJson['zkapp']>;
type ZkappCommand = Types.Json.ZkappCommand;
type Update = Types.Json.AccountUpdate;

/** An account's id in maps. */
export const idOf = (publicKey: string, token: string): string => `${publicKey} ${token}`;

/** The accounts that commands touch, each once: fee payers and those of their account updates. */
export function touchedBy(commands: ZkappCommand[]): { publicKey: string; token: string }[] {
  const mina = TokenId.toBase58(TokenId.default);
  const all = commands.flatMap(({ feePayer, accountUpdates }) => [
    { publicKey: feePayer.body.publicKey, token: mina },
    ...accountUpdates.map(({ body }) => ({ publicKey: body.publicKey, token: body.tokenId })),
  ]);
  return [...new Map(all.map((each) => [idOf(each.publicKey, each.token), each])).values()];
}

/** What is in no account that a node shows, or not before a command is in a block. */
type Unknown = 'receiptChainHash' | 'actionStates';

interface Entry {
  account: AccountJson | undefined; // undefined: there is none
  permissions?: Account['permissions']; // as the node gave them, until a command sets others
  unknown: Set<Unknown>;
}

/** What one account update has dispatched, and the action states that it leads from and to. */
export interface Dispatched {
  actions: string[][];
  before: string;
  hash: string;
}

/**
 * The accounts that pending commands touch, as they leave them: Mina's transaction logic
 * (`zkapp_command_logic`) for commands that succeed. Preconditions, permissions and
 * authorizations are not looked at, for what fails is never built upon.
 */
export class Overlay {
  readonly #entries = new Map<string, Entry>();
  readonly #actions = new Map<string, Dispatched[]>();

  /** `accounts` has every account that the commands touch, by its id, undefined for those that do not exist. */
  constructor(
    accounts: ReadonlyMap<string, Account | undefined>,
    commands: ZkappCommand[],
    private readonly creationFee: bigint,
  ) {
    for (const [id, account] of accounts) {
      const permissions = account && { permissions: account.permissions };
      this.#entries.set(id, { account: account && jsonOf(account), ...permissions, unknown: new Set() });
    }
    for (const command of commands) this.#apply(command);
  }

  /** Whether any of the commands touches the account. */
  has(publicKey: PublicKey, tokenId: Field = TokenId.default): boolean {
    return this.#entries.has(idOf(publicKey.toBase58(), TokenId.toBase58(tokenId)));
  }

  /** The account as the commands leave it; undefined if there is none then. What nobody can know yet is refused. */
  account(publicKey: PublicKey, tokenId: Field = TokenId.default): Account | undefined {
    const entry = this.#entries.get(idOf(publicKey.toBase58(), TokenId.toBase58(tokenId)));
    const account = this.supposed(publicKey, tokenId);
    if (!entry || !account) return undefined;
    const what = (name: string) => `the ${name} of ${entry.account!.publicKey}`;
    if (entry.unknown.has('receiptChainHash')) account.receiptChainHash = untold(what('receipt chain hash'));
    if (entry.unknown.has('actionStates') && account.zkapp) {
      // Which of them move on depends on the slot of the block.
      const [now, ...earlier] = account.zkapp.actionState;
      account.zkapp.actionState = [now!, ...earlier.map(() => untold<Field>(what('earlier action states')))];
      account.zkapp.lastActionSlot = untold(what('last action slot'));
    }
    return account;
  }

  /** The same, and what nobody can know yet, receipt chain hash and earlier action states, is as it was before. */
  supposed(publicKey: PublicKey, tokenId: Field = TokenId.default): Account | undefined {
    const entry = this.#entries.get(idOf(publicKey.toBase58(), TokenId.toBase58(tokenId)));
    if (!entry?.account) return undefined;
    const account = Account.fromJSON(entry.account);
    if (entry.permissions) account.permissions = entry.permissions;
    return account;
  }

  /** What the commands dispatch to an account, in their order. */
  actions(publicKey: PublicKey, tokenId: Field = TokenId.default): Dispatched[] {
    return this.#actions.get(idOf(publicKey.toBase58(), TokenId.toBase58(tokenId))) ?? [];
  }

  #apply({ feePayer, accountUpdates }: ZkappCommand): void {
    const { publicKey, fee, nonce } = feePayer.body;
    const payer = this.#entries.get(idOf(publicKey, TokenId.toBase58(TokenId.default)));
    if (payer?.account?.nonce !== nonce) throw new Retry(`the pending command with nonce ${nonce} has no place`);
    payer.account.balance = added(payer.account, -BigInt(fee));
    payer.account.nonce = String(Number(nonce) + 1);
    payer.unknown.add('receiptChainHash');
    for (const update of accountUpdates) this.#update(update);
  }

  #update(json: Update): void {
    const { body } = json;
    const id = idOf(body.publicKey, body.tokenId);
    const entry = this.#entries.get(id)!;
    const isNew = entry.account === undefined;
    const account = (entry.account ??= newAccount(body.publicKey, body.tokenId));
    const { magnitude, sgn } = body.balanceChange;
    // Otherwise the creation fee is taken from what other updates leave.
    const creation = isNew && body.implicitAccountCreationFee ? this.creationFee : 0n;
    account.balance = added(account, (sgn === 'Positive' ? 1n : -1n) * BigInt(magnitude) - creation);
    if (body.incrementNonce) account.nonce = String(Number(account.nonce) + 1);

    const { timing, permissions, tokenSymbol, delegate } = body.update;
    if (timing) account.timing = { isTimed: true, ...timing };
    if (permissions) {
      account.permissions = permissions;
      delete entry.permissions;
    }
    if (tokenSymbol !== null) account.tokenSymbol = tokenSymbol;
    if (delegate !== null) account.delegate = delegate;
    if (body.update.votingFor !== null) {
      account.votingFor = AccountUpdate.fromJSON(json).body.update.votingFor.value.toString();
    }
    if (body.authorizationKind.isSigned || body.authorizationKind.isProved) entry.unknown.add('receiptChainHash');
    const before = (account.zkapp ?? emptyZkapp()).actionState[0]!;
    account.zkapp = changed(account.zkapp ?? emptyZkapp(), json);
    if (body.actions.length > 0) {
      entry.unknown.add('actionStates');
      const dispatched = { actions: body.actions, before, hash: account.zkapp!.actionState[0]! };
      this.#actions.set(id, [...(this.#actions.get(id) ?? []), dispatched]);
    }
  }
}

/** An account's part for contracts after an update; null where it is as in an account without one. */
function changed(before: Zkapp, json: Update): Zkapp | null {
  const { update, actions, authorizationKind } = json.body;
  const zkapp = structuredClone(before);
  const set = update.appState.filter((field) => field !== null).length;
  zkapp.appState = zkapp.appState.map((field, i) => update.appState[i] ?? field);
  if (set > 0) {
    zkapp.provedState = authorizationKind.isProved && (zkapp.provedState || set === zkapp.appState.length);
  }
  if (update.verificationKey) zkapp.verificationKey = update.verificationKey;
  if (update.zkappUri !== null) zkapp.zkappUri = update.zkappUri;
  if (actions.length > 0) {
    const { hash } = AccountUpdate.fromJSON(json).body.actions;
    const next = AccountUpdate.Actions.updateSequenceState(Field(zkapp.actionState[0]!), hash);
    zkapp.actionState[0] = next.toString();
  }
  return JSON.stringify(zkapp) === JSON.stringify(emptyZkapp()) ? null : zkapp;
}

/** o1js reads permissions from a node in a form that it cannot write. */
export const jsonOf = (account: Account) => Account.toJSON({ ...account, permissions: Permissions.initial() });

function newAccount(publicKey: string, token: string): AccountJson {
  const empty = jsonOf(Account.empty());
  const delegate = token === TokenId.toBase58(TokenId.default) ? publicKey : null;
  return {
    ...empty,
    publicKey,
    tokenId: token,
    delegate,
    receiptChainHash: EMPTY_RECEIPT_CHAIN,
    timing: { ...empty.timing, vestingPeriod: '1' },
    zkapp: null,
  };
}

/** Mina: `Receipt.Chain_hash.empty`, the hash with the prefix CodaReceiptEmpty of nothing. */
const EMPTY_RECEIPT_CHAIN = '4836908137238259756355130884394587673375183996506461139740622663058947052555';

function emptyZkapp(): Zkapp {
  const state = AccountUpdate.Actions.emptyActionState().toString();
  return {
    appState: Array.from({ length: StateLength }, () => '0'),
    verificationKey: null,
    zkappVersion: '0',
    actionState: Array.from({ length: 5 }, () => state),
    lastActionSlot: '0',
    provedState: false,
    zkappUri: '',
  };
}

/** 8, and 32 from Mesa on. */
const StateLength = AccountUpdate.dummy().body.update.appState.length;

function added({ publicKey, balance }: AccountJson, change: bigint): string {
  const sum = BigInt(balance) + change;
  if (sum < 0n) throw new Retry(`a pending command spends more than ${publicKey} has`);
  return sum.toString();
}

/** Stands in the place of a value that nobody can know yet; whoever looks at it is refused. */
function untold<T extends object>(what: string): T {
  const refuse = () => {
    throw new Retry(`${what} is not known before the pending commands are in a block`);
  };
  const traps = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'set'] as const;
  return new Proxy({}, Object.fromEntries(traps.map((trap) => [trap, refuse]))) as T;
}
