import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Berkeley from 'mina-signer-berkeley';
import Mesa from 'mina-signer';
import { Key, readPolicy, serve, Spent, type Attempt } from '../src/index.js';

const client = new Mesa({ network: 'devnet' });
export const { publicKey: payer, privateKey: secret } = client.genKeys();
export const { publicKey: zkApp } = client.genKeys();
export const { publicKey: stranger } = client.genKeys();

export const policy = {
  maxFee: '1',
  maxFeesPerDay: '2.5',
  maxOutflow: '3',
  maxOutflowPerDay: '5',
  types: ['ADD', 'PAY'],
  zkApps: [zkApp],
};

export const attempt: Attempt = { number: 1, nonce: 7, fee: '1000000000', validUntil: 4321, memo: 'order-4711' };

type Body = Record<string, unknown>;

/** An account update with nothing in it, as a JSON of Berkeley has it, or with 32 fields as one of Mesa. */
export function update(publicKey: string, body: Body = {}, authorization: Body = {}, fields = 8): Body {
  const epoch = {
    ledger: { hash: null, totalCurrency: null },
    seed: null,
    startCheckpoint: null,
    lockCheckpoint: null,
    epochLength: null,
  };
  const none = Array<null>(fields).fill(null);
  const { update: changes, ...rest } = body;
  return {
    body: {
      publicKey,
      tokenId: 'wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf',
      update: {
        appState: none,
        delegate: null,
        verificationKey: null,
        permissions: null,
        zkappUri: null,
        tokenSymbol: null,
        timing: null,
        votingFor: null,
        ...(changes as Body),
      },
      balanceChange: { magnitude: '0', sgn: 'Positive' },
      incrementNonce: false,
      events: [],
      actions: [],
      callData: '0',
      callDepth: 0,
      preconditions: {
        network: {
          snarkedLedgerHash: null,
          blockchainLength: null,
          minWindowDensity: null,
          totalCurrency: null,
          globalSlotSinceGenesis: null,
          stakingEpochData: epoch,
          nextEpochData: epoch,
        },
        account: {
          balance: null,
          nonce: null,
          receiptChainHash: null,
          delegate: null,
          state: none,
          actionState: null,
          provedState: null,
          isNew: null,
        },
        validWhile: null,
      },
      useFullCommitment: false,
      implicitAccountCreationFee: false,
      mayUseToken: { parentsOwnToken: false, inheritFromParent: false },
      authorizationKind: {
        isSigned: false,
        isProved: false,
        verificationKeyHash: '3392518251768960475377392625298437850623664973002200885669375116181514017494',
      },
      ...rest,
    },
    authorization: { proof: null, signature: null, ...authorization },
  };
}

const kindOf = (isSigned: boolean, isProved: boolean) => ({
  authorizationKind: {
    isSigned,
    isProved,
    verificationKeyHash: '3392518251768960475377392625298437850623664973002200885669375116181514017494',
  },
});
export const bySignature = { ...kindOf(true, false), useFullCommitment: true };
export const byProof = kindOf(false, true);

/** A payment of the payer: so many nanomina leave its account. */
export function pays(amount: bigint, body: Body = {}, fields = 8): Body {
  const balanceChange = { magnitude: `${amount < 0n ? -amount : amount}`, sgn: amount < 0n ? 'Positive' : 'Negative' };
  return update(payer, { balanceChange, ...bySignature, ...body }, {}, fields);
}

export const call = update(zkApp, byProof, { proof: 'a-proof' });

/** A command in JSON as a prover gives it to be signed: the payer's authorizations are empty. */
export function proved(updates: Body[], values: Partial<Attempt> & { payer?: string } = {}): string {
  const { fee, nonce, validUntil, memo } = { ...attempt, ...values };
  const signed = client.signZkappCommand(
    { zkappCommand: { accountUpdates: [] } as never, feePayer: { feePayer: payer, fee, nonce, validUntil, memo } },
    secret,
  ).data.zkappCommand;
  const { body } = signed.feePayer;
  return JSON.stringify({
    feePayer: { body: { ...body, publicKey: values.payer ?? payer }, authorization: '' },
    accountUpdates: updates,
    memo: signed.memo,
  });
}

/** Whether the payer's signatures of a command are good, by the mina-signer of its era. */
export function isGood(signed: string, fields: 8 | 32): boolean {
  const zkappCommand = JSON.parse(signed) as { feePayer: { authorization: string } };
  const verifier = new { 8: Berkeley as unknown as typeof Mesa, 32: Mesa }[fields]({ network: 'devnet' });
  const { authorization } = zkappCommand.feePayer;
  return verifier.verifyZkappCommand({ data: { zkappCommand } as never, publicKey: payer, signature: authorization });
}

export interface Answer {
  status: number;
  text: string;
  signed?: string;
  code?: string;
  message?: string;
  error?: { code: string; rule: string; message: string; scope: string; until: string | null };
  [name: string]: unknown;
}

/** The body of a call for an attempt. */
export function body(values: Partial<Attempt> & { uid?: string; type?: string } = {}, command?: string): object {
  const { uid = 'u', type = 'ADD', ...more } = values;
  return {
    txData: { uid, type, data: {} },
    sender: { accountId: payer, queue: 'q', retries: 0 },
    attempt: { ...attempt, previous: [], ...more },
    ...(command !== undefined && { proved: command }),
  };
}

export async function post(url: string, path: string, content: unknown, headers = {}): Promise<Answer> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers,
    body: typeof content === 'string' ? content : JSON.stringify(content),
  });
  const text = await response.text();
  return { ...(JSON.parse(text) as object), status: response.status, text };
}

type Test = { after(work: () => unknown): void };

/** A folder that is gone when the test is over. */
export async function folder(t: Test): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'signer-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A signer in this process. */
export async function start(t: Test, { rules = {}, state = '', token = '', now = () => new Date() } = {}) {
  const lines: string[] = [];
  const superseded: true[] = [];
  const file = state || join(await folder(t), 'state.json');
  const read = readPolicy(JSON.stringify({ ...policy, ...rules }));
  const spent = await Spent.open(file, read, now);
  const { url, close } = await serve({
    key: new Key(secret, 'devnet'),
    policy: read,
    spent,
    network: 'devnet',
    token,
    host: '127.0.0.1',
    port: 0,
    log: (level, fields, message) => lines.push(JSON.stringify({ level, ...fields, message })),
    onSuperseded: () => superseded.push(true),
  });
  t.after(close);
  const sign = (values: Parameters<typeof body>[0], updates?: Body[]) => {
    const command = updates && proved(updates, values);
    return post(url, `/sign/${values?.type ?? 'ADD'}`, body(values, command));
  };
  return { url, lines, superseded, sign, file, spent };
}
