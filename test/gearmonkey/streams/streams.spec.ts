import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, toArray } from 'rxjs';
import { claimOne } from '../../contract/claiming.js';
import { gate } from '../../support/gate.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';
import { useGearMonkey } from '../use-gearmonkey.js';

describe('A stream on Redis', () => {
  const rig = useGearMonkey();
  const entry = (text: string) => Buffer.from(`1:${text}`);

  it('takes a call once that is sent again after a lost reply', async () => {
    const fn = rig.fn();
    const source = rig.source();
    await source.open([fn]);
    const job = await rig.client.run(fn, null);
    const claim = await claimOne(source, fn);
    for (const sent of [0, 0, 2, 2])
      await source.records?.streams?.append(claim, 'log', sent, [entry(`${sent}a`), entry(`${sent}b`)]);
    await job.cancel();
    await expect(firstValueFrom(job.log$.pipe(toArray()))).resolves.toEqual(['0a', '0b', '2a', '2b']);
  });

  it('goes on when connections break', async () => {
    const fn = rig.fn();
    const go = gate();
    await runWorker(rig.source(), fn, async (_, job) => {
      await job.log('before');
      await go.passed;
      for (let n = 0; n < 100; n++) await job.log(`line ${n}`);
    });
    const job = await rig.client.run(fn, null);
    const seen: string[] = [];
    const ended = gate();
    job.log$.subscribe({ next: (line) => seen.push(line), complete: ended.open });
    await eventually(() => expect(seen).toEqual(['before']));
    await rig.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    go.open();
    await rig.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await ended.passed;
    expect(seen).toEqual(['before', ...Array.from({ length: 100 }, (_, n) => `line ${n}`)]);
  });

  it('passes over entries of other programs, and ends with an error for a key of another type', async () => {
    const fn = rig.fn();
    const job = await rig.client.run(fn, null, { delay: '1h' });
    const key = `job:${fn}:${job.id}`;
    await rig.redis.lpush(`${key}:log`, 'no entry', '5:one', '\u0000');
    await rig.redis.hset(key, 'log:count', 3);
    await rig.redis.set(`${key}:output`, 'no list');
    await job.cancel();
    await expect(firstValueFrom(job.log$.pipe(toArray()))).resolves.toEqual(['one']);
    await expect(firstValueFrom(job.output$.pipe(toArray()))).rejects.toMatchObject({ code: 'REFUSED' });
  });

  it('has an expiry, and a lost count hides nothing that is kept', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, (_, job) => job.log('line'));
    const job = await rig.client.run(fn, null);
    await job.result();
    const ttl = await rig.redis.ttl(`job:${fn}:${job.id}:log`);
    expect(ttl).toBeGreaterThan(80_000);
    await rig.redis.hset(`job:${fn}:${job.id}`, 'log:count', 'nonsense');
    await expect(firstValueFrom(job.log$.pipe(toArray()))).resolves.toEqual(['line']);
  });
});
