#!/usr/bin/env bash
# One bad answer of a node while o1js waits for a block makes wait() say that the transaction
# failed.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: after sending, wait() asks the node every 20 s for its last blocks, for a quarter
# of an hour. A single answer that is an error (a gateway that restarts, a node that is just
# catching up) is not asked for again: safeWait() says rejected and wait() throws "Transaction
# failed", in the same words as for one that failed in its block. So does the end of the quarter
# of an hour. The transaction is in the pool all the while, and comes into the next block.
# Output seen:
#   the second of 2 looks at the blocks is answered with 502: rejected
#   asked again: in a block
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, Mina, PrivateKey } from 'o1js';

const key = PrivateKey.random();
const payer = key.toPublicKey();
const own = 'Signature';
const permissions = {
  editState: own, access: 'None', send: own, receive: 'None', setDelegate: own, setPermissions: own,
  setVerificationKey: { auth: own, txnVersion: '3' }, setZkappUri: own, editActionState: own,
  setTokenSymbol: own, incrementNonce: own, setVotingFor: own, setTiming: own,
};
const timing = {
  initialMinimumBalance: null, cliffTime: null, cliffAmount: null, vestingPeriod: null, vestingIncrement: null,
};
const accountOf = (key, nonce) => ({
  publicKey: key, nonce, balance: { total: '100000000000' }, permissions, timing, tokenSymbol: '',
  token: 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf', receiptChainHash: null, zkappUri: null,
  delegateAccount: { publicKey: key }, votingFor: null, zkappState: null, verificationKey: null,
  actionState: null, provedState: null,
});

let asked = 0;
let hash;
const block = (zkappCommands) => ({
  stateHash: '3N', transactions: { zkappCommands },
  protocolState: {
    previousStateHash: '3M', consensusState: { blockHeight: '100', epoch: '0', slotSinceGenesis: '100' },
  },
});
// A node that is away for the second look at its blocks, and has the transaction in the third.
const node = createServer(async (request, answer) => {
  let body = '';
  for await (const piece of request) body += piece;
  let data = { account: accountOf(payer.toBase58(), '7') };
  if (body.includes('sendZkapp')) data = { sendZkapp: { zkapp: { hash: '5J', id: 'x', failureReason: null } } };
  if (body.includes('bestChain')) {
    asked++;
    if (asked === 2) return answer.writeHead(502).end();
    data = { bestChain: [block(asked < 2 ? [] : [{ hash, failureReason: null }])] };
  }
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data }));
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
  AccountUpdate.createSigned(payer);
});
const pending = await tx.sign([key]).send();
hash = pending.hash;
const first = await pending.safeWait({ interval: 10 });
console.log(`the second of ${asked} looks at the blocks is answered with 502: ${first.status}`);
const second = await pending.safeWait({ interval: 10 });
console.log(`asked again: ${second.status === 'included' ? 'in a block' : second.status}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "the second of 2 looks at the blocks is answered with 502: rejected
asked again: in a block" ] || { echo "this has changed" >&2; exit 1; }
