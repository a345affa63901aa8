import { beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext, type ModuleMetadata } from '@nestjs/common';
import { Registry } from 'prom-client';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  UnrecoverableError,
  Worker,
} from 'nestjs-gearmonkey';
import { GearMonkeyMetrics, GearMonkeyMetricsModule } from 'nestjs-gearmonkey/metrics';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { eventually } from '../support/until.js';

@Injectable()
class Handlers {
  @Worker('good')
  good() {
    return 'done';
  }

  @Worker('bad', { retry: { attempts: 2, delay: 1 } })
  bad() {
    throw new Error('no disk');
  }

  @Worker('worst')
  worst() {
    throw new UnrecoverableError('never');
  }
}

/** The question behind the gauges of queues. */
const hasOverview = 'overview' in GearMonkeyClient.prototype;
const WAIT = { blocking: true, timeout: '60s' } as const;

describe('GearMonkeyMetricsModule', () => {
  const redis = useRedis();
  const apps = useApps();
  let registry: Registry;
  beforeEach(() => {
    registry = new Registry();
  });

  const metrics = (options = {}) => GearMonkeyMetricsModule.forRoot({ registry, ...options });
  const jobs = (connection: string) => GearMonkeyModule.forRoot({ connection });
  const linesOf = async (app: INestApplicationContext) =>
    (await app.get(GearMonkeyMetrics, { strict: false }).read()).text.split('\n');

  it.each([
    ['Redis', 'gearmonkey', () => redis.url],
    ['memory', 'memory', () => 'memory:'],
  ])('counts jobs of %s, and reads queues at each scrape', async (_, system, url) => {
    const app = await apps.start({ imports: [jobs(url()), metrics()], providers: [Handlers] });
    const client = app.get(GearMonkeyClient);
    await client.run('good', 'x', WAIT);
    await client.run('bad', 'x', WAIT);
    await client.run('worst', 'x', WAIT);
    await client.run('good', 'x', { delay: '1h' });
    await client.runMany('later', ['x', 'y', 'z'], { delay: '1h' });
    await eventually(async () => {
      const of = (fn: string) => `system="${system}",fn="${fn}"`;
      expect(await linesOf(app)).toEqual(
        expect.arrayContaining([
          `gearmonkey_jobs_enqueued_total{${of('good')}} 2`,
          `gearmonkey_jobs_enqueued_total{${of('later')}} 3`,
          `gearmonkey_jobs_finished_total{${of('good')},outcome="succeeded"} 1`,
          `gearmonkey_jobs_finished_total{${of('bad')},outcome="failed"} 1`,
          `gearmonkey_jobs_finished_total{${of('worst')},outcome="failed"} 1`,
          `gearmonkey_retries_total{${of('bad')}} 1`,
          `gearmonkey_job_run_seconds_count{${of('bad')}} 2`,
          expect.stringMatching(`^gearmonkey_job_wait_seconds_count\\{${of('good')}\\} 1$`),
          `gearmonkey_connected{name="default"} 1`,
        ]),
      );
      if (!hasOverview) return;
      expect(await linesOf(app)).toEqual(
        expect.arrayContaining([
          `gearmonkey_jobs{${of('good')},state="scheduled"} 1`,
          `gearmonkey_jobs{${of('good')},state="waiting"} 0`,
          `gearmonkey_jobs{${of('bad')},state="failed"} 1`,
          `gearmonkey_queue_latency_seconds{${of('good')}} 0`,
          `gearmonkey_workers{${of('good')}} 1`,
        ]),
      );
    });
    const turns = (await linesOf(app)).some((line) =>
      line.startsWith('gearmonkey_redis_turn_seconds_count{'),
    );
    expect(turns).toBe(system === 'gearmonkey');
  });

  it('does not count the outcome of a job that another worker has taken meanwhile', async () => {
    const app = await apps.start({ imports: [jobs(redis.url), metrics()] });
    await app.get(GearMonkeyWorkers).add('taken', async (_, { id }) => {
      // As the claim of another: its lease, and its token.
      await redis.redis.multi().del('lease:taken').hincrby(`job:taken:${id}`, 'token', 1).exec();
    });
    await app.get(GearMonkeyClient).run('taken', 'x');
    await eventually(async () =>
      expect(await linesOf(app)).toContain('gearmonkey_leases_lost_total{system="gearmonkey",fn="taken"} 1'),
    );
    const finished = (line: string) => line.startsWith('gearmonkey_jobs_finished_total{');
    expect((await linesOf(app)).filter(finished)).toEqual([]);
  });

  it('counts once if it is imported twice', async () => {
    const imports: ModuleMetadata['imports'] = [jobs('memory:'), metrics(), metrics({ functions: 5 })];
    const app = await apps.start({ imports, providers: [Handlers] });
    await app.get(GearMonkeyClient).run('good', 'x', WAIT);
    await app.get(GearMonkeyClient).run('good', 'x', { delay: '1h' });
    await eventually(async () => {
      expect(await linesOf(app)).toEqual(
        expect.arrayContaining([
          'gearmonkey_jobs_finished_total{system="memory",fn="good",outcome="succeeded"} 1',
        ]),
      );
      if (hasOverview)
        expect(await linesOf(app)).toContain(
          'gearmonkey_jobs{system="memory",fn="good",state="scheduled"} 1',
        );
    });
  });

  it('has a bounded number of functions; the rest shares a label', async () => {
    const app = await apps.start({ imports: [jobs('memory:'), metrics({ functions: 2 })] });
    const client = app.get(GearMonkeyClient);
    for (const fn of ['a', 'b', 'c', 'd']) await client.run(fn, 'x');
    const lines = (await linesOf(app)).filter((line) => line.startsWith('gearmonkey_jobs_enqueued_total{'));
    expect(lines.map((line) => line.replace('system="memory",', ''))).toEqual([
      'gearmonkey_jobs_enqueued_total{fn="a"} 1',
      'gearmonkey_jobs_enqueued_total{fn="b"} 1',
      'gearmonkey_jobs_enqueued_total{fn="other"} 2',
    ]);
  });

  it('takes its metrics off the registry with the last app', async () => {
    const [one, two] = [
      await apps.start({ imports: [jobs('memory:'), metrics()] }),
      await apps.start({ imports: [jobs('memory:'), metrics()] }),
    ];
    await one.close();
    expect(registry.getSingleMetric('gearmonkey_jobs')).toBeDefined();
    await two.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('counts no more when its last app is closed', async () => {
    const app = await apps.start({ imports: [jobs('memory:'), metrics()] });
    const enqueued = registry.getSingleMetric('gearmonkey_jobs_enqueued_total');
    await app.get(GearMonkeyClient).run('good', 'x');
    expect((await enqueued?.get())?.values).toHaveLength(1);
    await app.close();
    const other = await apps.start({ imports: [jobs('memory:')] });
    await other.get(GearMonkeyClient).run('bad', 'x');
    expect((await enqueued?.get())?.values).toHaveLength(1);
  });

  it('says that an instance is down also if another app of the process has one of this name', async () => {
    const jobsOf = (connection: string) => GearMonkeyModule.forRoot({ connection, workers: false });
    const app = await apps.start({ imports: [jobsOf('redis://127.0.0.1:1'), metrics()] });
    await apps.start({ imports: [jobsOf('memory:'), metrics()] });
    const { text } = await app.get(GearMonkeyMetrics, { strict: false }).read();
    expect(text).toContain('gearmonkey_connected{name="default"} 0');
  });

  it('stays on the registry until the last import of an app has ended', async () => {
    const app = await apps.start({ imports: [jobs('memory:'), metrics(), metrics({ functions: 5 })] });
    const [one, two] = app.get(GearMonkeyMetrics, { strict: false, each: true });
    one?.onApplicationShutdown();
    expect((await two?.read())?.text).toContain('gearmonkey_connected{name="default"} 1');
    two?.onApplicationShutdown();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it.each([
    [{ functions: 0 }, 'INVALID_OPTION'],
    [{ labels: 3 }, 'CONFIGURATION'],
  ])('refuses wrong options: %j', async (options, code) => {
    const start = apps.start({ imports: [jobs('memory:'), metrics(options)] });
    await expect(start).rejects.toMatchObject({ code });
  });
});
