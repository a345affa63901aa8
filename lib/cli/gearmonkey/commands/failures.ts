import type { Command } from 'commander';
import { printable } from '../../../job/printable.js';
import { errorText } from '../job-text.js';
import { timeText } from '../output.js';
import { acts } from '../perform.js';

const COLUMNS = ['group', 'count', 'last', 'sample', 'error'];

export function addFailures(program: Command): void {
  const failures = program
    .command('failures <fn>')
    .description('the newest 1,000 failed jobs of a function, grouped by their errors');
  acts(failures, async ({ client, out }, [fn = '']) => {
    const found = await client.failures(fn);
    const rows = found.map(({ group, count, last, sample, ...error }) => [
      ...[group, String(count), timeText(last), sample, errorText(error)],
    ]);
    out.table(found, COLUMNS, rows);
    const [worst] = found;
    if (worst) out.hint(printable(`again: gearmonkey retry ${fn} --state failed --group ${worst.group}`));
  });
}
