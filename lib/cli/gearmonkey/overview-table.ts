import type { FunctionOverview } from '../../job/job-views.js';
import { spanText } from '../../job/span-text.js';

/** What matters most is first: a narrow terminal shows no more. */
export const OVERVIEW_COLUMNS = [
  ...['function', 'waiting', 'oldest', 'run', 'workers', 'failed'],
  ...['retry', 'later', 'done', 'cancelled', 'state'],
];

/** A function as a row; `now` is the time by which the oldest job is counted. */
export function overviewRow(overview: FunctionOverview, now: number): string[] {
  const { fn, waiting, oldest, scheduled, retrying, running, paused, limitsFull } = overview;
  const { success, failed, cancelled, workers } = overview;
  const counts = [running, workers, failed, retrying, scheduled, success, cancelled];
  const all = waiting.high + waiting.normal + waiting.low;
  const age = oldest ? spanText(Math.max(0, now - oldest.getTime())) : '';
  const state = [paused ? 'paused' : '', limitsFull > 0 ? `${limitsFull} keys full` : ''];
  return [fn, String(all), age, ...counts.map(String), state.filter(Boolean).join(', ')];
}
