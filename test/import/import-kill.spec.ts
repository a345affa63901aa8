import { afterEach, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import fc from 'fast-check';
import { bounds } from '../model/operations.js';
import { RedisServer } from '../support/redis-server.js';
import { IS_FAST_TIER } from '../support/tier.js';
import { useDyingLine, type LastCall } from './dying-line.js';
import { ImportInProcess } from './import-in-process.js';
import { useImport } from './import-rig.js';

const HOUR = 3_600_000;
const JOURNAL = 'bull:mail:gearmonkey:import';
const LASTS: readonly LastCall[] = IS_FAST_TIER ? ['unanswered'] : ['unsent', 'unanswered'];

/** How a job is added. */
interface Added {
  readonly delay?: number;
  readonly priority?: number;
  readonly jobId?: string;
  readonly lifo?: boolean;
  readonly deduplication?: { readonly id: string };
  readonly attempts?: number;
}

const added: fc.Arbitrary<Added> = fc.record(
  {
    delay: fc.constantFrom(HOUR, 2 * HOUR),
    priority: fc.integer({ min: 1, max: 5 }),
    jobId: fc.constantFrom('a', 'b', 'c'),
    lifo: fc.constant(true),
    deduplication: fc.record({ id: fc.constantFrom('a', 'b') }),
    attempts: fc.integer({ min: 1, max: 5 }),
  },
  { requiredKeys: [] },
);

/** An import that dies at its N-th call to either server. */
interface Death {
  readonly calls: number;
  readonly last: LastCall;
  readonly batch: number;
}

const death: fc.Arbitrary<Death> = fc.record({
  calls: fc.nat(60),
  last: fc.constantFrom('unsent' as const, 'unanswered' as const),
  batch: fc.integer({ min: 1, max: 8 }),
});

describe('imports that die', () => {
  const rig = useImport();
  const dying = useDyingLine(() => rig.used.port);
  let queue: Queue | undefined;
  afterEach(() => queue?.close());

  /** Adds jobs with different data, and a schedule. Returns the data of those that BullMQ has taken. */
  async function fill(jobs: readonly Added[]): Promise<number[]> {
    queue = new Queue('mail', { connection: rig.connection });
    for (const [n, options] of jobs.entries()) await queue.add('send', { n }, options);
    await queue.upsertJobScheduler(
      'daily',
      { pattern: '0 9 * * *', tz: 'UTC' },
      { name: 'report', data: { n: -1 } },
    );
    const stored = await queue.getJobs(['waiting', 'prioritized', 'delayed']);
    await queue.close();
    return numbers(stored.map(({ data }) => data as { n: number }).filter(({ n }) => n >= 0));
  }

  async function die({ calls, last, batch }: Death): Promise<boolean> {
    Object.assign(dying.line, { left: calls, last });
    const importing = new ImportInProcess({ source: dying.line.url(), target: dying.line.url(1) }, { batch });
    dying.line.onEnd = () => importing.kill();
    return importing.run().then(
      () => false,
      () => true,
    );
  }

  it('lose and double no job, wherever they die and whatever is in the queue', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(added, { maxLength: 25 }),
        fc.array(death, { maxLength: 4 }),
        async (jobs, deaths) => {
          await rig.used.redis.flushall();
          const all = await fill(jobs);
          for (const one of deaths) await die(one);
          dying.line.left = Infinity;
          await rig.import();
          expect(numbers((await rig.created()).map(({ input }) => input as { n: number }))).toEqual(all);
          await expect(rig.target.zrange('ticks:mail', '0', '-1')).resolves.toEqual(['mail:daily']);
          const keys = await rig.source.keys('bull:mail:*');
          expect(keys.filter((key) => !/:(id|meta|events|marker|pc)$/.test(key))).toEqual([]);
        },
      ),
      bounds(60),
    );
  });

  it('continue only where they were begun', async () => {
    const all = await fill([{}, {}]);
    for (let calls = 10; (await rig.source.hget(JOURNAL, 'batch')) === null; calls++)
      await die({ calls, last: 'unanswered', batch: 2 });
    dying.line.left = Infinity;
    await expect(rig.import({ dryRun: true })).resolves.toMatchObject({
      moved: { schedules: 1, waiting: 2 },
      resumed: true,
    });
    const elsewhere = { source: rig.used.url, target: `${rig.used.url}/2` };
    await expect(new ImportInProcess(elsewhere).run()).rejects.toThrow('on another server, or with another');
    await rig.import();
    expect(numbers((await rig.created()).map(({ input }) => input as { n: number }))).toEqual(all);
  });

  it('create the next job of a schedule also if its time passes before they continue', async () => {
    await fill([]);
    await rig.import();
    const next = Date.now() - 60_000;
    const options = { id: 'mail:late', every: HOUR, from: next };
    const schedule = { fn: 'mail', data: '{}', options, job: 'repeat:late:1' };
    const batch = JSON.stringify({ by: 'a', to: {}, schedule });
    await rig.source.hset(JOURNAL, { name: 'a', number: '1', batch, taken: '1' });
    await expect(rig.import()).resolves.toMatchObject({ moved: { schedules: 1 }, resumed: true });
    await expect(rig.target.zscore('ticks:mail', 'mail:late')).resolves.toBe(String(next));
  });

  it('say so if their journal can not be read', async () => {
    await fill([{}]);
    await rig.source.hset(JOURNAL, { name: 'a', number: '1', batch: 'no JSON', taken: '1' });
    await expect(rig.import()).rejects.toThrow(`The key "${JOURNAL}" is not what an import has written`);
    for (const batch of ['null', '{}', '[]', '{"to":{},"jobs":5}', '{"to":{},"jobs":[null]}']) {
      await rig.source.hset(JOURNAL, { batch });
      await expect(rig.import()).rejects.toThrow(`The key "${JOURNAL}" is not what an import has written`);
    }
    await expect(rig.source.llen('bull:mail:wait')).resolves.toBe(1);
  });

  it('say how to go on if the server of the functions has lost its data', async () => {
    const to = { mail: 'before' };
    const jobs = [{ id: '1', fn: 'mail', queue: 'normal', input: '{"n":1}', options: '{}' }];
    const batch = JSON.stringify({ by: 'a', to, jobs });
    await rig.source.hset(JOURNAL, { name: 'a', number: '1', batch, taken: '1' });
    await expect(rig.import()).rejects.toThrow('set its key "sender:mail:import" to "before"');
    await rig.target.set('sender:mail:import', 'before');
    await expect(rig.import()).resolves.toMatchObject({ moved: { waiting: 1 }, resumed: true });
  });

  it('end if a server does not take what they write, and can be continued', async () => {
    const all = await fill([{}, {}]);
    const replica = await RedisServer.start(['--replicaof', '127.0.0.1', '1']);
    try {
      const there = { source: rig.used.url, target: replica.url };
      await expect(new ImportInProcess(there, { patience: 500 }).run()).rejects.toThrow('READONLY');
    } finally {
      await replica.stop();
    }
    await rig.import();
    expect(numbers((await rig.created()).map(({ input }) => input as { n: number }))).toEqual(all);
  });

  it('continue at each call, whether it was made or not', async () => {
    for (const last of LASTS) {
      for (let calls = 0, died = true; died; calls += IS_FAST_TIER ? 3 : 1) {
        await rig.used.redis.flushall();
        const all = await fill([{}, {}, { delay: HOUR }, { priority: 2 }, { jobId: 'own' }]);
        died = await die({ calls, last, batch: 2 });
        dying.line.left = Infinity;
        await rig.import();
        expect(numbers((await rig.created()).map(({ input }) => input as { n: number }))).toEqual(all);
      }
    }
  });
});

function numbers(data: readonly { readonly n: number }[]): number[] {
  return data.map(({ n }) => n).sort((one, other) => one - other);
}
