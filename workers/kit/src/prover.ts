import { createRequire } from 'node:module';
import { getBackendPreference, setBackend } from 'o1js';

/** What proofs are made with. */
export interface Prover {
  backend: 'native' | 'wasm';
  /** Why it is not native. */
  reason?: string;
}

/**
 * Has o1js prove with its native code, which is about five times faster than the
 * default, where the package for this machine loads (`@o1js/native`, which comes
 * with o1js). It has to come before whatever makes o1js start: `compile`, a
 * `LocalBlockchain`. O1JS_BACKEND in the environment has the last word.
 */
export function preferNative(addon = `@o1js/native-${process.platform}-${process.arch}`): Prover {
  const wanted = process.env.O1JS_BACKEND;
  if (wanted === 'native' || wanted === 'wasm') return inUse(`O1JS_BACKEND is ${wanted}`);
  try {
    // From where o1js itself will look for it.
    createRequire(createRequire(import.meta.url).resolve('o1js'))(addon);
  } catch (error) {
    const [message] = String(error instanceof Error ? error.message : error).split('\n');
    return inUse(`${addon} does not load: ${message}`);
  }
  try {
    setBackend('native');
  } catch {
    return inUse('o1js had started before: call preferNative earlier, or set O1JS_BACKEND=native');
  }
  return inUse();
}

function inUse(reason?: string): Prover {
  const backend = getBackendPreference();
  return { backend, ...(backend === 'wasm' && reason !== undefined && { reason }) };
}
