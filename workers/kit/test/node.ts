import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TokenId } from 'o1js';

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
  /** Answers account queries with HTTP 500. */
  broken = false;
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
        const failing = this.broken && query.includes('account(');
        response.writeHead(failing ? 500 : 200, { 'Content-Type': 'application/json', Connection: 'close' });
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
    if (query.includes('bestChain')) return { data: { bestChain: this.chainless ? null : [this.block()] } };
    if (publicKey === undefined) return { data: { syncStatus: this.syncStatus, networkID: this.networkID } };
    const zkappState = this.accounts.get(publicKey);
    const nonce = String(this.nonces.get(publicKey) ?? 0);
    if (zkappState === undefined) return { data: { account: null } };
    const key = this.keys.get(publicKey);
    const verificationKey = key ? { verificationKey: key.data, hash: key.hash.toString() } : null;
    return { data: { account: { ...account(publicKey, zkappState), nonce, verificationKey } } };
  }

  private block(): object {
    const zkappCommands = [...this.landed].map(([hash, failed]) => ({ hash, failureReason: failed ? [{}] : null }));
    return {
      stateHash: this.tip(),
      protocolState: { consensusState: { blockHeight: '7' } },
      transactions: { zkappCommands },
    };
  }
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
