/** Tells slots and wakes the node when one begins. */
export interface Clock {
  /** The slot that the next block can have at the earliest. */
  slot(): number;
  /** Notes that a slot has been used, or been left empty. */
  used(slot: number): void;
}

/** Slots by the wall clock: slot 0 begins with genesis. */
export class WallClock implements Clock {
  readonly #genesis: number;
  readonly #slotTime: number;
  #timer?: NodeJS.Timeout;

  constructor(genesis: number, slotTime: number) {
    this.#genesis = genesis;
    this.#slotTime = slotTime;
  }

  slot(): number {
    return Math.max(0, Math.floor((Date.now() - this.#genesis) / this.#slotTime));
  }

  used(): void {}

  /**
   * Calls at the beginning of each slot, until stopped; a slot that begins during a call is left
   * out. A call that fails is told, and leaves its slot empty.
   */
  start(call: () => Promise<void>): void {
    const next = this.#slotTime - ((Date.now() - this.#genesis) % this.#slotTime);
    this.#timer = setTimeout(() => {
      void call()
        .catch((error: unknown) => console.error('ledger-node: a slot stays empty:', error))
        .finally(() => {
          if (this.#timer) this.start(call);
        });
    }, next);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Slots that pass only when told. */
export class ManualClock implements Clock {
  #next = 1;

  slot(): number {
    return this.#next;
  }

  used(slot: number): void {
    this.#next = Math.max(this.#next, slot + 1);
  }
}
