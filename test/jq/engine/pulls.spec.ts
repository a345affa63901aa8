import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setMaxListeners } from 'node:events';
import { JqEngine } from '../../../lib/jq/engine/engine.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';

const MINUTE = 60_000;
const JOB = { argument: Raw.EMPTY_MAP, priority: 0, maxRetry: 0, keepResult: false, timeout: 30 };

describe('pulls that wait', () => {
  const used = useRedis();
  let engine: JqEngine;
  let turns = 0;
  let leaving: AbortController;
  const open: Promise<unknown>[] = [];

  beforeEach(async () => {
    await used.redis.flushall();
    engine = new JqEngine({ connection: used.url, onTally: () => (turns += 1) });
    leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    await engine.start();
  });
  afterEach(async () => {
    leaving.abort();
    await Promise.all(open.splice(0));
    await engine.close();
  });

  const puller = async (names: string[], maxJobs = 1) =>
    (await engine.register({ name: 'p', maxJobs, names })) ?? '';
  const pull = (worker: string) => {
    const pulled = engine.pull(worker, MINUTE, leaving.signal);
    open.push(pulled);
    return pulled;
  };
  /** How many turns there were, until some have passed that the clock alone asked for. */
  const turnsOf = async (act: () => Promise<unknown>) => {
    const before = turns;
    await act();
    const acted = turns;
    await until(async () => {
      await engine.ping('0'.repeat(16));
      return turns >= acted + 20;
    });
    return turns - before;
  };
  const enqueue = (name: string) => engine.enqueue({ ...JOB, name });

  it('ask no more while a job of another name waits, or their worker is full', async () => {
    await enqueue('other');
    const full = await puller(['mine']);
    await enqueue('mine');
    await pull(full);
    for (const worker of [await puller(['mine']), await puller(['mine']), full]) void pull(worker);
    expect(await turnsOf(async () => undefined)).toBeLessThan(40);
  });

  it('are asked a few at a time when one job comes, however many wait', async () => {
    const pulls: Promise<unknown>[] = [];
    for (let i = 0; i < 3000; i += 100) {
      const workers = await Promise.all(
        Array.from({ length: 100 }, (_, n) => puller([`n${(i + n) % 1000}`])),
      );
      for (const worker of workers) pulls.push(pull(worker));
      await engine.ping('0'.repeat(16));
    }
    const woken = await turnsOf(async () => {
      await enqueue('n7');
      await Promise.race(pulls);
    });
    expect(woken).toBeLessThan(60);
  });

  it('get the jobs that come for them, one each', async () => {
    const workers = await Promise.all(Array.from({ length: 30 }, () => puller(['mine'])));
    const pulls = workers.map(pull);
    for (let i = 0; i < 30; i++) await enqueue('mine');
    const jobs = await Promise.all(pulls);
    expect(new Set(jobs.map((job) => typeof job === 'object' && job.id)).size).toBe(30);
  });

  it('of a full worker get the next job when one of its own has ended', async () => {
    const worker = await puller(['mine']);
    const [first, second] = [await enqueue('mine'), await enqueue('mine')];
    await expect(pull(worker)).resolves.toMatchObject({ id: first });
    const next = pull(worker);
    await engine.done(worker, { jobId: first, type: 'success', result: Raw.NIL });
    await expect(next).resolves.toMatchObject({ id: second });
  });

  it('of a worker that was forgotten end as soon as any master hears of it', async () => {
    const worker = await puller(['mine']);
    const waiting = pull(worker);
    await until(async () => (await used.redis.exists('{jq}:pullers')) === 1);
    await used.redis.flushall();
    const other = new JqEngine({ connection: used.url });
    await other.start();
    await expect(other.ping(worker)).resolves.toBe(false);
    await other.close();
    await expect(waiting).resolves.toBe('unknown worker');
  });

  it('get nothing once the engine has stopped', async () => {
    const worker = await puller(['mine']);
    await enqueue('mine');
    const waiting = pull(await puller(['other']));
    engine.stop();
    await expect(waiting).resolves.toBeUndefined();
    await expect(engine.pull(worker, MINUTE)).rejects.toThrow('The master is shutting down.');
  });
});
