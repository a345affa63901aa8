import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { RunningJob } from 'nestjs-gearmonkey';
import { defineJob } from '../../lib/job/job-definition.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

const USER = 'worker';
/** More than one call takes. */
const LARGE = 'x'.repeat(400_000);

describe('A program that loses a right while it runs, and gets it again', () => {
  const server = useRedisServer();
  let actors: RedisActors;
  let user: RedisActors;
  let fn = '';
  const set = (...rights: string[]) => server.redis.acl('SETUSER', USER, ...rights);
  stopWorkersAfterEach();
  afterEach(() => set('+@all', '&*', '~*'));
  beforeAll(async () => {
    await set('on', '>secret', '~*', '&*', '+@all');
    actors = new RedisActors(server.url);
    user = new RedisActors(server.url.replace('redis://', `redis://${USER}:secret@`));
  });
  afterAll(() => {
    user.close();
    actors.close();
  });
  beforeEach(() => void (fn = server.fn()));

  /** Until a script was refused. */
  const refused = () =>
    eventually(async () => expect(await server.redis.info('errorstats')).toMatch(/errorstat_(NOPERM|ERR):/));

  it.each(['rpush', 'exists', 'lpush', 'zrem', 'zadd', 'zrange'])(
    'loses no job of a function with a limit: %s',
    async (command) => {
      const job = defineJob<string>(fn, { limit: { key: (input) => input, concurrency: 1 } });
      let runs = 0;
      await runWorker(user.source({ lease: 2000 }), job, async () => void (runs += 1), { concurrency: 4 });
      const client = actors.client();
      await client.call(job, 'a', { timeout: '20s' });
      await server.redis.config('RESETSTAT');
      await set(`-${command}`);
      const jobs = await client.runMany(job, ['a', 'a', 'b', 'b', 'a']);
      await refused();
      await set('+@all');
      await Promise.all(jobs.map((one) => one.result({ timeout: '20s' })));
      expect(runs).toBe(6);
    },
  );

  const enqueueLarge = async (handled: () => void) => {
    await runWorker(user.source({ lease: 2000 }), fn, async () => handled(), { concurrency: 8 });
    const client = actors.client();
    await client.call(fn, 1, { timeout: '20s' });
    await server.redis.config('RESETSTAT');
    return () => client.runMany(fn, Array<string>(7).fill(LARGE));
  };

  it.each(['rpush', 'lpush', 'hdel'])(
    'runs all jobs without it, however large their inputs: %s',
    async (command) => {
      let runs = 0;
      const enqueue = await enqueueLarge(() => (runs += 1));
      await set(`-${command}`);
      const jobs = await enqueue();
      await Promise.all(jobs.map((one) => one.result({ timeout: '20s' })));
      expect(runs).toBe(8);
      await set('+@all');
    },
  );

  it('runs all jobs when it has it again: exists', async () => {
    let runs = 0;
    const enqueue = await enqueueLarge(() => (runs += 1));
    await set('-exists');
    const jobs = await enqueue();
    await refused();
    await set('+@all');
    await Promise.all(jobs.map((one) => one.result({ timeout: '20s' })));
    expect(runs).toBe(8);
  });

  it('tries a job again that had waited for a signal', async () => {
    let runs = 0;
    await runWorker(
      user.source({ lease: 2000 }),
      fn,
      async (_, job) => {
        runs += 1;
        await job.waitFor('go', { timeout: '1m' });
        if (runs > 2) return;
        await set('-hdel');
        throw new Error('as told');
      },
      { retry: { attempts: 3, delay: 10, jitter: 0 } },
    );
    const client = actors.client();
    const job = await client.run(fn, 1);
    await eventually(async () => expect((await job.get()).state).toBe('scheduled'));
    await job.signal('go', null);
    await eventually(() => expect(runs).toBe(3));
    await set('+@all');
    await job.result({ timeout: '20s' });
  });

  const readers = {
    step: (job: RunningJob) => job.step('one', () => 'done'),
    waitFor: (job: RunningJob) => job.waitFor('go', { timeout: '1m' }),
    parents: async (job: RunningJob) => (await job.parents())[0]?.output,
  };

  describe.each(Object.entries(readers))('runs a job that reads meanwhile: job.%s', (_, reads) => {
    it.each([
      ['of all commands', '-@all'],
      ['of reading', '-hmget', '-lrange'],
      ['to all keys', 'resetkeys'],
    ])('the right %s', async (_, ...rights) => {
      const problems: string[] = [];
      const mayRead = gate();
      let runs = 0;
      const source = user.source({ onProblem: (message) => void problems.push(message) });
      const handle = async (input: unknown, job: RunningJob) => {
        if (input === 'parent') return 'done';
        runs += 1;
        // The first run of a job has no steps to read.
        if (runs === 1) throw new Error('as told');
        await mayRead.passed;
        return reads(job);
      };
      await runWorker(source, fn, handle, { retry: { attempts: 2, delay: 10, jitter: 0 } });
      const client = actors.client();
      const after = await client.run(fn, 'parent');
      const job = await client.run(fn, 'child', { after: [after] });
      await job.signal('go', 'done');
      await eventually(() => expect(runs).toBe(2));
      await set(...rights);
      mayRead.open();
      await eventually(() => expect(problems.join()).toMatch(/obs of "[^"]+" (record waits|wait to read)/));
      await set('+@all', '~*');
      await expect(job.result({ timeout: '20s' })).resolves.toBe('done');
    });
  });

  it('reads parents as it did before: lrange', async () => {
    const problems: string[] = [];
    const source = user.source({ onProblem: (message) => void problems.push(message) });
    await runWorker(source, fn, async (_, job) => (await job.parents()).length);
    const client = actors.client();
    await expect(client.call(fn, 1)).resolves.toBe(0);
    await set('-lrange');
    const job = await client.run(fn, 2);
    await eventually(() => expect(problems.join()).toContain('wait to read'));
    await set('+@all');
    await expect(job.result({ timeout: '20s' })).resolves.toBe(0);
  });

  it('says at once that it never had the right to read parents', async () => {
    await set('-lrange');
    await runWorker(user.source(), fn, async (_, job) => (await job.parents()).length);
    await expect(actors.client().call(fn, 1)).rejects.toMatchObject({
      cause: { name: 'RefusedError', message: expect.stringContaining('lrange') },
    });
  });

  const loseChannels = async () => {
    await server.redis.config('RESETSTAT');
    await set('resetchannels');
    await refused();
  };

  it('waits for jobs that end meanwhile, and observes and calls as before: channels', async () => {
    const [client, other] = [user.client(), actors.client()];
    const mayEnd = gate();
    let slow = 0;
    const handle = async (input: unknown) => {
      slow += input === 'slow' ? 1 : 0;
      await mayEnd.passed;
      return input;
    };
    await runWorker(actors.source(), fn, handle, { concurrency: 4 });
    const ended: string[] = [];
    const paused: boolean[] = [];
    const observed = client
      .events(fn)
      .subscribe(({ type, id }) => void (type === 'finish' && ended.push(String(id))));
    observed.add(client.watchPaused(fn).subscribe((is) => void paused.push(is)));
    const job = await client.run(fn, 'slow');
    const [waiting, called] = [job.result(), client.call(fn, 'slow')];
    await eventually(() => expect([slow, paused]).toEqual([2, [false]]));
    await loseChannels();
    await expect(client.call(fn, 'refused')).rejects.toMatchObject({ code: 'REFUSED' });
    mayEnd.open();
    await eventually(async () => expect((await job.get()).state).toBe('succeeded'));
    await other.pause(fn);
    await set('&*');
    await expect(Promise.all([waiting, called])).resolves.toEqual(['slow', 'slow']);
    await eventually(() => expect(paused.at(-1)).toBe(true));
    await other.resume(fn);
    await eventually(() => expect(paused.at(-1)).toBe(false));
    const last = await client.run(fn, 'last');
    await last.result();
    await eventually(() => expect(ended).toContain(String(last.id)));
    observed.unsubscribe();
  });

  it('tells handlers of cancellations: channels', async () => {
    const reasons: unknown[] = [];
    let runs = 0;
    await runWorker(user.source(), fn, async (_, { signal }) => {
      runs += 1;
      await once(signal, 'abort');
      reasons.push(signal.reason);
    });
    await loseChannels();
    await set('&*');
    await eventually(async () =>
      expect(await server.redis.pubsub('NUMSUB', `cancel:${fn}`)).toEqual([`cancel:${fn}`, 1]),
    );
    const job = await actors.client().run(fn, 1);
    await eventually(() => expect(runs).toBe(1));
    await job.cancel();
    await eventually(() => expect(reasons).toEqual([expect.objectContaining({ code: 'JOB_CANCELLED' })]));
  });
});
