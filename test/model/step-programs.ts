import fc from 'fast-check';
import type { RunningJob } from '../../lib/worker/running-job.js';

/** A step, or a loop of that many rows over a cursor. */
type Part = 'step' | number;

/** Where an attempt fails: before a part, in it, or behind it. */
interface Failure {
  readonly part: number;
  readonly at: 'before' | 'in' | 'behind';
}

/** A handler as data: its parts, and where each of its attempts fails but the last. */
export interface StepProgram {
  readonly parts: readonly Part[];
  readonly failures: readonly Failure[];
}

export const MAX_FAILURES = 5;

export const stepPrograms: fc.Arbitrary<StepProgram> = fc.record({
  parts: fc.array(fc.oneof(fc.constant('step' as const), fc.integer({ min: 1, max: 4 })), {
    minLength: 1,
    maxLength: 6,
  }),
  failures: fc.array(
    fc.record({
      part: fc.nat(5),
      at: fc.constantFrom('before' as const, 'in' as const, 'behind' as const),
    }),
    { maxLength: MAX_FAILURES },
  ),
});

/** Runs a program, and tells `ran` what it really runs. */
export async function runProgram(
  { parts, failures }: StepProgram,
  job: RunningJob,
  attempt: number,
  ran: (what: string) => void,
): Promise<void> {
  const failure = failures[attempt - 1];
  const failAt = (part: number, at: Failure['at']) => {
    if (failure?.part === part && failure.at === at) throw new Error('as told');
  };
  for (const [index, part] of parts.entries()) {
    failAt(index, 'before');
    if (part === 'step')
      await job.step(`part ${index}`, () => {
        ran(`part ${index}`);
        failAt(index, 'in');
      });
    else {
      const cursor = await job.cursor(`part ${index}`, { start: 0 });
      while (cursor.value < part) {
        ran(`part ${index} row ${cursor.value}`);
        failAt(index, 'in');
        await cursor.advance(cursor.value + 1);
      }
    }
    failAt(index, 'behind');
  }
  // An attempt whose failure is at a part that there is not fails at the end.
  if (failure && failure.part >= parts.length) throw new Error('as told');
}

/** What a program runs in all its attempts, if what was done is never done again. */
export function expectedRuns({ parts, failures }: StepProgram): string[] {
  const runs: string[] = [];
  let [part, row] = [0, 0];
  for (const failure of [...failures, undefined]) {
    const fails = (at: Failure['at']) => failure?.part === part && failure.at === at;
    // Parts that are done are passed through again: a failure beside one of them ends the attempt as well.
    if (failure && failure.part < part && failure.at !== 'in') continue;
    for (; part < parts.length; part += 1, row = 0) {
      if (fails('before')) break;
      const rows = parts[part] === 'step' ? 1 : Number(parts[part]);
      for (; row < rows; row += 1) {
        runs.push(parts[part] === 'step' ? `part ${part}` : `part ${part} row ${row}`);
        if (fails('in')) break;
      }
      if (row < rows) break;
      if (fails('behind')) {
        [part, row] = [part + 1, 0];
        break;
      }
    }
  }
  return runs;
}
