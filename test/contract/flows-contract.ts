import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import type { FlowNode } from '../../lib/gearmonkey/features/flows/flow-node.js';
import type { FlowProgress } from '../../lib/job/flows.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { gate } from '../support/gate.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { subscribed, type ClientRig } from './rig.js';

/** The part of the contract that is about jobs that wait for others. */
export function flowsContract(rigOf: () => ClientRig): void {
  describe('flows', () => {
    const client = () => rigOf().client();

    /** Two functions in one slot of a cluster. */
    const twoFunctions = () => {
      const tag = `{${rigOf().fn()}}`;
      return [`${tag}:a`, `${tag}:b`] as const;
    };

    /** Runs jobs whose input is their name; notes the order. `fail-…` fails. */
    async function runNamed(fn = rigOf().fn(), settings: WorkerSettings = { concurrency: 10 }) {
      const ran: string[] = [];
      await runWorker(
        rigOf().source(),
        fn,
        async (input, job) => {
          const parents = await job.parents();
          ran.push(String(input));
          if (String(input).startsWith('fail')) throw new Error('as told');
          return [input, ...parents.map(({ output, state }) => output ?? state)];
        },
        settings,
      );
      return { fn, ran };
    }

    const node = (fn: string, input: string, ...children: FlowNode[]): FlowNode => ({
      job: fn,
      input,
      children,
    });

    describe('of several jobs', () => {
      it('run children after their job, and a job of several lists once, after all of them, with their outputs', async () => {
        const { fn, ran } = await runNamed();
        const last = node(fn, 'last');
        const flow = await client().flow(node(fn, 'first', node(fn, 'left', last), node(fn, 'right', last)));
        await expect(flow.jobOf(last)?.result()).resolves.toEqual([
          'last',
          ['left', ['first']],
          ['right', ['first']],
        ]);
        expect(ran).toHaveLength(4);
        expect([ran[0], ran[3]]).toEqual(['first', 'last']);
        expect(flow.jobs).toHaveLength(4);
        expect(flow.jobs[0]).toBe(flow.root);
      });

      it('begin nothing before its parents, in a fan-out and fan-in of several hundred', async () => {
        const { fn, ran } = await runNamed(undefined, { concurrency: 50 });
        const last = node(fn, 'last');
        const middle = Array.from({ length: 450 }, (_, number) => node(fn, `m${number}`, last));
        const flow = await client().flow(node(fn, 'first', ...middle));
        const output = (await flow.jobOf(last)?.result({ timeout: 60_000 })) as unknown[];
        expect(output).toHaveLength(451);
        expect(output[1]).toEqual(['m0', ['first']]);
        expect([ran[0], ran.at(-1), ran.length]).toEqual(['first', 'last', 452]);
      });

      it('may be of several functions', async () => {
        const [a, b] = twoFunctions();
        await runNamed(a);
        await runNamed(b);
        const last = node(b, 'b2');
        const flow = await client().flow(node(a, 'a1', node(b, 'b1', node(a, 'a2', last))));
        await expect(flow.jobOf(last)?.result()).resolves.toEqual(['b2', ['a2', ['b1', ['a1']]]]);
      });

      it('are in the overview of all functions, also those that no worker serves', async () => {
        const [a, b] = twoFunctions();
        const flow = await client().flow(node(a, 'a1', node(b, 'b1')));
        await client().run(`${a}:later`, 1, { after: [flow.root] });
        await eventually(async () => {
          const overview = await client().overview();
          const of = (fn: string) => overview.find((one) => one.fn === fn);
          expect(of(a)?.waiting.normal).toBe(1);
          expect([of(b)?.scheduled, of(`${a}:later`)?.scheduled]).toEqual([1, 1]);
        });
      });

      it('give parents of one function, typed by its definition and read by its codec', async () => {
        const [a, b] = twoFunctions();
        const bytes = defineJob<string, { at: number }>(a, { codec: 'msgpack' });
        await runWorker(rigOf().source(), bytes, () => ({ at: 7 }));
        await runWorker(rigOf().source(), b, async (_, job) => {
          const [parent] = await job.parents(bytes);
          return [parent?.output?.at, parent?.fn, (await job.parents(b)).length];
        });
        const last: FlowNode = { job: b, input: null };
        const flow = await client().flow({ job: bytes, input: 'x', children: [last] });
        await expect(flow.jobOf(last)?.result()).resolves.toEqual([7, a, 0]);
      });

      it('show jobs that wait as scheduled for no time, and create them when their turn comes', async () => {
        const fn = rigOf().fn();
        const created: string[] = [];
        const events = client()
          .events(fn)
          .subscribe(({ type, id }) => type === 'create' && created.push(id));
        await subscribed(rigOf(), fn);
        const go = gate();
        await runWorker(rigOf().source(), fn, (input) => (input === 'first' ? go.passed : undefined));
        const child = node(fn, 'child');
        const flow = await client().flow(node(fn, 'first', child));
        const waiting = flow.jobOf(child);
        const { jobs } = await client().list(fn, { state: 'scheduled' });
        expect(jobs.map(({ id }) => id)).toEqual([waiting?.id]);
        expect((await waiting?.get())?.state).toBe('scheduled');
        expect((await waiting?.get())?.waitsForJobs).toBe(1);
        go.open();
        await waiting?.result();
        expect((await waiting?.get())?.waitsForJobs).toBeUndefined();
        await eventually(() =>
          expect([flow.root.id, waiting?.id].every((id) => created.includes(id ?? ''))).toBe(true),
        );
        events.unsubscribe();
      });

      it('take priority, delay, tags and headers of each job', async () => {
        const fn = rigOf().fn();
        await runWorker(rigOf().source(), fn, (_, job) => [job.headers['by'], job.tags]);
        const later: FlowNode = {
          job: fn,
          input: 2,
          options: { delay: 30, tags: ['t'], headers: { by: 'me' } },
        };
        const flow = await client().flow({
          job: fn,
          input: 1,
          options: { priority: 'high' },
          children: [later],
        });
        await expect(flow.jobOf(later)?.result()).resolves.toEqual(['me', ['t']]);
        const [root, child] = await Promise.all([flow.root.get(), flow.jobOf(later)?.get()]);
        const rest = (child?.times.started?.getTime() ?? 0) - (root.times.finished?.getTime() ?? 0);
        expect(rest).toBeGreaterThanOrEqual(30);
      });

      it('let a job expire counted from when it may run', async () => {
        const fn = rigOf().fn();
        const go = gate();
        const expiring: FlowNode = { job: fn, input: 'x', options: { expires: '1h' } };
        await runWorker(rigOf().source(), fn, () => go.passed);
        const flow = await client().flow({ job: fn, input: 'first', children: [expiring] });
        expect((await flow.jobOf(expiring)?.get())?.times.expires).toBeUndefined();
        go.open();
        await flow.jobOf(expiring)?.result();
        const job = await flow.jobOf(expiring)?.get();
        const { expires, scheduled } = job?.times ?? {};
        expect((expires?.getTime() ?? 0) - (scheduled?.getTime() ?? 0)).toBe(3_600_000);
      });

      it('wait for the retries of a job', async () => {
        const fn = rigOf().fn();
        await runWorker(
          rigOf().source(),
          fn,
          (_, job) => {
            if (job.attempts < 3) throw new Error('again');
            return 'at last';
          },
          { retry: { attempts: 3, delay: 1 } },
        );
        const child: FlowNode = { job: fn, input: null };
        const flow = await client().flow({ job: fn, input: null, children: [child] });
        await expect(flow.jobOf(child)?.result()).resolves.toBe('at last');
      });
    });

    describe('with a job that fails', () => {
      it('end those that wait for it as errors, however many lists away', async () => {
        const { fn, ran } = await runNamed();
        const last = node(fn, 'last');
        const flow = await client().flow(node(fn, 'fail', node(fn, 'next', last)));
        await expect(flow.jobOf(last)?.result()).rejects.toMatchObject({ error: { code: 'PARENT_FAILED' } });
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 3, total: 3 });
        expect(ran).toEqual(['fail']);
      });

      it("run a job with onParentError: 'run' once all have ended, which sees how", async () => {
        const { fn } = await runNamed();
        const last: FlowNode = { job: fn, input: 'last', options: { onParentError: 'run' } };
        const flow = await client().flow(node(fn, 'first', node(fn, 'fail', last), node(fn, 'good', last)));
        await expect(flow.jobOf(last)?.result()).resolves.toEqual(['last', 'failed', ['good', ['first']]]);
      });

      it("run a job with onParentError: 'run' that sees a parent which was retried meanwhile as failed", async () => {
        const fn = rigOf().fn();
        const [again, end] = [gate(), gate()];
        let runs = 0;
        await runWorker(
          rigOf().source(),
          fn,
          async (input, job) => {
            if (input === 'fails' && (runs += 1) === 1) throw new Error('as told');
            if (input === 'fails') again.open();
            if (input === 'fails') await end.passed;
            if (input === 'slow') await again.passed;
            return (await job.parents()).map(({ state, error }) => error?.code ?? state);
          },
          { concurrency: 3, retry: { attempts: 1 } },
        );
        const last: FlowNode = { job: fn, input: 'last', options: { onParentError: 'run' } };
        const fails = node(fn, 'fails', last);
        const flow = await client().flow(node(fn, 'first', fails, node(fn, 'slow', last)));
        const { id = '' } = flow.jobOf(fails) ?? {};
        await eventually(async () => expect((await client().get(fn, id))?.state).toBe('failed'));
        await expect(client().retry(fn, id).done).resolves.toBe(1);
        await expect(flow.jobOf(last)?.result()).resolves.toEqual(['JOB_RETRIED', 'succeeded']);
        end.open();
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 4, failed: 0, total: 4 });
      });

      it("cancel a job with onParentError: 'cancel'", async () => {
        const { fn } = await runNamed();
        const last: FlowNode = { job: fn, input: 'last', options: { onParentError: 'cancel' } };
        const flow = await client().flow(node(fn, 'fail', last));
        await expect(flow.jobOf(last)?.result()).rejects.toMatchObject({ error: { code: 'PARENT_FAILED' } });
        await eventually(async () => {
          const { jobs } = await client().list(fn, { state: 'cancelled' });
          expect(jobs.map(({ id }) => id)).toEqual([flow.jobOf(last)?.id]);
        });
      });

      it('count a job that is retried later again', async () => {
        const fn = rigOf().fn();
        let fails = true;
        await runWorker(rigOf().source(), fn, () => {
          if (fails) throw new Error('not yet');
        });
        const flow = await client().flow({ job: fn, input: null });
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 1, total: 1 });
        fails = false;
        await client().retry(fn, flow.root.id).done;
        await flow.root.result();
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 1, failed: 0, total: 1 });
      });
    });

    describe('progress$', () => {
      it('emits how far it is, and completes when all have ended', async () => {
        const { fn } = await runNamed(undefined, { concurrency: 1 });
        const seen: FlowProgress[] = [];
        const flow = await client().flow(node(fn, 'a', node(fn, 'b'), node(fn, 'fail')));
        const all = lastValueFrom(flow.progress$.pipe(toArray()));
        flow.progress$.subscribe((progress) => seen.push(progress));
        const values = await all;
        expect(values.at(-1)).toEqual({ done: 2, failed: 1, total: 3 });
        expect(values.map(({ done, failed }) => done + failed)).toEqual(
          values.map(({ done, failed }) => done + failed).sort((one, other) => one - other),
        );
        await expect(firstValueFrom(flow.progress$)).resolves.toEqual({ done: 2, failed: 1, total: 3 });
        expect(seen.at(-1)).toEqual({ done: 2, failed: 1, total: 3 });
      });
    });

    describe('cancel', () => {
      it('ends what does not run, and lets nothing begin that waits for what does', async () => {
        const fn = rigOf().fn();
        const [go, begun] = [gate(), gate()];
        const ran: unknown[] = [];
        await runWorker(rigOf().source(), fn, async (input) => {
          ran.push(input);
          begun.open();
          await go.passed;
          return input;
        });
        const last: FlowNode = { job: fn, input: 'last', options: { onParentError: 'run' } };
        const flow = await client().flow(node(fn, 'first', node(fn, 'second', last)));
        await begun.passed;
        await expect(flow.cancel()).resolves.toBe(2);
        await expect(flow.jobOf(last)?.result()).rejects.toMatchObject({ error: { code: 'JOB_CANCELLED' } });
        go.open();
        await expect(flow.root.result()).resolves.toBe('first');
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 1, failed: 2, total: 3 });
        expect(ran).toEqual(['first']);
        await expect(flow.cancel()).resolves.toBe(0);
      });

      it('ends a flow without any worker', async () => {
        const fn = rigOf().fn();
        const flow = await client().flow(node(fn, 'a', node(fn, 'b', node(fn, 'c')), node(fn, 'd')));
        await expect(flow.cancel()).resolves.toBe(4);
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 4, total: 4 });
      });

      it('lists jobs that wait for others as cancelled, and those that are added later', async () => {
        const fn = rigOf().fn();
        const flow = await client().flow(node(fn, 'first', node(fn, 'second', node(fn, 'third'))));
        await flow.cancel();
        const policies = ['fail', 'run'] as const;
        for (const onParentError of policies)
          await client().run(fn, 'late', { after: [flow.root], onParentError });
        const { jobs } = await client().list(fn, { state: 'cancelled' });
        expect(jobs.map(({ error }) => error?.message)).toEqual(Array(5).fill('cancelled with its flow'));
        await expect(client().list(fn, { state: 'failed' })).resolves.toMatchObject({ total: 0 });
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 5, total: 5 });
      });

      it('of a single job ends those that wait for it, also without a worker', async () => {
        const fn = rigOf().fn();
        const child = node(fn, 'child');
        const flow = await client().flow(node(fn, 'root', child));
        await flow.root.cancel();
        await expect(flow.jobOf(child)?.result()).rejects.toMatchObject({ error: { code: 'PARENT_FAILED' } });
      });
    });

    describe('after', () => {
      it('makes a job wait for jobs that there are', async () => {
        const { fn, ran } = await runNamed();
        const both = await client().runMany(fn, ['one', 'two'], { delay: 40 });
        const last = await client().run(fn, 'last', { after: both });
        await expect(last.result()).resolves.toEqual(['last', ['one'], ['two']]);
        expect(ran.at(-1)).toBe('last');
      });

      it('runs a job at once whose parents have succeeded, and ends one whose parent has failed', async () => {
        const { fn } = await runNamed();
        const good = await client().run(fn, 'good', { blocking: true });
        const bad = await client().run(fn, 'fail', { blocking: true });
        const after = await client().run(fn, 'after', { after: [{ fn, id: good.id }] });
        await expect(after.result()).resolves.toEqual(['after', ['good']]);
        await expect(client().call(fn, 'never', { after: [good, bad] })).rejects.toMatchObject({
          error: { code: 'PARENT_FAILED' },
        });
        const run = { after: [good, bad], onParentError: 'run' } as const;
        await expect(client().call(fn, 'both', run)).resolves.toEqual(['both', ['good'], 'failed']);
      });

      it('ends a flow at once, also without a worker, that begins after a job which has failed', async () => {
        const fn = rigOf().fn();
        const failed = await client().run(fn, 'failed');
        await failed.cancel();
        const children = [node(fn, 'second', node(fn, 'third'))];
        const flow = await client().flow({ job: fn, input: 'first', options: { after: [failed] }, children });
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 3, total: 3 });
      });

      it('adds a job to the flow of a running one, and lets a flow begin after jobs', async () => {
        const fn = rigOf().fn();
        const added: string[] = [];
        await runWorker(rigOf().source(), fn, async (input, job: RunningJob) => {
          if (input !== 'parent') return input;
          const child = await client().run(fn, 'child', { after: [job] });
          added.push(child.id);
          return input;
        });
        const flow = await client().flow({ job: fn, input: 'parent' });
        await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 2, failed: 0, total: 2 });
        await expect(client().result(fn, added[0] ?? '')).resolves.toBe('child');
        const next = await client().flow({ job: fn, input: 'next', options: { after: [flow.root] } });
        await expect(next.root.result()).resolves.toBe('next');
      });
    });

    describe('refuse', () => {
      const refused = async (promise: Promise<unknown>, code: string) => {
        await expect(promise).rejects.toMatchObject({ code });
      };

      it('lists that are too long, at once', async () => {
        const sparse = Array.from<FlowNode>({ length: 0 });
        sparse.length = 2 ** 32 - 1;
        const error = { code: 'FLOW_TOO_LARGE' };
        await expect(client().flow({ job: rigOf().fn(), input: 1, children: sparse })).rejects.toMatchObject(
          error,
        );
      });

      it('circles, sizes and values that are no jobs, before anything is written', async () => {
        const fn = rigOf().fn();
        const [a, b] = [node(fn, 'a') as FlowNode & { children: FlowNode[] }, node(fn, 'b')];
        a.children = [b];
        b.children = [a];
        await refused(client().flow(node(fn, 'root', a)), 'FLOW_CYCLE');
        await refused(client().flow(a), 'FLOW_CYCLE');
        const many = Array.from({ length: 100_000 }, () => node(fn, 'x'));
        await refused(client().flow(node(fn, 'root', ...many)), 'FLOW_TOO_LARGE');
        for (const wrong of [null, 1, 'text', [], { job: fn, input: 1, children: 1 }, { jobs: fn }])
          await refused(
            client().flow(wrong as never),
            wrong && typeof wrong === 'object' && 'children' in wrong ? 'INVALID_OPTION' : 'CONFIGURATION',
          );
        await refused(client().flow({ job: '', input: 1 }), 'INVALID_FUNCTION_NAME');
        await refused(client().flow({ job: fn, input: 1n }), 'NOT_SERIALIZABLE');
        await refused(
          client().flow(node(fn, 'x', { job: fn, input: 'x'.repeat(2 ** 20 + 1) })),
          'PAYLOAD_TOO_LARGE',
        );
        const options = { onParentError: 'ignore' } as never;
        await refused(client().flow({ job: fn, input: 1, options }), 'INVALID_OPTION');
        expect((await client().overview()).filter((one) => one.fn === fn && one.scheduled > 0)).toEqual([]);
      });

      it('parents that there are not, and create nothing', async () => {
        const fn = rigOf().fn();
        const there = await client().run(fn, 'there');
        await refused(client().run(fn, 1, { after: [there, { fn, id: 99_999 }] }), 'UNKNOWN_PARENT');
        const root = {
          job: fn,
          input: 1,
          options: { after: [{ fn, id: '99999' }] },
          children: [node(fn, 'x')],
        };
        await refused(client().flow(root), 'UNKNOWN_PARENT');
        for (const after of [[], 'x', [1], [{ fn, id: 'x' }], Array.from({ length: 1001 }, () => there)])
          await refused(client().run(fn, 1, { after: after as never }), 'INVALID_OPTION');
        await refused(client().run(fn, 1, { onParentError: 'run' }), 'INVALID_OPTION');
        await refused(client().runMany(fn, [1], { after: [there] } as never), 'CONFIGURATION');
        const { total } = await client().list(fn, { state: 'scheduled' });
        expect(total).toBe(0);
      });

      it('unique jobs, and limits that decide when a job is enqueued', async () => {
        const fn = rigOf().fn();
        const once = defineJob<string>(fn, { unique: { key: (input) => input } });
        await refused(client().flow({ job: once, input: 'x' }), 'CONFIGURATION');
        const limited = defineJob<string>(`${fn}-limited`, { limit: { concurrency: 1, onFull: 'refuse' } });
        await refused(client().flow({ job: limited, input: 'x' }), 'CONFIGURATION');
      });
    });

    it('change where a job goes that waits', async () => {
      const fn = rigOf().fn();
      const go = gate();
      await runWorker(rigOf().source(), fn, (input) => (input === 'first' ? go.passed : input));
      const child = node(fn, 'child');
      const flow = await client().flow(node(fn, 'first', child));
      const waiting = flow.jobOf(child);
      await waiting?.update({ input: 'changed', priority: 'high' });
      expect((await waiting?.get())?.state).toBe('scheduled');
      go.open();
      await expect(waiting?.result()).resolves.toBe('changed');
    });

    it('hold the limit of a function', async () => {
      const fn = rigOf().fn();
      const limited = defineJob<string>(fn, { limit: { key: (input) => input, concurrency: 1 } });
      let [now, most] = [0, 0];
      await runWorker(
        rigOf().source(),
        limited,
        async () => {
          most = Math.max(most, (now += 1));
          await new Promise((resolve) => setImmediate(resolve));
          now -= 1;
        },
        { concurrency: 20 },
      );
      const children = Array.from({ length: 20 }, () => ({ job: limited, input: 'one' }));
      const flow = await client().flow({ job: limited, input: 'root', children });
      await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 21, failed: 0, total: 21 });
      expect(most).toBe(1);
    });
  });
}
