import { Injectable } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyModule } from '../../../lib/nest/gearmonkey.module.js';
import { GearMonkeyHealth } from '../../../lib/nest/gearmonkey.health.js';
import { Worker } from '../../../lib/nest/worker.decorator.js';
import type { RunningJob } from '../../../lib/worker/running-job.js';
import {
  EmbeddedJqMaster,
  InjectJq,
  jq,
  JqClient,
  JqMasterModule,
  JqModule,
  getJqClientToken,
} from '../../../lib/jq/index.js';
import { freePort } from '../../support/free-port.js';
import { useApps } from '../../support/use-apps.js';
import { useRedis } from '../../support/use-redis.js';
import { Http } from '../master/http.js';

describe('a Nest app with JQ', () => {
  const redis = useRedis();
  const apps = useApps();
  afterEach(() => redis.redis.flushall());

  @Injectable()
  class Mailer {
    seen: unknown[] = [];
    constructor(readonly jobs: JqClient) {}

    @Worker('mail', { concurrency: 3 })
    async mail({ to }: { to: string }, job: RunningJob): Promise<string> {
      await job.update(1, 2);
      this.seen.push(to);
      return `sent to ${to}`;
    }

    /** Enqueues a job of its own when the app closes: clients close last. */
    async beforeApplicationShutdown(): Promise<void> {
      await this.jobs.enqueue('farewell', {});
    }
  }

  it('embeds a master, runs its jobs and pushes to it; it closes in order', async () => {
    const port = await freePort();
    const master = `http://127.0.0.1:${port}`;
    const outer = await apps.start({ imports: [JqMasterModule.forRoot({ connection: redis.url, port })] });
    expect(outer.get(EmbeddedJqMaster).url).toBe(master);
    const app = await apps.start({
      imports: [
        JqModule.forRoot({ master }),
        GearMonkeyModule.forRoot({ source: jq({ master, listen: { port: 0 } }) }),
      ],
      providers: [Mailer],
    });
    await expect(app.get(JqClient).call('mail', { to: 'Ada' })).resolves.toBe('sent to Ada');
    const health = app.get(GearMonkeyHealth);
    expect(health.check()).toMatchObject([
      { connected: true, server: master, lastReplyAt: expect.any(Date) },
    ]);
    await expect(health.ping()).resolves.toMatchObject([{ connected: true, server: master }]);
    await app.close();
    await expect(redis.redis.zcard('{jq}:workers')).resolves.toBe(0);
    await expect(redis.redis.get('{jq}:ids')).resolves.toBe('2');
    await outer.close();
    await expect(new Http(master).job('x')).rejects.toThrow();
  });

  it('takes its options from a factory, and several clients by their names', async () => {
    const port = await freePort();
    const master = `http://127.0.0.1:${port}`;
    @Injectable()
    class Shop {
      constructor(
        @InjectJq() readonly one: JqClient,
        @InjectJq('other') readonly other: JqClient,
      ) {}
    }
    const app = await apps.start({
      imports: [
        JqMasterModule.forRootAsync({ useFactory: () => ({ connection: redis.url, port }) }),
        JqModule.forRootAsync({ useFactory: async () => ({ master }) }),
        JqModule.forRootAsync({ name: 'other', useFactory: async () => ({ master, timeout: '1s' }) }),
      ],
      providers: [Shop],
    });
    const { one, other } = app.get(Shop);
    expect(one).not.toBe(other);
    expect(app.get(getJqClientToken('other'))).toBe(other);
    const { id } = await one.enqueue('mail', { to: 'a' });
    await expect(other.get(id)).resolves.toMatchObject({ status: 'queued' });
  });

  it('does not start with options that are wrong', async () => {
    const app = await apps.create({ imports: [JqMasterModule.forRoot({ connection: redis.url, port: -1 })] });
    await expect(app.init()).rejects.toThrow('`port`');
  });
});
