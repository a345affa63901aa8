import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import {
  isSignalName,
  MAX_SIGNALS_AT_ONCE,
  readSignal,
  readWait,
  signalField,
  waitField,
} from '../job/signals.js';
import { MAX_STEP_NAME, type RecordingJob, type StepRecords } from '../job/steps.js';

/** How `job.waitFor` and `job.waitForAny` wait. */
export interface WaitOptions {
  /** How long they wait in all, from the first call in any run of the job. At most 100 years. */
  readonly timeout: Duration;
}

/** The signal that came first of those that a job waited for. */
export interface JobSignal<Name extends string = string, Data = unknown> {
  readonly name: Name;
  readonly data: Data;
}

/** What is known of a wait for one of several signals. */
export interface SignalWait {
  /** The one that counts. Absent while there is none, and once the handler has gone on without. */
  readonly came?: { readonly name: string; readonly data: Uint8Array };
  /** When it is up, in ms since 1970. */
  readonly deadline: number;
  /** Whether the handler has gone on without any, which is final. */
  readonly isOver: boolean;
}

const WAIT = optionNames<WaitOptions>({ timeout: true });
const LONGEST_WAIT = { most: MAX_SPAN_MS };

/** How long a call of a handler waits, in ms. @throws InvalidOptionError · ConfigurationError */
export function waitSpan(call: 'waitFor' | 'waitForAny', options: WaitOptions): number {
  const { timeout } = checkOptions(call, options, WAIT);
  return toMilliseconds('timeout', timeout, LONGEST_WAIT);
}

/** @throws InvalidOptionError unless a job can wait for signals of these names */
export function checkSignalNames(names: readonly string[]): void {
  const isList = Array.isArray(names) && names.length > 0 && names.length <= MAX_SIGNALS_AT_ONCE;
  if (!isList) throw new InvalidOptionError('names', names, `1 to ${MAX_SIGNALS_AT_ONCE} names of signals`);
  for (const name of names)
    if (!isSignalName(name))
      throw new InvalidOptionError('name', name, `text of 1 to ${MAX_STEP_NAME} characters without a colon`);
}

/** The fields that a wait is read from. */
function fieldsOfWait(names: readonly string[]): string[] {
  return names.flatMap((name) => [signalField(name), waitField(name)]);
}

/**
 * The wait for the first of these signals: of those that have come the one that came first, but none of which a wait is
 * over. Each name has a wait of its own, so that a handler may get another name with a deploy.
 *
 * @param latest when it is up if it begins now
 */
export function readSignalWait(
  fields: ReadonlyMap<string, Uint8Array> | undefined,
  names: readonly string[],
  latest: number,
): SignalWait {
  const waits = names.flatMap((name) => readWait(fields?.get(waitField(name))) ?? []);
  const came = names
    .flatMap((name) => {
      const signal = readSignal(fields?.get(signalField(name)));
      const isOver = readWait(fields?.get(waitField(name)))?.isOver === true;
      return signal && !isOver ? [{ name, ...signal }] : [];
    })
    // Stable: of two at the same time the one that is named first.
    .sort((a, b) => a.time - b.time)[0];
  return {
    ...(came && { came }),
    deadline: Math.min(...waits.map(({ deadline }) => deadline), waits.length > 0 ? Infinity : latest),
    isOver: waits.some(({ isOver }) => isOver),
  };
}

/** What a job has recorded of a wait, and the server's clock: other hosts, whose clocks may differ, read the deadline. */
export async function fieldsAndClock(
  { claim, records, now }: Recording,
  names: readonly string[],
): Promise<[ReadonlyMap<string, Uint8Array> | undefined, () => number]> {
  const [fields, time = now()] = await Promise.all([
    records?.read(claim, fieldsOfWait(names)),
    records?.now(claim),
  ]);
  const ahead = time - now();
  return [fields, () => now() + ahead];
}

interface Recording {
  readonly claim: RecordingJob;
  readonly records: Pick<StepRecords, 'read' | 'now'> | undefined;
  readonly now: () => number;
}
