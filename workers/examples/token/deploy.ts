import { readFileSync } from 'node:fs';
import { preferNative, proveNothing } from '@mina-sequencer/worker-kit';
import { FungibleToken, FungibleTokenAdmin } from 'mina-fungible-token';
import { AccountUpdate, Bool, fetchAccount, Mina, PrivateKey, UInt8 } from 'o1js';

/** Puts a token on the chain whose admin is the payer, and says where it is. Its keys are needed no more after that. */
preferNative();
const proofsEnabled = process.env.PROOFS !== 'off';
const payer = PrivateKey.fromBase58(readFileSync(process.env.PAYER_KEY_FILE ?? 'payer.key', 'utf8').trim());
const sender = payer.toPublicKey();
const url = process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql';
Mina.setActiveInstance({ ...Mina.Network(url), proofsEnabled });
const { error } = await fetchAccount({ publicKey: sender });
if (error) throw new Error(`the payer ${sender.toBase58()} has no account: ${error.statusText}`);

const [key, adminKey] = [PrivateKey.random(), PrivateKey.random()];
const token = new FungibleToken(key.toPublicKey());
const admin = new FungibleTokenAdmin(adminKey.toPublicKey());
if (proofsEnabled) {
  console.error('compiling, some minutes the first time');
  await FungibleTokenAdmin.compile();
  await FungibleToken.compile();
}
const tx = await Mina.transaction({ sender, fee: 100_000_000 }, async () => {
  AccountUpdate.fundNewAccount(sender, 3); // the admin contract, the token, and what counts its circulation
  await admin.deploy({ adminPublicKey: sender });
  await token.deploy({
    symbol: 'TOKEN',
    src: 'https://github.com/MinaFoundation/mina-fungible-token',
    allowUpdates: true,
  });
  await token.initialize(admin.address, UInt8.from(9), Bool(false));
});
await (proofsEnabled ? tx.prove() : proveNothing(tx));
const sent = await tx.sign([payer, key, adminKey]).send();
console.error(`sent ${sent.hash}, waiting for its block`);
await sent.wait({ interval: 2000 });
console.log(`TOKEN=${key.toPublicKey().toBase58()}`);
process.exit(0);
