// Makes the types from the service's own description. With --check it only says
// whether they are up to date.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const check = process.argv.includes('--check');
const file = process.argv.at(-1);

const description = execFileSync('go', ['run', './scripts/openapi'], {
  cwd: new URL('../..', import.meta.url),
  encoding: 'utf8',
});

const keyword = (kind) => ts.factory.createKeywordTypeNode(kind);
const nodes = await openapiTS(JSON.parse(description), {
  // Integers of any size: what does not fit a number is a bigint.
  transform: (schema) =>
    schema.format === 'bigint'
      ? ts.factory.createUnionTypeNode([keyword(ts.SyntaxKind.NumberKeyword), keyword(ts.SyntaxKind.BigIntKeyword)])
      : undefined,
});
const sum = createHash('sha256').update(description.trimEnd()).digest('hex');
const text = `// Made by "npm run generate" from the service's OpenAPI document: do not edit.\n// ${sum}\n\n${astToString(nodes)}`;

if (!check) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  console.error(`${file} is not what the service says of itself: run npm run generate`);
  process.exit(1);
}
