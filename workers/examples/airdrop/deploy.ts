import { readFileSync } from 'node:fs';
import { preferNative, proveNothing } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Bool, fetchAccount, Mina, PrivateKey, TokenId, UInt64, UInt8 } from 'o1js';
import { airdrop, FungibleTokenAdmin, FungibleTokenClaimContract, Token, Whitelist } from './contracts.js';

/** Puts a token on the chain, and a contract that gives of it to whoever claims. Its keys are needed no more after that. */
preferNative();
const proofsEnabled = process.env.PROOFS !== 'off';
const payer = PrivateKey.fromBase58(readFileSync(process.env.PAYER_KEY_FILE ?? 'payer.key', 'utf8').trim());
const sender = payer.toPublicKey();
const url = process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql';
Mina.setActiveInstance({ ...Mina.Network(url), proofsEnabled });

const [key, adminKey, claimKey] = [PrivateKey.random(), PrivateKey.random(), PrivateKey.random()];
const [address, claimAddress] = [key.toPublicKey(), claimKey.toPublicKey()];
const { token, claim } = airdrop(address.toBase58(), claimAddress.toBase58());
const admin = new FungibleTokenAdmin(adminKey.toPublicKey());
if (proofsEnabled) {
  console.error('compiling, some minutes the first time');
  for (const contract of [FungibleTokenAdmin, Token, FungibleTokenClaimContract]) await contract.compile();
}
await put('the token', [key, adminKey], async () => {
  AccountUpdate.fundNewAccount(sender, 3); // the admin contract, the token, and what counts its circulation
  await admin.deploy({ adminPublicKey: sender });
  await token.deploy({ symbol: 'DROP', src: 'https://github.com/zkcloudworker/minatokens-lib', allowUpdates: true });
  await token.initialize(admin.address, UInt8.from(9), Bool(false));
});
await put('what is given away', [], async () => {
  AccountUpdate.fundNewAccount(sender);
  await token.mint(sender, UInt64.from(2_000_000));
});
await put('the contract that gives it', [claimKey], async () => {
  AccountUpdate.fundNewAccount(sender);
  const deployed = new FungibleTokenClaimContract(claimAddress, TokenId.derive(address));
  await deployed.deploy({ whitelist: Whitelist.empty() });
  await claim.initialize(sender, address, UInt64.from(1_000_000));
  await token.approveAccountUpdates([deployed.self, claim.self]);
});
console.log(`TOKEN=${address.toBase58()}\nAIRDROP=${claimAddress.toBase58()}`);
process.exit(0);

async function put(what: string, keys: PrivateKey[], make: () => Promise<void>): Promise<void> {
  await fetchAccount({ publicKey: sender });
  const tx = await Mina.transaction({ sender, fee: 100_000_000 }, make);
  await (proofsEnabled ? tx.prove() : proveNothing(tx));
  const sent = await tx.sign([payer, ...keys]).send();
  console.error(`sent ${what}: ${sent.hash}, waiting for its block`);
  await sent.wait({ interval: 2000 });
}
