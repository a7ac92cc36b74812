#!/usr/bin/env bash
# A contract that gains an event reads its earlier ones under other names; one that keeps a
# single event reads a number that is none of its values.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: with several kinds of events, o1js writes the place of the kind in the
# alphabet before the values, and fetchEvents takes the name from the contract's list of today.
# So after an upgrade that adds `opened` between `closed` and `paid`, a payment of 500 from
# before is read as `opened 500`. With a single kind o1js writes no place, and reads the place
# that was written before as a value: a payment of 500 is a payment of 1. The order in which
# the contract names them does not matter, and nothing warns.
# Output seen:
#   emitted by closed, paid: closed 3, paid 500
#   read with paid, closed: closed 3, paid 500
#   read with closed, opened, paid: closed 3, opened 500
#   read with paid: paid 0, paid 1
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { AccountUpdate, Field, Mina, PrivateKey, SmartContract } from 'o1js';

const chain = await Mina.LocalBlockchain({ proofsEnabled: false });
Mina.setActiveInstance(chain);
const [payer] = chain.testAccounts;
const key = PrivateKey.random();
const of = (...names) =>
  class extends SmartContract {
    events = Object.fromEntries(names.map((name) => [name, Field]));
  };
const send = async (body) => (await Mina.transaction(payer, body)).sign([payer.key, key]).send();
await send(async () => {
  AccountUpdate.fundNewAccount(payer);
  AccountUpdate.createSigned(key.toPublicKey());
});

const First = of('closed', 'paid');
const emitted = { closed: 3, paid: 500 };
for (const [name, value] of Object.entries(emitted)) {
  await send(async () => {
    const contract = new First(key.toPublicKey());
    contract.emitEvent(name, Field(value));
    contract.requireSignature();
    AccountUpdate.attachToTransaction(contract.self);
  });
}
console.log(`emitted by closed, paid: ${Object.entries(emitted).map((event) => event.join(' ')).join(', ')}`);
for (const names of [['paid', 'closed'], ['closed', 'opened', 'paid'], ['paid']]) {
  const events = await new (of(...names))(key.toPublicKey()).fetchEvents();
  const read = events.map(({ type, event }) => `${type} ${event.data}`).sort();
  console.log(`read with ${names.join(', ')}: ${read.join(', ')}`);
}
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "emitted by closed, paid: closed 3, paid 500
read with paid, closed: closed 3, paid 500
read with closed, opened, paid: closed 3, opened 500
read with paid: paid 0, paid 1" ] || { echo "this has changed" >&2; exit 1; }
