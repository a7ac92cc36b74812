import './indexed-map.js';
import { FungibleToken, FungibleTokenAdmin, FungibleTokenClaimContract } from '@minatokens/token';
import { Whitelist } from '@minatokens/storage';
import { PublicKey, TokenId } from 'o1js';

export { FungibleTokenAdmin, FungibleTokenClaimContract, Whitelist };
/** The class that the package's other contracts call. */
export const Token = FungibleToken;

/** A token, and the contract that gives of it to whoever claims. */
export function airdrop(tokenAddress: string, address: string) {
  const token = new FungibleToken(PublicKey.fromBase58(tokenAddress));
  const claim = new FungibleTokenClaimContract(PublicKey.fromBase58(address), TokenId.derive(token.address));
  return { token, claim };
}
