#!/usr/bin/env bash
# mina-signer signs a zkApp command with neither the memo nor the validUntil that o1js wrote
# into it.
#
# Seen with: o1js 2.15.0 with mina-signer 3.1.0, and with 4.0.0 as well; Node 20.
# What happens: o1js makes a command with memo and expiry, and signZkappCommand gets its JSON.
# It takes accountUpdates alone; payer, fee, nonce, memo and validUntil are those of its own
# argument feePayer, and the two that are optional there become empty and null, without a
# word. The signature is good, the command never expires, and has another hash than the one
# that Transaction.hash gave before. Giving the memo again as it stands in the JSON, in
# base58, is "string too long": here it has to be plain text, which mina-signer's interface
# cannot make of base58.
# Output seen:
#   o1js wrote: memo order-4711, validUntil 1000
#   mina-signer signed: memo none, validUntil null
#   signature good: true; same hash: false
#   with the memo as the JSON has it: Memo: string too long
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import Client from 'mina-signer';
import { AccountUpdate, Mina, UInt32 } from 'o1js';

Mina.setActiveInstance(await Mina.LocalBlockchain({ proofsEnabled: false }));
const payer = Mina.activeInstance.testAccounts[0];
const tx = await Mina.transaction({ sender: payer, fee: 1e8, memo: 'order-4711' }, async () => {
  AccountUpdate.createSigned(payer).send({ to: payer, amount: 1 });
});
tx.transaction.feePayer.body.validUntil = UInt32.from(1000);

const zkappCommand = JSON.parse(tx.toJSON());
const { publicKey, fee, nonce, validUntil } = zkappCommand.feePayer.body;
const client = new Client({ network: 'testnet' });
const sign = (more) => {
  const feePayer = { feePayer: publicKey, fee, nonce, ...more };
  return client.signZkappCommand({ zkappCommand, feePayer }, payer.key.toBase58());
};

const signed = sign({});
const now = signed.data.zkappCommand;
const text = (json) => Mina.Transaction.fromJSON(json).transaction.memo || 'none';
const hash = (json) => Mina.Transaction.hash(json);
let again;
try {
  again = text(sign({ memo: zkappCommand.memo }).data.zkappCommand);
} catch (error) {
  again = error.message;
}
console.log(`o1js wrote: memo ${text(zkappCommand)}, validUntil ${validUntil}`);
console.log(`mina-signer signed: memo ${text(now)}, validUntil ${now.feePayer.body.validUntil}`);
const isSame = (await hash(now)) === (await hash(zkappCommand));
console.log(`signature good: ${client.verifyZkappCommand(signed)}; same hash: ${isSame}`);
console.log(`with the memo as the JSON has it: ${again}`);
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 mina-signer@3.1.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "o1js wrote: memo order-4711, validUntil 1000
mina-signer signed: memo none, validUntil null
signature good: true; same hash: false
with the memo as the JSON has it: Memo: string too long" ] || { echo "this has changed" >&2; exit 1; }
