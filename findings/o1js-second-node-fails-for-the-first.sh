#!/usr/bin/env bash
# An o1js that is given a second node fails wherever that one fails, though the first is well.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: several endpoints are given as an array, for when one is away. o1js asks the
# first two of them at once, and takes what is answered first, be it an error: a second node
# that is starting, or a gateway without a node, answers at once, and a node that has to look
# takes longer. So accounts that the first knows are not found, and a transaction that the
# first takes is told as rejected (and sent to both). With the first node alone the same works.
# Output seen:
#   one node: account found, transaction pending, taken by the node: 1
#   that and one that says 502: Bad Gateway; transaction rejected, taken by the node: 1
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, fetchAccount, Mina, PrivateKey } from 'o1js';

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

// A node that answers after a while, and a gateway that has none behind it.
let taken = 0;
async function start(handle) {
  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const piece of request) body += piece;
    handle(body, answer);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${server.address().port}/graphql`;
}
const node = await start((body, answer) => {
  const isSent = body.includes('sendZkapp');
  if (isSent) taken++;
  const data = isSent
    ? { sendZkapp: { zkapp: { hash: '5J', id: 'x', failureReason: null } } }
    : { account: accountOf(payer.toBase58(), '7') };
  answer.setHeader('content-type', 'application/json');
  setTimeout(() => answer.end(JSON.stringify({ data })), 200);
});
const gateway = await start((_body, answer) => answer.writeHead(502, 'Bad Gateway').end());

Mina.setActiveInstance(Mina.Network({ mina: [node] }));
const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
  AccountUpdate.createSigned(payer);
});
await tx.sign([key]);
async function tried() {
  taken = 0;
  const { error } = await fetchAccount({ publicKey: payer });
  const { status } = await tx.safeSend();
  return `${error ? `${error.statusText};` : 'account found,'} transaction ${status}, taken by the node: ${taken}`;
}
console.log(`one node: ${await tried()}`);
Mina.setActiveInstance(Mina.Network({ mina: [node, gateway] }));
console.log(`that and one that says 502: ${await tried()}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "one node: account found, transaction pending, taken by the node: 1
that and one that says 502: Bad Gateway; transaction rejected, taken by the node: 1" ] ||
	{ echo "this has changed" >&2; exit 1; }
