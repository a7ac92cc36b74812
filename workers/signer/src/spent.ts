import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { mina, Refused, type Policy } from './policy.js';

/** How many nonces below the highest are remembered. One that is not counts in full again. */
const mostNonces = 1000;

/** What signing a command may cost, in nanomina. */
export interface Cost {
  nonce: number;
  fee: bigint;
  outflow: bigint;
}

/** What the file holds; amounts are decimal. */
interface State {
  /** The process that counts. */
  writer: string;
  day: string;
  fees: string;
  outflow: string;
  /** The most that was signed for each nonce: fee, outflow. */
  nonces: Record<string, [string, string]>;
}

/** Another process counts in the same file. */
export class Superseded extends Error {
  override name = 'Superseded';
}

/**
 * What was signed today (UTC), in a file that is on the disk before anything is answered. Of all commands
 * of a nonce the chain takes one, so a nonce counts with the dearest: the same command again counts
 * nothing, a raised fee its difference.
 */
export class Spent {
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly file: string,
    private readonly limits: Pick<Policy, 'maxFeesPerDay' | 'maxOutflowPerDay'>,
    private readonly now: () => Date,
    private state: State,
  ) {}

  /** Takes the count over, from whoever had it. Throws where the file is not one of these. */
  static async open(
    file: string,
    limits: Pick<Policy, 'maxFeesPerDay' | 'maxOutflowPerDay'>,
    now = () => new Date(),
  ): Promise<Spent> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const found = await read(file);
    const spent = new Spent(file, limits, now, found ?? { writer: '', day: '', fees: '0', outflow: '0', nonces: {} });
    await spent.write({ ...spent.today(), writer: randomUUID() }, found?.writer);
    return spent;
  }

  /** What was signed on the day that it is. */
  get day(): { day: string; fees: bigint; outflow: bigint } {
    const { day, fees, outflow } = this.today();
    return { day, fees: BigInt(fees), outflow: BigInt(outflow) };
  }

  /** Throws Refused where the day has no room for it. */
  check(cost: Cost): void {
    this.with(cost);
  }

  /** Counts it, one after the other. Throws Refused, Superseded, and what the disk says. */
  take(cost: Cost): Promise<void> {
    const taken = this.last.then(async () => {
      const next = this.with(cost);
      if (next !== this.state) await this.write(next, this.state.writer);
    });
    this.last = taken.catch(() => undefined);
    return taken;
  }

  /** The state with it; the same one where it counts nothing. */
  private with({ nonce, fee, outflow }: Cost): State {
    const state = this.today();
    const [paid, left] = (state.nonces[nonce] ?? ['0', '0']).map(BigInt) as [bigint, bigint];
    const [most, mostLeft] = [fee > paid ? fee : paid, outflow > left ? outflow : left];
    if (state === this.state && most === paid && mostLeft === left && state.nonces[nonce]) return state;
    const sums = { fees: BigInt(state.fees) + most - paid, outflow: BigInt(state.outflow) + mostLeft - left };
    const { maxFeesPerDay, maxOutflowPerDay } = this.limits;
    if (most > paid && sums.fees > maxFeesPerDay)
      throw this.over('maxFeesPerDay', 'fees', state.fees, most - paid, maxFeesPerDay);
    if (mostLeft > left && sums.outflow > maxOutflowPerDay)
      throw this.over('maxOutflowPerDay', 'outflow', state.outflow, mostLeft - left, maxOutflowPerDay);
    const highest = Math.max(nonce, ...Object.keys(state.nonces).map(Number));
    const kept = Object.entries({ ...state.nonces, [nonce]: [most.toString(), mostLeft.toString()] }).filter(
      ([each]) => Number(each) > highest - mostNonces,
    ) as [string, [string, string]][];
    return {
      ...state,
      fees: sums.fees.toString(),
      outflow: sums.outflow.toString(),
      nonces: Object.fromEntries(kept),
    };
  }

  private over(rule: keyof Policy, what: string, spent: string, more: bigint, limit: bigint): Refused {
    const { day } = this.today();
    const until = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000);
    return new Refused(
      rule,
      `${mina(BigInt(spent))} MINA of ${what} were signed on ${day} (UTC); with ${mina(more)} more it would be above the ${mina(limit)} of a day`,
      until,
    );
  }

  /** A clock that was put back does not give a day anew. */
  private today(): State {
    const day = this.now().toISOString().slice(0, 10);
    return day > this.state.day ? { ...this.state, day, fees: '0', outflow: '0' } : this.state;
  }

  private async write(next: State, writer: string | undefined): Promise<void> {
    const found = (await read(this.file))?.writer;
    if (found !== writer)
      throw new Superseded(
        `another signer counts in ${this.file} now: one signer per key, or two would each spend a day's limits`,
      );
    const temporary = `${this.file}.${next.writer}.tmp`;
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(next));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.file);
    const folder = await open(dirname(this.file), 'r');
    try {
      await folder.sync(); // a renamed file is only safe once its folder is
    } finally {
      await folder.close();
    }
    this.state = next;
  }
}

async function read(file: string): Promise<State | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const broken = `${file} is not what a signer has counted: put a copy back, or take it away, and the day begins anew`;
  let state: State;
  try {
    state = JSON.parse(text) as State;
  } catch {
    throw new Error(broken);
  }
  const amounts = [state?.fees, state?.outflow, ...Object.values(state?.nonces ?? {}).flat()];
  const isWhole = typeof state?.writer === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(state.day);
  if (!isWhole || !amounts.every((each) => /^\d{1,30}$/.test(each))) throw new Error(broken);
  return state;
}
