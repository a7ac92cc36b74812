#!/usr/bin/env bash
# mina-signer's minimum fee of a zkApp command is a number of MINA, and it is compared with
# the command's fee in nanomina: any fee but 0 passes.
#
# Seen with: mina-signer 3.1.0 and 4.0.0, Node 20.
# What happens: getAccountUpdateMinimumFee gives 0.001 for each account update, "the fee to be
# paid by the fee payer" by its documentation. Fees of commands are whole nanomina. So what
# signZkappCommand refuses with two updates is a fee below 0.002 nanomina; 1 nanomina, a
# millionth of what a daemon takes at least, is signed. The error for 0 names the floor without
# a unit, and the floor that the function gives cannot be used as a fee.
# Output seen:
#   mina-signer 3.1.0: floor 0.002; fee 0: Fee must be greater than 0.002; fee 1: signed; that floor: refused
#   mina-signer 4.0.0: floor 0.002; fee 0: Fee must be greater than 0.002; fee 1: signed; that floor: refused
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import Client from 'mina-signer';

// An account update with nothing in it, as that version has it.
const types = './node_modules/mina-signer/dist/node/bindings/mina-transaction/gen/v1/transaction-bigint.js';
const { AccountUpdate } = await import(types);

const client = new Client({ network: 'testnet' });
const { publicKey, privateKey } = client.genKeys();
const update = AccountUpdate.toJSON(AccountUpdate.empty());
update.body.publicKey = publicKey;
const zkappCommand = {
  feePayer: { body: { publicKey, fee: '0', nonce: '0', validUntil: null }, authorization: '' },
  accountUpdates: [update, update],
  memo: '',
};
function withFee(fee) {
  try {
    const feePayer = { feePayer: publicKey, fee, nonce: 0 };
    const signed = client.signZkappCommand({ zkappCommand, feePayer }, privateKey);
    return client.verifyZkappCommand(signed) ? 'signed' : 'not signed';
  } catch (error) {
    return error instanceof RangeError ? 'refused' : error.message;
  }
}
const floor = client.getAccountUpdateMinimumFee(zkappCommand.accountUpdates);
console.log(`floor ${floor}; fee 0: ${withFee(0)}; fee 1: ${withFee(1)}; that floor: ${withFee(floor)}`);
JS

for version in 3.1.0 4.0.0; do
	echo '{"private": true}' >package.json
	npm install --no-audit --no-fund --ignore-scripts --save-exact \
		"mina-signer@$version" >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
	said=$(node main.mjs)
	echo "mina-signer $version: $said"
	[ "$said" = "floor 0.002; fee 0: Fee must be greater than 0.002; fee 1: signed; that floor: refused" ] ||
		{ echo "this has changed" >&2; exit 1; }
done
