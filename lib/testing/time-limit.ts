import { RealTime } from './real-time.js';
import type { Drained } from './run-permits.js';
import { JobTestTimeoutError } from './testing-errors.js';

/** How many jobs a message names. */
const MAX_NAMED = 5;

/** How much real time a call may take. */
export class TimeLimit {
  readonly time: RealTime;

  constructor(
    timeout: number,
    private readonly late: () => Promise<Error>,
  ) {
    this.time = new RealTime(timeout);
  }

  /** @throws the error that `late` makes, when the time is over */
  async check(): Promise<void> {
    if (this.time.isOver) throw await this.late();
  }
}

/** The state of a call whose time is over. */
export interface LateCall {
  readonly what: string;
  /** Milliseconds. */
  readonly timeout: number;
  readonly running: readonly string[];
  readonly waiting: readonly string[];
  readonly ended: Drained;
  readonly now: number;
}

export function lateError({ what, timeout, running, waiting, ended, now }: LateCall): JobTestTimeoutError {
  const runs = ended.done + ended.failed + ended.retried;
  const why =
    running.length > 0
      ? `${named(running)} still ${running.length === 1 ? 'runs' : 'run'}`
      : waiting.length > 0
        ? `${named(waiting)} still ${waiting.length === 1 ? 'waits' : 'wait'}`
        : `its clock is at ${new Date(now).toISOString()}`;
  const before = runs === 0 ? '' : ` after ${runs} ${runs === 1 ? 'run' : 'runs'}`;
  const endless =
    runs === 0 ? '' : ' If jobs enqueue others without end, drain() runs only those that wait now.';
  const schedules =
    runs === 0 || what === 'drain'
      ? ''
      : ' If recurring jobs of the app are not what this test is about, the option `recurring: false` of GearMonkeyTestingModule lets ' +
        'schedules make none.';
  return new JobTestTimeoutError(
    `${what} waited ${timeout} ms, and ${why}${before}. If that may take so long, pass a \`timeout\`. If a handler waits for the ` +
      "clock, call advance() meanwhile; if it waits for another job, use drain({ recursive: true }) or mode: 'auto'." +
      endless +
      schedules,
    timeout,
  );
}

function named(jobs: readonly string[]): string {
  const more = jobs.length - MAX_NAMED;
  return more > 0 ? `${jobs.slice(0, MAX_NAMED).join(', ')} and ${more} more` : jobs.join(', ');
}
