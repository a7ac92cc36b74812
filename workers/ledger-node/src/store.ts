import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Recipe } from './chain.js';
import type { ZkappCommand } from './command.js';

/** What a chain starts from. */
export interface Genesis {
  version: 1;
  time: number; // Unix milliseconds
  slotTime: number; // milliseconds
  accounts: { publicKey: string; balance: string }[]; // nanomina
}

/** A block as it is written down: what makes it again on its parent. */
export interface BlockRecord extends Recipe {
  hash: string;
  parent: string;
  commands: { hash: string; zkapp: ZkappCommand }[];
}

/**
 * The log of blocks, one line of JSON each after a line for genesis. The last
 * line is the best tip. Lines are only ever added, each flushed to the disk
 * before its block is seen by anyone; a last line cut off by a crash is removed.
 */
export class Store {
  readonly #path: string;
  readonly #lock: string;
  #file?: number;

  /** Throws if the directory cannot be made, or another node that lives has it. */
  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.#path = join(directory, 'blocks.jsonl');
    this.#lock = resolve(directory, 'lock');
    const owner = existsSync(this.#lock) ? Number(readFileSync(this.#lock, 'utf8')) : 0;
    // In a container a new process often has the number of the one that died.
    const isTaken = owner === process.pid ? held.has(this.#lock) : owner > 0 && isAlive(owner);
    if (isTaken) {
      throw new Error(`${directory} is in use by process ${owner}: end it, or use another directory`);
    }
    writeFileSync(this.#lock, String(process.pid));
    held.add(this.#lock);
  }

  /** Reads what is there; undefined if nothing is. Throws on lines that are no JSON. */
  read(): { genesis: Genesis; blocks: BlockRecord[] } | undefined {
    if (!existsSync(this.#path)) return undefined;
    const content = readFileSync(this.#path);
    const end = content.lastIndexOf('\n') + 1;
    if (end < content.length) truncateSync(this.#path, end);
    const lines = content.subarray(0, end).toString().split('\n').slice(0, -1);
    const [genesis, ...blocks] = lines.map((line, i) => this.#parse(line, i + 1));
    if (!genesis) return undefined;
    if ((genesis as Genesis).version !== 1) {
      throw new Error(`${this.#path} was not written by this version of the ledger node: use another directory`);
    }
    return { genesis: genesis as Genesis, blocks: blocks as BlockRecord[] };
  }

  #parse(line: string, number: number): unknown {
    try {
      return JSON.parse(line);
    } catch {
      throw new Error(
        `${this.#path}: line ${number} is damaged: remove it with all after it, or use another directory`,
      );
    }
  }

  /** Throws if the line is not on the disk as a whole; then nothing of it is there. */
  append(record: Genesis | BlockRecord): void {
    this.#file ??= openSync(this.#path, 'a');
    const { size } = fstatSync(this.#file);
    try {
      writeFileSync(this.#file, `${JSON.stringify(record)}\n`);
      fsyncSync(this.#file);
    } catch (error) {
      ftruncateSync(this.#file, size); // the next line would go on where this one ends
      throw error;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    rmSync(this.#lock, { force: true });
    held.delete(this.#lock);
  }
}

/** The locks that this process holds. */
const held = new Set<string>();

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
