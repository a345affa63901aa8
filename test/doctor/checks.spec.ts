import { beforeEach, describe, expect, it } from '@jest/globals';
import { Examination, type Suspicion } from '../../lib/gearmonkey/core/examination.js';
import { suspectFunction } from '../../lib/doctor/function-checks.js';
import { findFunctions } from '../../lib/doctor/function-names.js';
import { keysOf, type FunctionKeys } from '../../lib/gearmonkey/core/wire/protocol.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';

const SECOND_MS = 1000;

describe('The doctor’s look at a function', () => {
  const rig = useGearMonkey();
  let fn: string;
  let k: FunctionKeys;
  beforeEach(() => {
    fn = rig.fn();
    k = keysOf(fn);
  });

  const ago = (seconds: number) => Date.now() - seconds * SECOND_MS;
  const suspect = () => suspectFunction(new Examination(rig.redis), { fn, keys: k });
  const codes = async () => (await suspect()).map(({ code }) => code);
  const mend = async ([one]: readonly Suspicion[]) => one?.finding(one.ids).fix?.apply();
  const age = (id: number, ...fields: string[]) =>
    rig.redis.hset(`${k.jobs}${id}`, 'created', ago(120), ...fields);

  it('trusts a job that changed in the last minute', async () => {
    await rig.client.pause(fn);
    await rig.client.run(fn, 1);
    await rig.redis.del(k.normal);
    expect(await codes()).toEqual([]);
    await age(1, 'finished', String(ago(10)));
    expect(await codes()).toEqual([]);
    await age(1, 'finished', String(ago(120)));
    expect(await codes()).toEqual(['WAITING_IN_NO_QUEUE']);
  });

  it('finds a job that waits among the scheduled ones', async () => {
    await rig.client.run(fn, 1, { delay: '1h' });
    await age(1);
    expect(await codes()).toEqual([]);
  });

  it('misses a worker only for jobs that are due, and not paused', async () => {
    await rig.client.run(fn, 1, { delay: '1h' });
    expect(await codes()).toEqual([]);
    await rig.redis.zadd(k.scheduled, ago(5) / SECOND_MS, '1');
    expect(await codes()).toEqual(['NO_WORKER']);
    await rig.client.pause(fn);
    expect(await codes()).toEqual([]);
  });

  it('misses no worker while a plain one is counted', async () => {
    await rig.client.run(fn, 1);
    await rig.redis.set(k.count, '1');
    expect(await codes()).toEqual([]);
  });

  it('takes a lease for stuck that ended half a minute ago, not one that has just ended', async () => {
    await rig.redis.zadd(k.leases, ago(20), '1:1');
    expect(await codes()).toEqual([]);
    await rig.redis.zadd(k.leases, ago(40), '1:1');
    expect(await codes()).toEqual(['STUCK_LEASES']);
  });

  it('takes the loss of a running job’s lease for its end if a worker has reported it', async () => {
    await age(1, 'status', 'busy', 'token', '7');
    await rig.redis.set(k.ids, '1');
    expect(await codes()).toEqual(['BUSY_WITHOUT_LEASE']);
    await age(1, 'lost', '7');
    expect(await codes()).toEqual([]);
  });

  it('gives no shorter lease to a worker that has renewed its own meanwhile', async () => {
    await age(1, 'status', 'busy', 'token', '7');
    await rig.redis.set(k.ids, '1');
    const found = await suspect();
    const until = Date.now() + 3600 * SECOND_MS;
    await rig.redis.zadd(k.leases, until, '1:7');
    await mend(found);
    expect(await rig.redis.zscore(k.leases, '1:7')).toBe(String(until));
  });

  it('keeps an entry of a queue whose job is there again', async () => {
    await rig.client.pause(fn);
    await rig.client.run(fn, 1);
    await rig.redis.rename(`${k.jobs}1`, 'elsewhere');
    const found = await suspect();
    expect(found.map(({ code }) => code)).toEqual(['QUEUED_WITHOUT_JOB']);
    await rig.redis.rename('elsewhere', `${k.jobs}1`);
    await mend(found);
    expect(await rig.redis.lrange(k.normal, 0, -1)).toEqual(['1']);
  });

  it('finds schedules that are late though a worker is there, unless they are paused', async () => {
    await rig.redis.zadd(k.workers, Date.now(), 'alive');
    await rig.redis.set(k.count, '1');
    await rig.redis.zadd(k.ticks, ago(30), 'often');
    expect(await codes()).toEqual([]);
    await rig.redis.zadd(k.ticks, ago(120), 'often');
    expect(await codes()).toEqual(['SCHEDULES_UNSERVED']);
    await rig.client.pause(fn);
    expect(await codes()).toEqual([]);
  });
});

describe('The doctor’s search for functions', () => {
  const rig = useGearMonkey();

  it('takes a counter of another program for no function, and a lease for one', async () => {
    await rig.redis.set('count:visits', '5');
    await rig.redis.zadd('lease:resize', 1, '1:1');
    await rig.redis.set('job:mail:1', 'text');
    await rig.redis.set(keysOf('mail').ids, '1');
    const found = await findFunctions(new Examination(rig.redis));
    expect(found.map(({ fn }) => fn)).toEqual(['mail', 'resize']);
  });
});
