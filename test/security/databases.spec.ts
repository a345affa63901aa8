import { afterEach, describe, expect, it } from '@jest/globals';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const CALLS = 20;

describe('two databases of one server', () => {
  const used = useRedis();
  const opened: RedisActors[] = [];
  stopWorkersAfterEach();
  afterEach(() => {
    for (const actors of opened.splice(0)) actors.close();
  });

  /** A client and a worker whose outputs name the database. */
  async function app(database: number, fn: string, before: Promise<void> = Promise.resolve()) {
    const actors = new RedisActors(`${used.url}/${database}`);
    opened.push(actors);
    await runWorker(actors.source(), fn, async (input) => {
      await before;
      return `${String(input)} in ${database}`;
    });
    return actors.client();
  }

  it('share messages of their jobs, and keep their results separate', async () => {
    const fn = used.fn();
    const clients = [await app(1, fn), await app(2, fn)];
    const finished: string[] = [];
    const watching = clients[0]
      ?.events(fn)
      .subscribe(({ type, id }) => type === 'finish' && finished.push(id));
    await eventually(async () =>
      expect(Number((await used.redis.pubsub('NUMSUB', `channel:${fn}`))[1])).toBe(1),
    );
    const outputs = await Promise.all(
      clients.map((client) => Promise.all(Array.from({ length: CALLS }, (_, i) => client.call(fn, i)))),
    );
    expect(outputs).toEqual([1, 2].map((db) => Array.from({ length: CALLS }, (_, i) => `${i} in ${db}`)));
    await eventually(() => expect(finished).toHaveLength(2 * CALLS));
    watching?.unsubscribe();
  });

  it('do not end jobs of each other with the same id', async () => {
    const fn = used.fn();
    const held = gate();
    const [one, two] = [await app(1, fn, held.passed), await app(2, fn, held.passed)];
    const jobs = [await one.run(fn, 'x'), await two.run(fn, 'x')] as const;
    expect(jobs[0].id).toBe(jobs[1].id);
    for (const job of jobs) await eventually(async () => expect((await job.get()).state).toBe('running'));
    await jobs[0].cancel();
    held.open();
    await expect(jobs[1].result()).resolves.toBe('x in 2');
    await expect(jobs[1].get()).resolves.toMatchObject({ attempts: 1 });
  });
});
