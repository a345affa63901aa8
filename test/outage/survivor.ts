/** A process that enqueues and works on the server of its argument, whatever happens to that. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as delay } from 'node:timers/promises';
import {
  GearMonkeyClient,
  GearMonkeyError,
  GearMonkeyModule,
  Worker,
  defineJob,
  type RunningJob,
} from '../../lib/index.js';
import { obey } from '../soak/soak-process.js';

const TICK_MS = 20;
const work = defineJob<number, number>('work');
const begun: string[] = [];

@Injectable()
class Handlers {
  @Worker(work, { concurrency: 20 })
  async work(number: number, job: RunningJob) {
    begun.push(job.id);
    await job.update(1, 2);
    if (number % 20 === 0) await delay(500);
    return number;
  }
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] as string, enqueueTimeout: '1s' })],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
const client = app.get(GearMonkeyClient);
const acknowledged: string[] = [];
const rejected: Record<string, number> = {};
const underWay = new Set<Promise<void>>();
let number = 0;

async function enqueue(): Promise<void> {
  try {
    acknowledged.push((await client.run(work, number++)).id);
  } catch (error) {
    const code = error instanceof GearMonkeyError ? error.code : String(error);
    rejected[code] = (rejected[code] ?? 0) + 1;
  }
}

client.events(work).subscribe();
client.progress(work).subscribe();
const timer = setInterval(() => {
  const enqueued = enqueue().finally(() => underWay.delete(enqueued));
  underWay.add(enqueued);
}, TICK_MS);

obey(async () => {
  clearInterval(timer);
  await Promise.all(underWay);
  const results = acknowledged.map((id) => client.result(work, id, { timeout: '20s' }).then(Number));
  const finished = (await Promise.allSettled(results)).filter(({ status }) => status === 'fulfilled').length;
  await app.close();
  return { acknowledged: acknowledged.length, finished, rejected, begun };
});
