#!/usr/bin/env bash
# mina-fungible-token's transfer() emits no event, though its documentation has one for
# whatever moves tokens from one account to another.
#
# Seen with: mina-fungible-token 1.1.0 on o1js 2.15.0, Node 20.
# What happens: "BalanceChangeEvent is emitted when a transaction takes tokens from some
# addresses, and sends them to others" (documentation/api.md of its repository; its issue 87,
# closed, asked for events of all transfers). approveAccountUpdates and its like keep that.
# transfer(from, to, amount), the plain way to pay, moves the tokens by itself and emits
# nothing. Who credits deposits by the contract's events misses each that is paid with it;
# balances, or the account updates in the blocks, have to be read instead.
# Output seen:
#   transfer(): balance +30, BalanceChange events 0
#   approveAccountUpdates(): balance +12, BalanceChange events 2
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { AccountUpdate, Bool, Int64, Mina, UInt8, UInt64 } from 'o1js';
import { FungibleToken, FungibleTokenAdmin } from 'mina-fungible-token';

const chain = await Mina.LocalBlockchain({ proofsEnabled: false });
Mina.setActiveInstance(chain);
const [payer, alice, bob] = chain.testAccounts;
const [owner, admin] = Mina.TestPublicKey.random(2);
const token = new FungibleToken(owner);
const adminContract = new FungibleTokenAdmin(admin);

async function run(keys, f) {
  const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, f);
  await tx.prove();
  await tx.sign([payer.key, ...keys]).send();
}
await run([owner.key, admin.key], async () => {
  AccountUpdate.fundNewAccount(payer, 3);
  await adminContract.deploy({ adminPublicKey: payer });
  await token.deploy({ symbol: 'T', src: 'none', allowUpdates: false });
  await token.initialize(admin, UInt8.from(9), Bool(false));
});
await run([], async () => {
  AccountUpdate.fundNewAccount(payer, 1);
  await token.mint(alice, UInt64.from(100));
});
const id = token.deriveTokenId();
const events = async () => (await token.fetchEvents()).filter(({ type }) => type === 'BalanceChange').length;
const balance = () => (Mina.hasAccount(bob, id) ? Number(Mina.getBalance(bob, id).toString()) : 0);

// Pays bob out of alice's account, and tells what is seen of it.
async function pay(name, f) {
  const [had, seen] = [balance(), await events()];
  await run([alice.key], f);
  console.log(`${name}: balance +${balance() - had}, BalanceChange events ${(await events()) - seen}`);
}
await pay('transfer()', async () => {
  AccountUpdate.fundNewAccount(payer, 1);
  await token.transfer(alice, bob, UInt64.from(30));
});
await pay('approveAccountUpdates()', async () => {
  const from = AccountUpdate.createSigned(alice, id);
  const to = AccountUpdate.create(bob, id);
  from.balanceChange = Int64.from(-12);
  to.balanceChange = Int64.from(12);
  await token.approveAccountUpdates([from, to]);
});
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 mina-fungible-token@1.1.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "transfer(): balance +30, BalanceChange events 0
approveAccountUpdates(): balance +12, BalanceChange events 2" ] || { echo "this has changed" >&2; exit 1; }
