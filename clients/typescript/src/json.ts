import { LosslessNumber, parse as parseLossless, stringify as stringifyLossless } from 'lossless-json';

export { LosslessNumber };

/**
 * Numbers as they were written: a number where it means the same, a bigint for
 * integers that are too large for one, and a LosslessNumber, which keeps the
 * text, for what neither can hold (0.10, 1e400, -0).
 */
function exactNumber(text: string): number | bigint | LosslessNumber {
  const n = Number(text);
  if (String(n) === text && (Number.isSafeInteger(n) || !/^-?\d+$/.test(text))) {
    return n;
  }
  return /^(-?[1-9]\d*)$/.test(text) ? BigInt(text) : new LosslessNumber(text);
}

/** Reads JSON without rounding any number. Of a field given twice the last counts. */
export function parse(text: string): unknown {
  return parseLossless(text, null, { parseNumber: exactNumber, onDuplicateKey: ({ newValue }) => newValue });
}

/** Writes JSON; bigints and LosslessNumbers become the digits they stand for. */
export function stringify(value: unknown): string {
  const text = stringifyLossless(value);
  if (text === undefined) {
    throw new TypeError('it cannot be written as JSON');
  }
  return text;
}

/** What a text says; undefined if it is no JSON, or is cut off. */
export function readable(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
