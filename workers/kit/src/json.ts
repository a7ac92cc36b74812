import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';

/**
 * Reads JSON without losing digits: integers that a number cannot hold become
 * bigints, for field elements are that long. Throws SyntaxError.
 */
export function parseJSON(text: string): unknown {
  return parse(text, null, (digits) => (isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits)));
}

/** Writes JSON, bigints as integers. */
export function toJSON(value: unknown): string {
  return stringify(value) ?? 'null';
}
