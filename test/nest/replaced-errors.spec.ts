import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { EventEmitter, once } from 'node:events';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  JobCancelledError,
  JobTimeoutError,
  LeaseLostError,
  Worker,
  defineJob,
  ok,
  type BatchOutcome,
  type JobMiddleware,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { catchError, retry, throwError } from 'rxjs';
import type { JobExecution } from '../../lib/worker/job-execution.js';
import { gate } from '../support/gate.js';
import { useApps } from '../support/use-apps.js';

let servers = 0;

type Act = (jobs: RunningJob[]) => unknown;
/** What stands around a handler. */
type Around = { decorator?: MethodDecorator; repeats?: boolean; hook?: JobMiddleware };

/** All jobs may run side by side, and each may hold its key. */
const limit = { key: (input: unknown) => String(input), concurrency: 5 };
const many = defineJob<string, number>('many', { limit });
const one = defineJob<string, unknown>('one', { limit });

const mapped = (error: unknown) => new Error(`mapped: ${(error as Error).message}`);

@Catch()
class Mapping implements ExceptionFilter {
  catch(error: unknown): never {
    throw mapped(error);
  }
}
@Catch()
class Answering implements ExceptionFilter {
  catch(): string {
    return 'an answer';
  }
}
class Gateway implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(catchError((error) => throwError(() => mapped(error))));
  }
}
class Repeating implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(retry(1));
  }
}
const replacements: [string, Around][] = [
  ['nothing', {}],
  ['a filter that throws another error', { decorator: UseFilters(Mapping) }],
  ['a filter that returns an output', { decorator: UseFilters(Answering) }],
  ['an interceptor that throws another error', { decorator: UseInterceptors(Gateway) }],
  ['an interceptor that runs the handler again', { decorator: UseInterceptors(Repeating), repeats: true }],
  [
    'middleware that throws another error',
    {
      hook: {
        aroundRun: (_, next) =>
          next().catch((error) => {
            throw mapped(error);
          }),
      },
    },
  ],
];

/** The run of a job, which its worker ends. */
const runOf = (job: RunningJob | undefined) => job?.['run'] as JobExecution;
const lost = ([, job]: RunningJob[]) => runOf(job).revoke(new LeaseLostError('many', ''));
const stops: [string, Act][] = [
  ['is cancelled', ([, job]) => runOf(job).revoke(new JobCancelledError('many', ''))],
  ['is lost', lost],
  ['is over its time', ([, job]) => runOf(job).fail(new JobTimeoutError('many', '', 1))],
];

describe.each(replacements)(
  'with %s around a handler',
  (_, { decorator = () => undefined, repeats, hook }) => {
    const apps = useApps();

    async function start(provider: new () => object): Promise<GearMonkeyClient> {
      const connection = `memory:replaced-${(servers += 1)}`;
      const imports = [GearMonkeyModule.forRoot({ connection, middleware: hook ? [hook] : [] })];
      return (await apps.start({ imports, providers: [provider] })).get(GearMonkeyClient);
    }

    /** Runs three jobs in a batch; `guard` and `handle` act in its first run, on its jobs. */
    async function batch({ guard, handle }: { guard?: Act; handle?: Act }) {
      const [guarded, handled] = [guard, handle].map((act) => onFirstCall(act ?? (() => undefined)));
      const seen: string[][] = [];
      class Guard implements CanActivate {
        async canActivate(context: ExecutionContext): Promise<boolean> {
          await guarded?.(context.getArgByIndex<RunningJob[]>(1));
          return true;
        }
      }
      @Injectable()
      class Batches {
        @Worker(many, { batch: { size: 3 }, retry: { attempts: 1 } })
        @UseGuards(Guard)
        @decorator
        async run(inputs: string[], jobs: RunningJob[]): Promise<BatchOutcome<number>[]> {
          seen.push(inputs);
          await handled?.(jobs);
          return jobs.map(({ attempts }) => ok(attempts));
        }
      }
      const client = await start(Batches);
      const jobs = await client.runMany(many, ['a', 'stops', 'b']);
      return { jobs, seen };
    }

    const first = ([a, , b]: { result(): Promise<unknown> }[]) =>
      Promise.allSettled([a, b].map((job) => job?.result()));
    const ran = { status: 'fulfilled', value: 1 };
    const failed = { status: 'rejected' };

    it.each(stops)('the others run later if a job of a batch %s before the method', async (__, guard) => {
      const { jobs, seen } = await batch({ guard });
      await expect(first(jobs)).resolves.toEqual([ran, ran]);
      expect(seen.flat().toSorted()).toEqual(['a', 'b']);
    });

    it('the others run later if a guard lets through why a job of a batch stops', async () => {
      const guard: Act = (jobs) => {
        lost(jobs);
        jobs[1]?.signal.throwIfAborted();
      };
      const { jobs } = await batch({ guard });
      await expect(first(jobs)).resolves.toEqual([ran, ran]);
    });

    it.each(stops)('the others run again if a job of a batch %s and its step throws', async (__, stop) => {
      const handle: Act = async (jobs) => {
        await stop(jobs);
        await jobs[1]?.step('one', () => 'done');
      };
      const { jobs, seen } = await batch({ handle });
      await expect(first(jobs)).resolves.toEqual([ran, ran]);
      expect(seen[0]).toEqual(['a', 'stops', 'b']);
    });

    it('the others run again if the method lets through an error with that cause, as those of Node', async () => {
      const handle: Act = async (jobs) => {
        lost(jobs);
        const { signal } = jobs[1] as RunningJob;
        await once(new EventEmitter(), 'event', { signal });
      };
      const { jobs } = await batch({ handle });
      await expect(first(jobs)).resolves.toEqual([ran, ran]);
    });

    it('all jobs of a batch run again, without an attempt, if one holds its key', async () => {
      const { jobs, seen } = await batch({ handle: ([, job]) => job?.holdKey(0) });
      await expect(Promise.all(jobs.map((job) => job.result()))).resolves.toEqual([1, 1, 1]);
      expect(seen.flat()).toHaveLength(6);
    });

    it.each(stops)('the others run again if a job of a batch %s and holds its key', async (__, stop) => {
      const handle: Act = async (jobs) => {
        await stop(jobs);
        jobs[1]?.holdKey('1 day');
      };
      const { jobs } = await batch({ handle });
      await expect(first(jobs)).resolves.toEqual([ran, ran]);
    });

    it.each<[string, 'guard' | 'handle']>([
      ['guard', 'guard'],
      ['method', 'handle'],
    ])(
      'the others fail if the %s throws an error of its own when a job of a batch stops',
      async (__, place) => {
        const throws: Act = (jobs) => {
          lost(jobs);
          throw new Error('own');
        };
        const { jobs } = await batch({ [place]: throws });
        // Run again, the method does not begin: a job has stopped before.
        const expected = place === 'handle' && repeats ? ran : failed;
        await expect(first(jobs)).resolves.toMatchObject([expected, expected]);
      },
    );

    it('a job that holds its key runs again, without an attempt', async () => {
      const act = onFirstCall(([job]) => job?.holdKey(0));
      let runs = 0;
      @Injectable()
      class Holds {
        @Worker(one, { retry: { attempts: 1 } })
        @decorator
        async run(__: string, job: RunningJob) {
          runs += 1;
          await act([job]);
          return job.attempts;
        }
      }
      const job = await (await start(Holds)).run(one, 'holds');
      await expect(job.result()).resolves.toBe(1);
      expect(runs).toBe(2);
    });

    it('a job that waits for a signal runs again when that comes', async () => {
      @Injectable()
      class Waits {
        @Worker(one, { retry: { attempts: 1 } })
        @decorator
        run(__: string, job: RunningJob) {
          return job.waitFor('approved', { timeout: '1 day' });
        }
      }
      const client = await start(Waits);
      const job = await client.run(one, 'waits');
      await client.signal(one, job.id, 'approved', 'yes');
      await expect(job.result()).resolves.toBe('yes');
    });

    it('a job that is cancelled is no failed one', async () => {
      const begun = gate();
      @Injectable()
      class Runs {
        @Worker(one, { retry: { attempts: 1 } })
        @decorator
        async run(__: string, { signal }: RunningJob) {
          begun.open();
          await once(signal, 'abort');
          signal.throwIfAborted();
        }
      }
      const job = await (await start(Runs)).run(one, 'cancelled');
      await begun.passed;
      await job.cancel();
      await expect(job.result()).rejects.toMatchObject({ error: { code: 'JOB_CANCELLED' } });
    });
  },
);

function onFirstCall(act: Act): Act {
  let calls = 0;
  return (jobs) => ((calls += 1) === 1 ? act(jobs) : undefined);
}
