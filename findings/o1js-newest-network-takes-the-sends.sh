#!/usr/bin/env bash
# o1js sends a transaction to the Mina.Network that was made last, not to the active one that
# it was built on.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: a program has an instance for each of two networks, and makes the first the
# active one. The payer's account is read from the first's node, nonce included; the
# transaction goes to the second's. For what is sent, and for what asks without naming an
# endpoint, there is one setting in the process, which every Mina.Network() overwrites and
# setActiveInstance does not bring back. So the wait for a block looks at the second's chain,
# too, where it finds nothing, and says rejected of what may be on its way.
# Output seen:
#   accounts read at: first; sent to: second; blocks of: second; status rejected
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { createServer } from 'node:http';
import { AccountUpdate, Mina, PrivateKey } from 'o1js';

const key = PrivateKey.random();
const payer = key.toPublicKey();
const open = 'Signature';
const account = {
  publicKey: payer.toBase58(),
  token: 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf',
  nonce: '7',
  balance: { total: '100000000000' },
  tokenSymbol: '',
  receiptChainHash: null,
  timing: {
    initialMinimumBalance: null, cliffTime: null, cliffAmount: null, vestingPeriod: null, vestingIncrement: null,
  },
  permissions: {
    editState: open, access: 'None', send: open, receive: 'None', setDelegate: open, setPermissions: open,
    setVerificationKey: { auth: open, txnVersion: '3' }, setZkappUri: open, editActionState: open,
    setTokenSymbol: open, incrementNonce: open, setVotingFor: open, setTiming: open,
  },
  delegateAccount: { publicKey: payer.toBase58() },
  votingFor: null, zkappState: null, verificationKey: null, actionState: null, provedState: null, zkappUri: null,
};

// Who was asked for what.
const asked = { account: new Set(), sendZkapp: new Set(), bestChain: new Set() };
const answers = {
  account,
  sendZkapp: { zkapp: { hash: '5J', id: 'x', failureReason: null } },
  bestChain: [],
};
async function node(name) {
  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const piece of request) body += piece;
    const what = ['sendZkapp', 'bestChain', 'account'].find((name) => body.includes(name));
    asked[what].add(name);
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ data: { [what]: answers[what] } }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  server.unref();
  return `http://127.0.0.1:${server.address().port}/graphql`;
}

const first = Mina.Network(await node('first'));
Mina.Network(await node('second'));
Mina.setActiveInstance(first);
const tx = await Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
  AccountUpdate.createSigned(payer).send({ to: payer, amount: 1 });
});
const pending = await tx.sign([key]).send();
const { status } = await pending.safeWait({ maxAttempts: 1, interval: 10 });
const [read, sent, looked] = Object.values(asked).map((names) => [...names].join('+'));
console.log(`accounts read at: ${read}; sent to: ${sent}; blocks of: ${looked}; status ${status}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "accounts read at: first; sent to: second; blocks of: second; status rejected" ] ||
	{ echo "this has changed" >&2; exit 1; }
