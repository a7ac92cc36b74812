// Posts the account of a claim and three votes on it, and follows them until the
// last of them is over. Run it beside "sequencer demo".
import { randomUUID } from 'node:crypto';
import { Sequencer, type AnyNewTransaction } from '../src/index.js';

const key = process.env.SEQUENCER_KEY;
const sequencer = new Sequencer({ url: process.env.SEQUENCER_URL ?? 'http://127.0.0.1:8080', ...(key ? { key } : {}) });

const claimUid = randomUUID().replaceAll('-', '');
const queue = `claim-${claimUid}`;
const electorAccountId = 'B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS';

const round: (AnyNewTransaction & { uid: string })[] = [
  {
    uid: `${claimUid}-account`,
    queue,
    type: 'CREATE_CLAIM_VOTING_ACCOUNT',
    data: { claimUid, strategy: { requiredVotes: 3, requiredPositives: 2 } },
  },
  ...([1, 1, -1] as const).map((vote, index) => ({
    uid: `${claimUid}-vote-${index}`,
    queue,
    type: 'SEND_CLAIM_VOTE' as const,
    data: { planUid: 'p1', batchUid: 'b1', claimUid, electorAccountId, index, vote },
  })),
];

// The stream stands before anything is posted, so that nothing is missed.
const left = new Set(round.map((t) => t.uid));
let followed: Promise<void> = Promise.resolve();
await new Promise<string>((onOpen) => {
  followed = (async () => {
    for await (const event of sequencer.events({ queue, onOpen })) {
      console.log(`${event.uid}  ${event.from ?? '-'} → ${event.to ?? '-'}  ${event.code ?? ''}`);
      if (event.uid && (event.to === 'DONE' || event.to === 'FAILED' || event.to === 'UNRESOLVED')) {
        left.delete(event.uid);
      }
      if (left.size === 0) {
        return;
      }
    }
  })();
});

for (const t of round) {
  const { sequence } = await sequencer.post(t);
  console.log(`${t.uid}  posted as number ${sequence}`);
}
await followed;

for await (const t of sequencer.transactions({ queue })) {
  console.log(`${t.uid}  ${t.state}  ${t.hash ?? ''}`);
  if (t.state !== 'DONE') {
    process.exitCode = 1;
  }
}
