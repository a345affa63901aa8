import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Digester } from './digester.js';

const url = process.env['REDIS_URL'];

const gearMonkey = GearMonkeyModule.forRoot(
  url ? { connection: url, enqueueTimeout: '10s' } : { connection: 'memory:' },
);

/** Whether the jobs go through a server to processes of their own. */
export const usesRedis = Boolean(url);

/** Enqueues and waits; runs no job. */
@Module({ imports: [gearMonkey] })
export class ClientModule {}

/** Runs jobs: in the demo's own process, or in several of its children. */
@Module({ imports: [gearMonkey], providers: [Digester] })
export class WorkerModule {}
