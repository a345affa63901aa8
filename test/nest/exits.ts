/** A program of its own: an app with handlers and observers on the connection of its argument, that ends by itself. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { firstValueFrom } from 'rxjs';
import { GearMonkeyClient, GearMonkeyModule, OnFinish, Worker, type RunningJob } from '../../lib/index.js';

@Injectable()
class Handlers {
  @Worker('upper', { concurrency: 5 })
  async upper(text: string, job: RunningJob) {
    await job.update(1, 1);
    return text.toUpperCase();
  }
  @OnFinish('upper')
  finished() {}
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] as string })],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.create(App, { logger: false });
await app.listen(0, '127.0.0.1');
const client = app.get(GearMonkeyClient);
const output = await client.call('upper', 'done', { timeout: '30s' });
// Subscriptions that stay open, and a job that will not run.
client.progress('upper').subscribe();
const started = firstValueFrom(client.events('other'));
await client.run('other', null, { scheduled: new Date('2100-01-01') });
await started;
await app.close();
const closed = performance.now();
process.on('exit', () =>
  process.stdout.write(JSON.stringify({ output, lingered: performance.now() - closed })),
);
