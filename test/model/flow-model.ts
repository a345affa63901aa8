import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { firstValueFrom, lastValueFrom } from 'rxjs';
import type { Flow } from '../../lib/gearmonkey/features/flows/flow.js';
import type { FlowNode } from '../../lib/gearmonkey/features/flows/flow-node.js';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { OnParentError, ParentJob } from '../../lib/job/flows.js';
import type { FinalState } from '../../lib/job/job-state.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import type { ClientRig } from '../contract/rig.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { bounds } from './operations.js';

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
const flows: fc.Arbitrary<readonly ModelJob[]> = fc
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
class FlowLog {
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
    log.push(`begin ${number} ${parents.map(shown).join(' ')}`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`end ${number}`);
    if (this.failing.get(flow)?.has(number)) throw new Error(`${number} fails`);
    return number;
  };

  /** From now on all its jobs succeed, and only what they do from now on is shown. */
  mend(flow: string): void {
    this.failing.delete(flow);
    this.events.delete(flow);
  }

  of(flow: string): readonly string[] {
    return this.events.get(flow) ?? [];
  }
}

function shown({ state, output }: ParentJob): string {
  return state === 'succeeded' ? String(output) : state;
}

/** Runs a flow and compares what happened with the model. */
async function checkFlow(
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
    const { state, error } = (await made.jobOf(nodes[number] as FlowNode)?.get()) ?? {};
    expect([number, state]).toEqual([number, stateAt(number, jobs, ends)]);
    expect([number, error?.code]).toEqual([number, end === 'not run' ? 'PARENT_FAILED' : undefined]);
  }
  log.mend(flow);
  await checkRetries(client, made, nodes, jobs, ends, () => log.of(flow));
}

/** Retries all jobs that did not succeed, parents first: each reads all its parents, and the flow counts each once. */
async function checkRetries(
  client: GearMonkeyClient,
  made: Flow,
  nodes: readonly FlowNode[],
  jobs: readonly ModelJob[],
  ends: readonly End[],
  events: () => readonly string[],
): Promise<void> {
  for (const [number, { parents }] of jobs.entries()) {
    if (ends[number] === 'done') continue;
    const { fn = '', id = '' } = made.jobOf(nodes[number] as FlowNode) ?? {};
    await expect(client.retry(fn, id).done).resolves.toBe(1);
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('succeeded'), {
      interval: 2,
    });
    const begun = events().find((event) => event.startsWith(`begin ${number} `)) ?? '';
    const [, , ...seen] = begun.trim().split(' ');
    expect([number, ...seen.toSorted()]).toEqual([number, ...parents.map(String).toSorted()]);
  }
  const progress = { done: jobs.length, failed: 0, total: jobs.length };
  await eventually(async () => expect(await firstValueFrom(made.progress$)).toEqual(progress), {
    interval: 2,
  });
}

/** One that does not run since a parent did not succeed is cancelled if its policy says so. */
function stateAt(number: number, jobs: readonly ModelJob[], ends: readonly End[]): FinalState {
  if (ends[number] === 'done') return 'succeeded';
  return ends[number] === 'not run' && jobs[number]?.policy === 'cancel' ? 'cancelled' : 'failed';
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
  const [, , ...seen] = (events[at] ?? '').trim().split(' ');
  const expected = parents.map((parent) =>
    ends[parent] === 'done' ? String(parent) : stateAt(parent, jobs, ends),
  );
  expect(seen.toSorted()).toEqual(expected.toSorted());
}

/** What flows are run on. */
export type FlowRig = Pick<ClientRig, 'fn' | 'client' | 'source' | 'close'>;

/** Runs so many random flows on a server. */
export function randomFlows(rigOf: () => Promise<FlowRig>, runs: number): void {
  describe('random flows', () => {
    let rig: FlowRig;
    beforeAll(async () => {
      rig = await rigOf();
    });
    afterAll(async () => {
      await stopWorkers();
      await rig.close();
    });

    it('run, end, and run again as the model says', async () => {
      const functions = [rig.fn(), rig.fn()] as const;
      const [client, log] = [rig.client(), new FlowLog()];
      for (const fn of functions) await runWorker(rig.source(), fn, log.handle, { concurrency: 5 });
      let number = 0;
      const check = (jobs: readonly ModelJob[]) =>
        checkFlow(client, functions, jobs, log, `flow-${(number += 1)}`);
      await fc.assert(fc.asyncProperty(flows, check), { ...bounds(runs), interruptAfterTimeLimit: 60_000 });
    });
  });
}
