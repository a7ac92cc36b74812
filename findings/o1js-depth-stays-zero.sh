#!/usr/bin/env bash
# o1js' fetchTransactionDepth says 0 for ever, and never that a transaction is final.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: Mina's bestChain lists blocks from the oldest to the tip, by its own
# description. fetchTransactionDepth takes the first of them for the tip, so the depth of what
# stands in any of them comes out below zero, and is told as 0. Whoever waits for isFinalized
# waits until the block has left the list, and is then told that the transaction is not there;
# waitForFinality asks the same, and gives up after an hour and a half.
# Output seen:
#   in the block at height 102, the tip being at 119: depth 0 of 15, tip taken for 100, final: false
#   20 blocks later: null
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { fetchTransactionDepth, Mina } from 'o1js';

// A node whose chain has 20 blocks up to its tip, oldest first.
let tip = 119;
const node = createServer((request, answer) => {
  request.resume();
  const bestChain = Array.from({ length: 20 }, (_, i) => {
    const height = tip - 19 + i;
    return {
      stateHash: `3N${height}`,
      transactions: { zkappCommands: height === 102 ? [{ hash: '5Jmine', failureReason: null }] : [] },
      protocolState: {
        previousStateHash: `3N${height - 1}`,
        consensusState: { blockHeight: `${height}`, epoch: '0', slotSinceGenesis: `${height}` },
      },
    };
  });
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { bestChain } }));
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

const { depth, finalityThreshold, currentBlockHeight, isFinalized } = await fetchTransactionDepth('5Jmine');
console.log(
  `in the block at height 102, the tip being at ${tip}: depth ${depth} of ${finalityThreshold}, ` +
    `tip taken for ${currentBlockHeight}, final: ${isFinalized}`,
);
tip += 20;
console.log(`20 blocks later: ${await fetchTransactionDepth('5Jmine')}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "in the block at height 102, the tip being at 119: depth 0 of 15, tip taken for 100, final: false
20 blocks later: null" ] || { echo "this has changed" >&2; exit 1; }
