import { Mina } from 'o1js';

type Network = ReturnType<typeof Mina.Network>;
type Transaction = ReturnType<typeof Mina.Transaction.fromJSON>;

/**
 * Makes a network of o1js put dummies in the place of proofs, as its
 * `LocalBlockchain({ proofsEnabled: false })` does: for a node started with
 * proofs off. Contracts need not be compiled then.
 *
 *     Mina.setActiveInstance(withoutProofs(Mina.Network(url)));
 */
export function withoutProofs(network: Network): Network {
  const make = network.transaction.bind(network);
  return Object.assign(network, {
    proofsEnabled: false,
    transaction(...args: Parameters<Network['transaction']>) {
      const promise = make(...args);
      // Whoever else waits for the promise, also by its methods, comes after this.
      void promise.then(replaceProver, () => undefined);
      return promise;
    },
  });
}

// A network decides about proofs when it makes a transaction, and always wants
// them; one read from JSON asks the active instance. So another does the proving.
function replaceProver(transaction: Transaction): void {
  const prove = async () => {
    const other = Mina.Transaction.fromJSON(transaction.toJSON());
    other.transaction = transaction.transaction;
    const { proofs } = await other.prove();
    transaction.transaction = other.transaction;
    return Object.assign(transaction, { proofs });
  };
  Object.assign(transaction, { prove });
}
