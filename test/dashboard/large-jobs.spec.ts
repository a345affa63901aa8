import { describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { JobView, LiveEvents, PayloadView } from '../../lib/dashboard/api.js';
import { eventually, until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, json, listen, unreadOf } from './http.js';

const MEGABYTE = 1_048_576;
const LARGE = 8 * MEGABYTE;

describe('a large job of the dashboard', () => {
  const redis = useRedisServer();
  const apps = useServedApps();

  async function serve(configure?: (app: INestApplication) => void) {
    const imports = [GearMonkeyModule.forRoot({ connection: redis.url }), DashboardModule.forRoot()];
    const { app, base } = await apps.serve('express', { imports }, configure);
    return { base, client: app.get(GearMonkeyClient), workers: app.get(GearMonkeyWorkers) };
  }

  async function statistic(name: string): Promise<number> {
    const text = await redis.redis.info('stats');
    return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1]);
  }

  /** How many bytes Redis sends meanwhile. */
  async function sentDuring(work: () => Promise<unknown>): Promise<number> {
    const before = await statistic('total_net_output_bytes');
    await work();
    return (await statistic('total_net_output_bytes')) - before;
  }

  async function largeJob(client: GearMonkeyClient, fn: string, bytes = LARGE): Promise<string> {
    const { id } = await client.run(fn, null);
    await redis.redis.hset(`job:${fn}:${id}`, 'input', 'x'.repeat(bytes));
    return id;
  }

  it('is shown, and watched, without its payloads', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const id = await largeJob(client, fn);
    const sent = await sentDuring(async () => {
      const job = await json<JobView>(base, `/api/job?fn=${fn}&id=${id}`);
      expect(job.input).toEqual({ bytes: LARGE });
      const live = listen(base, [{ job: id, fn }]);
      const heard = () =>
        live.events.find(({ name }) => name === 'job')?.data as LiveEvents['job'] | undefined;
      await until(heard);
      expect(heard()?.job?.input).toEqual({ bytes: LARGE });
      live.close();
    });
    expect(sent).toBeLessThan(MEGABYTE);
  });

  it('has its payload cut by Redis', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const id = await largeJob(client, fn);
    const sent = await sentDuring(async () => {
      const payload = await json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=input`);
      expect(payload).toMatchObject({ text: 'x'.repeat(65_536), cut: true, bytes: LARGE });
    });
    expect(sent).toBeLessThan(MEGABYTE);
  });

  it('is cut between characters', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const { id } = await client.run(fn, null);
    await redis.redis.hset(`job:${fn}:${id}`, 'input', `x${'ü'.repeat(100_000)}`);
    const payload = await json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=input`);
    expect(payload).toMatchObject({ text: `x${'ü'.repeat(32_767)}`, encoding: 'utf8', cut: true });
  });

  it('is downloaded whole, by a connection of its own', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const id = await largeJob(client, fn);
    const before = await statistic('total_connections_received');
    const { bytes } = await ask(base, `/api/raw?fn=${fn}&id=${id}&part=input`);
    expect(bytes).toHaveLength(LARGE);
    expect(await statistic('total_connections_received')).toBe(before + 1);
    await eventually(async () => expect(await redis.redis.client('LIST')).not.toMatch(/name=\S*download/));
  });

  it('is in the memory for two downloads at a time, until they have been read or their readers are gone', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const path = `/api/raw?fn=${fn}&id=${await largeJob(client, fn, 40 * MEGABYTE)}&part=input`;
    const unread = await Promise.all([unreadOf(base, path), unreadOf(base, path)]);
    await expect(ask(base, path)).resolves.toMatchObject({ status: 429 });
    for (const response of unread) response.destroy();
    await eventually(async () => expect((await ask(base, path)).status).toBe(200));
  });

  it('has its place until it has been read also behind middleware whose `end` returns nothing', async () => {
    const replaceEnd = (_: unknown, response: ServerResponse, next: () => void) => {
      const end = response.end.bind(response);
      response.end = ((...sent: Parameters<typeof end>) => void end(...sent)) as never;
      next();
    };
    const { base, client } = await serve((app) => app.use(replaceEnd));
    const fn = redis.fn();
    const path = `/api/raw?fn=${fn}&id=${await largeJob(client, fn, 40 * MEGABYTE)}&part=input`;
    const unread = await Promise.all([unreadOf(base, path), unreadOf(base, path)]);
    await expect(ask(base, path)).resolves.toMatchObject({ status: 429 });
    for (const response of unread) response.destroy();
  });

  it('is neither shown nor downloaded if it has more than 64 MiB', async () => {
    const { base, client } = await serve();
    const fn = redis.fn();
    const id = await largeJob(client, fn, 65 * MEGABYTE);
    const path = `fn=${fn}&id=${id}&part=input`;
    const sent = await sentDuring(async () => {
      expect((await ask(base, `/api/raw?${path}`)).status).toBe(413);
      expect(await json<PayloadView>(base, `/api/payload?${path}`)).toMatchObject({ text: '', cut: true });
    });
    expect(sent).toBeLessThan(MEGABYTE);
  });

  it('has the lengths of large outputs of its steps, which are cut', async () => {
    const { base, client, workers } = await serve();
    const fn = redis.fn();
    await workers.add(fn, async (_input, job) => {
      await job.step('large', () => 'x'.repeat(100_000));
    });
    const { id } = await client.run(fn, null);
    await eventually(async () => expect((await client.get(fn, id))?.state).toBe('succeeded'));
    await redis.redis.hset(`job:${fn}:${id}`, 'step:large', `1:2:${'x'.repeat(MEGABYTE)}`);
    const job = await json<JobView>(base, `/api/job?fn=${fn}&id=${id}`);
    expect(job.steps).toMatchObject([{ name: 'large', bytes: MEGABYTE }]);
  });
});
