import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type INestApplicationContext,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { once } from 'node:events';
import {
  CurrentJob,
  defineJob,
  fail,
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  Input,
  ok,
  Worker,
  type BatchOutcome,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';

const double = defineJob<number, number>('double', { retry: { attempts: 2, delay: 1 } });
const FULL = { batch: { size: 4, wait: '1 minute' } };
const apps: INestApplicationContext[] = [];

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

async function start(...providers: Type[]) {
  @Module({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })], providers })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  apps.push(app);
  return app;
}

async function results(app: INestApplicationContext): Promise<number[]> {
  const jobs = await app.get(GearMonkeyClient).runMany(double, [1, 2, 3, 4]);
  return Promise.all(jobs.map((job) => job.result()));
}

describe('a @Worker method with `batch`', () => {
  it('gets inputs and running jobs, also by parameter decorators, and its guards run once a batch', async () => {
    const calls: unknown[] = [];
    class Guard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        calls.push(['guard', context.getArgByIndex<number[]>(0)]);
        return true;
      }
    }
    @Injectable()
    @UseGuards(Guard)
    class Doubler {
      @Worker(double, FULL)
      run(@CurrentJob() jobs: RunningJob<number>[], @Input() inputs: number[]): BatchOutcome<number>[] {
        calls.push(jobs.map((job) => [job.id, job.input]));
        return inputs.map((n) => ok(2 * n));
      }
    }
    await expect(results(await start(Doubler))).resolves.toEqual([2, 4, 6, 8]);
    expect(calls).toEqual([
      ['guard', [1, 2, 3, 4]],
      [
        ['1', 1],
        ['2', 2],
        ['3', 3],
        ['4', 4],
      ],
    ]);
  });

  it('fails all jobs with what a guard throws, and each is tried again', async () => {
    let runs = 0;
    class Guard implements CanActivate {
      canActivate(): boolean {
        if ((runs += 1) === 1) throw new Error('not yet');
        return true;
      }
    }
    @Injectable()
    class Doubler {
      @Worker(double, { batch: { size: 4 } })
      @UseGuards(Guard)
      run(inputs: number[]) {
        return inputs.map((n) => ok(2 * n));
      }
    }
    await expect(results(await start(Doubler))).resolves.toEqual([2, 4, 6, 8]);
  });

  it('begins behind a guard without jobs that were cancelled meanwhile, with half as many once', async () => {
    const ran: number[][] = [];
    const guarding = gate();
    class Slow implements CanActivate {
      async canActivate(context: ExecutionContext): Promise<boolean> {
        const [inputs, [first]] = context.getArgs<[number[], RunningJob[]]>();
        guarding.open();
        if (first && inputs[0] === 1) await once(first.signal, 'abort');
        return true;
      }
    }
    @Injectable()
    class Doubler {
      @Worker(double, { batch: { size: 4, wait: '1 minute' }, concurrency: 1 })
      @UseGuards(Slow)
      run(inputs: number[]): BatchOutcome<number>[] {
        ran.push(inputs);
        return inputs.map((n) => ok(2 * n));
      }
    }
    const client = (await start(Doubler)).get(GearMonkeyClient);
    const [first, ...others] = await client.runMany(double, [1, 2, 3, 4]);
    await guarding.passed;
    await first?.cancel();
    others.push(...(await client.runMany(double, [5, 6, 7])));
    await expect(Promise.all(others.map((job) => job.result()))).resolves.toEqual([4, 6, 8, 10, 12, 14]);
    expect(ran.map(({ length }) => length)).toEqual([2, 4]);
  });

  it('refuses a bad batch at the start, and names the method', async () => {
    @Injectable()
    class Doubler {
      @Worker(double, { batch: { size: 0 } })
      run(inputs: number[]) {
        return inputs.map((n) => ok(n));
      }
    }
    await expect(start(Doubler)).rejects.toThrow('Expected `batch.size of Doubler.run` to be');
  });
});

describe('GearMonkeyWorkers', () => {
  it('adds a batch handler, and changes how many of its batches run', async () => {
    const app = await start();
    const workers = app.get(GearMonkeyWorkers);
    const attempts = new Map<string, number>();
    const added = await workers.add(
      double,
      (inputs, jobs) =>
        inputs.map((n, index) => {
          attempts.set(jobs[index]?.id ?? '', jobs[index]?.attempts ?? 0);
          return n % 2 && jobs[index]?.attempts === 1 ? fail(new Error('odd')) : ok(2 * n);
        }),
      { batch: { size: 4 } },
    );
    workers.set(double, { concurrency: 2 });
    expect(workers.list()).toEqual([expect.objectContaining({ fn: 'double', concurrency: 2, running: 0 })]);
    await expect(results(app)).resolves.toEqual([2, 4, 6, 8]);
    expect([...attempts.values()]).toEqual([2, 1, 2, 1]);
    await added.stop();
  });
});
