import { asError, Failure, unavailable } from './errors.js';

/** How long a node may take to say that it is there. */
export const statusTimeout = 10_000;
/** How long, where it rests and another does not. */
const restingTimeout = 1000;
/** How long a node that has failed, or is behind, comes behind the others, in milliseconds. */
const restTime = 60_000;
/** How many blocks one that does not rest may be behind one that does. */
const mostBehind = 2;
export const heightQuery = 'protocolState { consensusState { blockHeight } }';

interface Tip {
  protocolState: { consensusState: { blockHeight: string } };
}

/** A node that is fit to build on. */
export interface Fit {
  url: string;
  networkID: string;
  height: number;
}

/** The daemons that transactions are built on, and which of them to use. */
export class Nodes {
  private readonly resting = new Map<string, number>(); // until when, by URL

  /** `check` throws where a network is not the right one. */
  constructor(
    readonly urls: readonly string[],
    private readonly check: (networkID: string) => void,
  ) {}

  /** Has a node come behind the others for a while. */
  rest(url: string): void {
    this.resting.set(url, Date.now() + restTime);
  }

  /** The node to build on: what is proved on another one's older state fails in its block. */
  async fit(): Promise<Fit> {
    const awake = this.urls.filter((url) => (this.resting.get(url) ?? 0) <= Date.now());
    const timeout = (url: string) => (awake.length === 0 || awake.includes(url) ? statusTimeout : restingTimeout);
    const ask = (url: string) => this.askFit(url, timeout(url)).catch((error: unknown) => asError(error));
    const said = await Promise.all(this.urls.map(ask));
    const fit: Fit[] = [];
    const failed: { url: string; error: Error }[] = [];
    for (const [i, each] of said.entries()) {
      if (each instanceof Error) failed.push({ url: this.urls[i]!, error: each });
      else fit.push(each);
    }
    failed.forEach(({ url }) => this.rest(url));
    const [most, best] = [highest(fit), highest(fit.filter(({ url }) => awake.includes(url)))];
    if (most) return best && best.height + mostBehind >= most.height ? best : most;
    const misfit = failed.find(({ error }) => error instanceof Failure);
    if (misfit) throw misfit.error;
    const reasons = failed.map(({ url, error }) => `${new URL(url).host}: ${error.message}`);
    throw unavailable('no Mina node is there to build on', reasons.join('; '));
  }

  /** Throws where the node is not fit to build on. */
  private async askFit(url: string, timeout: number): Promise<Fit> {
    const { syncStatus, networkID, height } = await askStatus(url, timeout);
    if (syncStatus !== 'SYNCED') throw new Error(`it is ${syncStatus}`);
    this.check(networkID);
    return { url, networkID, height };
  }
}

async function askStatus(url: string, timeout: number) {
  const query = `{ syncStatus networkID bestChain(maxLength: 1) { ${heightQuery} } }`;
  const { syncStatus, networkID, bestChain } = await ask(url, query, timeout);
  if (typeof syncStatus !== 'string' || typeof networkID !== 'string')
    throw new Error('it does not say whether it is synced');
  const tip = (bestChain as Tip[] | null | undefined)?.at(-1);
  return { syncStatus, networkID, height: Number(tip?.protocolState.consensusState.blockHeight ?? 0) };
}

/** The first at the highest block. */
function highest(nodes: Fit[]): Fit | undefined {
  const most = Math.max(...nodes.map(({ height }) => height));
  return nodes.find(({ height }) => height === most);
}

/** The longest answer of a daemon in bytes, as the sequencer has it. */
const answerLimit = 64 << 20;

/** Asks a daemon's GraphQL. */
export async function ask(url: string, query: string, timeout: number): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
  }).catch((error: Error) => {
    const cause = error.cause as { code?: string } | undefined;
    throw new Error(cause?.code ?? error.name);
  });
  if (!response.ok) throw new Error(`it answered HTTP ${response.status}`);
  const answer = JSON.parse(await textOf(response)) as { data?: Record<string, unknown> | null };
  return answer.data ?? {};
}

async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > answerLimit) throw new Error(`its answer has more than ${answerLimit} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
