import { Option, type Command } from 'commander';
import { defined } from '../../../job/defined.js';
import { ConfigurationError } from '../../../job/errors.js';
import type { EndedJobs } from '../../../job/failed-jobs.js';
import { printable } from '../../../job/printable.js';
import { pastOf } from '../input.js';
import { acts, FOUND, type Context, type Flags } from '../perform.js';
import { canAsk, isConfirmed } from '../question.js';
import { StatusLine } from '../status-line.js';

interface MendFlags extends Flags {
  readonly state?: EndedJobs['state'];
  readonly group?: string;
  readonly tag?: string;
  readonly before?: string;
  readonly yes?: true;
}

type Verb = 'retry' | 'discard';

const DONE = { retry: 'retried', discard: 'discarded' } as const;
const WRONG = 1;

export function addMend(program: Command): void {
  addVerb(program, 'retry', 'put a failed or cancelled job back into its queue, or all of a state');
  addVerb(program, 'discard', 'delete a failed or cancelled job, or all of a state');
}

function addVerb(program: Command, verb: Verb, summary: string): void {
  const command = program
    .command(`${verb} <fn> [id]`)
    .description(summary)
    .addOption(new Option('--state <state>', 'all jobs in this state').choices(['failed', 'cancelled']))
    .option('--group <group>', 'only those of this group of `gearmonkey failures`')
    .option('--tag <tag>', 'only those with this tag')
    .option('--before <time>', 'only those that ended before, such as 2027-01-01, or 1h for an hour ago')
    .option('--yes', 'do not ask');
  const act = (context: Context, [fn = '', id]: readonly (string | undefined)[], flags: MendFlags) => {
    const which = jobsOf(verb, flags);
    if (id !== undefined && which === undefined) return one(context, verb, fn, id);
    if (id === undefined && which !== undefined) return many(context, verb, fn, which, flags.yes === true);
    throw new ConfigurationError(
      `Pass the ID of a job, or \`--state failed\` or \`--state cancelled\` for all, not both.`,
    );
  };
  acts<MendFlags>(command, act, { finishes: true });
}

/** @throws ConfigurationError */
function jobsOf(verb: Verb, { state, group, tag, before }: MendFlags): EndedJobs | undefined {
  if (state !== undefined) return { state, ...defined({ group, tag, before: pastOf('--before', before) }) };
  if (group === undefined && tag === undefined && before === undefined) return undefined;
  throw new ConfigurationError(
    `\`--group\`, \`--tag\` and \`--before\` choose among the jobs of a state: gearmonkey ${verb} FN --state failed …`,
  );
}

async function one({ client, out }: Context, verb: Verb, fn: string, id: string): Promise<number | void> {
  const isDone = (await client[verb](fn, id).done) > 0;
  const what = isDone ? DONE[verb] : 'has neither failed nor been cancelled';
  out.show({ fn, id, [DONE[verb]]: isDone }, printable(`${fn} ${id} ${what}`));
  return isDone ? undefined : FOUND;
}

async function many(
  context: Context,
  verb: Verb,
  fn: string,
  which: EndedJobs,
  isSure: boolean,
): Promise<number | void> {
  const { client, out, signal } = context;
  if (!isSure && !canAsk()) throw new ConfigurationError(`Without a terminal to ask, pass \`--yes\`.`);
  const { total } = await client.list(fn, { state: which.state, size: 1 });
  if (total > 1 && !isSure && !(await isConfirmed(questionOf(verb, fn, which, total), signal))) {
    out.hint(`nothing ${DONE[verb]}`);
    return WRONG;
  }
  const done = signal.aborted ? 0 : await runToEnd(context, verb, fn, which, total);
  const end = signal.aborted ? ', then stopped' : '';
  const value = { fn, [DONE[verb]]: done, ...(signal.aborted ? { interrupted: true } : {}) };
  out.show(value, printable(`${DONE[verb]} ${countText(done)} of ${fn}${end}`));
}

/** A signal ends it after the step that runs. */
async function runToEnd(
  { client, out, signal }: Context,
  verb: Verb,
  fn: string,
  which: EndedJobs,
  total: number,
): Promise<number> {
  const line = new StatusLine(out.json);
  const run = client[verb](fn, which);
  signal.addEventListener('abort', () => run.cancel());
  let last = 0;
  run.progress$.subscribe({
    next: (done) => {
      last = done;
      line.show(`${done} of at most ${countText(total)} ${DONE[verb]}; ctrl-c stops`);
    },
    error: () => undefined,
  });
  try {
    return await run.done;
  } catch (error) {
    line.clear();
    if (last > 0) out.hint(`${DONE[verb]} ${countText(last)} before this error:`);
    throw error;
  } finally {
    line.clear();
  }
}

function questionOf(verb: Verb, fn: string, { state, group, tag, before }: EndedJobs, total: number): string {
  const isPart = group !== undefined || tag !== undefined || before !== undefined;
  const name = verb === 'retry' ? 'Retry' : 'Delete';
  const some = isPart ? `the chosen ones of ${total}` : `all ${total}`;
  return printable(`${name} ${some} ${state} jobs of ${fn}?`);
}

function countText(count: number): string {
  return count === 1 ? '1 job' : `${count} jobs`;
}
