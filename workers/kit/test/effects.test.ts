import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effectsOf } from '../src/effects.js';

const command = (rest: string, ...bodies: string[]) =>
  `{"feePayer":{"body":{"nonce":"${rest}"}},"accountUpdates":[${bodies
    .map((body) => `{"body":${body},"authorization":{"proof":"${rest}"}}`)
    .join()}],"memo":"${rest}"}`;

test('the digest of what a command does is the one that the sequencer has', () => {
  const digests: [body: string, digest: string][] = [
    ['{"a":"1","b":{"c":null},"callData":"7"}', 'c838922894073d313c86a3edf4663b4be6f9e8478a17c3f94377da02b48aec32'],
    [
      String.raw`{"zkappUri":"<é>\u2028\u0001\"\\/","callDepth":1,"b":[true,[]],"a":{}}`,
      'e689f297344e99d861a5ce207229e233f3d0b547e2b009fc8d340e5be8038b0c',
    ],
    ['{"b":1}', '538c9527217296d9c466c902daed7a0657264ec331ec786a6b0c043b8d622931'],
  ];
  for (const [body, digest] of digests) {
    assert.equal(effectsOf(command('1', body)), digest, body);
    assert.equal(effectsOf(command('2', body)), digest, 'signed again');
    assert.notEqual(effectsOf(command('1', body, body)), digest);
  }
});
