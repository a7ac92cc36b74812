#!/usr/bin/env bash
# While a node cannot answer, o1js builds on what it remembers of the accounts, and says nothing.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: Mina.transaction asks the node for the payer and whatever else its function
# reads. Where the node answers with an error, a gateway answers in its place, or nobody is
# there, the error is dropped, and the copy of the last time is used, however old that is. So
# the command has the nonce of then, is proved for a minute, and is refused or fails in its
# block. The first transaction of a process fails instead, for there is no copy.
# Output seen:
#   the chain is at nonce 7: built with 7
#   the chain is at nonce 9, a gateway says 502: built with 7
#   the chain is at nonce 9, the node is still starting: built with 7
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, Mina, PrivateKey } from 'o1js';

const payer = PrivateKey.random().toPublicKey();
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

let answers;
const node = createServer((request, answer) => {
  request.resume();
  answer.setHeader('content-type', 'application/json');
  answers(answer);
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

async function build(what, how) {
  answers = how;
  const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
    AccountUpdate.createSigned(payer);
  });
  console.log(`${what}: built with ${JSON.parse(tx.toJSON()).feePayer.body.nonce}`);
}
await build('the chain is at nonce 7', (answer) =>
  answer.end(JSON.stringify({ data: { account: accountOf(payer.toBase58(), '7') } })),
);
await build('the chain is at nonce 9, a gateway says 502', (answer) => answer.writeHead(502).end('Bad Gateway'));
await build('the chain is at nonce 9, the node is still starting', (answer) =>
  answer.end(JSON.stringify({ data: null, errors: [{ message: 'the daemon is bootstrapping' }] })),
);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "the chain is at nonce 7: built with 7
the chain is at nonce 9, a gateway says 502: built with 7
the chain is at nonce 9, the node is still starting: built with 7" ] || { echo "this has changed" >&2; exit 1; }
