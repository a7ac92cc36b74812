import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { asError, unavailable } from './errors.js';
import { parseJSON, toJSON } from './json.js';
import type { Attempt, TxnResult } from './types.js';

/** After how many milliseconds a file that is not whole is one that no process writes any more. */
const abandonedAfter = 3_600_000;

/** What a call is known by: equal calls get equal results. */
export interface CallKey {
  uid: string;
  attempt: Attempt;
}

/** The attempt's number is taken, with other values. */
export class Conflict extends Error {
  override name = 'Conflict';
  constructor({ uid, attempt }: CallKey) {
    super(`attempt ${attempt.number} of ${uid} is known with other values`);
  }
}

interface Entry extends CallKey {
  result: TxnResult;
}

/**
 * Results on disk, one file each, so that a restarted worker repeats them. A
 * file appears whole or not at all. The oldest go where there are too many. Two
 * processes may share a folder if they serve the same payer.
 */
export class Results {
  private names: string[] = []; // oldest first

  private constructor(
    private readonly folder: string,
    private readonly most: number,
  ) {}

  /** Makes the folder if need be and finds what an earlier process left in it. */
  static async open(folder: string, most: number): Promise<Results> {
    const results = new Results(folder, most);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found: { name: string; at: number }[] = [];
    for (const name of await readdir(folder)) {
      const file = await stat(join(folder, name)).catch(() => undefined);
      if (!file) continue; // another process has just made it whole, or taken it away
      const isAbandoned = name.endsWith('.tmp') && Date.now() - file.mtimeMs > abandonedAfter;
      if (isAbandoned) await unlink(join(folder, name)).catch(() => undefined);
      if (name.endsWith('.json')) found.push({ name, at: file.mtimeMs });
    }
    results.names = found.sort((a, b) => a.at - b.at).map(({ name }) => name);
    await results.trim();
    return results;
  }

  /**
   * The result of an equal call, if it is kept. Throws Conflict if the attempt's number has
   * other values, unless nothing of it was ever signed, and a Failure that blames no transaction if the disk does not answer.
   */
  async find(call: CallKey): Promise<TxnResult | undefined> {
    const entry = await this.read(call.uid, call.attempt.number);
    if (!entry || isDeepStrictEqual(entry.attempt, call.attempt)) return entry?.result;
    if (entry.result.proved !== undefined) return undefined;
    throw new Conflict(call);
  }

  /** The result kept under an attempt's number, made upon `base` if that is given, whatever its other values. */
  async get(uid: string, number: number, ...base: (string | undefined)[]): Promise<TxnResult | undefined> {
    const entry = await this.read(uid, number);
    return base.length === 0 || entry?.attempt.base === base[0] ? entry?.result : undefined;
  }

  /** Keeps a result; when it returns, the result outlives this process and the machine's power. */
  async keep(call: CallKey, result: TxnResult): Promise<void> {
    const name = nameOf(call.uid, call.attempt.number);
    const temporary = join(this.folder, `${randomUUID()}.tmp`);
    const entry: Entry = { uid: call.uid, attempt: call.attempt, result };
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(toJSON(entry));
      await file.sync();
      await rename(temporary, join(this.folder, name));
    } catch (error) {
      await unlink(temporary).catch(() => undefined); // on a full disk above all
      throw error;
    } finally {
      await file.close();
    }
    await syncFolder(this.folder);
    this.names = [...this.names.filter((known) => known !== name), name];
    await this.trim();
  }

  async forget(uid: string, number: number): Promise<void> {
    await unlink(join(this.folder, nameOf(uid, number))).catch(() => undefined);
  }

  private async read(uid: string, number: number): Promise<Entry | undefined> {
    try {
      return parseJSON(await readFile(join(this.folder, nameOf(uid, number)), 'utf8')) as Entry;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      if (error instanceof SyntaxError) return undefined; // not ours, or a bad disk: made anew
      throw unavailable('the results that this worker keeps cannot be read', asError(error).message);
    }
  }

  private async trim(): Promise<void> {
    for (const name of this.names.splice(0, Math.max(this.names.length - this.most, 0))) {
      await unlink(join(this.folder, name)).catch(() => undefined);
    }
  }
}

/** A uid may hold what a file name must not. */
function nameOf(uid: string, number: number): string {
  return `${createHash('sha256').update(uid).digest('hex').slice(0, 40)}-${number}.json`;
}

/** A renamed file is only safe once its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
