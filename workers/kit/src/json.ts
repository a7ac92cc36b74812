import { isInteger, isSafeNumber, parse, stringify } from 'lossless-json';

/**
 * Reads JSON without losing digits: integers that a number cannot hold become
 * bigints, for field elements are that long. Of a name given twice the last counts, as
 * everywhere else: the API takes such a payload. Throws SyntaxError.
 */
export function parseJSON(text: string): unknown {
  return parse(text, null, {
    parseNumber: (digits) => (isInteger(digits) && !isSafeNumber(digits) ? BigInt(digits) : Number(digits)),
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

/** Writes JSON, bigints as integers. */
export function toJSON(value: unknown): string {
  return stringify(value) ?? 'null';
}
