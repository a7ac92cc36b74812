#!/usr/bin/env bash
# A transaction of a payer that the network does not know keeps o1js from building any other one
# in this process.
#
# Seen with: o1js 2.15.0 and 2.13.0, Node 20.
# What happens: Mina.transaction opens a transaction that is global to the process, and then
# reads the payer's account for its nonce. Where the node does not know it (not funded yet, the
# node not in sync) it throws, rightly, and leaves the transaction open. From then on each
# Mina.transaction throws, also those of payers that are known, until the process is restarted.
# A failure inside of the transaction's own function leaves nothing open.
# Output seen:
#   a payer that is known: built
#   one that is not: getAccount: Could not find account
#   the first again: Cannot start new transaction within another transaction
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, Mina, PrivateKey } from 'o1js';

const [known, unknown] = [0, 1].map(() => PrivateKey.random().toPublicKey());
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

// A node that knows one of them.
const node = createServer(async (request, answer) => {
  let body = '';
  for await (const piece of request) body += piece;
  const account = body.includes(known.toBase58()) ? accountOf(known.toBase58(), '7') : null;
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { account } }));
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

const build = (sender) =>
  Mina.transaction({ sender, fee: 1e8 }, async () => {
    AccountUpdate.createSigned(known);
  }).then(
    () => 'built',
    ({ message }) => message.split('\n')[0].split(' for public key')[0],
  );
console.log(`a payer that is known: ${await build(known)}`);
console.log(`one that is not: ${await build(unknown)}`);
console.log(`the first again: ${await build(known)}`);
process.exit();
JS
echo '{"private": true}' >package.json
for version in 2.15.0 2.13.0; do
	npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
		"o1js@$version" >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
	said=$(node main.mjs)
	echo "o1js $version:"
	echo "$said"
	[ "$said" = "a payer that is known: built
one that is not: getAccount: Could not find account
the first again: Cannot start new transaction within another transaction" ] ||
		{ echo "this has changed" >&2; exit 1; }
done
