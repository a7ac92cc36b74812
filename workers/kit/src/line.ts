import { AsyncResource } from 'node:async_hooks';

/** Thrown where nothing was taken on: ask again later. */
export class Busy extends Error {
  override name = 'Busy';
  constructor(
    message: string,
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
}

interface Turn {
  start(): Promise<void>;
  refuse(reason: Busy): void;
}

/** Work in single file: o1js builds, proves and signs one transaction at a time. */
export class Line {
  private readonly turns: Turn[] = [];
  private running: Promise<void> | undefined;
  private closed = false;
  private begun = 0;
  private usualSeconds = 10;

  constructor(private readonly maxWaiting: number) {}

  get waiting(): number {
    return this.turns.length;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** How long the running work has been running; null if none is. */
  get runningSeconds(): number | null {
    return this.running ? Math.round((Date.now() - this.begun) / 1000) : null;
  }

  /** Runs work when its turn comes. Short work may go `first`. Throws Busy if too much waits. */
  run<T>(work: () => Promise<T>, { first = false } = {}): Promise<T> {
    if (this.closed) return Promise.reject(new Busy('the worker is shutting down', 5));
    if (this.running && this.turns.length >= this.maxWaiting) {
      return Promise.reject(new Busy(`${this.turns.length} calls wait already`, this.estimate()));
    }
    return new Promise<T>((resolve, reject) => {
      const begin = AsyncResource.bind(work); // it goes on with its own call, whoever starts it
      const turn: Turn = { start: () => begin().then(resolve, reject), refuse: reject };
      if (first) this.turns.unshift(turn);
      else this.turns.push(turn);
      this.next();
    });
  }

  /** Takes nothing on any more, refuses what waits, and returns when the running work has ended. */
  async close(): Promise<void> {
    this.closed = true;
    for (const turn of this.turns.splice(0)) turn.refuse(new Busy('the worker is shutting down', 5));
    await this.running;
  }

  private next(): void {
    if (this.running) return;
    const turn = this.turns.shift();
    if (!turn) return;
    this.begun = Date.now();
    this.running = turn.start().finally(() => {
      this.usualSeconds = (this.usualSeconds + (Date.now() - this.begun) / 1000) / 2;
      this.running = undefined;
      this.next();
    });
  }

  private estimate(): number {
    return Math.min(Math.max(Math.ceil(this.usualSeconds), 1), 60);
  }
}
