import { expect } from '@jest/globals';
import fc from 'fast-check';
import { lastValueFrom } from 'rxjs';
import type { FlowNode } from '../../lib/gearmonkey/client/flow-node.js';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import type { OnParentError, ParentJob } from '../../lib/job/flows.js';
import type { RunningJob } from '../../lib/worker/running-job.js';

/** A job of a random flow. Job 0 is the root. */
interface ModelJob {
  /** Jobs before it, by their numbers; of the others at least one. */
  readonly parents: readonly number[];
  readonly fails: boolean;
  readonly policy: OnParentError;
  /** Which of two functions it is of. */
  readonly fn: 0 | 1;
  readonly delay: number;
}

/** How a job of the model ends. */
type End = 'done' | 'failed' | 'not run';

/** Flows of up to 14 jobs. */
export const flows: fc.Arbitrary<readonly ModelJob[]> = fc
  .array(
    fc.record({
      seeds: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      luck: fc.nat(7),
      policy: fc.constantFrom<OnParentError>('fail', 'run', 'cancel', 'run'),
      fn: fc.constantFrom<0 | 1>(0, 1),
      delay: fc.constantFrom(0, 0, 0, 2),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((jobs) =>
    jobs.map(({ seeds, luck, policy, fn, delay }, number) => ({
      parents: number === 0 ? [] : [...new Set(seeds.map((seed) => seed % number))],
      fails: luck === 0,
      policy,
      fn,
      delay,
    })),
  );

/** How each job ends: in their order, since parents come first. */
function endsOf(jobs: readonly ModelJob[]): End[] {
  const ends: End[] = [];
  for (const { parents, fails, policy } of jobs) {
    const isStopped = policy !== 'run' && parents.some((parent) => ends[parent] !== 'done');
    ends.push(isStopped ? 'not run' : fails ? 'failed' : 'done');
  }
  return ends;
}

/** What handlers of the flow note. Each job's input is its number and the name of its flow. */
export class FlowLog {
  private readonly events = new Map<string, string[]>();
  private readonly failing = new Map<string, ReadonlySet<number>>();

  expect(flow: string, jobs: readonly ModelJob[]): void {
    this.failing.set(flow, new Set(jobs.flatMap(({ fails }, number) => (fails ? [number] : []))));
  }

  readonly handle = async (input: unknown, job: RunningJob): Promise<number> => {
    const { flow, number } = input as { flow: string; number: number };
    const log = this.events.get(flow) ?? [];
    this.events.set(flow, log);
    const parents = await job.parents();
    log.push(`begin ${number} ${parents.map(shown).join(' ')}`.trim());
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`end ${number}`);
    if (this.failing.get(flow)?.has(number)) throw new Error(`${number} fails`);
    return number;
  };

  of(flow: string): readonly string[] {
    return this.events.get(flow) ?? [];
  }
}

function shown({ status, output }: ParentJob): string {
  return status === 'success' ? String(output) : status;
}

/** Runs a flow and compares what happened with the model. */
export async function checkFlow(
  client: GearMonkeyClient,
  functions: readonly [string, string],
  jobs: readonly ModelJob[],
  log: FlowLog,
  flow: string,
): Promise<void> {
  log.expect(flow, jobs);
  const nodes: (FlowNode & { children: FlowNode[] })[] = jobs.map(({ fn, policy, delay }, number) => ({
    job: functions[fn],
    input: { flow, number },
    options: { onParentError: policy, ...(delay > 0 && { delay }) },
    children: [],
  }));
  for (const [number, { parents }] of jobs.entries())
    for (const parent of parents) nodes[parent]?.children.push(nodes[number] as FlowNode);
  const made = await client.flow(nodes[0] as FlowNode);
  const progress = await lastValueFrom(made.progress$);
  const ends = endsOf(jobs);
  const done = ends.filter((end) => end === 'done').length;
  expect(progress).toEqual({ done, failed: jobs.length - done, total: jobs.length });
  const events = log.of(flow);
  for (const [number, end] of ends.entries()) {
    const begun = events.flatMap((event, at) =>
      /^begin (\d+)/.exec(event)?.[1] === String(number) ? [at] : [],
    );
    expect([number, begun.length]).toEqual([number, end === 'not run' ? 0 : 1]);
    checkParents(events, begun[0], number, jobs, ends);
    const { status, error } = (await made.jobOf(nodes[number] as FlowNode)?.get()) ?? {};
    expect([number, status]).toEqual([number, end === 'done' ? 'success' : 'error']);
    expect([number, error?.code]).toEqual([number, end === 'not run' ? 'PARENT_FAILED' : undefined]);
  }
}

/** A job begins behind the ends of all its parents, and sees how they ended. */
function checkParents(
  events: readonly string[],
  at: number | undefined,
  number: number,
  jobs: readonly ModelJob[],
  ends: readonly End[],
): void {
  if (at === undefined) return;
  const { parents = [] } = jobs[number] ?? {};
  for (const parent of parents)
    if (ends[parent] !== 'not run') expect(events.slice(0, at)).toContain(`end ${parent}`);
  const [, , ...seen] = (events[at] ?? '').split(' ');
  const expected = parents.map((parent) => (ends[parent] === 'done' ? String(parent) : 'error'));
  expect(seen.toSorted()).toEqual(expected.toSorted());
}
