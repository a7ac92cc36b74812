import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cache, declareMethods, Mina, PrivateKey, SmartContract } from 'o1js';
import { o1jsVersion } from './version.js';

class Dummy extends SmartContract {
  async nothing() {}
}
declareMethods(Dummy, { nothing: [] });

let dummy: Promise<string> | undefined;

/**
 * A proof in form only, the same one for every contract. The first takes o1js
 * some ten seconds, so it is kept in the folder of compiled contracts; undefined
 * takes o1js's own. What counts is the folder of the process's first call.
 */
export function dummyProof(folder = Cache.FileSystemDefault.cacheDirectory): Promise<string> {
  dummy ??= (async () => {
    const file = folder && join(folder, `dummy-proof-${o1jsVersion()}`);
    const kept = file && read(file);
    if (kept) return kept;
    const made = await make();
    if (file) write(folder, file, made);
    return made;
  })();
  return dummy;
}

async function make(): Promise<string> {
  const active = Mina.activeInstance;
  const local = await Mina.LocalBlockchain({ proofsEnabled: false });
  try {
    Mina.setActiveInstance(local);
    const tx = await Mina.transaction(() => new Dummy(PrivateKey.random().toPublicKey()).nothing());
    await tx.prove();
    return tx.transaction.accountUpdates[0]!.authorization.proof!;
  } finally {
    Mina.setActiveInstance(active);
  }
}

/** The proof in a file, unless there is none, or something else. */
function read(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    return Buffer.from(text, 'base64').toString('latin1').startsWith('((statement') ? text : undefined;
  } catch {
    return undefined;
  }
}

/** It appears whole or not at all. A folder that cannot be written to costs time, no more. */
function write(folder: string, file: string, text: string): void {
  const own = `${file}.${randomUUID()}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(own, text);
    renameSync(own, file);
  } catch {
    rmSync(own, { force: true });
  }
}
