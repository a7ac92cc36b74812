import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Field } from 'o1js';
import { readConfig } from '../src/config.js';
import { ElectorSet } from '../src/elector-set.js';
import { Keys } from '../src/keys.js';
import { electorKeys } from './local.js';

const addresses = electorKeys.map((key) => key.toPublicKey().toBase58());
const secret = 'a secret of at least thirty-two bytes';

describe('the environment', () => {
  let folder: string;
  let good: NodeJS.ProcessEnv;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'voting-config-'));
    const file = async (name: string, text: string, mode = 0o600) => {
      await writeFile(join(folder, name), text);
      await chmod(join(folder, name), mode);
    };
    await file('electors.json', JSON.stringify(addresses));
    await file('twice.json', JSON.stringify([...addresses, addresses[0]]));
    await file('object.json', '{}');
    await file('secret', `${secret}\n`);
    await file('open', secret, 0o644);
    good = {
      MINA_URL: 'http://127.0.0.1:1/graphql, http://127.0.0.1:2/graphql',
      ARCHIVE_URL: 'http://127.0.0.1:3',
      VOTING_ACCOUNT_SECRET: secret,
      VOTING_ELECTORS_FILES: join(folder, 'electors.json'),
    };
  });
  after(() => rm(folder, { recursive: true }));

  test('is read', () => {
    const { worker, keys, electors } = readConfig({ ...good, PROOFS: 'off', WORKER_STORE: '' });
    assert.deepEqual(worker, {
      payer: { env: 'PAYER_KEY' },
      network: {
        graphql: ['http://127.0.0.1:1/graphql', 'http://127.0.0.1:2/graphql'],
        archive: ['http://127.0.0.1:3'],
        networkId: 'devnet',
      },
      port: 3000,
      proofsEnabled: false,
    });
    assert.equal(electors[0]!.root.toBigInt(), new ElectorSet(addresses).root.toBigInt());
    assert.equal(readConfig({ ...good, HOST: '0.0.0.0' }).worker.host, '0.0.0.0');
    const fromFile = readConfig({
      ...good,
      VOTING_ACCOUNT_SECRET: '',
      VOTING_ACCOUNT_SECRET_FILE: join(folder, 'secret'),
    });
    assert.equal(fromFile.keys.account('uid').toBase58(), keys.account('uid').toBase58());
  });

  const wrong: [name: string, message: RegExp, change: (folder: string) => NodeJS.ProcessEnv][] = [
    ['no node', /MINA_URL/, () => ({ MINA_URL: '' })],
    ['no archive', /ARCHIVE_URL/, () => ({ ARCHIVE_URL: undefined })],
    ['no secret', /VOTING_ACCOUNT_SECRET/, () => ({ VOTING_ACCOUNT_SECRET: '' })],
    ['two secrets', /set one of/, (at) => ({ VOTING_ACCOUNT_SECRET_FILE: join(at, 'secret') })],
    ['a short secret', /VOTING_ACCOUNT_SECRET: .*32 bytes/, () => ({ VOTING_ACCOUNT_SECRET: 'hunter2' })],
    [
      'a secret that others read',
      /chmod 600/,
      (at) => ({
        VOTING_ACCOUNT_SECRET: '',
        VOTING_ACCOUNT_SECRET_FILE: join(at, 'open'),
      }),
    ],
    ['no electors', /VOTING_ELECTORS_FILES/, () => ({ VOTING_ELECTORS_FILES: '' })],
    [
      'an elector twice',
      /twice.json: elector B62.* twice/,
      (at) => ({ VOTING_ELECTORS_FILES: join(at, 'twice.json') }),
    ],
    ['no list', /object.json: .*JSON array/, (at) => ({ VOTING_ELECTORS_FILES: join(at, 'object.json') })],
    ['proofs of a kind', /PROOFS/, () => ({ PROOFS: 'maybe' })],
    ['no port', /PORT/, () => ({ PORT: 'http' })],
  ];
  for (const [name, message, change] of wrong)
    test(`is refused with ${name}`, () => {
      assert.throws(
        () => readConfig({ ...good, ...change(folder) }),
        (error: Error) => {
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /hunter2|thirty-two/);
          return true;
        },
      );
    });
});

describe('keys', () => {
  const [one, same, other] = [
    new Keys(Buffer.alloc(32, 1)),
    new Keys(Buffer.alloc(32, 1)),
    new Keys(Buffer.alloc(32, 2)),
  ];

  test('follow from secret and uid', () => {
    assert.equal(one.account('a').toBase58(), same.account('a').toBase58());
    assert.notEqual(one.account('a').toBase58(), other.account('a').toBase58());
    assert.notEqual(one.account('a').toBase58(), one.account('b').toBase58());
    // HMAC-SHA256 by another implementation: openssl dgst -sha256 -mac HMAC -macopt hexkey:0101…01, without its two highest bits.
    assert.equal(
      one.account('a').toBigInt().toString(16),
      'fed454e4af2e38d7a0c4f0345a12d8ca418554236df19d57b6a239c212bd8ea',
    );
  });

  test('of names and service are those of no uid', () => {
    const keys = [
      one.account('claim'),
      one.account('service'),
      one.service(),
      one.name('claim', Field(1)),
      one.name('plan', Field(1)),
      one.name('claim', Field(2)),
    ];
    assert.equal(new Set(keys.map((key) => key.toBase58())).size, keys.length);
  });
});
