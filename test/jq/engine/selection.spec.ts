import { beforeEach, describe, expect, it } from '@jest/globals';
import * as operations from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

describe('selection', () => {
  const used = useRedis();
  let rig: EngineRig;
  beforeEach(() => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`);
  });

  it('hands nothing out without a worker, or without a job', async () => {
    await expect(rig.handOut()).resolves.toEqual([]);
    await rig.enqueue();
    await expect(rig.handOut()).resolves.toEqual([]);
  });

  it('takes the smallest priority first, over all names, and the oldest of equals', async () => {
    const late = await rig.enqueue({ name: 'a', priority: 7 });
    const first = await rig.enqueue({ name: 'b', priority: -5 });
    const second = await rig.enqueue({ name: 'a', priority: 0 });
    const third = await rig.enqueue({ name: 'b', priority: 0 });
    const fourth = await rig.enqueue({ name: 'a', priority: 0 });
    await rig.worker({ maxJobs: 10 });
    const ids = (await rig.handOut()).map(({ id }) => id);
    expect(ids).toEqual([first, second, third, fourth, late]);
  });

  it('takes the oldest of equals for a worker of some names', async () => {
    const ids = [];
    for (const name of ['a', 'b', 'b', 'a', 'b', 'a']) ids.push(await rig.enqueue({ name }));
    await rig.worker({ maxJobs: 10, names: ['a', 'b'] });
    expect((await rig.handOut()).map(({ id }) => id)).toEqual(ids);
  });

  it('keeps to the order of enqueueing past ten and a hundred jobs', async () => {
    const ids = [];
    for (let i = 0; i < 120; i++) ids.push(await rig.enqueue({ name: `n${i % 3}` }));
    await rig.worker({ maxJobs: 200 });
    expect((await rig.handOut(200)).map(({ id }) => id)).toEqual(ids);
  });

  it('keeps to the bounds of int32', async () => {
    const max = await rig.enqueue({ priority: 2 ** 31 - 1 });
    const min = await rig.enqueue({ priority: -(2 ** 31) });
    await rig.worker({ maxJobs: 2 });
    expect((await rig.handOut()).map(({ id }) => id)).toEqual([min, max]);
  });

  it('gives a worker no more than max_jobs, and the least busy worker the next', async () => {
    const [one, two] = [await rig.worker({ maxJobs: 2 }), await rig.worker({ maxJobs: 4 })];
    for (let i = 0; i < 9; i++) await rig.enqueue();
    const handed = await rig.handOut();
    const of = (worker: string) => handed.filter((job) => job.worker === worker).length;
    expect([of(one), of(two)]).toEqual([2, 4]);
    expect(new Set(handed.slice(0, 2).map(({ worker }) => worker)).size).toBe(2);
  });

  it('puts a retry before younger jobs of its priority once its delay is over', async () => {
    const old = await rig.enqueue();
    const worker = await rig.worker();
    const job = await rig.accepted();
    const young = await rig.enqueue();
    await rig.fail(job);
    expect((await rig.handOutOne()).id).toBe(young);
    await rig.succeed({ id: young, worker });
    const younger = await rig.enqueue();
    await rig.pass(1000);
    expect((await rig.handOutOne()).id).toBe(old);
    await rig.succeed({ id: old, worker });
    expect((await rig.handOutOne()).id).toBe(younger);
  });

  it('goes past names that a worker answered 404 for, without a retry spent, and offers them to others', async () => {
    const foreign = await rig.enqueue({ name: 'foreign', priority: -1 });
    const own = await rig.enqueue({ name: 'own' });
    const worker = await rig.worker();
    const refused = await rig.handOutOne();
    expect(refused.id).toBe(foreign);
    await rig.answer(refused, 'unknown_name');
    expect((await rig.handOutOne()).id).toBe(own);
    await rig.succeed({ id: own, worker });
    await expect(rig.handOut()).resolves.toEqual([]);
    await expect(rig.view(foreign)).resolves.toMatchObject({ status: 'queued', retryCount: 0 });

    const other = await rig.worker();
    await expect(rig.handOutOne()).resolves.toMatchObject({ id: foreign, worker: other });
  });

  it('gives a worker jobs of a name again some time after it answered that it does not know it', async () => {
    const id = await rig.enqueue();
    await rig.worker();
    await rig.answer(await rig.handOutOne(), 'unknown_name');
    await rig.pass(59_999);
    await expect(rig.handOut()).resolves.toEqual([]);
    await rig.pass(1);
    expect((await rig.handOutOne()).id).toBe(id);
  });

  it('finds the one job that a worker wants behind thousands of names that it does not', async () => {
    const many = 2500;
    const list = Array.from({ length: many }, (_, i) => ({ name: `n${i}`, priority: -1 }));
    for (const job of list) await rig.enqueue(job);
    const wanted = await rig.enqueue({ name: 'wanted' });
    await rig.worker({ maxJobs: 5, names: ['wanted'] });
    expect((await rig.handOut()).map(({ id }) => id)).toEqual([wanted]);
    const puller = await rig.puller({ names: ['n2499'] });
    expect(await rig.run(operations.pull(puller))).toMatchObject({ status: 'job', job: { name: 'n2499' } });
  });

  it('gives a puller the best job, counts its slots, and says if there is no job at all', async () => {
    const puller = await rig.puller({ names: ['mail'] });
    await expect(rig.run(operations.pull(puller))).resolves.toEqual({ status: 'none', names: ['mail'] });
    await rig.enqueue({ name: 'other' });
    await expect(rig.run(operations.pull(puller))).resolves.toEqual({ status: 'none', names: ['mail'] });
    const id = await rig.enqueue();
    const { job } = await rig.run(operations.pull(puller));
    expect(job).toMatchObject({ id, attempt: 1 });
    if (job) await expect(rig.run(operations.accept(job))).resolves.toBe(true);
    await expect(rig.view(id)).resolves.toMatchObject({ status: 'running', worker: puller });
    await rig.enqueue();
    await expect(rig.run(operations.pull(puller))).resolves.toEqual({ status: 'full', names: ['mail'] });
    await expect(rig.run(operations.pull('f'.repeat(16)))).resolves.toEqual({
      status: 'unknown worker',
      names: [],
    });
  });
});
