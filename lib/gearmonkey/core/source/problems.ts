import { messageOf } from '../../../job/errors.js';
import { printable } from '../../../job/printable.js';

/** How long further lines of the same kind are only counted. */
const QUIET_MS = 10_000;
/** How many ids one line names, and how many characters of each. */
const MAX_NAMED = 5;
const MAX_ID = 60;

/** Logs problems in a bounded number of lines, even if a plain client causes the same one a million times. */
export class Problems {
  private readonly said = new Map<string, { at: number; more: number }>();

  constructor(
    private readonly say: (line: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @param kind groups similar lines; there must be few kinds */
  report(kind: string, line: string): void {
    const last = this.said.get(kind);
    if (last && this.now() - last.at < QUIET_MS) {
      last.more += 1;
      return;
    }
    this.said.set(kind, { at: this.now(), more: 0 });
    this.say(printable(line) + (last && last.more > 0 ? ` (and ${last.more} more like it before)` : ''));
  }
}

/** The line for queued ids that can't be run. */
export function droppedLine(fn: string, dropped: readonly string[]): string {
  const ids = [...new Set(dropped)];
  const jobs = ids.length === 1 ? `Job ${namesOf(ids)}` : `${ids.length} jobs (${namesOf(ids)})`;
  return `${jobs} of "${fn}" can't be run: no such job, malformed, or running or finished already. Removed from the queue.`;
}

/** The line for an outcome that will never be accepted. */
export function notStoredLine(fn: string, id: string, error: unknown): string {
  return `The outcome of job ${namesOf([id])} of "${fn}" can't be stored: ${messageOf(error)}`;
}

/** The first few ids, shortened. */
function namesOf(ids: readonly string[]): string {
  const named = ids
    .slice(0, MAX_NAMED)
    .map((id) => printable(id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id));
  return named.join(', ') + (ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '');
}
