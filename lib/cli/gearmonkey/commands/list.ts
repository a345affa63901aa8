import { Option, type Command } from 'commander';
import { defined } from '../../../job/defined.js';
import { JOB_STATES, type JobState } from '../../../job/job-state.js';
import type { JobList, ListedJob, ListOptions } from '../../../job/job-views.js';
import { printable } from '../../../job/printable.js';
import { wholeOf } from '../input.js';
import { errorText, progressText } from '../job-text.js';
import { timeText } from '../output.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';

interface PageFlags extends Flags {
  readonly order?: 'newest' | 'oldest';
  readonly size?: string;
  readonly page?: string;
  readonly payloads?: true;
}

interface ListFlags extends PageFlags {
  readonly state: JobState;
}

interface FindFlags extends PageFlags {
  readonly tag?: string;
  readonly key?: string;
  readonly id?: string;
}

const COLUMNS = ['id', 'state', 'attempts', 'created', 'ended or due', 'what'];

export function addList(program: Command): void {
  const list = program
    .command('list <fn>')
    .description('a page of the jobs of a function in one state')
    .addOption(new Option('--state <state>', 'their state').choices(JOB_STATES).default('waiting'));
  acts<ListFlags>(withPages(list), async (context, [fn = ''], flags) => {
    show(context, await context.client.list(fn, { state: flags.state, ...pageOf(flags) }));
  });
  const find = program
    .command('find <fn>')
    .description('a page of the jobs with a tag or a key, or the job with an id, in all states')
    .option('--tag <tag>', 'jobs that were enqueued with this tag')
    .option(
      '--key <key>',
      'jobs of this key of the limit that have not ended, or the last one with this unique key',
    )
    .option('--id <id>', 'the job with this id');
  acts<FindFlags>(withPages(find), async (context, [fn = ''], flags) => {
    const { tag, key, id } = flags;
    const found = await context.client.find(fn, { ...defined({ tag, key, id }), ...pageOf(flags) });
    show(context, found);
    return found.total === 0 ? FOUND : undefined;
  });
}

function withPages(command: Command): Command {
  return command
    .addOption(new Option('--order <order>', 'which come first').choices(['newest', 'oldest']))
    .option('--size <number>', 'jobs of a page, at most 100 (default: 20)')
    .option('--page <page>', 'the page that the one before names as next')
    .option('--payloads', 'also inputs and outputs');
}

function pageOf({ order, page, payloads, ...flags }: PageFlags): Omit<ListOptions, 'state'> {
  return defined({ order, size: wholeOf('--size', flags.size), page, payloads });
}

function show({ out }: Context, found: JobList): void {
  out.table(found, COLUMNS, found.jobs.map(row));
  const more = found.next === undefined ? '' : `; next: --page ${printable(found.next)}`;
  out.hint(`${found.jobs.length} of ${found.total}${more}`);
}

function row({
  id,
  state,
  attempts,
  times,
  error,
  progress,
  key,
  tags = [],
  input,
  output,
}: ListedJob): string[] {
  const what = [
    error && errorText(error),
    progressText(progress),
    key === undefined ? '' : `key ${key}`,
    ...tags.map((tag) => `#${tag}`),
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
