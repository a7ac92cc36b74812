import { createWorker, Unresolvable } from '@mina-sequencer/worker-kit';
import { Presentation } from 'mina-attestations';
import { PublicKey } from 'o1js';
import { ProvablePresentation, Verifier } from './verifier.js';

/** Takes what a wallet presents, a proof about a credential, to a contract that verifies it: mina-attestations 0.5.3. */
const verifier = new Verifier(PublicKey.fromBase58(process.env.VERIFIER ?? ''));

const worker = await createWorker({
  payer: { file: process.env.PAYER_KEY_FILE ?? 'payer.key' },
  network: { graphql: process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql' },
  store: process.env.WORKER_STORE ?? '.worker-store',
  proofsEnabled: process.env.PROOFS !== 'off',
  provers: Number(process.env.PROVERS ?? 1),
  dispatchers: {
    VERIFY: {
      contracts: [Verifier],
      dispatch: async ({ data }) => {
        await verifier.verify(presented(data.presentation));
      },
    },
  },
});
await worker.listen();

function presented(text: unknown): ProvablePresentation {
  try {
    return ProvablePresentation.from(Presentation.fromJSON(String(text)));
  } catch {
    throw new Unresolvable('presentation is not the text of one');
  }
}
