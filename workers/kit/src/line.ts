import { AsyncResource } from 'node:async_hooks';

/** Seconds after which it is worth while to ask again where a node or an archive is behind. */
export const retrySoon = 5;

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

interface Turn<Place> {
  /** It says nothing of how long work takes. */
  isBrief: boolean;
  start(place: Place): Promise<void>;
  refuse(reason: Error): void;
}

/** How long work may take. Nothing can end it, so its place is not free before it has ended by itself. */
export interface Limit {
  seconds: number;
  /** What it is answered with then. */
  late(): Error;
}

/**
 * Work in its order, one at each place at a time: o1js builds, proves and signs one transaction
 * at a time. Without places of its own it is a single file.
 */
export class Line<Place = undefined> {
  private readonly turns: Turn<Place>[] = [];
  private readonly places: Set<Place>;
  private readonly running = new Map<Place, { begun: number; ended: Promise<void> }>();
  private readonly hanging = new Set<Place>();
  private closed = false;
  private usualSeconds = 10;

  constructor(
    private readonly maxWaiting: number,
    places: Place[] = [undefined as Place],
    private readonly limit?: Limit,
  ) {
    this.places = new Set(places);
  }

  get waiting(): number {
    return this.turns.length;
  }

  get isClosed(): boolean {
    return this.closed;
  }

  /** How long the work that began first has been running; null if none is. */
  get runningSeconds(): number | null {
    const begun = [...this.running.values()].map((work) => work.begun);
    return begun.length > 0 ? Math.round((Date.now() - Math.min(...begun)) / 1000) : null;
  }

  /** Gives work to a further place. */
  add(place: Place): void {
    this.places.add(place);
    this.next();
  }

  /** Gives a place no further work. What waits is refused where no place is left. */
  remove(place: Place): void {
    this.places.delete(place);
    if (this.places.size === 0) this.refuse(nobody());
  }

  /**
   * Runs work when its turn comes. Short work may go `first`; `idle` work keeps none from its place
   * that is there before it. Throws Busy if too much waits, or there is no place.
   */
  run<T>(work: (place: Place) => Promise<T>, { first = false, idle = false } = {}): Promise<T> {
    if (this.closed) return Promise.reject(closing());
    if (this.places.size === 0) return Promise.reject(nobody());
    if (this.hangs) return Promise.reject(heldUp());
    if (!this.free() && idle) return Promise.reject(new Busy('every prover is at work', this.estimate()));
    if (!this.free() && this.turns.length >= this.maxWaiting) {
      return Promise.reject(new Busy(`${this.turns.length} calls wait already`, this.estimate()));
    }
    return new Promise<T>((resolve, reject) => {
      const begin = AsyncResource.bind(work); // it goes on with its own call, whoever starts it
      const start = (place: Place) => begin(place).then(resolve, reject);
      const turn: Turn<Place> = { isBrief: idle, start, refuse: reject };
      if (first) this.turns.unshift(turn);
      else this.turns.push(turn);
      this.next();
    });
  }

  /** Takes nothing on any more, refuses what waits, and returns when the running work has ended, but for what hangs. */
  async close(): Promise<void> {
    this.closed = true;
    this.refuse(closing());
    await Promise.all([...this.running.values()].map((work) => work.ended));
  }

  private refuse(reason: Busy): void {
    for (const turn of this.turns.splice(0)) turn.refuse(reason);
  }

  private next(): void {
    for (let free = this.free(); free && this.turns.length > 0; free = this.free()) {
      const [place] = free;
      const begun = Date.now();
      const turn = this.turns.shift()!;
      let over = () => {};
      // Known to be running before it starts, for what it does at once may ask.
      this.running.set(place, { begun, ended: new Promise((resolve) => (over = resolve)) });
      const timer = this.limit && setTimeout(() => this.hang(place, turn, over), this.limit.seconds * 1000);
      void turn.start(place).finally(() => {
        clearTimeout(timer);
        if (!turn.isBrief) this.usualSeconds = (this.usualSeconds + (Date.now() - begun) / 1000) / 2;
        this.running.delete(place);
        this.hanging.delete(place);
        over();
        this.next();
      });
    }
  }

  private hang(place: Place, turn: Turn<Place>, over: () => void): void {
    this.hanging.add(place);
    turn.refuse(this.limit!.late());
    over();
    if (this.hangs) this.refuse(heldUp());
  }

  /** Whether no place will come free by what is known. */
  private get hangs(): boolean {
    return this.places.size > 0 && [...this.places].every((place) => this.hanging.has(place));
  }

  /** A place where nothing runs; in a list, for a place may be undefined. */
  private free(): [Place] | undefined {
    for (const place of this.places) if (!this.running.has(place)) return [place];
    return undefined;
  }

  private estimate(): number {
    return Math.min(Math.max(Math.ceil(this.usualSeconds / this.places.size), 1), 60);
  }
}

const closing = () => new Busy('the worker is shutting down', 5);
const nobody = () => new Busy('no prover is ready', 10);
const heldUp = () => new Busy('the worker is held up by a call that does not end: restart it', 60);

/** The beginning of what is said of work that takes too long. */
export const overdue = (seconds: number) => `it is not made after ${seconds} s`;
