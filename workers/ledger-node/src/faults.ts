/** What is wrong with the node. Each at its default is a healthy node. */
export interface Faults {
  /** Answers come from so many blocks below the best tip. */
  lag: number;
  /** A syncStatus other than SYNCED. In all but CATCHUP the node has no best tip to speak of. */
  sync: string;
  /** Requests are held until the fault is taken away or the client gives up. */
  hang: boolean;
  /** Requests are answered with this HTTP status. */
  status: number;
  /** So many more sends are worked on, and the connection closed instead of an answer. */
  loseReplies: number;
  /** What sends are answered with, after "Couldn't send zkApp command: ". */
  refuse: string;
  /** How many sends are so refused; 0 means all. */
  refuseNext: number;
}

const HEALTHY: Faults = Object.freeze({
  lag: 0,
  sync: 'SYNCED',
  hang: false,
  status: 0,
  loseReplies: 0,
  refuse: '',
  refuseNext: 0,
});

const SYNC = ['CONNECTING', 'LISTENING', 'OFFLINE', 'BOOTSTRAP', 'SYNCED', 'CATCHUP'];

/** The node's faults, and who waits for them to end. */
export class Trouble {
  #faults = HEALTHY;
  #released?: PromiseWithResolvers;

  get faults(): Faults {
    return this.#faults;
  }

  /** Sets the named faults and keeps the others. Throws an Error that names what is wrong. */
  set(change: Record<string, unknown>): void {
    this.#faults = mergeFaults(this.#faults, change);
    if (this.#faults.hang) this.#released ??= withResolvers();
    else {
      this.#released?.resolve();
      this.#released = undefined;
    }
  }

  heal(): void {
    this.set({ ...HEALTHY });
  }

  /** Waits for as long as requests are held. */
  async whileHanging(): Promise<void> {
    await this.#released?.promise;
  }

  /** Reports whether the answer to a send is to be lost. */
  losesReply(): boolean {
    const { loseReplies } = this.#faults;
    if (loseReplies > 0) this.set({ loseReplies: loseReplies - 1 });
    return loseReplies > 0;
  }

  /** What a send is to be refused with; undefined if with nothing. */
  refusal(): string | undefined {
    const { refuse, refuseNext } = this.#faults;
    if (refuse === '') return undefined;
    if (refuseNext > 0) this.set({ refuseNext: refuseNext - 1, refuse: refuseNext > 1 ? refuse : '' });
    return refuse;
  }
}

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve(): void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

function mergeFaults(faults: Faults, change: Record<string, unknown>): Faults {
  const merged = { ...faults };
  for (const [name, value] of Object.entries(change)) {
    const type = typeof HEALTHY[name as keyof Faults];
    if (!Object.hasOwn(HEALTHY, name))
      throw new Error(`${name.slice(0, 40)} is no fault: take one of ${Object.keys(HEALTHY).join(', ')}`);
    if (typeof value !== type) throw new Error(`${name} is a ${type}`);
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new Error(`${name} is a whole number, not negative`);
    }
    Object.assign(merged, { [name]: value });
  }
  if (!SYNC.includes(merged.sync)) throw new Error(`sync is one of ${SYNC.join(', ')}`);
  const { status } = merged;
  if (status !== 0 && (status < 200 || status > 599)) throw new Error('status is an HTTP status between 200 and 599');
  return merged;
}

/** Reports whether the node has a best tip to speak of. */
export function hasFrontier({ sync }: Faults): boolean {
  return sync === 'SYNCED' || sync === 'CATCHUP';
}
