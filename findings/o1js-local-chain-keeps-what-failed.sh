#!/usr/bin/env bash
# o1js' LocalBlockchain keeps the events and actions of a transaction that failed, and from
# then on its actions do not fit the account any more.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: a command dispatches an action and emits an event, and has a precondition that
# does not hold. It is rejected, and as on a network its payer has lost the fee and the nonce
# and nothing else of it has come about. But fetchEvents and getActions show what it would have
# left. The account's action state, kept by the ledger, is without it; so each state that
# getActions computes later differs from the account's, also after commands that succeed, and
# getActions up to the account's own state throws. A test of what is done after a failure
# sees effects there that no network has.
# Output seen:
#   rejected: fee and nonce spent; events 1, actions 1; the account has its first action state: true
#   then one that succeeds: events 2, actions 2; up to the account's state: getActions: endActionState not found.
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { AccountUpdate, Field, Mina, Reducer, UInt64 } from 'o1js';

const chain = await Mina.LocalBlockchain({ proofsEnabled: false });
Mina.setActiveInstance(chain);
const [payer, emitter] = chain.testAccounts;

// One command with an event and an action of emitter, and what became of it.
async function emit(fails) {
  const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
    const update = AccountUpdate.createSigned(emitter);
    update.body.events = AccountUpdate.Events.pushEvent(update.body.events, [Field(1)]);
    update.body.actions = AccountUpdate.Actions.pushEvent(update.body.actions, [Field(fails ? 2 : 3)]);
    if (fails) update.account.balance.requireBetween(UInt64.from(0), UInt64.from(1)); // it has more
  });
  const { status } = await tx.sign([payer.key, emitter.key]).safeSend();
  return status;
}
const left = async () => {
  const events = await chain.fetchEvents(emitter);
  return `events ${events.length}, actions ${chain.getActions(emitter).length}`;
};
const state = () => chain.getAccount(emitter).zkapp?.actionState[0] ?? Reducer.initialActionState;

const first = await emit(true);
const { balance, nonce } = chain.getAccount(payer);
const spent = balance.toString() === '999900000000' && nonce.toString() === '1' ? 'spent' : 'not spent';
const isFirst = state().equals(Reducer.initialActionState).toBoolean();
console.log(`${first}: fee and nonce ${spent}; ${await left()}; the account has its first action state: ${isFirst}`);

if ((await emit(false)) !== 'pending') throw Error('the second was to succeed');
let upTo;
try {
  upTo = `${chain.getActions(emitter, { endActionState: state() }).length} actions`;
} catch (error) {
  upTo = error.message;
}
console.log(`then one that succeeds: ${await left()}; up to the account's state: ${upTo}`);
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "rejected: fee and nonce spent; events 1, actions 1; the account has its first action state: true
then one that succeeds: events 2, actions 2; up to the account's state: getActions: endActionState not found." ] ||
	{ echo "this has changed" >&2; exit 1; }
