#!/usr/bin/env bash
# @minatokens/storage, and with it the token, offer, bid and claim contracts of @minatokens/token,
# cannot be imported with the o1js that npm installs beside it.
#
# Seen with: @minatokens/storage 0.15.2 on o1js 2.15.0 and 2.2.0, Node 20.
# What happens: it asks for o1js ^2.2.0 and takes IndexedMerkleMap from Experimental. Within 2.x
# o1js moved that to its top level and left nothing behind. npm is content, and the import throws.
# Object.assign(Experimental, { IndexedMerkleMap }) in a module that is imported before it mends it.
# Output seen:
#   o1js 2.2.0: loads
#   o1js 2.15.0: TypeError: IndexedMerkleMap is not a function
#   o1js 2.15.0, put back: loads
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import * as o1js from 'o1js';

const [version, back] = process.argv.slice(2);
if (back) Object.assign(o1js.Experimental, { IndexedMerkleMap: o1js.IndexedMerkleMap });
const how = await import('@minatokens/storage').then(() => 'loads', String);
console.log(`o1js ${version}${back ? ', put back' : ''}: ${how}`);
process.exit(0);
JS
said=''
# with installs a version of o1js beside the package, and tells whether that loads.
with() {
	rm -rf node_modules package-lock.json
	echo '{"private": true}' >package.json
	npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
		"o1js@$1" @minatokens/storage@0.15.2 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
	said+="$(node main.mjs "$1")"$'\n'
}
with 2.2.0
with 2.15.0
said+=$(node main.mjs 2.15.0 back)
echo "$said"
[ "$said" = "o1js 2.2.0: loads
o1js 2.15.0: TypeError: IndexedMerkleMap is not a function
o1js 2.15.0, put back: loads" ] || { echo "this has changed" >&2; exit 1; }
