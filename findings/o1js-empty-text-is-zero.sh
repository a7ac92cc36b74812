#!/usr/bin/env bash
# o1js takes an empty text for the number 0, and a text in hexadecimal for a number.
#
# Seen with: o1js 2.15.0, Node 20.
# What happens: Field(), UInt64.from(), UInt32.from() and Int64.from(), and fromJSON of UInt64,
# UInt32 and of each struct of them, leave texts to BigInt: what is empty or blank is 0, spaces
# around are dropped, 0x, 0o and 0b count. Field.fromJSON alone refuses what is empty, and
# Int64.fromJSON any text. Bool.fromJSON takes each number but 1 for false. So a form field that
# was left empty is an amount of 0, and no error; a payload is checked before it gets here.
# Output seen:
#   text        Field  Field.fromJSON  UInt64.from  UInt64.fromJSON  Int64.from
#   ""          0      refused         0            0                0
#   "  "        0      refused         0            0                0
#   " 12 "      12     12              12           12               12
#   "0x10"      16     16              16           16               16
#   Bool.fromJSON: "1" is true, "2" is false, "" is false
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
cat >main.mjs <<'JS'
import { Bool, Field, Int64, UInt64 } from 'o1js';

const readers = {
  Field: (text) => Field(text),
  'Field.fromJSON': (text) => Field.fromJSON(text),
  'UInt64.from': (text) => UInt64.from(text),
  'UInt64.fromJSON': (text) => UInt64.fromJSON(text),
  'Int64.from': (text) => Int64.from(text),
};
function read(reader, text) {
  try {
    return reader(text).toString();
  } catch {
    return 'refused';
  }
}
console.log(`text        ${Object.keys(readers).join('  ')}`);
for (const text of ['', '  ', ' 12 ', '0x10']) {
  const row = Object.entries(readers).map(([name, reader]) => read(reader, text).padEnd(name.length + 2));
  console.log(`${JSON.stringify(text).padEnd(12)}${row.join('')}`.trimEnd());
}
const [one, two, none] = ['1', '2', ''].map((text) => Bool.fromJSON(text).toString());
console.log(`Bool.fromJSON: "1" is ${one}, "2" is ${two}, "" is ${none}`);
process.exit();
JS
echo '{"private": true}' >package.json
npm install --no-audit --no-fund --ignore-scripts --omit=optional --save-exact \
	o1js@2.15.0 >npm.log 2>&1 || { cat npm.log >&2; exit 2; }
said=$(node main.mjs)
echo "$said"
[ "$said" = 'text        Field  Field.fromJSON  UInt64.from  UInt64.fromJSON  Int64.from
""          0      refused         0            0                0
"  "        0      refused         0            0                0
" 12 "      12     12              12           12               12
"0x10"      16     16              16           16               16
Bool.fromJSON: "1" is true, "2" is false, "" is false' ] || { echo "this has changed" >&2; exit 1; }
