import type { Facts } from './command.js';

/** What a signer signs, whoever asks. Amounts are in nanomina. */
export interface Policy {
  maxFee: bigint;
  /** Of a day in UTC. */
  maxFeesPerDay: bigint;
  /** What may leave the payer's account by account updates of one command, beside the fee. */
  maxOutflow: bigint;
  maxOutflowPerDay: bigint;
  types: string[] | 'any';
  /** The accounts, besides the payer's, that account updates may name. */
  zkApps: string[] | 'any';
}

/** The policy does not allow it. */
export class Refused extends Error {
  override name = 'Refused';
  /** `rule` is the policy's field, or what no policy allows; `until` is when the day is over, where it is for the day. */
  constructor(
    readonly rule: keyof Policy | 'payer' | 'nonce',
    message: string,
    readonly until: Date | null = null,
  ) {
    super(message);
  }
}

/** Reads a policy in JSON. Every field is required, so that nothing is allowed by leaving it out. */
export function readPolicy(text: string): Policy {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('the policy is no JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error('the policy is no JSON object');
  const given = json as Record<string, unknown>;
  const policy: Policy = {
    maxFee: amount(given, 'maxFee'),
    maxFeesPerDay: amount(given, 'maxFeesPerDay'),
    maxOutflow: amount(given, 'maxOutflow'),
    maxOutflowPerDay: amount(given, 'maxOutflowPerDay'),
    types: names(given, 'types', /^[A-Za-z0-9._:-]{1,128}$/, 'type'),
    zkApps: names(given, 'zkApps', /^B62[1-9A-HJ-NP-Za-km-z]{52}$/, 'public key (B62…)'),
  };
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(policy, name));
  if (unknown.length > 0) throw new Error(`the policy knows no ${unknown.join(', ')}`);
  // What a day never holds would be put off for ever.
  for (const [one, day] of [
    ['maxFee', 'maxFeesPerDay'],
    ['maxOutflow', 'maxOutflowPerDay'],
  ] as const) {
    if (policy[one] > policy[day]) throw new Error(`the policy's ${one} is above its ${day}`);
  }
  return policy;
}

/** What can be said before there is a command. Throws Refused. */
export function checkCall({ types, maxFee }: Policy, type: string, fee: bigint): void {
  if (types !== 'any' && !types.includes(type))
    throw new Refused('types', `it signs no ${type}, only ${types.join(', ') || 'nothing'}`);
  if (fee > maxFee)
    throw new Refused('maxFee', `a fee of ${mina(fee)} MINA is above the ${mina(maxFee)} that it signs at most`);
}

/** Throws Refused for what a command would do. */
export function checkCommand({ zkApps, maxOutflow }: Policy, { outflow, touched, forbidden }: Facts): void {
  if (forbidden) throw forbidden;
  const other = zkApps === 'any' ? undefined : touched.find((account) => !zkApps.includes(account));
  if (other !== undefined) throw new Refused('zkApps', `it touches ${other}, which is not among zkApps`);
  if (outflow > maxOutflow)
    throw new Refused(
      'maxOutflow',
      `${mina(outflow)} MINA would leave the payer's account beside the fee, and it signs ${mina(maxOutflow)} at most`,
    );
}

/** An amount in MINA. */
export function mina(nano: bigint): string {
  const [whole, rest] = [nano / 1_000_000_000n, nano % 1_000_000_000n];
  return rest === 0n ? `${whole}` : `${whole}.${rest.toString().padStart(9, '0').replace(/0+$/, '')}`;
}

function amount(given: Record<string, unknown>, name: keyof Policy): bigint {
  const value = given[name];
  const [, whole, rest = ''] = (typeof value === 'string' && /^([0-9]{1,10})(?:\.([0-9]{1,9}))?$/.exec(value)) || [];
  if (whole === undefined) throw new Error(`the policy's ${name} is no amount of MINA: write it as "0.1"`);
  return BigInt(whole) * 1_000_000_000n + BigInt(rest.padEnd(9, '0'));
}

function names(given: Record<string, unknown>, name: keyof Policy, form: RegExp, what: string): string[] | 'any' {
  const value = given[name];
  if (value === 'any') return value;
  if (!Array.isArray(value)) throw new Error(`the policy's ${name} is no list: name each, or write "any"`);
  const wrong: unknown = value.find((each) => typeof each !== 'string' || !form.test(each));
  if (wrong !== undefined) throw new Error(`the policy's ${name}: ${JSON.stringify(wrong)} is no ${what}`);
  return value as string[];
}
