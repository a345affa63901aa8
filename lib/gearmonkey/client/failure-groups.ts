import { digestOf } from '../../job/digest.js';
import { defined } from '../../job/defined.js';
import type { JobErrorInfo } from '../../job/errors.js';
import type { FailureGroup } from '../../job/failed-jobs.js';
import type { ListedJob } from '../../job/job-views.js';

/** Longer messages are compared by their beginning. */
const COMPARED = 1000;
const SHOWN = 200;

/** What differs between errors of one cause, in the order it is replaced. */
const DIFFERENT: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, '<text>'],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, '<id>'],
  [/\b0x[\da-f]+\b/gi, '<id>'],
  [/\b(?=[a-f]*\d)[\da-f]*[a-f][\da-f]*\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
];

/** A message without what differs from job to job: numbers, ids, hexadecimal and quoted text. */
export function commonMessage(message: string): string {
  const start = message.slice(0, COMPARED);
  return DIFFERENT.reduce((text, [pattern, name]) => text.replace(pattern, name), start);
}

/** The cause that has none itself: errors around it, such as an UnrecoverableError, are the same for many causes. */
function innermost(error: JobErrorInfo | undefined): JobErrorInfo | undefined {
  let found = error;
  while (found?.cause) found = found.cause;
  return found;
}

/** The name of an error's group. */
export function groupOf(thrown: JobErrorInfo | undefined): string {
  const error = innermost(thrown);
  const parts = [error?.name ?? '', error?.code ?? '', commonMessage(error?.message ?? '')];
  return digestOf(JSON.stringify(parts));
}

/** Groups jobs, given newest first; the largest group comes first. */
export function groupFailures(jobs: readonly ListedJob[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { id, error: thrown, times } of jobs) {
    const error = innermost(thrown);
    const group = groupOf(error);
    const found = groups.get(group);
    const first = defined({
      group,
      name: error?.name ?? 'Error',
      code: error?.code,
      message: commonMessage(error?.message ?? '').slice(0, SHOWN),
      count: 0,
      last: times.finished ?? new Date(0),
      sample: id,
      example: (error?.message ?? '').slice(0, SHOWN),
    });
    groups.set(group, { ...(found ?? first), count: (found?.count ?? 0) + 1 });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
