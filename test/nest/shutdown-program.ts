/** A program of its own: an app whose jobs wait for a line on stdin, and that ends by SIGTERM alone. */
import 'reflect-metadata';
import type { Socket } from 'node:net';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule, Worker, type RunningJob } from '../../lib/index.js';

const { url, fn, shutdownTimeout } = JSON.parse(process.argv[2] as string) as Record<string, string>;

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

@Injectable()
class Handlers {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker(fn as string, { concurrency: 3 })
  async run(_: unknown, { id, signal }: RunningJob) {
    signal.addEventListener('abort', () =>
      say('aborted', { id, code: (signal.reason as { code: string }).code }),
    );
    say('start', { id });
    await new Promise((resolve) => process.stdin.once('data', resolve));
    await this.jobs.run(`after-${fn as string}`, id);
    return 'done';
  }
}

@Module({
  imports: [
    GearMonkeyModule.forRoot({ connection: url as string, shutdownTimeout: shutdownTimeout as string }),
  ],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
app.enableShutdownHooks();
// Nest ends by the signal itself, which is heard here: nothing but open handles keeps the process now.
process.on('SIGTERM', () => say('signal'));
(process.stdin as Socket).unref();
say('ready');
