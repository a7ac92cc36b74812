import { writeSync } from 'node:fs';
import { readConfig } from './config.js';
import { serve, type Log } from './signer.js';

const log: Log = (level, fields, message) => {
  try {
    writeSync(1, `${JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg: message })}\n`);
  } catch {
    // a full disk costs lines, and no signature
  }
};

try {
  const config = await readConfig(process.env);
  let end = (code: number) => process.exit(code);
  const onSuperseded = () => {
    log('error', {}, 'another signer counts in the same state: this one ends');
    end(1);
  };
  const { url, close } = await serve({ ...config, log, onSuperseded });
  end = (code) => void close().finally(() => process.exit(code)) as never;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      log('info', { signal }, 'shutting down');
      end(0);
    });
  }
  const { day, fees, outflow } = config.spent.day;
  const counted = { day, fees: fees.toString(), outflow: outflow.toString() };
  log('info', { url, accountId: config.key.publicKey, network: config.network, ...counted }, 'listening');
} catch (error) {
  process.stderr.write(`signer: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
