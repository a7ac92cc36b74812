import { createWorker } from '@mina-sequencer/worker-kit';
import { PublicKey } from 'o1js';
import { Add } from './add.js';

const zkApp = new Add(PublicKey.fromBase58(process.env.ZKAPP ?? ''));

const worker = await createWorker({
  payer: { file: process.env.PAYER_KEY_FILE ?? 'payer.key' },
  network: { graphql: process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql' },
  proofsEnabled: process.env.PROOFS !== 'off',
  dispatchers: {
    ADD: {
      contracts: [Add],
      dispatch: async () => {
        await zkApp.update();
      },
    },
  },
});
await worker.listen();
