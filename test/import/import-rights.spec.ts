import { afterAll, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { readdirSync, readFileSync } from 'node:fs';
import { grant, PASSWORD, takeRefusals } from '../security/rights.js';
import { useRedisServer } from '../support/use-redis.js';
import { ImportInProcess } from './import-in-process.js';

const HOUR_MS = 3_600_000;
const SCRIPTS = new URL('../../lib/import/scripts/', import.meta.url);
const page = readFileSync(new URL('../../docs/guides/import.md', import.meta.url), 'utf8');
const documented = /needs all keys of the queue, and these commands:\s+```\n([^`]+)```/.exec(page)?.[1] ?? '';
const rights = documented.trim().split(/\s+/);

describe('the rights that docs/guides/import.md gives to the user of an import', () => {
  const server = useRedisServer();
  let queue: Queue | undefined;
  afterAll(() => queue?.close());

  it('have each command of its scripts', () => {
    const called = readdirSync(SCRIPTS).flatMap((name) => {
      const text = readFileSync(new URL(name, SCRIPTS), 'utf8');
      return [...text.matchAll(/call\('([A-Z]+)'/g)].map(([, command = '']) => `+${command.toLowerCase()}`);
    });
    expect(called.length).toBeGreaterThan(10);
    expect(called.filter((right) => !rights.includes(right))).toEqual([]);
  });

  it('are sufficient to move all that a queue of BullMQ has', async () => {
    queue = new Queue('mail', { connection: { host: '127.0.0.1', port: server.port } });
    await queue.add('send', 1);
    await queue.add('send', 2, { delay: HOUR_MS });
    await queue.add('send', 3, { priority: 4 });
    await queue.upsertJobScheduler('daily', { pattern: '0 9 * * *', tz: 'UTC' }, { name: 'report' });
    // Nothing fails without these two.
    const comforts = ['+info', '+client|setname'];
    await grant(server.redis, 'importer', ['~bull:mail:*', ...rights, ...comforts]);
    await takeRefusals(server.redis);
    const source = `redis://importer:${PASSWORD}@127.0.0.1:${server.port}`;
    const { moved, left } = await new ImportInProcess({ source, target: `${server.url}/1` }).run();
    expect(moved).toEqual({ schedules: 1, waiting: 1, prioritized: 1, delayed: 1 });
    expect(left).toEqual([]);
    await expect(takeRefusals(server.redis)).resolves.toEqual([]);
    const target = new Redis(`${server.url}/1`);
    await expect(target.get('uid:mail')).resolves.toBe('3');
    target.disconnect();
  });
});
