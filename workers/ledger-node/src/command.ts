import { AccountUpdate as O1jsUpdate, Mina, type Types } from 'o1js';
import { MINA_TOKEN } from './formats.js';
import type { Limits } from './limits.js';
import { Refusal } from './refusal.js';

export type ZkappCommand = Types.Json.ZkappCommand;
export type AccountUpdate = Types.Json.AccountUpdate;

/** A signed zkApp command. It never changes. */
export interface Command {
  readonly hash: string;
  readonly payer: string;
  readonly nonce: number;
  readonly fee: bigint; // nanomina
  readonly validUntil: number; // last slot since genesis that may include it
  readonly weight: bigint; // fees are compared per weight
  readonly zkapp: ZkappCommand;
  readonly json: string; // of zkapp
}

/** What `validUntil: null` means. */
export const NO_LIMIT = 0xffff_ffff;

/** Nanomina. Mina: `minimum_user_command_fee`. */
export const MIN_FEE = 1_000_000n;

/** How many state fields an account has for the o1js beside the node: 8, and 32 from o1js 3 on. */
export const STATE_FIELDS = O1jsUpdate.dummy().body.update.appState.length;

/**
 * Reads a command from the JSON that o1js writes.
 * Throws an Error that names what cannot be decoded.
 */
export async function readCommand(input: unknown): Promise<Command> {
  try {
    const zkapp = complete(input);
    checkEra(zkapp);
    return parseCommand(zkapp, await Mina.Transaction.hash(JSON.stringify(zkapp)));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Could not decode zkappCommand: ${reason.slice(0, 300)}`, { cause: error });
  }
}

/** Copies a command, with null for what GraphQL lets a client leave out. */
function complete(input: unknown): ZkappCommand {
  const zkapp = JSON.parse(JSON.stringify(input)) as ZkappCommand;
  zkapp.feePayer.body.validUntil ??= null;
  for (const { body, authorization } of zkapp.accountUpdates) {
    body.tokenId ??= MINA_TOKEN;
    authorization.proof ??= null;
    authorization.signature ??= null;
  }
  return zkapp;
}

/** Refuses what the OCaml code of this o1js cannot read: a command from the other side of the Mesa fork. */
function checkEra({ accountUpdates }: ZkappCommand): void {
  for (const { update, preconditions } of accountUpdates.map(({ body }) => body)) {
    for (const { length } of [update.appState, preconditions.account.state]) {
      if (length === STATE_FIELDS) continue;
      const [era, remedy] =
        STATE_FIELDS === 8
          ? ['Berkeley', 'make it with o1js 2 or mina-signer 3, or run the node beside o1js 3']
          : ['Mesa', 'make it with o1js 3 or mina-signer 4, or run the node beside o1js 2'];
      throw new Error(
        `an account has ${STATE_FIELDS} state fields here and ${length} in this command. ` +
          `The node's ledger is that of the o1js beside it, of ${era}: ${remedy}`,
      );
    }
  }
}

/** Takes a command apart whose hash is known. Throws an Error that names what is no number. */
export function parseCommand(zkapp: ZkappCommand, hash: string): Command {
  const { publicKey, nonce, fee, validUntil } = zkapp.feePayer.body;
  return {
    hash,
    payer: publicKey,
    nonce: readInteger('nonce', nonce),
    fee: BigInt(fee),
    validUntil: validUntil === null ? NO_LIMIT : readInteger('validUntil', validUntil),
    weight: BigInt(1 + zkapp.accountUpdates.length),
    zkapp,
    json: JSON.stringify(zkapp),
  };
}

function readInteger(field: string, text: string): number {
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value > NO_LIMIT) throw new Error(`${field} is no unsigned integer of 32 bits`);
  return value;
}

/**
 * Refuses what no ledger needs to be asked about.
 * Mina: `check_well_formedness` of user_command.ml.
 */
export function checkWellFormed({ fee, zkapp }: Command, limits: Limits): void {
  const faults: string[] = [];
  const updates = zkapp.accountUpdates.map((update) => update.body);
  if (fee < MIN_FEE) faults.push('Insufficient fee');
  if (updates.some(({ update }) => update.timing?.vestingPeriod === '0')) faults.push('Zero vesting period');
  if (updates.some((body) => body.callDepth === 0 && usesToken(body))) {
    faults.push('Zkapp has an invalid call forest (root account updates may not use tokens)');
  }
  const excess = tooBig(zkapp.accountUpdates, limits);
  if (excess.length > 0) faults.push(`Zkapp too big (${excess.join('; ')})`);
  if (faults.length > 0) throw new Refusal(faults.join(','));
}

function usesToken({ mayUseToken }: AccountUpdate['body']): boolean {
  return mayUseToken.parentsOwnToken || mayUseToken.inheritFromParent;
}

function tooBig(updates: AccountUpdate[], limits: Limits): string[] {
  const excess: string[] = [];
  if (cost(updates, limits.cost) >= limits.cost.below) excess.push('zkapp transaction too expensive');
  const check = (what: string, count: number, most: number) => {
    if (count > most) excess.push(`too many ${what} elements (${count}, max allowed is ${most})`);
  };
  check('event', elements(updates.map(({ body }) => body.events)), limits.events);
  check('sequence event', elements(updates.map(({ body }) => body.actions)), limits.actions);
  return excess;
}

function elements(lists: string[][][]): number {
  return lists.flat().reduce((sum, fields) => sum + fields.length, 0);
}

/** What the command's snarks cost, two signatures next to each other being one. The fee payer is the first. */
function cost(updates: AccountUpdate[], { proof, pair, single }: Limits['cost']): number {
  const proved = [false, ...updates.map(({ body }) => body.authorizationKind.isProved)];
  let sum = 0;
  for (let i = 0; i < proved.length; i++) {
    if (proved[i]) sum += proof;
    else if (proved[i + 1] === false) {
      sum += pair;
      i++;
    } else sum += single;
  }
  return sum;
}

/** Names an account in maps. */
export function accountId(publicKey: string, token: string): string {
  return `${publicKey}:${token}`;
}
