import type { Command } from 'commander';
import { defined } from '../../../job/defined.js';
import { ConfigurationError } from '../../../job/errors.js';
import type { LimitNumbers } from '../../../job/limit.js';
import { wholeOf } from '../input.js';
import { timeText } from '../output.js';
import { acts, type Flags } from '../perform.js';

interface LimitFlags extends Flags {
  readonly key?: string;
  readonly size?: string;
  readonly concurrency?: string;
  readonly rate?: string;
  readonly reset?: true;
}

const COLUMNS = ['key', 'waiting', 'running', 'full', 'full until', 'held by'];

export function addLimits(program: Command): void {
  const limits = program
    .command('limits <fn>')
    .description("the keys of a function's limit that have jobs or are full; or change its numbers")
    .option('--key <key>', 'only this one')
    .option('--size <number>', 'at most so many')
    .option('--concurrency <number>', 'replace how many jobs of a key run at once')
    .option('--rate <max/span>', 'replace how many jobs of a key start in a span, such as 100/1m')
    .option('--reset', 'undo a replacement');
  acts<LimitFlags>(limits, async ({ client, out }, [fn = ''], flags) => {
    const numbers = numbersOf(flags);
    if (numbers) await client.setLimit(fn, numbers);
    if (flags.reset) await client.resetLimit(fn);
    if (numbers || flags.reset) return out.show({ fn, ...numbers }, numbers ? 'changed' : 'reset');
    const found = await client.limits(fn, defined({ key: flags.key, size: wholeOf('--size', flags.size) }));
    const rows = found.map(({ key, waiting, running, full, fullUntil, heldBy = '' }) => [
      ...[key, String(waiting), String(running), full ? 'yes' : 'no', timeText(fullUntil), heldBy],
    ]);
    out.table(found, COLUMNS, rows);
  });
}

/** @throws ConfigurationError */
function numbersOf({ concurrency, rate, reset }: LimitFlags): LimitNumbers | undefined {
  if (concurrency === undefined && rate === undefined) return undefined;
  if (reset) throw new ConfigurationError('`--reset` undoes a replacement: leave out the numbers.');
  const [, max, per] = /^(\d{1,15})\/(.+)$/.exec(rate ?? '') ?? [];
  if (rate !== undefined && (max === undefined || per === undefined))
    throw new ConfigurationError('`--rate` must be MAX/SPAN, such as 100/1m.');
  return defined({
    concurrency: wholeOf('--concurrency', concurrency),
    rate: max === undefined || per === undefined ? undefined : { max: Number(max), per },
  });
}
