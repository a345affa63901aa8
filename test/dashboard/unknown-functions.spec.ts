import { describe, expect, it, jest } from '@jest/globals';
import { defineJob, GearMonkeyClient, GearMonkeyModule, type JobDefinition } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { FunctionView, LiveEvents, Rights } from '../../lib/dashboard/api.js';
import { DashboardAccess } from '../../lib/dashboard/viewed-instance.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { json, listen } from './http.js';

describe.each(['Redis', 'memory'])('a function of %s of which nothing is known', (name) => {
  const redis = useRedis();
  const apps = useServedApps();

  async function serve(...jobs: JobDefinition<null>[]) {
    const connection = name === 'Redis' ? redis.url : 'memory:';
    const { app, base } = await apps.serve('express', {
      imports: [
        ...[GearMonkeyModule.forRoot({ connection, workers: false }), DashboardModule.forRoot()],
        ...(jobs.length > 0 ? [GearMonkeyModule.forFeature(jobs)] : []),
      ],
    });
    const rights = (fn: string) => json<Rights>(base, `/api/rights?fn=${fn}`);
    /** What a stream tells of a function. */
    const watch = (fn: string) => {
      const stream = listen(base, [{ overview: 'default', fns: [fn] }]);
      const told = () =>
        stream.events
          .flatMap((event) => (event.name === 'overview' ? [event.data as LiveEvents['overview']] : []))
          .flatMap(({ functions }) => functions);
      const find = (is: (one: FunctionView) => boolean) => until(() => told().find(is), { timeout: 30_000 });
      return { find, close: () => stream.close() };
    };
    /** What the dashboard asks; the app's own may know only its definitions. */
    const viewed = app.get(DashboardAccess, { strict: false }).instance('default').client;
    return { base, client: app.get(GearMonkeyClient), viewed, rights, watch };
  }

  it('is told apart, and nothing can be done to it, until it has a job', async () => {
    const { base, client, rights, watch } = await serve();
    const fn = redis.fn();
    const { find, close } = watch(fn);
    expect(await find(() => true)).toMatchObject({ fn, unknown: true, act: false });
    expect(await rights(fn)).toEqual({ actions: [], unknown: true });
    const listed = async () => (await json<FunctionView[]>(base, '/api/overview')).map((one) => one.fn);
    expect(await listed()).not.toContain(fn);
    await client.run(fn, 1);
    const known = await find(({ waiting }) => waiting.normal === 1);
    expect(known).toMatchObject({ act: true });
    expect(known).not.toHaveProperty('unknown');
    const { actions, ...rest } = await rights(fn);
    expect([actions.includes('run'), rest]).toEqual([true, {}]);
    close();
  });

  it('is another one than a function that is defined, or paused before its first job', async () => {
    const defined = defineJob<null>(redis.fn());
    const { base, rights, watch } = await serve(defined);
    const paused = redis.fn();
    await json(base, '/api/act', { body: { action: 'pause', fn: paused } });
    for (const fn of [defined.name, paused]) {
      const { find, close } = watch(fn);
      expect(await find(() => true)).not.toHaveProperty('unknown');
      expect(await rights(fn)).not.toHaveProperty('unknown');
      close();
    }
  });

  it('is looked up in the index, and one that is defined is not', async () => {
    const defined = defineJob<null>(redis.fn());
    const { viewed, rights } = await serve(defined);
    const index = jest.spyOn(viewed, 'functions');
    await rights(defined.name);
    expect(index).not.toHaveBeenCalled();
    await rights(redis.fn());
    expect(index).toHaveBeenCalledTimes(1);
  });
});
