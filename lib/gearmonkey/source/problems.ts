import { messageOf } from '../../job/errors.js';
import { printable } from '../../job/printable.js';

/** How long lines like one that was said are only counted. */
const QUIET_MS = 10_000;
/** Ids that one line names, and characters of each. */
const MAX_NAMED = 5;
const MAX_ID = 60;

/** What an operator should know, in a bounded number of lines: a plain client may cause the same a million times. */
export class Problems {
  private readonly said = new Map<string, { at: number; more: number }>();

  constructor(
    private readonly say: (line: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @param kind lines of one kind are alike; there are few of them */
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

/** Ids that were queued and are no jobs to run. */
export function droppedLine(fn: string, dropped: readonly string[]): string {
  const ids = [...new Set(dropped)];
  const jobs = ids.length === 1 ? `Job ${namesOf(ids)}` : `${ids.length} jobs (${namesOf(ids)})`;
  return `${jobs} of "${fn}" can't be run though queued: no hash, a malformed one, or begun or finished already.`;
}

/** An outcome that no repetition would help. */
export function notStoredLine(fn: string, id: string, error: unknown): string {
  return `The outcome of job ${namesOf([id])} of "${fn}" can't be stored: ${messageOf(error)}`;
}

/** The first few, each of them short. */
function namesOf(ids: readonly string[]): string {
  const named = ids
    .slice(0, MAX_NAMED)
    .map((id) => printable(id.length > MAX_ID ? `${id.slice(0, MAX_ID)}…` : id));
  return named.join(', ') + (ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '');
}
