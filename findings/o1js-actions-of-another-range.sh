#!/usr/bin/env bash
# o1js' getActions gives the actions of the range that was fetched last, whichever range is
# asked for.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: a contract has three blocks of actions. fetchActions gets the range that is
# asked for, and keeps what came by account alone. getActions, which is what a reducer reads in
# a contract's method, gives that for every range. So a program that has once fetched all, or
# whose two reads in a transaction begin at different states, reduces actions that it reduced
# before, or misses some, without a word. On LocalBlockchain the range is heeded, so tests on
# that do not show it.
# Output seen:
#   fetched from state 1: 2 3
#   read from the start: 2 3; from state 2: 2 3; to state 1: 2 3; asked the archive: 1 time
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, Field, Mina, PrivateKey, Reducer } from 'o1js';

const contract = PrivateKey.random().toPublicKey();
const { empty, pushEvent, updateSequenceState } = AccountUpdate.Actions;
const states = [Reducer.initialActionState];
const blocks = [1, 2, 3].map((value) => {
  const before = states.at(-1);
  states.push(updateSequenceState(before, pushEvent(empty(), [Field(value)]).hash));
  return {
    blockInfo: { distanceFromMaxBlockHeight: 3 - value },
    actionState: { actionStateOne: states.at(-1).toString(), actionStateTwo: before.toString() },
    actionData: [{
      accountUpdateId: `${value}`, data: [`${value}`],
      transactionInfo: { sequenceNumber: 0, zkappAccountUpdateIds: [value] },
    }],
  };
});

// An archive that gives what it is asked for.
let asked = 0;
const archive = createServer(async (request, answer) => {
  let body = '';
  for await (const piece of request) body += piece;
  asked++;
  const [, from] = /fromActionState: "(\d+)"/.exec(JSON.parse(body).query) ?? [];
  const begin = from ? states.findIndex((state) => state.toString() === from) : 0;
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { actions: blocks.slice(begin) } }));
});
await new Promise((done) => archive.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${archive.address().port}`;
Mina.setActiveInstance(Mina.Network({ mina: url, archive: url }));

const values = (list) => list.map(({ actions }) => actions.flat()).join(' ');
console.log(`fetched from state 1: ${values(await Mina.fetchActions(contract, { fromActionState: states[1] }))}`);
const read = (range) => values(Mina.getActions(contract, range));
console.log(
  `read from the start: ${read()}; from state 2: ${read({ fromActionState: states[2] })}; ` +
    `to state 1: ${read({ endActionState: states[1] })}; asked the archive: ${asked} time`,
);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "fetched from state 1: 2 3
read from the start: 2 3; from state 2: 2 3; to state 1: 2 3; asked the archive: 1 time" ] ||
	{ echo "this has changed" >&2; exit 1; }
