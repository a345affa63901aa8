import { beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  CurrentJob,
  GearMonkeyClient,
  GearMonkeyModule,
  Input,
  Worker,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { QlessClient, QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const server = useRedis();
const apps = useApps();
beforeEach(() => server.redis.flushall());

@Injectable()
class Mails {
  readonly sent: string[] = [];

  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('SendMail', {
    instance: 'legacy',
    concurrency: 2,
    retry: { attempts: 2, delay: 1, backoff: 'fixed' },
  })
  async send(@Input('to') to: string, @CurrentJob() job: RunningJob) {
    await job.update(1, 2);
    if (to === 'nobody') throw new TypeError('Nobody to write to');
    this.sent.push(to);
    return this.jobs.call('count', to);
  }

  @Worker('count')
  count(text: string) {
    return text.length;
  }
}

const app = () =>
  apps.start({
    imports: [
      GearMonkeyModule.forRoot({ connection: 'memory:' }),
      GearMonkeyModule.forRoot({
        name: 'legacy',
        source: qless({ connection: server.url, queues: ['mail', 'bulk'], popping: 'round-robin' }),
      }),
      QlessModule.forRoot({ connection: server.url }),
    ],
    providers: [Mails],
  });

describe('a Nest app with a qless instance', () => {
  it('runs its jobs beside those of its own instance', async () => {
    const context = await app();
    const client = context.get(QlessClient);
    const jids = await Promise.all([
      client.queue('mail').put('SendMail', { to: 'ada' }),
      client.queue('bulk').put('SendMail', { to: 'grace' }),
    ]);
    await eventually(async () => expect(await client.jobs.complete()).toHaveLength(2));
    expect(context.get(Mails).sent.toSorted()).toEqual(['ada', 'grace']);
    const job = await client.jobs.get(jids[0]);
    expect(job?.record.history.map(({ what }) => what)).toEqual([
      'put',
      'popped',
      'progress',
      'returned',
      'done',
    ]);
    expect(job?.record.history[3]).toMatchObject({ output: '3' });
  });

  it('tries again, and then files the failure', async () => {
    const context = await app();
    const client = context.get(QlessClient);
    const jid = await client.queue('mail').put('SendMail', { to: 'nobody' });
    await eventually(async () => expect((await client.jobs.get(jid))?.state).toBe('failed'));
    const { record } = (await client.jobs.get(jid)) ?? {};
    expect(record?.failure).toMatchObject({
      group: 'SendMail:TypeError',
      message: expect.stringMatching(/^Nobody to write to\n\nTypeError: Nobody to write to\n/),
    });
    expect(record?.remaining).toBe(4);
  });

  it('leaves no worker and no connection behind', async () => {
    const context = await app();
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:bulk')).toBe(1));
    await expect(context.get(QlessClient).workers.list()).resolves.toHaveLength(1);
    await context.close();
    await expect(server.redis.keys('ql:*')).resolves.toEqual([]);
    await eventually(async () =>
      expect(String(await server.redis.client('LIST'))).not.toContain('nestjs-gearmonkey:'),
    );
  });
});
