import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';

describe('An app that is told to end by SIGTERM', () => {
  const used = useRedis();
  stopProgramsAfterEach();

  /** An app of its own that runs the first three of four jobs. */
  async function running(shutdownTimeout: string) {
    const fn = used.fn();
    const app = await Program.start('test/nest/shutdown-program.ts', { url: used.url, fn, shutdownTimeout });
    await expect(used.redis.get(`count:${fn}`)).resolves.toBe('1');
    for (const id of ['1', '2', '3', '4']) {
      await used.redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', id);
      await used.redis.lpush(`queue:${fn}:normal`, id);
    }
    await eventually(() => expect(app.all('start')).toHaveLength(3));
    return { fn, app };
  }

  const statuses = (fn: string) =>
    Promise.all(['1', '2', '3', '4'].map((id) => used.redis.hget(`job:${fn}:${id}`, 'status')));
  const connections = async () => String(await used.redis.client('LIST')).match(/ name=nestjs-gearmonkey:/g);

  it.each([
    ['once', 1],
    ['twice', 2],
  ])('%s lets running jobs finish and enqueue, claims no more, and ends by itself', async (_, times) => {
    const { fn, app } = await running('20s');
    for (let sent = 1; sent <= times; sent++) {
      app.signal('SIGTERM');
      await eventually(() => expect(app.all('signal')).toHaveLength(sent));
    }
    app.tell('go on');
    await app.ended();
    expect(app.all('aborted')).toEqual([]);
    await expect(statuses(fn)).resolves.toEqual(['success', 'success', 'success', 'idle']);
    await expect(used.redis.llen(`queue:after-${fn}:normal`)).resolves.toBe(3);
    await expect(used.redis.get(`count:${fn}`)).resolves.toBe('0');
    await expect(used.redis.exists(`lease:${fn}`)).resolves.toBe(0);
    expect(await connections()).toBeNull();
  });

  it.each([
    ['once', 1],
    ['twice', 2],
  ])('%s releases jobs that still run at the deadline, in their order', async (_, times) => {
    const { fn, app } = await running('200ms');
    for (let sent = 1; sent <= times; sent++) app.signal('SIGTERM');
    await app.ended();
    expect(app.all('aborted').map(({ code }) => code)).toEqual(['SHUTDOWN', 'SHUTDOWN', 'SHUTDOWN']);
    await expect(statuses(fn)).resolves.toEqual(['idle', 'idle', 'idle', 'idle']);
    await expect(used.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['4', '3', '2', '1']);
    await expect(used.redis.hget(`job:${fn}:1`, 'attempts')).resolves.toBe('0');
    await expect(used.redis.get(`count:${fn}`)).resolves.toBe('0');
    await expect(used.redis.exists(`lease:${fn}`)).resolves.toBe(0);
    expect(await connections()).toBeNull();
  });
});
