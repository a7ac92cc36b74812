import { createWorker, Unresolvable, type Context } from '@mina-sequencer/worker-kit';
import { FungibleToken, FungibleTokenAdmin } from 'mina-fungible-token';
import { AccountUpdate, PublicKey, UInt64 } from 'o1js';

/**
 * Mints, transfers and burns a standard token. The payer is the token's admin, and transfers and burns
 * are of its own holding: so all that signs is the payer, and no command requires another's nonce.
 */
const token = new FungibleToken(PublicKey.fromBase58(process.env.TOKEN ?? ''));

const contracts = [FungibleTokenAdmin, FungibleToken];

const worker = await createWorker({
  payer: { file: process.env.PAYER_KEY_FILE ?? 'payer.key' },
  network: { graphql: process.env.MINA_URL ?? 'http://127.0.0.1:8181/graphql' },
  store: process.env.WORKER_STORE ?? '.worker-store',
  proofsEnabled: process.env.PROOFS !== 'off',
  provers: Number(process.env.PROVERS ?? 1),
  dispatchers: {
    MINT: {
      contracts,
      dispatch: async ({ data }, context) => {
        await token.mint(await holder(data.to, context), amount(data.amount));
      },
    },
    TRANSFER: {
      contracts,
      dispatch: async ({ data }, context) => {
        await token.transfer(context.payer, await holder(data.to, context), amount(data.amount));
      },
    },
    BURN: {
      contracts,
      dispatch: async ({ data }, { payer }) => {
        await token.burn(payer, amount(data.amount));
      },
    },
  },
});
await worker.listen();

/** Who is to hold tokens. The payer pays the account of who holds none yet, which costs 1 MINA. */
async function holder(text: unknown, { payer, fetchAccount }: Context): Promise<PublicKey> {
  let key: PublicKey;
  try {
    key = PublicKey.fromBase58(String(text));
  } catch {
    throw new Unresolvable('to is no public key (B62…)');
  }
  if (!(await fetchAccount(key, token.deriveTokenId()))) AccountUpdate.fundNewAccount(payer);
  return key;
}

function amount(text: unknown): UInt64 {
  if (!/^[1-9][0-9]{0,18}$/.test(String(text))) throw new Unresolvable('amount is no whole number above 0, as a text');
  return UInt64.from(String(text));
}
