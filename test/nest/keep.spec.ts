import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  GearMonkeyWorkers,
  Worker,
  defineJob,
  type JobSource,
  type KeepOptions,
} from 'nestjs-gearmonkey';
import { jobd } from 'nestjs-gearmonkey/jobd';
import { jq } from 'nestjs-gearmonkey/jq';
import { qless } from 'nestjs-gearmonkey/qless';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const HOUR_S = 3600;
const mail = defineJob<number, number>('mail', { keep: { error: { age: '7d' } } });

@Injectable()
class Handlers {
  @Worker(mail)
  send(input: number): number {
    if (input < 0) throw new Error('no such address');
    return input;
  }

  @Worker('plain')
  plain(): void {}
}

describe('keep', () => {
  const apps = useApps();
  const server = useRedis();

  it('of a definition goes before that of the module, each value by itself', async () => {
    const keep: KeepOptions = { success: { age: '1h' }, error: { age: '2h' } };
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: server.url, keep })],
      providers: [Handlers],
    });
    const jobs = app.get(GearMonkeyClient);
    await jobs.call(mail, 1);
    await jobs.call(mail, -1).catch((error: Error) => error);
    await jobs.call('plain', 1);
    const ttl = async (key: string) => server.redis.ttl(key);
    const near = (seconds: number, left: number) => left <= seconds && left > seconds - 120;
    expect(near(HOUR_S, await ttl('job:mail:1'))).toBe(true);
    expect(near(7 * 24 * HOUR_S, await ttl('job:mail:2'))).toBe(true);
    expect(near(HOUR_S, await ttl('job:plain:1'))).toBe(true);
    expect(near(7 * 24 * HOUR_S + HOUR_S, await ttl('ended:mail:success'))).toBe(true);
  });

  it('of a function that is added again is that of its new definition', async () => {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })] });
    const [jobs, workers] = [app.get(GearMonkeyClient), app.get(GearMonkeyWorkers)];
    const few = defineJob<number, number>('few', { keep: { success: { count: 1 } } });
    const all = defineJob<number, number>('few');
    for (const [definition, there] of [
      [few, 1],
      [all, 3],
    ] as const) {
      const added = await workers.add(definition, (input: number) => input);
      for (const input of [1, 2]) await jobs.call(definition, input);
      await eventually(async () =>
        expect((await jobs.list('few', { state: 'succeeded' })).total).toBe(there),
      );
      await added.stop();
    }
  });

  it.each<[unknown, string]>([
    [{ success: { age: '1s' } }, 'keep.success.age'],
    [{ sucess: {} }, 'keep has no option `sucess`'],
    [null, 'keep'],
  ])('of %p keeps the app from starting', async (keep, message) => {
    const options = { connection: 'memory:', keep: keep as KeepOptions } as const;
    const starting = apps.start({ imports: [GearMonkeyModule.forRoot(options)] });
    await expect(starting).rejects.toThrow(message);
  });

  it.each<[string, () => JobSource]>([
    ['qless', () => qless({ connection: 'redis://127.0.0.1:1', queues: ['q'] })],
    ['JQ', () => jq({ master: 'http://127.0.0.1:1' })],
    ['jobd', () => jobd({ database: 'sqlite:/nowhere/jobs.db', targets: ['mail'] })],
  ])('of a definition is refused where a system decides that itself: %s', async (_, source) => {
    const starting = apps.start({
      imports: [GearMonkeyModule.forRoot({ source: source() })],
      providers: [Handlers],
    });
    await expect(starting).rejects.toThrow(/^"mail" has `keep`, which is for jobs of GearMonkey and memory/);
  });
});
