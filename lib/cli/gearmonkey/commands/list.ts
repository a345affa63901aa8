import { Option, type Command } from 'commander';
import { defined } from '../../../job/defined.js';
import { LISTED_STATES, type ListedJob, type ListedState } from '../../../job/job-views.js';
import { printable } from '../../../job/printable.js';
import { wholeOf } from '../input.js';
import { errorText, progressText } from '../job-text.js';
import { timeText } from '../output.js';
import { acts, type Flags } from '../perform.js';

interface ListFlags extends Flags {
  readonly state: ListedState;
  readonly order?: 'newest' | 'oldest';
  readonly size?: string;
  readonly page?: string;
  readonly payloads?: true;
}

const COLUMNS = ['id', 'state', 'attempts', 'created', 'ended or due', 'what'];

export function addList(program: Command): void {
  const list = program
    .command('list <fn>')
    .description('a page of the jobs of a function in one state')
    .addOption(new Option('--state <state>', 'their state').choices(LISTED_STATES).default('waiting'))
    .addOption(new Option('--order <order>', 'which come first').choices(['newest', 'oldest']))
    .option('--size <number>', 'jobs of a page, at most 100 (default: 20)')
    .option('--page <page>', 'the page that the one before names as next')
    .option('--payloads', 'also inputs and outputs');
  acts<ListFlags>(list, async ({ client, out }, [fn = ''], { state, order, page, ...flags }) => {
    const size = wholeOf('--size', flags.size);
    const found = await client.list(fn, {
      state,
      ...defined({ order, size, page, payloads: flags.payloads }),
    });
    out.table(found, COLUMNS, found.jobs.map(row));
    const more = found.next === undefined ? '' : `; next: --page ${printable(found.next)}`;
    out.hint(`${found.jobs.length} of ${found.total}${more}`);
  });
}

function row({ id, state, attempts, times, error, progress, key, input, output }: ListedJob): string[] {
  const what = [
    error && errorText(error),
    progressText(progress),
    key === undefined ? '' : `key ${key}`,
    input?.text,
    output?.text === undefined ? '' : `-> ${output.text}`,
  ];
  const then = times.finished ?? times.scheduled ?? times.started;
  return [
    id,
    state,
    String(attempts),
    timeText(times.created),
    timeText(then),
    what.filter(Boolean).join(' '),
  ];
}
