import { readFileSync } from 'node:fs';
import { proveNothing } from '@mina-sequencer/worker-kit';
import { Credential, Presentation, PresentationRequest } from 'mina-attestations';
import { AccountUpdate, fetchAccount, Field, Mina, PrivateKey, TokenId } from 'o1js';
import { MIN_AGE, precompiled, Verifier } from './verifier.js';

/** Puts the verifier on the chain. Then it is issuer and wallet, and says what the owner of a credential presents. */
const proofsEnabled = process.env.PROOFS !== 'off';
const payer = PrivateKey.fromBase58(readFileSync(process.env.PAYER_KEY_FILE ?? 'payer.key', 'utf8').trim());
const sender = payer.toPublicKey();
const url = process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql';
Mina.setActiveInstance({ ...Mina.Network(url), proofsEnabled });
await fetchAccount({ publicKey: sender });

const [key, issuer, owner] = [PrivateKey.random(), PrivateKey.random(), PrivateKey.random()];
const publicKey = key.toPublicKey();
if (proofsEnabled) await Verifier.compile();
const tx = await Mina.transaction({ sender, fee: 100_000_000 }, async () => {
  AccountUpdate.fundNewAccount(sender);
  await new Verifier(publicKey).deploy({ issuer: Credential.Native.issuer(issuer.toPublicKey()) as Field });
});
await (proofsEnabled ? tx.prove() : proveNothing(tx));
const sent = await tx.sign([payer, key]).send();
console.error(`sent ${sent.hash}, waiting for its block`);
await sent.wait({ interval: 2000 });

const credential = Credential.sign(issuer, { owner: owner.toPublicKey(), data: { age: Field(30) } });
const context = { publicKey, tokenId: TokenId.default, methodName: 'verify' };
const request = PresentationRequest.zkAppFromCompiled(precompiled, { minAge: MIN_AGE }, context);
console.error('the wallet proves');
const presentation = await Presentation.create(owner, { request, credentials: [credential], context: undefined });
console.log(
  `VERIFIER=${publicKey.toBase58()}\nPRESENTATION=${Buffer.from(Presentation.toJSON(presentation)).toString('base64')}`,
);
process.exit(0);
