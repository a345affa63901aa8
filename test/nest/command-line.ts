/** A program of its own: a command that enqueues on the connection of its argument, with no server of its own and no workers. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyError, GearMonkeyModule, Worker } from '../../lib/index.js';

@Injectable()
class Command {
  constructor(private readonly jobs: GearMonkeyClient) {}

  async run(): Promise<string> {
    const { id } = await this.jobs.run('report', { month: 11 });
    try {
      await this.jobs.run('report', { month: 12 }, { rollCall: true });
      return `enqueued ${id}`;
    } catch (error) {
      if (!(error instanceof GearMonkeyError)) throw error;
      return `enqueued ${id}, without a worker: ${error.code}`;
    }
  }

  @Worker('report')
  report() {
    throw new Error('another process does this');
  }
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] as string, workers: false })],
  providers: [Command],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
process.stdout.write(`${await app.get(Command).run()}\n`);
await app.close();
