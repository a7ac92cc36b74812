import { fetchLastBlock, Mina, TokenId, UInt32, type PublicKey } from 'o1js';

/** What one account update has emitted: of a contract with several events, the first field is the event's number. */
export type EmittedEvent = string[];

/** The past of an account. */
export interface Archive {
  /** The events of applied transactions, in no certain order, back to the first block with one that `first` accepts. */
  events(address: PublicKey, first: (event: EmittedEvent) => boolean): Promise<EmittedEvent[]>;
}

// An Archive-Node-API answers for so many blocks at a time, unless configured otherwise.
const WINDOW = 10_000;

/** The Archive-Node-API of the network that o1js is set to. */
export const networkArchive: Archive = {
  async events(address, first) {
    const height = Number((await fetchLastBlock()).blockchainLength.toBigint());
    const found: EmittedEvent[] = [];
    for (let end = height + 1; end > 0; end -= WINDOW) {
      const range = { from: UInt32.from(Math.max(0, end - WINDOW)), to: UInt32.from(end) };
      const events = applied(await Mina.fetchEvents(address, TokenId.default, range));
      found.push(...events);
      if (events.some(first)) break;
    }
    return found;
  },
};

type Blocks = Awaited<ReturnType<typeof Mina.fetchEvents>>;

// The archive also has the events that a failed transaction would have emitted.
function applied(blocks: Blocks): EmittedEvent[] {
  return blocks
    .filter(({ chainStatus }) => chainStatus !== 'orphaned')
    .flatMap(({ events }) => events)
    .filter(({ transactionInfo }) => (transactionInfo as { status?: string }).status !== 'failed')
    .map(({ data }) => data);
}
