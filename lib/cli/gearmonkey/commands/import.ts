import { Argument, type Command } from 'commander';
import { SYSTEMS, type ForeignSystem, type SystemName } from '../../../import/foreign-system.js';
import type { LeftReason, Rules } from '../../../import/found-job.js';
import { QueueImport } from '../../../import/import-queue.js';
import type { ImportReport } from '../../../import/import-report.js';
import { checkWhole } from '../../../job/check-whole.js';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../../../job/codec.js';
import { ConfigurationError } from '../../../job/errors.js';
import { checkFunctionName } from '../../../job/function-name.js';
import { printable } from '../../../job/printable.js';
import { checkSpec } from '../../../redis/check-spec.js';
import { redisOptions } from '../../../redis/connect.js';
import { RedisConnection } from '../../../redis/redis-connection.js';
import { pairsOf, wholeOf } from '../input.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';
import { reachServer } from '../session.js';
import { StatusLine } from '../status-line.js';
import { cutTo } from '../table.js';

interface ImportFlags extends Flags {
  readonly queue: string;
  readonly from?: string;
  readonly prefix?: string;
  readonly function?: string;
  readonly map?: readonly string[];
  readonly failed?: true;
  readonly dryRun?: true;
  readonly batch?: string;
  readonly high?: string;
  readonly normal?: string;
  readonly maxBytes?: string;
}

/** What a server may take to answer, with a failover. */
const PATIENCE_MS = 60_000;
const DEFAULT_BATCH = 250;
const MAX_BATCH = 1000;
/** Jobs are read whole into memory. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of an id that is shown; `--json` has all of it. */
const SHOWN_ID = 80;

const WHY: Readonly<Record<LeftReason, string>> = {
  active: 'they run; import again when they have ended',
  'waiting-children': 'they wait for their children',
  flow: 'they have a parent, or results of children',
  broken: 'their data or options are not JSON, or their time is none',
  gone: 'their data is not there',
  'too-large':
    'their data is larger than --max-bytes, that of a schedule than 1 MiB, or their id and name than headers may be',
  unfit: 'the codec of --codec can not write their data',
  unmapped: 'no --map has their name, and there is no --function',
  schedule: 'a schedule here would have other times',
  'schedule-here':
    'a schedule with its id is here already, so both systems make its jobs until you remove it there, as with queue.removeJobScheduler(id)',
  'next-of-schedule': 'they are the next jobs of schedules that stay',
  later: 'they came, or changed, while it ran; import again',
  failed: 'they have failed; --failed moves them, too',
};

export function addImport(program: Command): void {
  const add = (flag: string, all: readonly string[] = []) => [...all, flag];
  const command = program
    .command('import')
    .description('move the jobs of a queue of another system into functions')
    .addArgument(new Argument('<system>', 'where the queue is').choices(Object.keys(SYSTEMS)))
    .requiredOption('--queue <name>', 'the queue')
    .option('--from <url>', 'the server of the queue (default: the one of --redis)')
    .option('--prefix <text>', "what its keys begin with (default: 'bull', or 'bq' of bee-queue)")
    .option('--function <fn>', 'where jobs go (default: the name of the queue, unless there is --map)')
    .option('--map <name=fn>', 'where jobs with this name go; may be repeated', add)
    .option('--failed', 'also failed jobs: they are run again')
    .option('--high <number>', 'priorities from 1 to this one go to `high` (default: none; of bull: all)')
    .option('--normal <number>', 'those up to this one go to `normal`; the others to `low` (default: none)')
    .option('--max-bytes <number>', 'larger jobs stay (default: 1048576)')
    .option('--batch <number>', `most jobs of a step (default: ${DEFAULT_BATCH})`)
    .option('--dry-run', 'change nothing, and show what would be moved');
  acts<ImportFlags>(command, run, { finishes: true });
}

async function run(
  context: Context,
  [system]: readonly (string | undefined)[],
  flags: ImportFlags,
): Promise<number | void> {
  const { out, connection, client, keysOf, signal } = context;
  const rules = rulesOf(SYSTEMS[system as SystemName], flags, context);
  const batch = checkWhole('--batch', wholeOf('--batch', flags.batch) ?? DEFAULT_BATCH, 1, MAX_BATCH);
  const source = flags.from === undefined ? connection : sourceOf(flags.from);
  const line = new StatusLine(out.json);
  let all = 0;
  const { queue, prefix, failed = false, dryRun = false } = flags;
  try {
    if (source !== connection) await reachServer(source);
    const moved = new QueueImport(
      { source, target: connection, client, keysOf, patience: PATIENCE_MS },
      {
        ...{ system: SYSTEMS[system as SystemName], queue, prefix, rules, failed, dryRun, batch, signal },
        onProgress: (count) => {
          all = count;
          line.show(`${count} moved; ctrl-c stops after this step`);
        },
      },
    ).run();
    const report = await moved.finally(() => line.clear());
    out.show(report, linesOf(report));
    return report.left.some(({ reason }) => reason !== 'failed') ? FOUND : undefined;
  } catch (error) {
    if (all > 0) out.hint(`${all} were moved before this error. The next import goes on after them.`);
    throw error;
  } finally {
    if (source !== connection) source.close();
  }
}

/** @throws ConfigurationError, InvalidOptionError, InvalidFunctionNameError */
function rulesOf(system: ForeignSystem, flags: ImportFlags, { keysOf }: Context): Rules {
  const named = new Map(Object.entries(pairsOf('--map', flags.map) ?? {}));
  const other = flags.function ?? (named.size === 0 ? flags.queue : undefined);
  for (const fn of [...named.values(), ...(other === undefined ? [] : [other])])
    keysOf(checkFunctionName(fn));
  const whole = (flag: string, given: string | undefined, usual: number, most: number, least = 0) =>
    checkWhole(flag, wholeOf(flag, given) ?? usual, least, most);
  const usual = system.prioritiesFirst && flags.normal === undefined ? Number.MAX_SAFE_INTEGER : 0;
  const high = whole('--high', flags.high, usual, Number.MAX_SAFE_INTEGER);
  return {
    functionOf: (name) => (name === undefined ? undefined : named.get(name)) ?? other,
    codec: flags.codec,
    largest: whole('--max-bytes', flags.maxBytes, DEFAULT_MAX_PAYLOAD_BYTES, MAX_BYTES),
    high,
    normal: whole('--normal', flags.normal, high, Number.MAX_SAFE_INTEGER, high),
  };
}

/** @throws ConfigurationError that never shows the URL, which may hold a password */
function sourceOf(url: string): RedisConnection {
  if (!/^rediss?:\/\//.test(url))
    throw new ConfigurationError('`--from` must be a URL, such as redis://127.0.0.1:6379.');
  checkSpec(url);
  // ioredis' check needs the right to INFO, and warns on the console without it.
  return new RedisConnection({ ...redisOptions(url), enableReadyCheck: false }, 'import');
}

function linesOf({
  queue,
  system,
  dryRun,
  moved,
  functions,
  left,
  resumed,
  interrupted,
}: ImportReport): string[] {
  const row = (count: number, text: string) => `${String(count).padStart(9)}  ${text}`;
  const verb = dryRun ? 'would be moved' : 'moved';
  const all = Object.values(functions).reduce((sum, count) => sum + count, 0);
  return [
    `${system} ${queue}: ${all} ${verb}${interrupted ? ', then stopped' : ''}`,
    ...(resumed ? [`  a step of an earlier import ${dryRun ? 'would be' : 'was'} ended first`] : []),
    ...Object.entries(moved).map(([state, count]) => row(count, state)),
    ...Object.entries(functions).map(([fn, count]) => row(count, `to ${fn}`)),
    ...left.flatMap(({ reason, count, ids }) => [
      row(count, `left, ${reason}: ${WHY[reason]}`),
      ...(ids.length > 0
        ? [
            `${' '.repeat(11)}${ids.map((id) => cutTo(id, SHOWN_ID)).join(' ')}${count > ids.length ? ' …' : ''}`,
          ]
        : []),
    ]),
  ].map(printable);
}
