import { parseJSON, Unresolvable } from '@mina-sequencer/worker-kit';
import { Field, PublicKey, UInt32 } from 'o1js';
import { z } from 'zod';
import { uidField } from './fields.js';
import { voteElement } from './signed-batch.js';

const MAX_UINT32 = Number(UInt32.MAXINT().toBigint());

/** The most votes that one share of a batch holds. */
export const MAX_BATCH_VOTES = 256;

const uid = z.string().min(1).max(64);
const claimUid = z.string().regex(/^[0-9a-fA-F]{32}$/, 'must be 32 hexadecimal digits');
const key = z.string().transform((text, context) => {
  try {
    return PublicKey.fromBase58(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a public key (B62…)' });
    return z.NEVER;
  }
});

/** A number below the field's order, which as a JSON number may have come as a bigint. */
const element = (order: bigint) =>
  z
    .union([z.string().regex(/^[0-9]{1,78}$/, 'must be a decimal integer'), z.int().min(0), z.bigint().min(0n)])
    .transform(BigInt)
    .refine((value) => value < order, 'must be below the order of its field');

const field = element(Field.ORDER).transform((value) => Field(value));
const PALLAS_SCALARS = 0x40000000000000000000000000000000224698fc0994a8dd8c46eb2100000001n;

export const createClaim = z.object({
  claimUid,
  strategy: z.object({
    requiredVotes: z.int().min(1).max(MAX_UINT32),
    requiredPositives: z.int().min(0).max(MAX_UINT32),
  }),
});

const vote = z.union([
  z.literal([1, -1, 0]),
  z.enum(['1', '+1', '-1', '0']).transform((text) => Number(text) as 1 | -1 | 0),
]);

export const sendVote = z.object({ claimUid, electorAccountId: key, vote });

export const createPlan = z.object({ planUid: uid, communityUid: uid });

/** What an elector has signed of one batch. */
export interface Votes {
  plan: Field;
  /** undefined where what was signed does not name its batch. */
  batch?: Field;
  votes: Field[];
  /** The text as it was signed, if it was one. */
  text?: string;
}

/** Plan, batch, then the votes, as signBatch makes them. */
const elements = z
  .array(field)
  .min(3)
  .max(2 + MAX_BATCH_VOTES)
  .transform(([plan, batch, ...votes]): Votes => ({ plan: plan!, batch: batch!, votes }));

/** Votes as the original's client has wallets sign them; it makes up the batch's uid only later. */
const named = z
  .array(z.object({ claimUid, planUid: uid, result: vote }))
  .min(1)
  .max(MAX_BATCH_VOTES)
  .refine((votes) => votes.every(({ planUid }) => planUid === votes[0]!.planUid), 'must all be of one plan')
  .transform((votes): Votes => ({
    plan: uidField(votes[0]!.planUid),
    votes: votes.map(({ claimUid, result }) => voteElement({ claimUid, vote: result })),
  }));

/** An array, or a text that holds one, in either form. */
const signedVotes = z.unknown().transform((given, context) => {
  const text = typeof given === 'string' ? given : undefined;
  const list = text === undefined ? given : readJSON(text);
  const shape = Array.isArray(list) && list[0] instanceof Object ? named : elements;
  const { success, data, error } = shape.safeParse(list);
  if (success) return { ...data, ...(text !== undefined && { text }) };
  for (const { path, message } of error.issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

function readJSON(text: string): unknown {
  try {
    return parseJSON(text);
  } catch {
    return undefined;
  }
}

export const receiveBatch = z.object({
  batchUid: uid,
  senderAccountId: key,
  signedData: z.object({
    publicKey: key,
    data: signedVotes,
    signature: z.object({ field, scalar: element(PALLAS_SCALARS) }),
  }),
});

export const commitPlan = z.object({ planUid: uid });

/** The payload in the shape that is expected; throws Unresolvable with every bad field. */
export function parse<T extends z.ZodType>(shape: T, data: unknown): z.output<T> {
  const { success, data: payload, error } = shape.safeParse(data);
  if (success) return payload;
  const bad = error.issues.map(({ path, message }) => `${['data', ...path].join('.')}: ${message}`);
  throw new Unresolvable(bad.join('; '));
}
