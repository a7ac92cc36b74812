#!/usr/bin/env bash
# o1js requires nonce 0 of an account that signs beside the payer, whatever its nonce is: it
# never asks the node for that account.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: Mina.transaction fetches by itself what its function reads, and needs no
# fetchAccount before; so it does for the payer. AccountUpdate.createSigned(other) and
# requireSignature() need the other account's nonce, too. They ask hasAccount for it, which on
# a network says no until somebody has fetched the account, and marks nothing to be fetched; an
# account that is not there has nonce 0. So the command is built, signed and accepted, and
# fails in its block with Account_nonce_precondition_unsatisfied, fee paid. On LocalBlockchain
# the nonce is right. After fetchAccount(other) it is right here, too, but then it is the copy
# of that moment: it is not read again for later transactions either.
# Output seen:
#   nonces on the chain: payer 7, other 5; asked for: payer; required of the other: 0
#   after fetchAccount(other): 5; in the next, the chain being at 6: 5
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, fetchAccount, Mina, PrivateKey } from 'o1js';

const payer = PrivateKey.random().toPublicKey();
const other = PrivateKey.random().toPublicKey();
const own = 'Signature';
const permissions = {
  editState: own, access: 'None', send: own, receive: 'None', setDelegate: own, setPermissions: own,
  setVerificationKey: { auth: own, txnVersion: '3' }, setZkappUri: own, editActionState: own,
  setTokenSymbol: own, incrementNonce: own, setVotingFor: own, setTiming: own,
};
const timing = {
  initialMinimumBalance: null, cliffTime: null, cliffAmount: null, vestingPeriod: null, vestingIncrement: null,
};
const chain = {
  [payer.toBase58()]: { name: 'payer', nonce: '7' },
  [other.toBase58()]: { name: 'other', nonce: '5' },
};

// A node that knows both accounts.
const asked = new Set();
const node = createServer(async (request, answer) => {
  let body = '';
  for await (const piece of request) body += piece;
  const publicKey = Object.keys(chain).find((key) => body.includes(key));
  asked.add(chain[publicKey].name);
  const account = {
    publicKey, nonce: chain[publicKey].nonce, balance: { total: '100000000000' }, permissions, timing,
    token: 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf', tokenSymbol: '', receiptChainHash: null,
    delegateAccount: { publicKey }, votingFor: null, zkappState: null, verificationKey: null, actionState: null,
    provedState: null, zkappUri: null,
  };
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { account } }));
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

// What a transaction requires of the other's nonce.
async function required() {
  const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
    AccountUpdate.createSigned(other).send({ to: payer, amount: 1 });
  });
  const { lower, upper } = JSON.parse(tx.toJSON()).accountUpdates[0].body.preconditions.account.nonce;
  return lower === upper ? lower : `${lower}-${upper}`;
}
const unasked = await required();
console.log(`nonces on the chain: payer 7, other 5; asked for: ${[...asked]}; required of the other: ${unasked}`);
await fetchAccount({ publicKey: other });
const fetched = await required();
chain[other.toBase58()].nonce = '6';
console.log(`after fetchAccount(other): ${fetched}; in the next, the chain being at 6: ${await required()}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "nonces on the chain: payer 7, other 5; asked for: payer; required of the other: 0
after fetchAccount(other): 5; in the next, the chain being at 6: 5" ] || { echo "this has changed" >&2; exit 1; }
