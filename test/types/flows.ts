import type { Observable } from 'rxjs';
import type {
  Flow,
  FlowNode,
  FlowProgress,
  GearMonkeyClient,
  JobHandle,
  ParentJob,
  RunningJob,
} from 'nestjs-gearmonkey';
import { mail, measure, resize, same, type Size } from './definitions.js';

/** Never called: it only has to compile. */
export async function flows(jobs: GearMonkeyClient): Promise<void> {
  const size: Size = { width: 1, height: 2 };

  const last: FlowNode<typeof resize> = { job: resize, input: size, options: { priority: 'low' } };
  const flow = await jobs.flow({
    job: resize,
    input: size,
    options: { after: [{ fn: 'measure', id: '1' }], onParentError: 'run' },
    children: [{ job: mail, input: { to: 'a@b.org' }, children: [last] }, last, { job: 'any', input: 1 }],
  });
  same<typeof flow, Flow<typeof resize>>();
  same<typeof flow.root, JobHandle<typeof resize>>();
  same<typeof flow.progress$, Observable<FlowProgress>>();
  const output = await flow.root.result();
  same<typeof output, string>();
  const cancelled = await flow.cancel();
  same<typeof cancelled, number>();
  const found = flow.jobOf(last);
  same<typeof found, JobHandle<typeof resize> | undefined>();

  // @ts-expect-error the input of another job
  await jobs.flow({ job: resize, input: { to: 'a@b.org' } });
  // @ts-expect-error there is no input
  await jobs.flow({ job: resize });
  // @ts-expect-error a part of the input
  const _wrong: FlowNode<typeof resize> = { job: resize, input: { width: 1 } };
  // @ts-expect-error only the root waits for jobs that there are
  const _late: FlowNode<typeof resize> = { job: resize, input: size, options: { after: [flow.root] } };
  // @ts-expect-error jobs of a flow are not unique
  await jobs.flow({ job: resize, input: size, options: { unique: { key: 'a' } } });
  // @ts-expect-error no such choice
  await jobs.flow({ job: resize, input: size, options: { onParentError: 'ignore' } });

  await jobs.run(resize, size, { after: [flow.root, { fn: 'mail', id: '7' }], onParentError: 'cancel' });
  // @ts-expect-error an id alone is of no function
  await jobs.run(resize, size, { after: ['7'] });
}

/** Never called. */
export async function parents(job: RunningJob): Promise<void> {
  const all = await job.parents();
  same<typeof all, ParentJob[]>();
  const typed = await job.parents(resize);
  same<typeof typed, ParentJob<string>[]>();
  const [{ output, state } = {}] = await job.parents(measure);
  same<typeof output, string | undefined>();
  // @ts-expect-error no such state: a parent has ended
  const _wrong: boolean = state === 'running';
  // @ts-expect-error the output is text
  const _text: number | undefined = typed[0]?.output;
}
