import { defined } from '../job/defined.js';
import { toErrorInfo, type JobErrorInfo } from '../job/errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { signalWords } from '../job/signals.js';
import { spanText } from '../job/span-text.js';
import type { LogFields, WorkerLog } from './worker-log.js';
import { printable } from '../job/printable.js';

/** What follows a failed attempt. `server`: the job's system counts attempts and decides. */
export type Next = 'retry' | 'fail' | 'server';

type Failure = Extract<Outcome, { readonly error: JobErrorInfo }>;

/** Longest message in a line, in characters; `job.errors` has the whole message. */
const MAX_MESSAGE = 500;
/** Longest name or id in a line: other systems have no limit. */
const MAX_NAME = 200;
/** How many jobs one line names. */
const MAX_NAMED = 10;

/** Logs events of a worker's jobs. Each line also has its values as fields. */
export class JobLog {
  private readonly toldOfParents = new Set<string>();

  /** @param stacks whether the line of a failed attempt has the stack of its error, which otherwise goes to `debug` */
  constructor(
    private readonly log: Required<WorkerLog>,
    private readonly stacks = false,
  ) {}

  /**
   * Logs a failed attempt in one line: a warning if another attempt follows, else an error. A job that RetryLaterError
   * postponed has not failed.
   */
  ended(outcome: Outcome, attempt: number, attempts: number): void {
    if (outcome.status === 'snoozed') return this.snoozed(outcome.claim, outcome.delay, outcome.waitsFor);
    if (outcome.status === 'held') return this.held(outcome.claim, outcome.delay);
    if (outcome.status !== 'error' && outcome.status !== 'retry') return;
    const { claim, error, status } = outcome;
    const next = nextOf(outcome, attempts);
    const isPutOff = next !== 'fail' && error.code === 'RETRY_LATER';
    const what = isPutOff ? 'is put off' : next === 'fail' ? 'failed for good' : 'failed';
    const limit = limitOf(outcome, attempt, attempts);
    const number = limit === undefined ? `attempt ${attempt}` : `attempt ${attempt} of ${limit}`;
    const tried = [number, nextWords(next, outcome)].filter(Boolean).join(', ');
    const wantsStack = !isPutOff && (this.stacks || this.log.isDebugging());
    const stack = wantsStack ? stackLines(error) : '';
    const level = isPutOff ? 'debug' : status === 'retry' ? 'warn' : 'error';
    const fields = (detail: object) => ({
      ...jobFields(claim),
      ...defined({ attempt, attempts: limit }),
      error: { ...errorFields(error), ...detail },
      ...defined({ next, delay: next === 'retry' ? delayOf(outcome) : undefined }),
    });
    const line = `${nameOf(claim)} ${what} (${tried}): ${errorWords(error)}`;
    this.log[level](line, fields(this.stacks && stack ? { stack } : {}));
    if (stack && !this.stacks)
      this.log.debug(`${nameOf(claim)} (attempt ${attempt}): ${errorWords(error)}`, fields({ stack }));
  }

  /** @param job the job of the event, if there is one */
  observerFailed(observer: string, thrown: unknown, job: { fn?: string; id?: string } = {}): void {
    const error = toErrorInfo(thrown);
    const { fn, id } = job;
    const told = fn === undefined || id === undefined ? {} : jobFields({ fn, id });
    const fields = (detail: object) => ({ observer, ...told, error: { ...errorFields(error), ...detail } });
    this.log.error(`${observer} failed: ${errorWords(error)}`, fields({}));
    const stack = this.log.isDebugging() ? stackLines(error) : '';
    if (stack) this.log.debug(`${observer}: ${errorWords(error)}`, fields({ stack }));
  }

  private snoozed(claim: Claim, delay: number, signals?: readonly string[]): void {
    const fields = { ...jobFields(claim), next: 'retry', delay: Math.round(delay), ...defined({ signals }) };
    const what = signals === undefined ? 'is snoozed (next in' : `waits for ${signalWords(signals)} (at most`;
    this.log.debug(`${nameOf(claim)} ${what} ${spanText(delay)}).`, fields);
  }

  private held(claim: Claim, delay: number): void {
    const fields = { ...jobFields(claim), next: 'retry', delay: Math.round(delay) };
    this.log.debug(`${nameOf(claim)} holds its limit key (for ${spanText(delay)}).`, fields);
  }

  /** @param observers those that still run when their app closes */
  observersLeft(observers: readonly string[]): void {
    const names = [...new Set(observers)];
    this.log.warn(`Closes while observers still run: ${listOf(names)}`, {
      observers: names,
      count: observers.length,
    });
  }

  cancelled(claim: Claim): void {
    this.log.debug(`${nameOf(claim)} was cancelled while it ran.`, jobFields(claim));
  }

  suspected(claim: Claim): void {
    const { stalls } = claim;
    const line = `${nameOf(claim)} has lost its worker ${stalls} times, and may be what ended it: it runs alone now.`;
    this.log.warn(line, { ...jobFields(claim), stalls });
  }

  /** Warns once for each function. @param bytes of the outputs of so many parents */
  readonly largeParents = (claim: Claim, bytes: number, count: number): void => {
    if (this.toldOfParents.has(claim.fn)) return;
    this.toldOfParents.add(claim.fn);
    const size = `${Math.round(bytes / 2 ** 20)} MiB`;
    this.log.warn(
      `The outputs of the ${count} jobs that ${nameOf(claim)} waited for are ${size}, all of which job.parents() has in memory at once, as bytes and as ` +
        'values. Store large outputs elsewhere and return references, or join them in stages.',
      { ...jobFields(claim), bytes, count },
    );
  };

  lost(claim: Claim): void {
    this.log.warn(`${nameOf(claim)} went to another worker because its lease expired.`, jobFields(claim));
  }

  refused(claim: Claim): void {
    this.log.warn(`The outcome of ${nameOf(claim)} was refused: its lease had expired.`, jobFields(claim));
  }

  unsettled(claims: readonly Claim[], why: string): void {
    this.log.error(`The outcome of ${namesOf(claims)} is lost: ${why}`, listFields(claims));
  }

  draining(claims: readonly Claim[], timeout: number): void {
    if (claims.length === 0 || timeout <= 0) return;
    const line = `Waits up to ${spanText(timeout)} for running jobs: ${namesOf(claims)}`;
    this.log.log(line, listFields(claims));
  }

  givenBack(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    this.log.log(`Gave back jobs that still ran: ${namesOf(claims)}`, listFields(claims));
  }
}

function nextOf({ status }: Failure, attempts: number): Next {
  if (status === 'error') return 'fail';
  return attempts === Infinity ? 'server' : 'retry';
}

function nextWords(next: Next, outcome: Failure): string {
  return next === 'retry' ? `next in ${spanText(delayOf(outcome) ?? 0)}` : '';
}

function delayOf(outcome: Failure): number | undefined {
  return outcome.status === 'retry' ? Math.round(outcome.delay) : undefined;
}

/** Not where the server counts, and not where RetryLaterError puts off a job that has no retries. */
function limitOf({ status }: Failure, attempt: number, attempts: number): number | undefined {
  const isBeyond = status === 'retry' ? attempt >= attempts : attempt > attempts;
  return isBeyond || attempts === Infinity ? undefined : attempts;
}

function errorFields({ name, message, code }: JobErrorInfo) {
  return defined({ name, message: shorten(message, MAX_MESSAGE), code });
}

function errorWords({ name, message }: JobErrorInfo): string {
  return `${name}: ${shorten(message, MAX_MESSAGE)}`;
}

function jobFields({ fn, id }: Pick<Claim, 'fn' | 'id'>): { fn: string; id: string } {
  return { fn: shorten(fn, MAX_NAME), id: shorten(id, MAX_NAME) };
}

function listFields(claims: readonly Claim[]): LogFields {
  return { jobs: claims.slice(0, MAX_NAMED).map(jobFields), count: claims.length };
}

function nameOf(claim: Claim): string {
  const { fn, id } = jobFields(claim);
  return `${fn} ${id}`;
}

function namesOf(claims: readonly Claim[]): string {
  return listOf(claims.map(nameOf));
}

function listOf(names: readonly string[]): string {
  const listed = names.slice(0, MAX_NAMED);
  if (names.length > MAX_NAMED) listed.push(`${names.length - MAX_NAMED} more`);
  return listed.join(', ');
}

function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit).toWellFormed()}…` : text;
}

const MAX_LINES = 40;

const MAX_LINE = 300;

/** Errors of this package whose stack does not help: the message has all information. */
const NO_STACK: ReadonlySet<string | undefined> = new Set(['JOB_TIMEOUT', 'JOB_CANCELLED', 'SHUTDOWN']);

/** Stack lines of an error and its causes, indented, so that text from outside never begins a line. */
export function stackLines(error: JobErrorInfo): string {
  if (NO_STACK.has(error.code)) return '';
  const lines = framesOf(error);
  if (lines.length === 0) return '';
  for (let { cause } = error; cause; cause = cause.cause) {
    lines.push(`    caused by ${cause.name}: ${cause.message}`, ...framesOf(cause));
  }
  return lines
    .slice(0, MAX_LINES)
    .map((line) => printable(line.slice(0, MAX_LINE).toWellFormed()))
    .join('\n');
}

function framesOf({ stack = '' }: JobErrorInfo): string[] {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return frames.map((line) => `    ${line.trim()}`);
}
