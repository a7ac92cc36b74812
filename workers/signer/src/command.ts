import Berkeley from 'mina-signer-berkeley';
import Mesa from 'mina-signer';
import { Refused } from './policy.js';

/** The token of MINA itself. */
const minaToken = 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf';

export type NetworkId = 'mainnet' | 'devnet' | 'testnet' | { custom: string };

/** What of an attempt is signed. Fees are in nanomina. */
export interface Attempt {
  number: number;
  nonce: number;
  fee: string;
  validUntil: number | null;
  memo: string;
}

/** A zkApp command as Mina's JSON has it, as far as it is looked at. */
interface Command {
  feePayer: {
    body: { publicKey: string; fee: string; nonce: string; validUntil: string | null };
    authorization: string;
  };
  accountUpdates: {
    body: {
      publicKey: string;
      tokenId: string;
      update: Record<string, unknown> & { appState: unknown[] };
      balanceChange: { magnitude: string; sgn: string };
      incrementNonce: boolean;
      authorizationKind: { isSigned: boolean; isProved: boolean };
    };
    authorization: { proof?: string | null; signature?: string | null };
  }[];
  memo: string;
}

/** What a command would do, of what a policy asks for. */
export interface Facts {
  /** What leaves the payer's account by account updates, in nanomina; 0 where more comes in. */
  outflow: bigint;
  /** The public keys of account updates, but for the payer's. */
  touched: string[];
  /** What no policy allows. */
  forbidden: Refused | undefined;
}

/** What was given to be signed is not what the attempt says, or is no command. */
export class Mismatch extends Error {
  override name = 'Mismatch';
}

interface Client {
  derivePublicKey(privateKey: string): string;
  signZkappCommand(
    asked: { zkappCommand: unknown; feePayer: object },
    privateKey: string,
  ): { data: { zkappCommand: unknown } };
}

/** A key, and mina-signer of both eras: which one counts is the command's to say, by its form. */
export class Key {
  readonly publicKey: string;
  readonly #key: string;
  readonly #clients: Map<number, Client>;

  /** Throws where the key is none, without quoting it. */
  constructor(key: string, network: NetworkId) {
    this.#key = key;
    // By the number of an account's state fields.
    this.#clients = new Map<number, Client>([
      [8, new Berkeley({ network })],
      [32, new Mesa({ network })],
    ]);
    try {
      this.publicKey = this.#clients.get(32)!.derivePublicKey(key);
    } catch {
      throw new Error('it holds no secret key in base58 (52 characters, EK…)');
    }
  }

  /**
   * Signs a proved command in JSON as an attempt has it: for the fee payer, and for account updates of the
   * same key. Returns what is signed, read from the bytes themselves. Throws Mismatch.
   */
  sign(proved: string, attempt: Attempt): { signed: string; facts: Facts } {
    const given = parse(proved);
    compare(given, this.publicKey, attempt);
    const client = this.#clients.get(given.accountUpdates[0]!.body.update.appState.length);
    if (!client) throw new Mismatch('proved has account updates of a form that no mina-signer here knows');
    const { fee, nonce, validUntil, memo } = attempt;
    const feePayer = { feePayer: this.publicKey, fee, nonce, validUntil, memo };
    let command: Command;
    try {
      command = client.signZkappCommand({ zkappCommand: given, feePayer }, this.#key).data.zkappCommand as Command;
    } catch {
      // Whatever mina-signer says of it may quote it.
      throw new Mismatch('proved is no zkApp command that mina-signer signs');
    }
    if (command.memo !== given.memo) throw new Mismatch("the memo of proved is not the attempt's");
    checkWhole(command);
    return { signed: JSON.stringify(command), facts: factsOf(command, this.publicKey) };
  }
}

function parse(text: string): Command {
  try {
    const command = JSON.parse(text) as Command;
    const { publicKey } = command.feePayer.body;
    const hasForm = command.accountUpdates.every(({ body }) => Array.isArray(body.update.appState));
    if (typeof publicKey === 'string' && hasForm && command.accountUpdates.length > 0) return command;
  } catch {
    // said below
  }
  throw new Mismatch('proved is no zkApp command in JSON with account updates');
}

/** Nothing is signed by an attempt that the command does not know of. */
function compare({ feePayer: { body } }: Command, own: string, { fee, nonce, validUntil }: Attempt): void {
  if (body.publicKey !== own) throw new Mismatch(`proved has another fee payer than ${own}, whose key is here`);
  if (body.fee !== fee) throw new Mismatch("the fee of proved is not the attempt's");
  if (body.nonce !== String(nonce)) throw new Mismatch("the nonce of proved is not the attempt's");
  if ((body.validUntil ?? null) !== (validUntil === null ? null : String(validUntil)))
    throw new Mismatch("the validUntil of proved is not the attempt's");
}

/** Others have made their part. */
function checkWhole({ accountUpdates }: Command): void {
  for (const [i, { body, authorization }] of accountUpdates.entries()) {
    const where = `account update ${i + 1} of ${accountUpdates.length} (${body.publicKey})`;
    const { isProved, isSigned } = body.authorizationKind;
    if (isProved && !authorization.proof) throw new Mismatch(`${where} has no proof`);
    if (isSigned && !authorization.signature)
      throw new Mismatch(`${where} has no signature: the program that has its key signs before`);
  }
}

function factsOf({ accountUpdates }: Command, payer: string): Facts {
  let outflow = 0n;
  let forbidden: Refused | undefined;
  const touched = new Set<string>();
  for (const [i, { body }] of accountUpdates.entries()) {
    if (body.publicKey !== payer) {
      touched.add(body.publicKey);
      continue;
    }
    const where = `account update ${i + 1} of ${accountUpdates.length}`;
    if (body.incrementNonce && body.tokenId === minaToken)
      forbidden ??= new Refused('nonce', `${where} spends a second nonce of the payer, which nothing counts`);
    const changed = Object.keys(body.update).filter((name) => isChange(body.update[name]));
    if (changed.length > 0)
      forbidden ??= new Refused('payer', `${where} changes ${changed.join(', ')} of the payer's own account`);
    if (body.tokenId !== minaToken) continue;
    const { magnitude, sgn } = body.balanceChange;
    outflow += sgn === 'Negative' ? BigInt(magnitude) : -BigInt(magnitude);
  }
  return { outflow: outflow > 0n ? outflow : 0n, touched: [...touched], forbidden };
}

/** In Mina's JSON null keeps what there is. */
const isChange = (value: unknown) => (Array.isArray(value) ? value.some((each) => each !== null) : value !== null);
