import type { JobErrorInfo } from '../../job/errors.js';
import type { Job, Progress } from '../../job/job.js';
import { printable } from '../../job/printable.js';
import { shown, timeText, toJson, type Output } from './output.js';

const STATE_COLOURS = {
  ...({ waiting: 'dim', scheduled: 'dim', retrying: 'yellow', running: 'yellow' } as const),
  ...({ succeeded: 'green', failed: 'red', cancelled: 'red' } as const),
};

export function stateText(out: Output, { state }: Pick<Job, 'state'>): string {
  return out.paint(STATE_COLOURS[state], state);
}

export function progressText(progress: Progress | undefined): string {
  return progress ? `${progress.dividend}/${progress.divisor}` : '';
}

/** `CODE: message` of an error, on one line. */
export function errorText({ name, code, message }: JobErrorInfo): string {
  return printable(`${code ?? name}: ${message}`);
}

/** A job for people, a line for each of its parts. */
export function jobLines(out: Output, job: Job): string[] {
  const { times, errors, recurring, headers } = job;
  const rows: [name: string, value: string | undefined][] = [
    ['job', `${printable(job.fn)} ${printable(job.id)}`],
    ['state', stateText(out, job)],
    ['progress', progressText(job.progress)],
    ['input', shown(job.input)],
    ['output', job.state === 'succeeded' ? shown(job.output) : undefined],
    ['error', job.error && errorText(job.error)],
    ['attempts', job.attempts > 0 ? String(job.attempts) : undefined],
    ['snoozes', job.snoozes > 0 ? String(job.snoozes) : undefined],
    ['waits for', job.waitsFor?.map((name) => printable(name)).join(' or ')],
    ['until', timeText(times.waitsUntil)],
    ['created', timeText(times.created)],
    ['scheduled', timeText(times.scheduled)],
    ['expires', timeText(times.expires)],
    ['started', timeText(times.started)],
    ['finished', timeText(times.finished)],
    ['schedule', recurring && printable(recurring.id)],
    ['headers', Object.keys(headers).length > 0 ? toJson(headers) : undefined],
    ...errors.map((each): [string, string] => [`attempt ${each.attempt}`, errorText(each)]),
  ];
  return rows.flatMap(([name, value]) => (value ? [`${name.padEnd(10)} ${value}`] : []));
}
