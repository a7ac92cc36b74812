#!/usr/bin/env bash
# o1js' fetchCurrentSlot promises a number and gives the text that the daemon sent, so
# "slot + 40" as an expiry lies centuries ahead, and nothing complains.
#
# Seen with: o1js 2.15.0, and 2.13.0 as well, the first that exports it; Node 20.
# What happens: the type is Promise<number> and its documentation says that it equals
# fetchLastBlock().globalSlotSinceGenesis. A daemon writes slots as JSON strings, as o1js'
# types of its other queries have it; this one is passed on as it came. JavaScript's + then
# joins two texts, UInt32.from takes the result, and a transaction that was to expire in an
# hour is good for as long as the account's nonce allows. Less-than and minus with a number are
# right, which hides it.
# Output seen:
#   a string; 958440 + 40 makes validUntil 95844040
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { fetchCurrentSlot, Mina, UInt32 } from 'o1js';

// A daemon's answer about its tip.
const tip = { protocolState: { consensusState: { slot: '1200', slotSinceGenesis: '958440' } } };
const daemon = createServer((_, answer) => {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { bestChain: [tip] } }));
});
await new Promise((done) => daemon.listen(0, '127.0.0.1', done));
const slot = await fetchCurrentSlot(`http://127.0.0.1:${daemon.address().port}/graphql`);
daemon.close();

Mina.setActiveInstance(await Mina.LocalBlockchain({ proofsEnabled: false }));
const payer = Mina.activeInstance.testAccounts[0];
const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {});
tx.transaction.feePayer.body.validUntil = UInt32.from(slot + 40);
tx.sign([payer.key]);
console.log(typeof slot, JSON.parse(tx.toJSON()).feePayer.body.validUntil);
JS

echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
read -r type until < <(node main.mjs)
echo "a $type; 958440 + 40 makes validUntil $until"
[ "$type" = string ] && [ "$until" = 95844040 ] || { echo "this has changed" >&2; exit 1; }
