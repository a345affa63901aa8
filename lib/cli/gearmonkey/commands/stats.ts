import { Option, type Command } from 'commander';
import type { StatisticsOptions, TimeStatistics } from '../../../job/statistics.js';
import { defined } from '../../../job/defined.js';
import { spanText } from '../../../job/span-text.js';
import { dateOf } from '../input.js';
import { acts, type Flags } from '../perform.js';

interface StatsFlags extends Flags {
  readonly by?: StatisticsOptions['by'];
  readonly from?: string;
  readonly to?: string;
}

const COLUMNS = ['from', 'done', 'failed', 'retried', 'stalled', 'wait', 'run'];

export function addStats(program: Command): void {
  const stats = program
    .command('stats <fn>')
    .description('what happened to the jobs of a function, by minute, hour or day')
    .addOption(new Option('--by <interval>', '(default: hour)').choices(['minute', 'hour', 'day']))
    .option('--from <time>', 'the first interval (default: the last hour by minute, 24 hours by hour)')
    .option('--to <time>', 'the last interval begins before this time (default: now)');
  acts<StatsFlags>(stats, async ({ client, out }, [fn = ''], { by, from, to }) => {
    const options = defined({ by, from: dateOf('--from', from), to: dateOf('--to', to) });
    const found = await client.statistics(fn, options);
    const rows = found.map(({ at, done, failed, retried, stalled, wait, run }) => [
      ...[at.toISOString(), ...[done, failed, retried, stalled].map(String), meanText(wait), meanText(run)],
    ]);
    out.table(found, COLUMNS, rows);
  });
}

function meanText({ count, mean }: TimeStatistics): string {
  return count === 0 ? '' : spanText(mean);
}
