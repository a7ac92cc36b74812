import { parseArgs } from 'node:util';
import { startNode, type StartOptions } from './index.js';
import { mina } from './formats.js';
import { STATE_FIELDS } from './command.js';
import { LIMITS, MAX_BLOCK_COMMANDS } from './limits.js';

const NANOMINA = 1_000_000_000n;

const USAGE = `Usage: ledger-node [options]

A local Mina node for zkApp development, on 127.0.0.1.

  --port N          port, default 8181; 0 takes a free one
  --block-time T    length of a slot, as 500ms, 5s or 3m, default 5s; "manual": blocks by POST /control/block only
  --fill SHARE      share of slots that get a block, above 0 and at most 1, default 1
  --proofs on|off   verify proofs, default on; signatures are always verified
  --accounts N      funded accounts, 0 to 1000, default 10
  --balance MINA    what each of them has, default 1000
  --k N             depth of the transition frontier, default 290
  --limits NAME     what commands and blocks may hold: mesa, as mainnet's, or berkeley; default mesa
  --block-commands N  the most zkApp commands of a block, 1 to 128; default 12, with berkeley 24
  --data DIR        keep the blocks in this directory; without it, in memory
  --help            print this`;

/** Reads the command line. Throws an Error that names the option and the remedy. */
function readOptions(args: string[]): StartOptions | undefined {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      ...{
        port: text,
        'block-time': text,
        fill: text,
        proofs: text,
        accounts: text,
        balance: text,
        k: text,
        limits: text,
        'block-commands': text,
        data: text,
      },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return undefined;
  const { proofs = 'on', data, accounts, balance, 'block-time': blockTime } = values;
  if (proofs !== 'on' && proofs !== 'off') throw new Error('--proofs is on or off');
  const limits = values.limits ?? 'mesa';
  if (limits !== 'mesa' && limits !== 'berkeley') throw new Error('--limits is mesa or berkeley');
  const blockCommands = values['block-commands'];
  const manual = blockTime === 'manual';
  return {
    port: number('port', values.port ?? '8181', 0, 65_535),
    manual,
    slotTime: manual || blockTime === undefined ? undefined : duration(blockTime),
    fill: number('fill', values.fill ?? '1', 0.01, 1, false),
    proofs: proofs === 'on',
    // What is not said is left to the chain that may be there already.
    accounts: accounts === undefined ? undefined : number('accounts', accounts, 0, 1000),
    balance: balance === undefined ? undefined : BigInt(number('balance', balance, 1, 1_000_000)) * NANOMINA,
    k: number('k', values.k ?? '290', 1, 100_000),
    limits: {
      ...LIMITS[limits],
      ...(blockCommands !== undefined && {
        blockCommands: number('block-commands', blockCommands, 1, MAX_BLOCK_COMMANDS),
      }),
    },
    data,
  };
}

function number(name: string, text: string, least: number, most: number, whole = true): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most) || (whole && !Number.isInteger(value))) {
    throw new Error(`--${name} is a ${whole ? 'whole ' : ''}number from ${least} to ${most}`);
  }
  return value;
}

function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m)$/.exec(text) ?? [];
  const milliseconds = Number(amount) * { ms: 1, s: 1000, m: 60_000 }[(unit ?? 'ms') as 'ms' | 's' | 'm'];
  if (!(milliseconds >= 100 && milliseconds <= 3_600_000)) {
    throw new Error('--block-time is from 100ms to 60m, as in 500ms, 5s or 3m, or "manual"');
  }
  return milliseconds;
}

async function main(options: StartOptions): Promise<void> {
  const started = Date.now();
  const running = await startNode({ ...options, onReplay: tellProgress });
  const { node, urls } = running;
  const end = () => void running.close().then(() => process.exit(0));
  process.once('SIGINT', end).once('SIGTERM', end);
  const { tip } = node.chain;
  console.log(`GraphQL   ${urls.graphql}\nArchive   ${urls.archive}\nControl   ${urls.control}/state\n`);
  const pace = options.manual ? 'on demand' : `every ${node.slotTime / 1000} s`;
  console.log(`Blocks ${pace}, proofs ${options.proofs ? 'verified' : 'not verified'}, at height ${tip.height}.`);
  const era = STATE_FIELDS === 8 ? 'Berkeley, as o1js makes them before 3.0' : 'Mesa, as o1js makes them from 3.0 on';
  console.log(`It takes transactions of ${era}, with ${STATE_FIELDS} state fields.`);
  if (node.accounts.length > 0)
    console.log('\nFunded accounts. Their keys are known to everybody: use them here only.');
  for (const { publicKey, privateKey } of node.accounts) {
    const balance = BigInt(tip.ledger.account(publicKey)?.balance ?? 0);
    console.log(`  ${publicKey}  ${privateKey}  ${mina(balance)} MINA`);
  }
  console.log(`\nReady after ${((Date.now() - started) / 1000).toFixed(1)} s. Ctrl-C ends it.`);
}

function tellProgress(done: number, of: number): void {
  if (done % 100 === 0 || done === of) console.log(`Applied ${done} of ${of} stored blocks.`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options) await main(options);
  else console.log(USAGE);
} catch (error) {
  console.error(`ledger-node: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
