import { afterEach, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import { embeddedServer, openEmbedded } from '../../../lib/embedded/open-embedded.js';
import { GearMonkeyClient as Client } from '../../../lib/gearmonkey/client.js';
import type { JobSource } from '../../../lib/job/job-source.js';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import { useGearMonkey } from '../use-gearmonkey.js';
import { runWorker, stopWorkers } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';

interface Rig {
  fn(): string;
  client(): GearMonkeyClient;
  source(): JobSource;
}

function contract(name: string, rig: () => Rig): void {
  describe(`recurring jobs with workers: ${name}`, () => {
    afterEach(stopWorkers);

    it('are run once each second among several workers', async () => {
      const fn = rig().fn();
      const ran: RunningJob[] = [];
      const handle = (_: unknown, job: RunningJob) => ran.push(job);
      for (let i = 0; i < 3; i++) await runWorker(rig().source(), fn, handle);
      await rig()
        .client()
        .recur(fn, { id: fn, cron: '* * * * * *', seconds: true, catchUp: 'all', input: 'tick' });
      await eventually(() => expect(ran.length).toBeGreaterThanOrEqual(4));
      await rig().client().schedules.remove(fn);
      const slots = ran.map(({ recurring }) => Number(recurring?.slot));
      expect(new Set(slots).size).toBe(slots.length);
      const sorted = slots.toSorted((one, other) => one - other);
      expect(sorted).toEqual(sorted.map((__, index) => (sorted[0] ?? 0) + index * 1000));
      expect(ran.map(({ input }) => input)).toEqual(ran.map(() => 'tick'));
      // Several that are due together may begin in any order.
      const first = ran.find(({ recurring }) => Number(recurring?.slot) === sorted[0]);
      expect(first?.recurring).toEqual({ id: fn, slot: expect.any(Date) });
    });

    it('are created while all workers are busy, and their schedule is made before the workers start', async () => {
      const fn = rig().fn();
      const client = rig().client();
      await client.recur(fn, { id: fn, every: '1s', catchUp: 'all' });
      let end = () => undefined as void;
      const ended = new Promise<void>((resolve) => (end = resolve));
      await runWorker(rig().source(), fn, () => ended);
      await eventually(async () =>
        expect((await client.schedules.get(fn))?.created).toBeGreaterThanOrEqual(3),
      );
      await client.schedules.remove(fn);
      end();
    });

    it('wait without a worker, and the last one is made up for when one starts', async () => {
      const fn = rig().fn();
      const client = rig().client();
      const from = new Date(Date.now() + 50);
      await client.recur(fn, { id: fn, every: '1s', from, limit: 1 });
      await eventually(async () => expect(Date.now()).toBeGreaterThan(from.getTime() + 1100));
      await expect(client.get(fn, 1)).resolves.toBeNull();
      const ran: RunningJob[] = [];
      await runWorker(rig().source(), fn, (_, job) => ran.push(job));
      await eventually(() => expect(ran).toHaveLength(1));
      const slot = Number(ran[0]?.recurring?.slot);
      expect(slot).toBeGreaterThanOrEqual(from.getTime() + 1000);
      expect((slot - from.getTime()) % 1000).toBe(0);
    });
  });
}

const memory = embeddedServer('memory:recurring-workers');
let names = 0;
contract('memory', () => ({
  fn: () => `fn-${++names}`,
  client: () => new Client(openEmbedded(memory).store),
  source: () => openEmbedded(memory).source,
}));

describe('on Redis', () => {
  const rig = useGearMonkey();
  contract('GearMonkey', () => ({
    fn: () => rig.fn(),
    client: () => rig.client,
    source: () => rig.source(),
  }));

  it('are jobs in the scheduled queue, which a plain worker can take', async () => {
    const fn = rig.fn();
    const source = rig.source();
    // Its worker only leads: it has no slot for another job.
    const { worker } = await runWorker(source, fn, () => new Promise(() => undefined));
    await rig.client.run(fn, 'holds the slot');
    await rig.client.recur(fn, { id: fn, every: '1s', input: { a: 1 }, limit: 1 });
    await eventually(async () => expect(await rig.redis.zcard(`queue:${fn}:scheduled`)).toBe(1));
    const [id = ''] = await rig.redis.zrangebyscore(`queue:${fn}:scheduled`, 0, Date.now() / 1000 + 1);
    await expect(rig.redis.hgetall(`job:${fn}:${id}`)).resolves.toMatchObject({
      status: 'idle',
      input: '{"a":1}',
    });
    await worker.stop(0);
  });

  it('leave no timers or commands for functions without schedules', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, () => 'done');
    await rig.client.call(fn, 'x');
    expect(await rig.redis.keys('*ticks*')).not.toContain(`ticks:${fn}`);
    expect(await rig.redis.keys('*schedules*')).not.toContain(`schedules:${fn}`);
  });
});
