import { Mina, PrivateKey } from 'o1js';
import { createWorker } from '../src/index.js';

/** A worker as a program of its own, whose dispatch goes on until the program is told to end. */
const told = new Promise<void>((resolve) => process.once('SIGTERM', () => setImmediate(resolve)));
const payer = PrivateKey.fromBase58(process.env.PAYER ?? '');
const local = await Mina.LocalBlockchain({ proofsEnabled: false });
local.addAccount(payer.toPublicKey(), '1000000000');
const worker = await createWorker({
  payer: { env: 'PAYER' },
  network: { instance: local },
  dispatchers: {
    ADD: {
      dispatch: async () => {
        console.log('dispatching');
        await told;
        return { done: { whole: true } };
      },
    },
  },
});
await worker.listen();
