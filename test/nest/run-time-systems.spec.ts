import { describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { GearMonkeyModule, GearMonkeyWorkers, type JobSource } from 'nestjs-gearmonkey';
import { JobdClient, JobdModule, jobd } from 'nestjs-gearmonkey/jobd';
import { JqClient, JqMasterModule, JqModule, jq } from 'nestjs-gearmonkey/jq';
import { QlessClient, QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { freePort } from '../support/free-port.js';
import { gate } from '../support/gate.js';
import { sqliteFile } from '../support/job-rows.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useJobTables } from '../support/use-job-tables.js';
import { useRedis } from '../support/use-redis.js';

const redis = useRedis();
const tables = useJobTables(sqliteFile);
const apps = useApps();

interface System {
  readonly app: INestApplicationContext;
  enqueue(): Promise<unknown>;
}

/** An app whose instance has this source and no handlers, and another module beside it. */
const appWith = (source: JobSource, ...modules: Parameters<typeof apps.start>[0]['imports'] & object) =>
  apps.start({ imports: [GearMonkeyModule.forRoot({ source }), ...modules] });

async function jqWith(listen?: { port: number }): Promise<System> {
  await redis.redis.flushall();
  const port = await freePort();
  const master = `http://127.0.0.1:${port}`;
  await apps.start({ imports: [JqMasterModule.forRoot({ connection: redis.url, port })] });
  const app = await appWith(jq({ master, listen }), JqModule.forRoot({ master }));
  return { app, enqueue: () => app.get(JqClient).enqueue('mail', {}) };
}

async function qlessSystem(): Promise<System> {
  await redis.redis.flushall();
  const source = qless({ connection: redis.url, queues: ['q'] });
  const app = await appWith(source, QlessModule.forRoot({ connection: redis.url }));
  return { app, enqueue: () => app.get(QlessClient).queue('q').put('mail', {}) };
}

async function jobdSystem(): Promise<System> {
  const rows = await tables.table();
  const at = { database: rows.url, table: rows.table };
  const app = await appWith(jobd({ ...at, targets: ['mail'] }), JobdModule.forRoot(at));
  const enqueue = async () => {
    await app.get(JobdClient).add('mail');
    await app.get(JobdClient).poke('mail');
  };
  return { app, enqueue };
}

describe.each<[string, () => Promise<System>]>([
  ['JQ that pushes', () => jqWith({ port: 0 })],
  ['JQ that is asked', () => jqWith()],
  ['qless', qlessSystem],
  ['jobd', jobdSystem],
])('GearMonkeyWorkers on %s', (_, start) => {
  it('runs what is added, more or fewer at a time or none, until it is stopped', async () => {
    const { app, enqueue } = await start();
    const workers = app.get(GearMonkeyWorkers);
    const ends = gate();
    let began = 0;
    const handle = async () => {
      began += 1;
      await ends.passed;
    };
    const added = await workers.add('mail', handle);
    for (let job = 0; job < 3; job++) await enqueue();
    await eventually(() => expect(began).toBe(1));
    workers.set('mail', { concurrency: 2 });
    await eventually(() => expect(began).toBe(2));
    workers.set('mail', { concurrency: 0 });
    ends.open();
    await eventually(() => expect(workers.list()).toMatchObject([{ running: 0 }]));
    expect(began).toBe(2);
    workers.set('mail', { concurrency: 1 });
    await eventually(() => expect(began).toBe(3));
    await added.stop();
    expect(workers.list()).toEqual([]);
    await enqueue();
    await workers.add('mail', handle);
    await eventually(() => expect(began).toBe(4));
  });
});
