import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Mismatch, type Attempt, type Key } from './command.js';
import { checkCall, checkCommand, mina, Refused, type Policy } from './policy.js';
import { Superseded, type Spent } from './spent.js';

/** The longest request in bytes: a command of the most account updates, proved, and its payload. */
const bodyLimit = 16 << 20;
/** How long a request may take to arrive. */
const requestTimeout = 30_000;

/** Where what is signed and refused is told. Keys, tokens and commands never come here. */
export type Log = (level: 'info' | 'warn' | 'error', fields: object, message: string) => void;

export interface SignerOptions {
  key: Key;
  policy: Policy;
  spent: Spent;
  /** The network's name, for who asks at /health. */
  network: string;
  token: string;
  host: string;
  port: number;
  log: Log;
  /** Called when another signer counts in its place: it signs nothing any more. */
  onSuperseded?: () => void;
}

/** The body of a call. */
interface Call {
  txData: { uid: string; type: string };
  sender: { accountId: string };
  attempt: Attempt;
  proved: string | undefined;
}

/** An answer that says what is wrong with the call, or with this process. */
class Status extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Serves `POST /sign/TYPE` and `GET /health`, and returns the server when it listens. Throws where the
 * address is taken.
 */
export async function serve(options: SignerOptions): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer({ requestTimeout, headersTimeout: requestTimeout }, (request, response) => {
    void answer(options, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  const host = family === 'IPv6' ? `[${address}]` : address;
  return { url: `http://${host}:${port}`, close: () => close(server) };
}

function close(server: Server): Promise<void> {
  server.closeIdleConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function answer(options: SignerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let status = 200;
  let body: object;
  try {
    body = await route(options, request);
  } catch (thrown) {
    if (thrown instanceof Superseded) options.onSuperseded?.();
    const error = statusOf(thrown, options.log);
    status = error.status;
    body = { code: error.code, message: error.message };
  }
  // What is left of a request that was not read would be taken for the next one.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function statusOf(thrown: unknown, log: Log): Status {
  if (thrown instanceof Status) return thrown;
  if (thrown instanceof Mismatch) return new Status(400, 'MISMATCH', thrown.message);
  if (thrown instanceof Superseded) return new Status(503, 'SUPERSEDED', thrown.message);
  const why = (thrown as NodeJS.ErrnoException | null)?.code ?? (thrown instanceof Error ? thrown.name : 'unknown');
  log('error', { code: why }, 'nothing was signed: what is signed cannot be counted');
  return new Status(503, 'UNAVAILABLE', `what is signed cannot be counted on the signer's disk (${why})`);
}

async function route(options: SignerOptions, request: IncomingMessage): Promise<object> {
  checkCaller(options.token, request);
  const { pathname } = new URL(request.url ?? '/', 'http://signer');
  if (pathname === '/health' && request.method === 'GET') return health(options);
  const type = /^\/sign\/([^/]+)$/.exec(pathname)?.[1];
  if (type === undefined || request.method !== 'POST')
    throw new Status(404, '404', 'a signer has POST /sign/TYPE and GET /health');
  const call = readCall(decoded(type), await readBody(request));
  const own = options.key.publicKey;
  if (call.sender.accountId !== own)
    throw new Status(403, 'WRONG_ACCOUNT', `this signer has the key of ${own}, not of ${call.sender.accountId}`);
  return sign(options, call);
}

/** Signs, or says why the policy does not allow it; without a command says whether it would come to that. */
async function sign({ key, policy, spent, log }: SignerOptions, { txData, attempt, proved }: Call): Promise<object> {
  const about = { uid: txData.uid, type: txData.type, attempt: attempt.number, nonce: attempt.nonce, fee: attempt.fee };
  const fee = BigInt(attempt.fee);
  try {
    checkCall(policy, txData.type, fee);
    if (proved === undefined) {
      spent.check({ nonce: attempt.nonce, fee, outflow: 0n });
      return {};
    }
    // Judged is what is signed; that it is signed before costs nothing, for it has not left.
    const { signed, facts } = key.sign(proved, attempt);
    checkCommand(policy, facts);
    await spent.take({ nonce: attempt.nonce, fee, outflow: facts.outflow });
    log('info', { ...about, outflow: facts.outflow.toString() }, 'signed');
    return { signed, hash: '' };
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    const { rule, message, until } = thrown;
    log('warn', { ...about, rule, until }, `refused: ${message}`);
    const scope = until ? 'day' : 'command';
    return { error: { code: 'POLICY', rule, message, scope, until: until?.toISOString() ?? null } };
  }
}

function health({ key, policy, spent, network }: SignerOptions): object {
  const { day, fees, outflow } = spent.day;
  return {
    accountId: key.publicKey,
    capabilities: ['signs'],
    network,
    types: policy.types,
    zkApps: policy.zkApps,
    maxFee: mina(policy.maxFee),
    maxOutflow: mina(policy.maxOutflow),
    day,
    fees: { spent: mina(fees), max: mina(policy.maxFeesPerDay) },
    outflow: { spent: mina(outflow), max: mina(policy.maxOutflowPerDay) },
  };
}

function checkCaller(token: string, { headers }: IncomingMessage): void {
  if (!token) {
    // Only this machine gets here, and so does a page that has a browser take its own name for this machine's.
    if (isLoopback(headers.host ?? '')) return;
    throw new Status(403, '403', 'without a token only who asks localhost or a loopback address is answered');
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`))) return;
  throw new Status(401, '401', 'the Bearer token is wrong or missing');
}

function isLoopback(host: string): boolean {
  const name = host && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host;
  return name === '' || name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) throw new Status(413, '413', `the request is above ${bodyLimit} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw bad('the body is no JSON');
  }
}

function readCall(type: string, body: unknown): Call {
  const at = (value: unknown, field: string) => (value as Record<string, unknown> | null | undefined)?.[field];
  const text = (from: string, field: string, form: RegExp) => {
    const value = at(at(body, from), field);
    if (typeof value !== 'string' || !form.test(value)) throw bad(`${from}.${field} is missing, or no ${form.source}`);
    return value;
  };
  const whole = (field: string) => {
    const value = at(at(body, 'attempt'), field);
    if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > 0xffffffff)
      throw bad(`attempt.${field} is no whole number of 32 bits`);
    return value as number;
  };
  const proved = at(body, 'proved');
  if (proved !== undefined && typeof proved !== 'string') throw bad('proved is no text: it is a zkApp command in JSON');
  const call = {
    txData: { uid: text('txData', 'uid', /^.{1,193}$/), type: text('txData', 'type', /^[A-Za-z0-9._:-]{1,128}$/) },
    sender: { accountId: text('sender', 'accountId', /^.{1,128}$/) },
    attempt: {
      number: whole('number'),
      nonce: whole('nonce'),
      fee: text('attempt', 'fee', /^[0-9]{1,20}$/),
      validUntil: at(at(body, 'attempt'), 'validUntil') === null ? null : whole('validUntil'),
      memo: text('attempt', 'memo', /^[^]{0,32}$/),
    },
    proved,
  };
  if (call.txData.type !== type) throw bad('txData.type is not the type of the path');
  return call;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw bad('the path is no type');
  }
}

const bad = (message: string) => new Status(400, '400', message);
