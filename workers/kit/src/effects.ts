import { createHash } from 'node:crypto';

/**
 * The digest of what a command does: SHA-256, in hex, of its account updates in their order, without
 * authorizations and without callData, into which o1js hashes a random value each time a method runs.
 * A line says how many there are, and a line follows for the body of each. It is the same for what was
 * signed or proved again.
 */
export function effectsOf(command: string): string {
  const { accountUpdates } = JSON.parse(command) as { accountUpdates: { body: Record<string, unknown> }[] };
  const lines = accountUpdates.map(({ body: { callData: _, ...body } }) => canonical(body));
  return createHash('sha256')
    .update([accountUpdates.length, ...lines, ''].join('\n'))
    .digest('hex');
}

/** JSON with names in order, as the sequencer writes it, too. */
function canonical(body: object): string {
  const text = JSON.stringify(body, (_name, value: unknown) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return text.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
