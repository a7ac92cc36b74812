'use strict';

// Batches as a client of Sawtooth makes them: with the protobuf and signing
// modules of Sawtooth's SDK. Its messaging, which needs a native module, is not
// loaded.

const { createHash } = require('node:crypto');
const { createContext, CryptoFactory } = require('sawtooth-sdk/signing');
const { Batch, BatchHeader, BatchList, Transaction, TransactionHeader } = require('sawtooth-sdk/protobuf');

const context = createContext('secp256k1');
const factory = new CryptoFactory(context);

const sha512 = (bytes) => createHash('sha512').update(bytes).digest('hex');

/** A signer with a key of its own. */
const newSigner = () => factory.newSigner(context.newRandomPrivateKey());

/** A transaction of the family intkey, signed for a batcher. */
function transaction(signer, payload, { batcher = signer, dependencies = [], nonce = '' } = {}) {
  const bytes = Buffer.from(payload);
  const header = TransactionHeader.encode({
    familyName: 'intkey',
    familyVersion: '1.0',
    inputs: ['1cf126'],
    outputs: ['1cf126'],
    signerPublicKey: signer.getPublicKey().asHex(),
    batcherPublicKey: batcher.getPublicKey().asHex(),
    dependencies,
    nonce,
    payloadSha512: sha512(bytes),
  }).finish();
  return Transaction.create({ header, headerSignature: signer.sign(header), payload: bytes });
}

/** A batch of transactions. */
function batch(signer, transactions) {
  const header = BatchHeader.encode({
    signerPublicKey: signer.getPublicKey().asHex(),
    transactionIds: transactions.map((t) => t.headerSignature),
  }).finish();
  return Batch.create({ header, headerSignature: signer.sign(header), transactions });
}

/** The bytes of a BatchList. */
const list = (...batches) => Buffer.from(BatchList.encode({ batches }).finish());

module.exports = { newSigner, transaction, batch, list };
