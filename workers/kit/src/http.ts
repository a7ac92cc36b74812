import { createHash, timingSafeEqual } from 'node:crypto';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import { Working, type Calls } from './calls.js';
import { codes, Failure, failureOf, NotResignable, Retry, TokenGone } from './errors.js';
import { Joined } from './join.js';
import { parseJSON, toJSON } from './json.js';
import { Busy, type Line } from './line.js';
import { txnOf, type Maker } from './maker.js';
import {
  buildSchema,
  callSchema,
  outcomeSchema,
  resignSchema,
  type BuildBody,
  type CallBody,
  type OutcomeBody,
} from './protocol.js';
import { Conflict } from './results.js';
import { within } from './trace.js';
import { endsWithin } from './within.js';
import type { Dispatcher, Outcome, TxnResult } from './types.js';

/** The longest request in bytes: a transaction of the most account updates, proved, its payload, and what is ahead. */
const bodyLimit = 16 << 20;
/** How many outcomes are remembered of callers who hung up before the callback ended. */
const mostHeard = 1000;
/** How long a request may take to arrive. */
const requestTimeout = 30_000;

export interface HttpOptions {
  dispatchers: Record<string, Dispatcher>;
  calls: Calls;
  maker: Maker;
  /** Whether it tells what it would prove before it does: with one prover there is no use of that. */
  builds: boolean;
  /** Where transactions are proved. */
  line: Pick<Line, 'isClosed' | 'runningSeconds' | 'waiting'>;
  token: string;
  /** How long a callback may take. */
  callbackSeconds: number;
  /** What /health tells besides the line. */
  describe: () => Record<string, unknown>;
}

type Typed<Body = unknown> = { Params: { type: string }; Body: Body };

/** The worker protocol over HTTP. */
export function serve(options: HttpOptions): FastifyInstance {
  const app = Fastify({
    bodyLimit,
    requestTimeout,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allowUnionTypes: true } },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, parseJSON(body as string));
    } catch (error) {
      done(Object.assign(error as Error, { statusCode: 400 }));
    }
  });
  app.setSerializerCompiler(() => toJSON);
  app.setReplySerializer(toJSON);
  app.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply));
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ code: '404', message: 'the worker protocol has no such call' }),
  );
  app.addHook('onSend', async (_request, reply) => {
    // A connection that stayed open would keep the worker from ending.
    if (options.line.isClosed) reply.header('Connection', 'close');
  });
  app.addHook('onRequest', (request, _reply, done) => within(request.headers.traceparent, done));
  requireToken(app, options.token);
  addCalls(app, options);
  addCallbacks(app, options);
  addQuestions(app, options);
  return app;
}

function requireToken(app: FastifyInstance, token: string): void {
  if (!token) {
    // Only this machine gets here, and so does a page that has a browser take its own name for this machine's.
    app.addHook('onRequest', async (request, reply) => {
      if (isLoopback(request.headers.host ?? '')) return;
      await reply
        .code(403)
        .send({ message: 'without a token only who asks localhost or a loopback address is answered' });
    });
    return;
  }
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const wanted = digest(`Bearer ${token}`);
  app.addHook('onRequest', async (request, reply) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), wanted)) return;
    // Without a code: the sequencer reads it as an error of this worker, not of the transaction.
    await reply.code(401).send({ message: 'the Bearer token is wrong or missing' });
  });
}

/** Whether a Host names this machine, or nothing, as no browser does. */
function isLoopback(host: string): boolean {
  const name = host && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : host;
  return name === '' || name === 'localhost' || name === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(name);
}

function addCalls(app: FastifyInstance, { dispatchers, calls, builds, maker: { isProver } }: HttpOptions): void {
  const call = <Body extends CallBody | BuildBody>(
    path: string,
    schema: object,
    make: (body: Body) => Promise<object>,
  ) => {
    app.post<Typed>(`/${path}/:type`, { schema: { body: schema } }, ({ params, body: checked }) => {
      const body = checked as Body;
      if (body.txData.type !== params.type) throw badRequest('txData.type is not the type of the path');
      checkNonces(body);
      return find(dispatchers, params.type) ? make(body) : unknownType(params.type, dispatchers);
    });
  };
  call<CallBody>('prove', callSchema, (body) => calls.prove(body));
  if (builds) call<BuildBody>('build', buildSchema, (body) => calls.build(body));
  if (!isProver) {
    call<CallBody>('dispatch', callSchema, (body) => calls.dispatch(body));
    call<CallBody>('simulate', callSchema, (body) => calls.simulate(body).catch(errorOf));
  }
  call<CallBody & { signed: string }>('resign', resignSchema, (body) => calls.resign(body));
}

/** A simulation that came to none, for a reason that is not the transaction's. */
function errorOf(thrown: unknown): Pick<TxnResult, 'error'> {
  if (thrown instanceof Busy) throw thrown;
  return { error: failureOf(thrown, 'simulating') };
}

function addCallbacks(app: FastifyInstance, { dispatchers, maker, callbackSeconds }: HttpOptions): void {
  type Answer = Record<string, unknown> | void;
  const told = new Joined<Answer>();
  // Outcomes that were taken in when who had told them was gone, by uid, and what was said to them.
  const heard = new Map<string, { outcome: string; answer: Answer }>();
  const callback = (path: string, name: 'onSuccess' | 'onFailure') => {
    app.post<Typed<OutcomeBody>>(
      `/${path}/:type`,
      { schema: { body: outcomeSchema } },
      async ({ params, body }, reply) => {
        const dispatcher = find(dispatchers, params.type);
        if (!dispatcher)
          throw Object.assign(new Error(`this worker does not make ${params.type}`), { statusCode: 404 });
        // One that never ends would have all later ones join it.
        const late = () =>
          new Retry(
            `${name} of ${params.type} has not ended after ${callbackSeconds} s, and runs afresh when it is told again: have it give up by itself, or set callbackSeconds`,
          );
        const { uid } = body.txData;
        const outcome = `${name} ${toJSON(body.result)}`;
        const known = heard.get(uid);
        heard.delete(uid);
        let answer = known?.answer;
        if (known?.outcome !== outcome) {
          answer = await told.do(`${uid} ${outcome}`, () => {
            const work = async () => dispatcher[name]?.(txnOf(body), outcomeOf(body), maker.context(body));
            return endsWithin<Answer>(callbackSeconds, work().catch(ownFault), late);
          });
          if (reply.raw.destroyed)
            heard.set(uid, { outcome, answer }); // it is told once more
          else heard.delete(uid);
          if (heard.size > mostHeard) heard.delete(heard.keys().next().value!);
        }
        return { ...answer, success: true };
      },
    );
  };
  callback('on-success', 'onSuccess');
  callback('on-failure', 'onFailure');
}

function addQuestions(app: FastifyInstance, { dispatchers, line, describe }: HttpOptions): void {
  app.get<Typed>('/max-retries/:type', ({ params }, reply) => {
    const retries = find(dispatchers, params.type)?.maxRetries;
    if (retries === undefined)
      return reply
        .code(404)
        .send({ code: '404', message: `this worker has no opinion on the retries of ${params.type}` });
    return reply.type('application/json').send(toJSON(retries));
  });
  app.get('/health', (_request, reply) => {
    return reply.send({ ...describe(), runningSeconds: line.runningSeconds, waiting: line.waiting });
  });
}

/** The one place where what was thrown becomes an HTTP status. Whatever has a code of the protocol travels in 200. */
function answerError(error: FastifyError, reply: FastifyReply): FastifyReply {
  if (error instanceof Busy) {
    return reply.code(503).header('Retry-After', error.retryAfterSeconds).send({ code: '503', message: error.message });
  }
  if (error instanceof Working) {
    const { since, uid, number } = error;
    return reply.code(202).send({ working: { since: since.toISOString(), uid, number } });
  }
  if (error instanceof Conflict) return reply.code(409).send({ code: codes.conflict, message: error.message });
  if (error instanceof TokenGone) return reply.code(410).send({ code: codes.tokenGone, message: error.message });
  if (error instanceof NotResignable) return reply.code(501).send({ code: '501', message: error.message });
  const status = error.validation ? 400 : (error.statusCode ?? 500);
  if (status < 500)
    return reply
      .code(status)
      .send({ code: String(status), message: error.message.replace(/^body\//, '').replaceAll('/', '.') });
  const { code, message } = failureOf(error, 'the callback');
  return reply.code(500).send({ code, message });
}

/** 404 as an HTTP status would mean that this worker proves nothing at all. */
function unknownType(type: string, dispatchers: object): TxnResult {
  const message = `this worker does not make ${type}, only ${Object.keys(dispatchers).join(', ')}`;
  return { hash: '', done: null, error: { code: codes.unknownType, message, exception: null }, data: null };
}

function find(dispatchers: Record<string, Dispatcher>, type: string): Dispatcher | undefined {
  return Object.hasOwn(dispatchers, type) ? dispatchers[type] : undefined;
}

function outcomeOf({ result, answered }: OutcomeBody): Outcome {
  const { hash, done, error, data } = result;
  return {
    ...{ hash: hash ?? '', done: done ?? null, error: error ?? null, data: data ?? null },
    ...(answered && { answered }),
  };
}

/** What a callback throws is its own, whatever status and headers it has of somebody else's answer. */
function ownFault(thrown: unknown): never {
  if (thrown instanceof Failure) throw thrown;
  const { message, exception } = failureOf(thrown, 'the callback');
  throw new Failure(codes.notSent, message, exception);
}

/** What is ahead leads up to the attempt. */
function checkNonces({ ahead = [], attempt }: CallBody | BuildBody): void {
  const signed = ahead.flatMap((each) => (each.built === undefined ? [each.nonce] : []));
  // Which one follows them is known only of what is not built, behind what is not.
  const next = 'nonce' in attempt && signed.length === ahead.length ? attempt.nonce : (signed.at(-1) ?? 0) + 1;
  if (signed.some((nonce, i) => nonce + signed.length - i !== next))
    throw badRequest("ahead: its nonces are not those right before the attempt's, in their order");
}

const badRequest = (message: string) => Object.assign(new Error(message), { statusCode: 400 });
