import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Field } from 'o1js';
import { ElectorSet, electorTree, MAX_ELECTORS } from '../src/elector-set.js';
import { electorLeaf } from '../src/fields.js';
import { electorKeys, electors } from './local.js';

describe('an elector tree', () => {
  const last = MAX_ELECTORS - 1;
  const cases: number[][] = [[], [0], [last], [0, 1], [1, 2], [0, 1, 2, 3, 4], [7, 3, 100, 65_000], [last, 0]];
  for (const places of cases)
    test(`with leaves at ${places.join(', ') || 'no place'} is the one that grows leaf by leaf`, () => {
      const grown = electorTree();
      for (const place of places) grown.setLeaf(BigInt(place), Field(place + 9));
      const built = electorTree(places.map((place) => [BigInt(place), Field(place + 9)]));
      assert.equal(built.getRoot().toBigInt(), grown.getRoot().toBigInt());
      for (const place of [...places, 5]) {
        const way = (tree: typeof built) => tree.getWitness(BigInt(place)).map(({ sibling }) => sibling.toBigInt());
        assert.deepEqual(way(built), way(grown));
      }
      // It goes on growing as any other.
      for (const tree of [built, grown]) tree.setLeaf(6n, Field(1));
      assert.equal(built.getRoot().toBigInt(), grown.getRoot().toBigInt());
    });
});

describe('an elector set', () => {
  test('leads from every elector to its root', () => {
    electorKeys.forEach((key, i) => {
      const elector = key.toPublicKey();
      const place = electors.placeOf(elector)!;
      assert.equal(place, i);
      const witness = electors.witness(place);
      assert.equal(witness.calculateRoot(electorLeaf(elector)).toBigInt(), electors.root.toBigInt());
      assert.equal(witness.calculateIndex().toBigInt(), BigInt(i));
    });
  });

  const address = electorKeys[0]!.toPublicKey().toBase58();
  const wrong: [name: string, message: RegExp, electors: string[]][] = [
    ['nobody', /1 to 65536 electors, this one 0/, []],
    ['one twice', /listed twice/, [address, address]],
    ['no key', /"B62" is not a public key/, ['B62']],
    ['too many', /this one 65537/, Array.from({ length: MAX_ELECTORS + 1 }, String)],
  ];
  for (const [name, message, list] of wrong)
    test(`is refused with ${name}`, () => assert.throws(() => new ElectorSet(list), message));
});
