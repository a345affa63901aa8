import { describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import {
  GearMonkeyHealthIndicator,
  GearMonkeyHealthModule,
  type HealthLimits,
} from 'nestjs-gearmonkey/health';
import { Redis } from 'ioredis';
import { CutLine } from '../support/cut-line.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually, until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

describe('GearMonkeyHealthIndicator', () => {
  const redis = useRedis();
  const apps = useApps();

  const start = (connection: string) =>
    apps.start({
      imports: [GearMonkeyModule.forRoot({ connection }), GearMonkeyHealthModule, TerminusModule],
    });
  const check = (app: INestApplicationContext, limits?: HealthLimits) =>
    app.get(GearMonkeyHealthIndicator, { strict: false }).check('jobs', limits);

  it.each([
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ])('is up, with the instances: %s', async (_, url) => {
    const app = await start(url());
    await app.get(GearMonkeyClient).run(redis.fn(), 'x');
    await eventually(async () => {
      expect(await check(app)).toEqual({
        jobs: {
          status: 'up',
          instances: [expect.objectContaining({ name: 'default', connected: true })],
        },
      });
    });
  });

  it('opens a connection that was not needed yet, and asks', async () => {
    const app = await start(redis.url);
    expect(await check(app)).toEqual({
      jobs: { status: 'up', instances: [expect.objectContaining({ name: 'default', connected: true })] },
    });
  });

  it('is down while no server has answered yet, up when one does, and then degraded first', async () => {
    const server = await RedisServer.start();
    try {
      await server.kill();
      const app = await start(server.url);
      const down = {
        jobs: {
          status: 'down',
          instances: [expect.objectContaining({ name: 'default', connected: false })],
          problems: [expect.stringMatching(/^default is not connected: .*ECONNREFUSED/)],
        },
      };
      for (let looks = 0; looks < 3; looks++) expect(await check(app, { outage: '1h' })).toMatchObject(down);
      await server.restart();
      await eventually(async () => expect(await check(app)).toMatchObject({ jobs: { status: 'up' } }));
      await server.kill();
      await eventually(async () =>
        expect(await check(app, { outage: '1h' })).toMatchObject({ jobs: { status: 'degraded' } }),
      );
    } finally {
      await server.stop();
    }
  });

  it('opens no connection before it is asked', async () => {
    const server = await RedisServer.start();
    const viewer = new Redis(server.url);
    try {
      const clients = async () => /connected_clients:(\d+)/.exec(await viewer.info('clients'))?.[1];
      const app = await start(server.url);
      expect(await clients()).toBe('1');
      await check(app);
      expect(Number(await clients())).toBeGreaterThan(1);
    } finally {
      viewer.disconnect();
      await server.stop();
    }
  });

  it.each([
    [{ backlog: 1 }, /has 2 waiting jobs, more than 1/],
    [{ latency: 0 }, /The oldest job of \S+ waits for \d+ ms, longer than 0/],
  ])('is degraded over its limit: %j', async (limits, problem) => {
    const app = await start('memory:');
    await app.get(GearMonkeyClient).runMany('fn', ['x', 'y']);
    await eventually(async () => {
      expect(await check(app, { ...limits, functions: ['fn'] })).toMatchObject({
        jobs: { status: 'degraded', problems: [expect.stringMatching(problem)] },
      });
    });
    expect(await check(app, { ...limits, functions: ['other'] })).toMatchObject({ jobs: { status: 'up' } });
    expect(await check(app, { backlog: 2, latency: '1h' })).toMatchObject({ jobs: { status: 'up' } });
  });

  it('is degraded while a lost connection is replaced, then down, and up again', async () => {
    const line = await CutLine.to(redis.port);
    try {
      const app = await start(`redis://127.0.0.1:${line.port}`);
      await app.get(GearMonkeyClient).run(redis.fn(), 'x');
      await eventually(async () => expect(await check(app)).toMatchObject({ jobs: { status: 'up' } }));
      line.cut();
      await eventually(async () =>
        expect(await check(app, { outage: '1h' })).toMatchObject({
          jobs: { status: 'degraded', problems: [expect.stringMatching(/^default is not connected: /)] },
        }),
      );
      await eventually(async () =>
        expect(await check(app, { outage: 1 })).toMatchObject({ jobs: { status: 'down' } }),
      );
      line.mend();
      await eventually(async () => expect(await check(app)).toMatchObject({ jobs: { status: 'up' } }));
      // The next one has a span of its own.
      line.cut();
      const first = await until(async () => {
        const { jobs } = await check(app, { outage: 1 });
        return jobs.status !== 'up' && jobs;
      });
      expect(first).toMatchObject({ status: 'degraded' });
      expect(await check(app, { outage: 0 })).toMatchObject({ jobs: { status: 'down' } });
    } finally {
      line.close();
    }
  });

  it('works in a health check of terminus', async () => {
    const app = await start('memory:');
    await app.get(GearMonkeyClient).run('fn', 'x');
    const health = app.get(HealthCheckService, { strict: false });
    const indicator = app.get(GearMonkeyHealthIndicator, { strict: false });
    await expect(health.check([() => indicator.check('jobs', { backlog: 0 })])).resolves.toMatchObject({
      status: 'degraded',
      details: { jobs: { status: 'degraded' } },
    });
  });

  it.each([
    [{ backlog: -1 }, 'INVALID_OPTION'],
    [{ latency: 'soon' as '1s' }, 'INVALID_OPTION'],
    [{ functions: 'fn' as unknown as string[] }, 'INVALID_OPTION'],
    [{ instance: 'none' }, 'CONFIGURATION'],
    [{ backlogs: 1 } as HealthLimits, 'CONFIGURATION'],
  ])('refuses wrong limits: %j', async (limits, code) => {
    await expect(check(await start('memory:'), limits)).rejects.toMatchObject({ code });
  });
});
