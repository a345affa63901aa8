import { describe, expect, it } from '@jest/globals';
import { Queue as BullMqQueue } from 'bullmq';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import {
  BullModule,
  Processor,
  WorkerHost,
  getQueueToken,
  type Job,
  type Queue,
} from 'nestjs-gearmonkey/bullmq';
import { until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useImport } from './import-rig.js';

describe('an app of nestjs-gearmonkey/bullmq, after an import', () => {
  const rig = useImport();
  const apps = useApps();

  it('tells jobs apart by the names that they had in BullMQ, and has each scheduler once', async () => {
    const daily = [
      { pattern: '0 9 * * *', tz: 'UTC' },
      { name: 'digest', data: {} },
    ] as const;
    const old = new BullMqQueue('mail', { connection: rig.connection });
    await old.add('welcome', { to: 'ada' }, { timestamp: 1_700_000_000_000 });
    await old.add('mail', { to: 'grace' }, { timestamp: 1_700_000_000_001 });
    await old.upsertJobScheduler('daily', ...daily);
    await old.close();
    await expect(rig.import()).resolves.toMatchObject({ moved: { waiting: 2, schedules: 1 }, left: [] });

    const ran: string[] = [];
    const timestamps = new Map<string, number>();
    @Processor('mail')
    class Mails extends WorkerHost {
      async process(job: Job<{ to: string }>) {
        ran.push(`${job.name} ${job.data.to}`);
        timestamps.set(job.id, job.timestamp);
      }
    }
    const app = await apps.start({
      imports: [
        BullModule.forRoot({ connection: rig.urls().target }),
        BullModule.registerQueue({ name: 'mail' }),
      ],
      providers: [Mails],
    });
    await until(() => ran.length === 2);
    expect(ran.toSorted()).toEqual(['mail grace', 'welcome ada']);
    expect([...timestamps.values()].toSorted()).toEqual([1_700_000_000_000, 1_700_000_000_001]);

    const queue = app.get<Queue>(getQueueToken('mail'));
    await queue.upsertJobScheduler('daily', ...daily);
    await expect(queue.getJobSchedulers()).resolves.toMatchObject([{ key: 'daily', pattern: '0 9 * * *' }]);
    const schedules = await app.get(GearMonkeyClient).schedules.list();
    expect(schedules.map(({ id }) => id)).toEqual(['mail:daily']);
  });
});
