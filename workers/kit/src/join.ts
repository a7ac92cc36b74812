/** Lets callers who want the same thing at the same time share one doing of it. */
export class Joined<T> {
  private readonly running = new Map<string, Promise<T>>();

  /** Does work, or joins the one who is doing it under this key. */
  do(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.running.get(key);
    if (known) return known;
    const doing = work().finally(() => this.running.delete(key));
    this.running.set(key, doing);
    return doing;
  }

  /** Waits for all that is being done. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.running.values());
  }
}
