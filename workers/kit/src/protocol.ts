import { effectsOf } from './effects.js';
import type { Attempt, Payload, TxnError } from './types.js';

/** Body of /prove and /dispatch, and with `signed` of /resign. */
export interface CallBody {
  txData: { uid: string; type: string; data: Payload; expiresAt?: string };
  sender: { accountId: string; queue: string; retries: number };
  attempt: Attempt;
  ahead?: Ahead[];
  signed?: string;
  /** What was built for it is to be proved; it says itself what is ahead then. */
  token?: string;
}

/** Body of /build: neither fee, nonce nor validUntil are known yet. */
export type BuildBody = Omit<CallBody, 'attempt'> & { attempt: Omit<Attempt, 'nonce' | 'fee' | 'validUntil'> };

/**
 * A command of this queue and payer that is in flight before the attempt; of one that has nothing
 * signed yet what was built: only its account updates count, and none of their authorizations.
 */
export type Ahead =
  { uid: string; nonce: number; hash: string; signed: string; built?: undefined } | { uid: string; built: string };

/** Body of /on-success and /on-failure. */
export interface OutcomeBody {
  txData: CallBody['txData'];
  sender: CallBody['sender'];
  result: {
    hash?: string | null;
    done?: unknown;
    error?: TxnError | null;
    data?: Payload | null;
  };
  /** What the callback before this one was answered, of a transaction that had ended and was put back. */
  answered?: Payload | null;
}

/** The digest of the last of what is ahead, undefined if nothing is, or that cannot be read. */
export function digestOf(ahead: Ahead[] | undefined): string | undefined {
  const last = ahead?.at(-1);
  try {
    return last && effectsOf(last.built ?? last.signed);
  } catch {
    return undefined;
  }
}

const uint32 = { type: 'integer', minimum: 0, maximum: 0xffffffff };
const fee = { type: 'string', pattern: '^[0-9]{1,20}$' };
const hash = { type: 'string', minLength: 1, maxLength: 128 };
const count = { type: 'integer', minimum: 0, maximum: 1_000_000 };

const txData = {
  type: 'object',
  required: ['uid', 'type', 'data'],
  properties: {
    uid: { type: 'string', minLength: 1, maxLength: 193 },
    type: { type: 'string', minLength: 1 },
    data: { type: 'object' },
    expiresAt: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T' },
  },
};

const sender = {
  type: 'object',
  required: ['accountId', 'queue', 'retries'],
  properties: {
    accountId: { type: 'string', minLength: 1, maxLength: 128 },
    queue: { type: 'string', maxLength: 128 },
    retries: count,
  },
};

const attempt = {
  type: 'object',
  required: ['number', 'nonce', 'fee', 'validUntil', 'memo', 'previous'],
  properties: {
    number: { ...count, minimum: 1 },
    nonce: uint32,
    fee,
    validUntil: { ...uint32, type: ['integer', 'null'] },
    memo: { type: 'string', maxLength: 32 }, // Mina: at most 32 bytes
    previous: {
      type: 'array',
      maxItems: 10_000,
      items: {
        type: 'object',
        required: ['number', 'hash', 'nonce', 'fee'],
        properties: { number: count, hash: { ...hash, minLength: 0 }, nonce: uint32, fee }, // lost ones have none
      },
    },
    base: { type: 'string', minLength: 1, maxLength: 128 },
  },
};

const ahead = {
  type: 'array',
  maxItems: 1000,
  items: {
    type: 'object',
    required: ['uid'],
    anyOf: [{ required: ['nonce', 'hash', 'signed'] }, { required: ['built'] }],
    properties: {
      uid: txData.properties.uid,
      nonce: uint32,
      hash,
      signed: { type: 'string', minLength: 2 },
      built: { type: 'string', minLength: 2 },
    },
  },
};

export const callSchema = {
  type: 'object',
  required: ['txData', 'sender', 'attempt'],
  properties: { txData, sender, attempt, ahead, token: { type: 'string', minLength: 1, maxLength: 128 } },
};

const { number, memo, previous, base } = attempt.properties;

export const buildSchema = {
  type: 'object',
  required: ['txData', 'sender', 'attempt'],
  properties: {
    txData,
    sender,
    attempt: {
      type: 'object',
      required: ['number', 'memo', 'previous'],
      properties: { number, memo, previous, base },
    },
    ahead,
  },
};

export const resignSchema = {
  type: 'object',
  required: [...callSchema.required, 'signed'],
  properties: { ...callSchema.properties, signed: { type: 'string', minLength: 2 } },
};

const optionalText = { type: ['string', 'null'] };

export const outcomeSchema = {
  type: 'object',
  required: ['txData', 'sender', 'result'],
  properties: {
    txData,
    sender,
    result: {
      type: 'object',
      properties: {
        hash: optionalText,
        data: { type: ['object', 'null'] },
        error: {
          type: ['object', 'null'],
          properties: { code: { type: 'string' }, message: { type: 'string' }, exception: optionalText },
        },
      },
    },
  },
};
