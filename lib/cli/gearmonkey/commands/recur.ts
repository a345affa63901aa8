import { Option, type Command } from 'commander';
import type { CatchUp } from '../../../gearmonkey/features/schedules/spec.js';
import type { Schedule } from '../../../gearmonkey/features/schedules/schedule.js';
import { defined } from '../../../job/defined.js';
import { printable } from '../../../job/printable.js';
import { ScheduleNotFoundError } from '../../../job/schedule-errors.js';
import { spanText } from '../../../job/span-text.js';
import { dateOf, inputOf, wholeOf } from '../input.js';
import { shown, timeText } from '../output.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';

interface AddFlags extends Flags {
  readonly cron?: string;
  readonly seconds?: true;
  readonly timezone?: string;
  readonly every?: string;
  readonly from?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly catchUp?: CatchUp;
  readonly ifRunning?: 'queue' | 'skip';
  readonly jitter?: string;
}

const COLUMNS = ['id', 'function', 'times', 'next', 'previous', 'jobs'];

export function addRecur(program: Command): void {
  const recur = program.command('recur').description('schedules of recurring jobs').helpCommand(false);
  acts(
    recur.command('list [fn]').description('all schedules, or those of a function'),
    async ({ client, out }, [fn]) => {
      const found = await client.schedules.list(fn);
      out.table(found, COLUMNS, found.map(row));
    },
  );
  acts(recur.command('get <id>').description('print a schedule'), async ({ client, out }, [id = '']) => {
    const schedule = await client.schedules.get(id);
    if (!schedule) throw new ScheduleNotFoundError(id);
    out.show(schedule, lines(schedule));
  });
  addSchedule(recur);
  addChanges(recur);
}

function addSchedule(recur: Command): void {
  const add = recur
    .command('add <fn> <id> [input]')
    .description('make a schedule, or change the one with this id')
    .option('--cron <pattern>', "five fields, such as '0 9 * * 1-5'")
    .option('--seconds', 'the pattern begins with a field for seconds')
    .option('--timezone <zone>', 'of the pattern (default: UTC)')
    .option('--every <span>', 'the time between two jobs, such as 10m')
    .option('--from <time>', 'no job before')
    .option('--until <time>', 'no job after')
    .option('--limit <number>', 'how many jobs in all')
    .addOption(new Option('--catch-up <which>', 'jobs that are late').choices(['skip', 'last', 'all']))
    .addOption(new Option('--if-running <what>', 'while the last job goes on').choices(['queue', 'skip']))
    .option('--jitter <span>', 'each job runs up to this much later');
  acts<AddFlags>(add, async ({ client, out }, [fn = '', id = '', input], flags) => {
    const { cron, seconds, timezone, every, catchUp, ifRunning, jitter } = flags;
    const schedule = await client.recur(
      fn,
      defined({
        ...{ id, cron, seconds, timezone, every, catchUp, ifRunning, jitter },
        from: dateOf('--from', flags.from),
        until: dateOf('--until', flags.until),
        limit: wholeOf('--limit', flags.limit),
        input: await inputOf(input, flags.codec),
      }),
    );
    out.show(schedule, lines(schedule));
  });
}

function addChanges(recur: Command): void {
  const change = (name: 'pause' | 'resume', summary: string) =>
    acts(recur.command(`${name} <id>`).description(summary), async ({ client, out }, [id = '']) => {
      const schedule = await client.schedules[name](id);
      out.show(schedule, lines(schedule));
    });
  change('pause', 'create no more jobs');
  change('resume', 'end a pause');
  acts(recur.command('remove <id>').description('remove a schedule'), remove);
  acts(recur.command('run-now <id>').description('enqueue a job at once'), async (context, [id = '']) => {
    const { fn, id: job } = await context.client.schedules.runNow(id);
    context.out.show({ fn, id: job }, printable(job));
  });
  const next = recur.command('next <id> [count]').description('the times of the next jobs');
  acts(next, async ({ client, out }, [id = '', count]) => {
    const dates = await client.schedules.next(id, wholeOf('COUNT', count) ?? 1);
    out.show(dates, dates.map(timeText));
  });
}

async function remove({ client, out }: Context, [id = '']: readonly (string | undefined)[]) {
  const removed = await client.schedules.remove(id);
  out.show({ id, removed }, removed ? 'removed' : 'there is no such schedule');
  return removed ? undefined : FOUND;
}

function timesText({ cron, timezone, every }: Schedule): string {
  if (every !== undefined) return `every ${spanText(every)}`;
  return `${cron ?? ''} ${timezone ?? ''}`.trim();
}

function row(schedule: Schedule): string[] {
  const { id, fn, next, paused, previous, created } = schedule;
  const then = paused ? 'paused' : timeText(next);
  return [id, fn, timesText(schedule), then, timeText(previous), String(created)];
}

function lines(schedule: Schedule): string[] {
  const cells = row(schedule);
  const input = ['input', shown(schedule.input)] as const;
  const named = COLUMNS.map((name, column) => [name, printable(cells[column] ?? '')] as const);
  return [...named, input].flatMap(([name, value]) => (value ? [`${name.padEnd(10)} ${value}`] : []));
}
