import { pino } from 'pino';

/** Where a worker writes what it does; a pino logger is one. Keys and tokens never come here. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Writes each line before it returns: a process that is killed loses none, and what several
 * processes say stands in the order in which it was so.
 */
export function standardLog(): Log {
  const output = pino.destination({ dest: 1, sync: true });
  output.on('error', () => undefined); // a full disk costs lines, and no proof
  return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, output);
}

/** A log that adds fields to every line. */
export function withFields(log: Log, fields: object): Log {
  return {
    info: (more, message) => log.info({ ...fields, ...more }, message),
    warn: (more, message) => log.warn({ ...fields, ...more }, message),
    error: (more, message) => log.error({ ...fields, ...more }, message),
  };
}
