import { createWorker, Unresolvable } from '@mina-sequencer/worker-kit';
import { UInt64 } from 'o1js';
import { airdrop, FungibleTokenAdmin, FungibleTokenClaimContract, Token } from './contracts.js';

/** Claims for the payer, and puts what it has back: of a public airdrop contract, @minatokens/token 0.15.2. */
const { token, claim } = airdrop(process.env.TOKEN ?? '', process.env.AIRDROP ?? '');
const contracts = [FungibleTokenAdmin, Token, FungibleTokenClaimContract];

const worker = await createWorker({
  payer: { file: process.env.PAYER_KEY_FILE ?? 'payer.key' },
  network: { graphql: process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql' },
  store: process.env.WORKER_STORE ?? '.worker-store',
  proofsEnabled: process.env.PROOFS !== 'off',
  provers: Number(process.env.PROVERS ?? 1),
  dispatchers: {
    CLAIM: {
      contracts,
      dispatch: async ({ data }) => {
        await claim.claim(amount(data.amount));
        await token.approveAccountUpdate(claim.self);
      },
    },
    OFFER: {
      contracts,
      dispatch: async ({ data }) => {
        await claim.offer(amount(data.amount));
        await token.approveAccountUpdate(claim.self);
      },
    },
  },
});
await worker.listen();

function amount(text: unknown): UInt64 {
  if (!/^[1-9][0-9]{0,18}$/.test(String(text))) throw new Unresolvable('amount is no whole number above 0, as a text');
  return UInt64.from(String(text));
}
