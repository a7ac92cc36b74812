export { Key, Mismatch, type Attempt, type NetworkId } from './command.js';
export { readPolicy, Refused, type Policy } from './policy.js';
export { serve, type Log, type SignerOptions } from './signer.js';
export { Spent, Superseded } from './spent.js';
