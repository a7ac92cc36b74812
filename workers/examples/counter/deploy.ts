import { readFileSync } from 'node:fs';
import { preferNative } from '@mina-sequencer/worker-kit';
import { AccountUpdate, fetchAccount, Mina, PrivateKey } from 'o1js';
import { Add } from './add.js';

/** Puts the counter on the chain and says where it is. Its key is needed no more after that. */
preferNative();
const payer = PrivateKey.fromBase58(readFileSync(process.env.PAYER_KEY_FILE ?? 'payer.key', 'utf8').trim());
Mina.setActiveInstance(Mina.Network(process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql'));
const { error } = await fetchAccount({ publicKey: payer.toPublicKey() });
if (error) throw new Error(`the payer ${payer.toPublicKey().toBase58()} has no account: ${error.statusText}`);

console.error('compiling, a minute the first time');
await Add.compile();
const key = PrivateKey.random();
const tx = await Mina.transaction({ sender: payer.toPublicKey(), fee: 100_000_000 }, async () => {
  AccountUpdate.fundNewAccount(payer.toPublicKey());
  await new Add(key.toPublicKey()).deploy();
});
await tx.prove();
const sent = await tx.sign([payer, key]).send();
console.error(`sent ${sent.hash}, waiting for its block`);
await sent.wait({ interval: 2000 });
console.log(`ZKAPP=${key.toPublicKey().toBase58()}`);
process.exit(0);
