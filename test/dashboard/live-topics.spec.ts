import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { LiveEvents } from '../../lib/dashboard/api.js';
import { CutLine } from '../support/cut-line.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { listen } from './http.js';

describe('a live stream', () => {
  const redis = useRedis();
  const apps = useServedApps();
  async function serve(connection: string) {
    const { app, base } = await apps.serve('express', {
      imports: [GearMonkeyModule.forRoot({ connection, workers: false }), DashboardModule.forRoot()],
    });
    return { base, client: app.get(GearMonkeyClient) };
  }
  const of = <Name extends keyof LiveEvents>({ events }: ReturnType<typeof listen>, name: Name) =>
    events.flatMap((event) => (event.name === name ? [event.data as LiveEvents[Name]] : []));

  it('tells of all functions and of single ones side by side', async () => {
    const { base, client } = await serve(redis.url);
    const [known, other] = [redis.fn(), redis.fn()];
    await client.run(known, 1);
    // A function that has never had a job is in no list.
    const stream = listen(base, [
      { overview: 'default' },
      { overview: 'default', fns: [known] },
      { overview: 'default', fns: [other] },
    ]);
    const told = (fn: string) =>
      of(stream, 'overview')
        .flatMap(({ functions }) => functions)
        .filter((one) => one.fn === fn);
    await until(() => told(known).length >= 2 && told(other).length >= 1, { timeout: 30_000 });
    await client.run(known, 2);
    await until(() => told(known).filter(({ waiting }) => waiting.normal === 2).length >= 2, {
      timeout: 30_000,
    });
    expect(of(stream, 'overview').flatMap(({ gone }) => gone)).toEqual([]);
    stream.close();
  });

  it('says when it was last read in an outage, without advice to programmers, and when that is over though nothing has changed', async () => {
    const fn = redis.fn();
    const line = await CutLine.to(redis.port);
    const { base, client } = await serve(`redis://127.0.0.1:${line.port}`);
    const { id } = await client.run(fn, 1);
    const stream = listen(base, [
      { overview: 'default', fns: [fn] },
      { job: id, fn },
    ]);
    await until(() => of(stream, 'overview').length > 0 && of(stream, 'job').length > 0, { timeout: 30_000 });
    const before = Date.now();
    line.cut();
    await until(() => of(stream, 'trouble').length > 0, { timeout: 30_000 });
    const [trouble] = of(stream, 'trouble');
    expect(trouble?.error.code).toBe('CONNECTION');
    expect(trouble?.error.message).not.toMatch(/`|Check that/);
    const since = new Date(trouble?.since ?? 0).getTime();
    expect(since).toBeGreaterThan(before - 30_000);
    expect(since).toBeLessThanOrEqual(Date.now());
    const [overviews, jobs] = [of(stream, 'overview').length, of(stream, 'job').length];
    line.mend();
    await until(() => of(stream, 'overview').length > overviews && of(stream, 'job').length > jobs, {
      timeout: 30_000,
    });
    stream.close();
    line.close();
  });
});
