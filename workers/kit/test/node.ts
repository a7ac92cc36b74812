import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AccountUpdate, Field, TokenId } from 'o1js';

/** What a Mina daemon answers, as far as building a transaction asks. */
export class Node {
  syncStatus = 'SYNCED';
  networkID = 'mina:testnet';
  /** zkApp state by public key; a payer has none. */
  accounts = new Map<string, string[] | null>();
  /** Verification keys by public key. */
  keys = new Map<string, { data: string; hash: { toString(): string } }>();
  /** Nonces by public key, 0 if absent. */
  nonces = new Map<string, number>();
  /** Commands in the best chain by their hashes, and whether they failed. */
  landed = new Map<string, boolean>();
  /** The tip's state hash; called for each question. */
  tip = () => '3Ntip';
  /** Answers account queries with `silence`. */
  broken = false;
  /** Answers questions that contain it with `silence`. */
  silentOn = 'nothing';
  silence = 500;
  /** The height of the tip. */
  height = 7;
  /** The slot of the tip. */
  slot = 11;
  /** What an archive has of actions, by account: single fields, one for each account update. */
  actions = new Map<string, string[]>();
  /** Adds to what they should lead up to, so that nothing does. */
  actionsOff = 0n;
  /** Shows no chain, as a daemon that bootstraps. */
  chainless = false;
  /** Queries so far. */
  asked: string[] = [];
  url = '';

  async listen(): Promise<() => Promise<void>> {
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        const { query } = JSON.parse(text) as { query: string };
        this.asked.push(query);
        const failing = (this.broken && query.includes('account(')) || query.includes(this.silentOn);
        response.writeHead(failing ? this.silence : 200, { 'Content-Type': 'application/json', Connection: 'close' });
        response.end(failing ? '' : JSON.stringify(this.answer(query)));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
    return () => new Promise((resolve) => server.close(() => resolve()));
  }

  private answer(query: string): object {
    const [, publicKey] = /publicKey:\s*"(B62\w+)"/.exec(query) ?? [];
    if (query.includes('sendZkapp'))
      return { errors: [{ message: 'Couldn\'t send zkApp command: ["Invalid_nonce"]' }], data: null };
    if (query.includes('actions(')) return this.answerActions(query);
    if (query.includes('genesisConstants')) return { data: constants };
    if (query.includes('syncStatus')) return { data: this.status() };
    if (query.includes('bestChain')) return { data: { bestChain: this.chainless ? null : [this.block()] } };
    if (publicKey === undefined) return { data: {} };
    const zkappState = this.accounts.get(publicKey);
    const nonce = String(this.nonces.get(publicKey) ?? 0);
    if (zkappState === undefined) return { data: { account: null } };
    const key = this.keys.get(publicKey);
    const verificationKey = key ? { verificationKey: key.data, hash: key.hash.toString() } : null;
    return { data: { account: { ...account(publicKey, zkappState), nonce, verificationKey } } };
  }

  /** From the state that is asked for on, or an error if no action leads to it, as an archive. */
  private answerActions(query: string): object {
    const [, address] = /address: "(B62\w+)"/.exec(query) ?? [];
    const [, from] = /fromActionState: "(\d+)"/.exec(query) ?? [];
    let state = AccountUpdate.Actions.emptyActionState();
    let found = from === undefined || from === state.toString();
    const actions: object[] = [];
    for (const [i, action] of (this.actions.get(address!) ?? []).entries()) {
      const before = state;
      state = actionState(state, action);
      if (found) {
        actions.push({
          blockInfo: { distanceFromMaxBlockHeight: 0 },
          actionState: { actionStateOne: state.add(this.actionsOff).toString(), actionStateTwo: before.toString() },
          actionData: [
            {
              accountUpdateId: `${i}`,
              data: [action],
              transactionInfo: { sequenceNumber: 0, zkappAccountUpdateIds: [i] },
            },
          ],
        });
      }
      found ||= from === state.toString();
    }
    return found ? { data: { actions } } : { errors: [{ message: 'fromActionState not found' }] };
  }

  private status(): object {
    const tip = { protocolState: { consensusState: { blockHeight: String(this.height) } } };
    return { syncStatus: this.syncStatus, networkID: this.networkID, bestChain: this.chainless ? null : [tip] };
  }

  private block(): object {
    const zkappCommands = [...this.landed].map(([hash, failed]) => ({ hash, failureReason: failed ? [{}] : null }));
    return {
      stateHash: this.tip(),
      protocolState: {
        blockchainState: { snarkedLedgerHash: ledgerHash },
        consensusState: {
          blockHeight: String(this.height),
          slotSinceGenesis: this.slot,
          minWindowDensity: 77,
          totalCurrency: '1',
          nextEpochData: epoch,
          stakingEpochData: epoch,
        },
      },
      transactions: { zkappCommands },
    };
  }
}

const ledgerHash = 'jw9gnm17TFrp6AuMUWP3uFbgvhN4GKR3R7Sw3dSrDu7XTCKdFeL';
const stateHash = '3NK2tkzqqK5spR2sZ7tujjqPksL45M3UUrcA4WhCkeiPtnugyE2x';
const epoch = {
  ledger: { hash: ledgerHash, totalCurrency: '1' },
  seed: '2vaCG5eCWgaxcEH3n5fXRJ1VgQJajcVELx6VQgQCn3von6q5ekac',
  startCheckpoint: stateHash,
  lockCheckpoint: stateHash,
  epochLength: 3,
};
const constants = {
  genesisConstants: {
    genesisTimestamp: '2024-06-05T00:00:00Z',
    coinbase: '720000000000',
    accountCreationFee: '1000000000',
  },
  daemonStatus: { consensusConfiguration: { epochDuration: 1, k: 290, slotDuration: 180000, slotsPerEpoch: 7140 } },
};

/** That to which one more action leads. */
export function actionState(before: Field, action: string): Field {
  const { hash } = AccountUpdate.Actions.pushEvent(AccountUpdate.Actions.empty(), [Field(action)]);
  return AccountUpdate.Actions.updateSequenceState(before, hash);
}

function account(publicKey: string, zkappState: string[] | null): object {
  const auth = 'Signature';
  return {
    publicKey,
    token: TokenId.toBase58(TokenId.default),
    nonce: '0',
    balance: { total: '1000000000000' },
    tokenSymbol: '',
    receiptChainHash: '2mzbV7WevxLuchs2dAMY4vQBS6XttnCUF8Hvks4XNBQ5qiSGGBQe',
    timing: {
      initialMinimumBalance: null,
      cliffTime: null,
      cliffAmount: null,
      vestingPeriod: null,
      vestingIncrement: null,
    },
    permissions: {
      editState: 'Proof',
      access: 'None',
      send: auth,
      receive: 'None',
      setDelegate: auth,
      setPermissions: auth,
      setVerificationKey: { auth, txnVersion: '3' },
      setZkappUri: auth,
      editActionState: auth,
      setTokenSymbol: auth,
      incrementNonce: auth,
      setVotingFor: auth,
      setTiming: auth,
    },
    delegateAccount: { publicKey },
    votingFor: '3NK2tkzqqK5spR2sZ7tujjqPksL45M3UUrcA4WhCkeiPtnugyE2x',
    zkappState,
    verificationKey: null,
    actionState: null,
    provedState: null,
    zkappUri: null,
  };
}
