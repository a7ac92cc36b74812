import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LosslessNumber, parse, stringify } from '../src/index.js';

test('numbers stay what they were', () => {
  const text =
    '{"a":[0,-1,1.5,9007199254740991,9007199254740992,-123456789012345678901234567890,1E400,0.10,1e+2,-0,1e21,0.1],"b":"\\u0041"}';
  const value = parse(text) as { a: unknown[]; b: string };
  assert.equal(stringify(value), text.replace('\\u0041', 'A'));
  assert.equal(value.a[3], 9007199254740991);
  assert.equal(value.a[4], 9007199254740992n);
  assert.equal(value.a[5], -123456789012345678901234567890n);
  assert.ok(value.a[6] instanceof LosslessNumber);
  assert.equal(value.a[11], 0.1);
});

test('objects hold what they were given', () => {
  assert.deepEqual(parse('{"a":1,"a":2}'), { a: 2 });
  assert.equal(stringify({ a: undefined, b: 2n ** 70n, c: [null] }), '{"b":1180591620717411303424,"c":[null]}');
  assert.equal(({} as { x?: number }).x, undefined);
  const odd = parse('{"__proto__":{"x":1}}') as object;
  assert.equal((odd as { x?: number }).x, undefined);
  assert.ok(Object.hasOwn(odd, '__proto__'));
  assert.throws(() => parse('{"a":'), SyntaxError);
  assert.throws(() => stringify(undefined), TypeError);
});
