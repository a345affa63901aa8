import type { QueueOverview } from '../../job/job-views.js';
import { spanText } from '../../job/span-text.js';

/** What matters most is first: a narrow terminal shows no more. */
export const OVERVIEW_COLUMNS = [
  ...['function', 'waiting', 'oldest', 'running', 'workers', 'failed'],
  ...['retrying', 'scheduled', 'succeeded', 'cancelled', 'state'],
];

/** A function as a row; `now` is the time by which the oldest job is counted. */
export function overviewRow(overview: QueueOverview, now: number): string[] {
  const { fn, waiting, oldest, scheduled, retrying, running, paused, limitsFull = 0 } = overview;
  const { succeeded, failed, cancelled, workers } = overview;
  const counts = [running, workers, failed, retrying, scheduled, succeeded, cancelled];
  const all = waiting.high + waiting.normal + waiting.low;
  const age = oldest ? spanText(Math.max(0, now - oldest.getTime())) : '';
  const states = [paused ? 'paused' : '', limitsFull > 0 ? `${limitsFull} keys full` : ''];
  return [
    fn,
    String(all),
    age,
    ...counts.map((count) => (count === undefined ? '' : String(count))),
    states.filter(Boolean).join(', '),
  ];
}
