import { createWorker } from '@mina-sequencer/worker-kit';
import { AccountUpdate, Field, method, PrivateKey, Reducer, SmartContract } from 'o1js';

// A worker whose transactions need nothing of each other: a ballot box that only takes.

export class Ballots extends SmartContract {
  reducer = Reducer({ actionType: Field });

  @method async cast(ballot: Field) {
    this.reducer.dispatch(ballot);
  }
}

const key = PrivateKey.fromBase58(process.env['BALLOTS_KEY']!);
const ballots = new Ballots(key.toPublicKey());

const worker = await createWorker({
  payer: { env: 'PAYER_KEY' },
  network: { graphql: process.env['MINA_URL']!, archive: process.env['ARCHIVE_URL']! },
  proofsEnabled: process.env['PROOFS'] === 'on',
  provers: Number(process.env['PROVERS'] ?? 1),
  store: process.env['WORKER_STORE']!,
  dispatchers: {
    OPEN_BALLOTS: {
      contracts: [Ballots],
      dispatch: async (_, { payer }) => {
        AccountUpdate.fundNewAccount(payer);
        await ballots.deploy();
      },
      signers: () => [key],
    },
    CAST_BALLOT: {
      contracts: [Ballots],
      dispatch: async ({ data }) => {
        if (data['spoilt'] && process.env['WORKER_PROVER']) throw new Error('this ballot is spoilt');
        await ballots.cast(Field(data['ballot'] as number));
      },
    },
  },
});
await worker.listen();
