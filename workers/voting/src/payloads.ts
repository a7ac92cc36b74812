import { Unresolvable } from '@mina-sequencer/worker-kit';
import { Field, PublicKey, UInt32 } from 'o1js';
import { z } from 'zod';

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

export const sendVote = z.object({
  claimUid,
  electorAccountId: key,
  vote: z.union([z.literal([1, -1, 0]), z.enum(['+1', '-1', '0']).transform(Number)]),
});

export const createPlan = z.object({ planUid: uid, communityUid: uid });

export const receiveBatch = z.object({
  batchUid: uid,
  senderAccountId: key,
  signedData: z.object({
    publicKey: key,
    data: z
      .array(field)
      .min(3)
      .max(2 + MAX_BATCH_VOTES),
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
