#!/usr/bin/env bash
# o1js asks the node for each account that was ever missing, at every later transaction.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: what a transaction reads is put on a list that is global to the process, and is
# taken off when it was fetched. An account that is not on the chain never is. So where users
# name accounts, each wrong address is refused, rightly, and is asked for again, with all the
# others and at once, with each transaction from then on, whatever that is about: 1,000 of them
# are 1,000 requests more for every transaction, until the process is restarted.
# Output seen:
#   requests for a transaction of the payer alone: 1
#   20 that read an account that is not there: 20 refused, 230 requests
#   the next of the payer alone: 21; and the next: 21
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

let asked = 0;
const node = createServer(async (request, answer) => {
  let body = '';
  for await (const piece of request) body += piece;
  asked++;
  const account = body.includes(payer.toBase58()) ? accountOf(payer.toBase58(), '7') : null;
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ data: { account } }));
});
await new Promise((done) => node.listen(0, '127.0.0.1', done));
Mina.setActiveInstance(Mina.Network(`http://127.0.0.1:${node.address().port}/graphql`));

let refused = 0;
async function requests(...users) {
  asked = 0;
  for (const user of users) {
    const tx = Mina.transaction({ sender: payer, fee: 1e8 }, async () => {
      if (user) Mina.getAccount(user);
      else AccountUpdate.createSigned(payer);
    });
    await tx.catch(() => refused++);
  }
  return asked;
}
const alone = () => requests(undefined);
const users = Array.from({ length: 20 }, () => PrivateKey.random().toPublicKey());
console.log(`requests for a transaction of the payer alone: ${await alone()}`);
const together = await requests(...users);
console.log(`20 that read an account that is not there: ${refused} refused, ${together} requests`);
console.log(`the next of the payer alone: ${await alone()}; and the next: ${await alone()}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = "requests for a transaction of the payer alone: 1
20 that read an account that is not there: 20 refused, 230 requests
the next of the payer alone: 21; and the next: 21" ] || { echo "this has changed" >&2; exit 1; }
