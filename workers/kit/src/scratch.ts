import { isDeepStrictEqual } from 'node:util';
import {
  type Account,
  AccountUpdate,
  type Bool,
  Field,
  initializeBindings,
  Ledger,
  Permissions,
  PrivateKey,
  type PublicKey,
  Transaction,
  type Types,
} from 'o1js';
import { jsonOf } from './overlay.js';

type AccountJson = Types.Json.Account;
type UpdateJson = Types.Json.AccountUpdate;

/** Why one part of a command fails: index 0 is the fee payer, i the i-th account update. */
export interface PartFailure {
  index: number;
  names: string[];
}

/** Mina's transaction logic as o1js has it, over accounts that are given, whoever has their keys. */
export class Scratch {
  private readonly ledger = Ledger.create();

  /**
   * `networkState` is a view of the chain in JSON, as o1js has it. What o1js signs has to be for devnet
   * meanwhile. Throws where this o1js keeps accounts in another form than is known here.
   */
  constructor(
    accounts: Account[],
    private readonly networkState: string,
  ) {
    this.fill(accounts);
  }

  /** It can be made once this has returned. */
  static ready(): Promise<void> {
    return initializeBindings();
  }

  /**
   * Applies a command in JSON and returns what fails of it, in the order of its parts. Proofs are not
   * looked at; signatures are, as those of devnet. Throws in Mina's words where no block could hold it.
   */
  apply(command: string, creationFee: bigint): PartFailure[] {
    try {
      this.ledger.applyJsonTransaction(command, creationFee.toString(), this.networkState);
      return [];
    } catch (error) {
      const failures = readFailures(error instanceof Error ? error.message : String(error));
      if (failures) return failures;
      throw error;
    }
  }

  /**
   * The ledger makes accounts that have nothing but a balance, and changes them by commands alone. So
   * each gets a twin that a command may bring into its form without a signature, and takes from there
   * what has a form of its own in OCaml; the rest are numbers.
   */
  private fill(accounts: Account[]): void {
    const all = [...accounts].sort(lastTokensFirst).map((account) => {
      const twin = mlKey(PrivateKey.random().toPublicKey());
      const json = jsonOf(account);
      json.permissions = permissionsOf(account);
      this.ledger.addAccount(twin.ml, json.balance);
      const record = this.find(twin.ml, recordLength);
      record[at.permissions] = opened(record[at.permissions]);
      return { account, json, twin, record };
    });
    this.shape(all.map(({ json, twin }) => shaping(twin.key, json)));
    for (const { account, json, twin } of all) {
      const own = mlKey(account.publicKey);
      this.ledger.addAccount(own.ml, json.balance);
      const record = this.find(own.ml, recordLength);
      const from = this.find(twin.ml, recordLength);
      for (const i of [at.symbol, at.timing, at.permissions, at.zkapp]) record[i] = from[i];
      const token = constantOf(account.tokenId);
      record[at.token] = this.find(own.ml, idLength)[at.token] = token;
      record[at.delegate] = json.delegate === null ? none : from[at.delegate];
      record[at.nonce] = numberLike(record[at.nonce], json.nonce);
      record[at.receipt] = constantOf(account.receiptChainHash);
      if (json.zkapp) {
        const zkapp = (record[at.zkapp] as Ml)[1] as Ml;
        zkapp[inZkapp.actionState] = json.zkapp.actionState.reduceRight<unknown>(
          (rest, state) => [0, constantOf(Field(state)), rest],
          none,
        );
        zkapp[inZkapp.provedState] = Number(json.zkapp.provedState);
      }
      this.compare(own.ml, token, json);
    }
  }

  /** Has a command without signatures, but for its payer's, bring accounts into their form. */
  private shape(updates: UpdateJson[]): void {
    const payer = PrivateKey.random();
    this.ledger.addAccount(mlKey(payer.toPublicKey()).ml, '0');
    const body = { publicKey: payer.toPublicKey().toBase58(), fee: '0', validUntil: null, nonce: '0' };
    const command = { feePayer: { body, authorization: '' }, accountUpdates: updates, memo: emptyMemo };
    const tx = Transaction.fromJSON(command);
    tx.transaction.feePayer.lazyAuthorization = { kind: 'lazy-signature' };
    this.ledger.applyJsonTransaction(tx.sign([payer]).toJSON(), '0', this.networkState);
  }

  /** What of the ledger's own arrays begins with a key and has a length: the id, or the record, of its account. */
  private find(key: Ml, length: number): Ml {
    const open: unknown[] = [(this.ledger as unknown as { value: Ml }).value];
    const seen = new Set<unknown>();
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (!Array.isArray(next) || seen.has(next)) continue;
      seen.add(next);
      if (next[1] === key && next.length === length) return next as Ml;
      for (const each of next) open.push(each);
    }
    throw unknownForm();
  }

  /** What is read back is what was given, or nothing is said of it. */
  private compare(key: Ml, token: unknown, wanted: AccountJson): void {
    const found = this.ledger.getAccount(key as never, token as never);
    if (!found || !isDeepStrictEqual(told(found), told(wanted))) throw unknownForm();
  }
}

/** OCaml's values in JavaScript: a record is a list of its fields behind a tag, no value of an option is 0. */
type Ml = unknown[];
const none = 0;
const recordLength = 12;
const idLength = 3;
/** Where what stands in an account's record; Mina: `Account.Poly.t`. */
const at = {
  token: 2,
  symbol: 3,
  nonce: 5,
  receipt: 6,
  delegate: 7,
  timing: 9,
  permissions: 10,
  zkapp: 11,
} as const;
const inZkapp = { actionState: 4, provedState: 6 } as const;

const emptyMemo = 'E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH';

const unknownForm = () =>
  new Error('this release of o1js keeps its ledger in another form than is known here: it cannot simulate');

const constantOf = (field: Field): unknown => (field.toConstant() as unknown as { value: Ml }).value[1];

/** As the bindings take a public key. */
type MlKey = Parameters<Ledger['addAccount']>[0] & Ml;

function mlKey(key: PublicKey): { key: PublicKey; ml: MlKey } {
  return { key, ml: [0, constantOf(key.x), Number(key.isOdd.toBoolean())] as unknown as MlKey };
}

/** A number in the form of another one: OCaml's are instances of a class. */
function numberLike(sample: unknown, text: string): unknown {
  if (typeof sample === 'number') return Number(text);
  const { constructor } = sample as { constructor: new (value: number) => unknown };
  return new constructor(Number(text));
}

/** Permissions by which anything may be changed without a signature or proof. */
const opened = (permissions: unknown) =>
  (permissions as Ml).map((each, i) => {
    if (i === 0) return each;
    return Array.isArray(each) ? [each[0], 0, ...(each as Ml).slice(2)] : 0;
  });

/** One key's accounts lie by their tokens in the ledger, and come into it with MINA's, which is the least. */
function lastTokensFirst(a: Account, b: Account): number {
  const [x, y] = [a.tokenId.toBigInt(), b.tokenId.toBigInt()];
  return x < y ? 1 : x > y ? -1 : 0;
}

/** The update that gives an account all that a command can. */
function shaping(key: PublicKey, json: AccountJson): UpdateJson {
  const update = AccountUpdate.default(key).toJSON();
  const { timing, zkapp } = json;
  const { isTimed, ...vesting } = timing;
  update.body.update = {
    ...update.body.update,
    ...(zkapp && {
      appState: zkapp.appState,
      verificationKey: zkapp.verificationKey,
      zkappUri: zkapp.zkappUri,
    }),
    delegate: json.delegate,
    permissions: json.permissions,
    timing: isTimed ? vesting : null,
    tokenSymbol: json.tokenSymbol,
  };
  return update;
}

/** In a form that can be written: what is read from a node has no version with its permission for keys. */
function permissionsOf({ permissions }: Account): AccountJson['permissions'] {
  const names = (each: Each) => (isAuth(each) ? nameOf(each) : nameOf(each.auth));
  const all = Object.fromEntries(Object.entries(permissions as Record<string, Each>).map(([k, v]) => [k, names(v)]));
  const version = Permissions.VerificationKey.signature().txnVersion.toString();
  return { ...all, setVerificationKey: { auth: all.setVerificationKey, txnVersion: version } } as never;
}

interface Auth {
  constant: Bool;
  signatureNecessary: Bool;
  signatureSufficient: Bool;
}
type Each = Auth | { auth: Auth };
const isAuth = (each: Each): each is Auth => 'constant' in each;

function nameOf({ constant, signatureNecessary, signatureSufficient }: Auth): string {
  if (constant.toBoolean()) return signatureNecessary.toBoolean() ? 'Impossible' : 'None';
  if (!signatureSufficient.toBoolean()) return 'Proof';
  return signatureNecessary.toBoolean() ? 'Signature' : 'Either';
}

/** An account without what no node shows, or what means nothing in it. */
function told({ timing, zkapp, ...rest }: AccountJson) {
  return {
    ...rest,
    votingFor: '',
    timing: timing.isTimed ? timing : null,
    zkapp: zkapp && { ...zkapp, zkappVersion: '', lastActionSlot: '' },
  };
}

/** Undefined where the text is something else: then the fee payer's part failed, and nothing was applied. */
function readFailures(text: string): PartFailure[] | undefined {
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(table) || !table.every(Array.isArray)) return undefined;
  return (table as [string, number?][][])
    .map((part, index) => ({ index, names: part.map(failureName) }))
    .filter(({ names }) => names.length > 0);
}

/** As the daemon writes it: the index of a state field stands within the name. */
function failureName([name, argument]: [string, number?]): string {
  if (name === 'Update_not_permitted_delegate') return 'update_not_permitted_delegate';
  return argument === undefined ? name : name.replace('_precondition', `_${argument}_precondition`);
}
