import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { defineJob } from '../../../lib/job/job-definition.js';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import { PythonActor, stopActors } from '../../conformance/python-actor.js';
import { RedisActors } from '../redis-rig.js';
import { useGearMonkey } from '../use-gearmonkey.js';
import { RedisServer } from '../../support/redis-server.js';
import { runWorker, stopWorkers } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { tickJobs, violations } from './history.js';
import { inFullTier } from '../../support/tier.js';

/** For leases that have to end, on a busy machine. */
const LONG = { timeout: 60_000 };
const EVERY = { every: '1s', catchUp: 'all' } as const;

describe('jobs of a schedule', () => {
  const rig = useGearMonkey();
  afterEach(stopActors);

  it('are run by a plain worker in another language, which knows nothing of schedules', async () => {
    const fn = rig.fn();
    // This worker creates them, and has no slot for another one.
    await runWorker(rig.source(), fn, () => new Promise(() => undefined));
    const held = await rig.client.run(fn, 'holds the slot');
    await eventually(async () => expect((await held.get()).state).toBe('running'));
    const python = new PythonActor('worker', [rig.url, fn]);
    await expect(python.line()).resolves.toEqual({ ready: true });
    await rig.client.recur(fn, { id: fn, every: '1s', input: 'tick' });
    await expect(python.line()).resolves.toEqual({ started: 2 });
    await expect(python.line()).resolves.toEqual({ finished: 2, input: '"tick"' });
    await rig.client.schedules.remove(fn);
    await expect(rig.client.get(fn, 2)).resolves.toMatchObject({
      state: 'succeeded',
      output: 'TICK',
      recurring: { id: fn, slot: expect.any(Date) },
    });
  });

  it.each([
    ['concurrency', { concurrency: 1 }],
    ['a strict order', { order: 'strict' }],
  ] as const)('keep to the limit of their function: %s', async (_, numbers) => {
    const key = (input: { tenant: string }) => input.tenant;
    const definition = defineJob<{ tenant: string }>(rig.fn(), { limit: { key, ...numbers } });
    const fn = definition.name;
    const client = rig.newClient();
    client.register(definition);
    const running = new Map<string, number>();
    const ran: string[] = [];
    let most = 0;
    const handle = async (input: unknown, { recurring }: RunningJob) => {
      const { tenant } = input as { tenant: string };
      running.set(tenant, (running.get(tenant) ?? 0) + 1);
      most = Math.max(most, running.get(tenant) ?? 0);
      await new Promise((resolve) => setImmediate(resolve));
      running.set(tenant, (running.get(tenant) ?? 0) - 1);
      ran.push(`${tenant} ${recurring?.slot.getTime()}`);
    };
    for (const tenant of ['a', 'b'])
      await client.recur(definition, {
        ...{ id: `${fn}-${tenant}`, ...EVERY },
        input: { tenant },
      });
    await runWorker(rig.source(), definition, handle, { concurrency: 5 });
    const count = async () =>
      (await client.schedules.list(fn)).reduce((sum, { created }) => sum + created, 0);
    await eventually(async () => expect(ran.length).toBeGreaterThanOrEqual(4), { timeout: 60_000 });
    for (const tenant of ['a', 'b']) await client.schedules.pause(`${fn}-${tenant}`);
    await eventually(async () => expect(ran).toHaveLength(await count()), { timeout: 60_000 });
    expect(most).toBe(1);
    expect(new Set(ran).size).toBe(ran.length);
    for (const tenant of ['a', 'b']) await client.schedules.remove(`${fn}-${tenant}`);
  });
});

describe('schedules of a server', () => {
  inFullTier(() => {
    it('go on at its replica after a failover, each slot once', async () => {
      const server = await RedisServer.start(['--repl-diskless-sync-delay', '0']);
      const replica = await RedisServer.start([
        '--replicaof',
        '127.0.0.1',
        `${server.port}`,
        '--repl-diskless-sync-delay',
        '0',
      ]);
      const redis = new Redis(replica.url);
      const [before, after] = [new RedisActors(server.url), new RedisActors(replica.url)];
      try {
        await until(async () => (await redis.info('replication')).includes('master_link_status:up'));
        const client = before.client();
        await runWorker(before.source({ lease: 2000 }), 'work', () => 'done');
        await client.recur('work', { id: 'a', ...EVERY });
        const created = async () => Number(await redis.hget('schedules:work', 'made:a'));
        await eventually(async () => expect(await created()).toBeGreaterThanOrEqual(2));
        await server.kill();
        await redis.replicaof('NO', 'ONE');
        const known = await created();
        await runWorker(after.source({ lease: 2000 }), 'work', () => 'done');
        await eventually(async () => expect(await created()).toBeGreaterThanOrEqual(known + 2), LONG);
        await after.client().schedules.pause('a');
        await eventually(
          async () => expect(violations(await tickJobs(redis, 'work'), 1000)).toEqual([]),
          LONG,
        );
        expect(await tickJobs(redis, 'work')).toHaveLength(await created());
      } finally {
        for (const actors of [before, after]) actors.close();
        redis.disconnect();
        await stopWorkers();
        await replica.stop();
        await server.stop();
      }
    });

    it('that starts from an old snapshot go on from what it knows, and make up for what is missing', async () => {
      const server = await RedisServer.start();
      const redis = new Redis(server.url);
      const actors = new RedisActors(server.url);
      try {
        const client = actors.client();
        await runWorker(actors.source({ lease: 2000 }), 'work', () => 'done');
        await client.recur('work', { id: 'a', ...EVERY });
        const created = async () => Number(await redis.hget('schedules:work', 'made:a'));
        await eventually(async () => expect(await created()).toBeGreaterThanOrEqual(2));
        await redis.save();
        const saved = await created();
        await eventually(async () => expect(await created()).toBeGreaterThanOrEqual(saved + 3));
        await server.kill();
        await server.restart();
        await eventually(async () => expect(await created()).toBeGreaterThanOrEqual(saved + 3), LONG);
        await client.schedules.pause('a');
        await eventually(
          async () => expect(violations(await tickJobs(redis, 'work'), 1000)).toEqual([]),
          LONG,
        );
      } finally {
        await stopWorkers();
        actors.close();
        redis.disconnect();
        await server.stop();
      }
    });
  });
});
