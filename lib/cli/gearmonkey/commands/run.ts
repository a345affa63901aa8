import type { Command } from 'commander';
import { Option } from 'commander';
import { lastValueFrom, tap } from 'rxjs';
import type { Priority, RunOptions } from '../../../gearmonkey/core/client/run-options.js';
import { defined } from '../../../job/defined.js';
import { toMilliseconds } from '../../../job/duration.js';
import { WaitTimeoutError } from '../../../job/errors.js';
import type { Job } from '../../../job/job.js';
import { printable } from '../../../job/printable.js';
import { dateOf, inputOf, pairsOf, wholeOf } from '../input.js';
import { errorText } from '../job-text.js';
import { shown } from '../output.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';
import { progressBar } from '../progress-bar.js';

interface RunFlags extends Flags {
  readonly wait?: true;
  readonly priority?: Priority;
  readonly delay?: string;
  readonly at?: string;
  readonly timeout?: string;
  readonly rollCall?: true;
  readonly attempts?: string;
  readonly jobTimeout?: string;
  readonly expires?: string;
  readonly header?: readonly string[];
  readonly tag?: readonly string[];
  readonly unique?: string;
}

export function addRun(program: Command): void {
  const run = program.command('run <fn> [input]').description('enqueue a job; INPUT is JSON, - reads stdin');
  run.option('--wait', 'wait until it has finished, with a progress bar; exit code 2 if it failed');
  acts<RunFlags>(withOptions(run), enqueue);
  const call = program.command('call <fn> [input]').description('run a job and print its output');
  acts<RunFlags>(withOptions(call), callJob);
}

function withOptions(command: Command): Command {
  return command
    .addOption(new Option('--priority <queue>', 'the queue').choices(['high', 'normal', 'low']))
    .option('--delay <span>', 'how long it waits first, such as 10m')
    .option('--at <time>', 'when it may run, such as 2027-01-01T09:00:00Z')
    .option('--timeout <span>', 'how long to wait for the end')
    .option('--roll-call', 'fail unless a worker is registered')
    .option('--attempts <number>', 'how often it is tried')
    .option('--job-timeout <span>', 'how long a run may take')
    .option('--expires <span>', 'ends as an error unless it was begun by then')
    .option('--unique <key>', 'enqueue nothing while a job with this key waits or runs')
    .option('--tag <tag>', 'what it is found by; may be repeated', collect)
    .option('--header <name=value>', 'a header; may be repeated', collect);
}

function collect(value: string, others: readonly string[] = []): string[] {
  return [...others, value];
}

function optionsOf(flags: RunFlags): Omit<RunOptions, 'blocking' | 'timeout'> {
  const attempts = wholeOf('--attempts', flags.attempts);
  const { unique } = flags;
  return defined({
    priority: flags.priority,
    delay: flags.delay,
    scheduled: dateOf('--at', flags.at),
    rollCall: flags.rollCall,
    retry: attempts === undefined ? undefined : { attempts },
    jobTimeout: flags.jobTimeout,
    expires: flags.expires,
    headers: pairsOf('--header', flags.header),
    tags: flags.tag,
    unique: unique === undefined ? undefined : { key: () => unique },
  });
}

async function enqueue(
  context: Context,
  [fn = '', input]: readonly (string | undefined)[],
  flags: RunFlags,
): Promise<number | void> {
  const { client, out } = context;
  const options = optionsOf(flags);
  const timeout = flags.timeout === undefined ? undefined : toMilliseconds('--timeout', flags.timeout);
  const handle = await client.run(fn, await inputOf(input, flags.codec), options);
  const { id, created } = handle;
  if (!flags.wait) return out.show({ fn, id, created }, printable(id));
  const job = await untilFinal(context, fn, id, timeout);
  const text = job.error ? errorText(job.error) : shown(job.output);
  if (out.json || !job.error) out.show(job, text);
  else out.hint(text);
  return job.error ? FOUND : undefined;
}

async function untilFinal(
  { client, out, signal }: Context,
  fn: string,
  id: string,
  timeout: number | undefined,
): Promise<Job> {
  const bar = out.json ? undefined : await progressBar(printable(fn), printable(id));
  signal.addEventListener('abort', () => bar?.stop());
  const ended = lastValueFrom(client.watch(fn, id).pipe(tap((job) => bar?.update(job))));
  try {
    if (timeout === undefined) return await ended;
    // Its error says why, if no worker serves the function.
    const inTime = client.result(fn, id, { timeout }).catch((error: unknown) => {
      if (error instanceof WaitTimeoutError) throw error;
    });
    return await Promise.race([ended, inTime.then(() => ended)]);
  } finally {
    bar?.stop();
  }
}

async function callJob(
  { client, out }: Context,
  [fn = '', input]: readonly (string | undefined)[],
  flags: RunFlags,
): Promise<void> {
  const options = defined({ ...optionsOf(flags), timeout: flags.timeout });
  const output = await client.call(fn, await inputOf(input, flags.codec), options);
  out.show(output, shown(output));
}
