import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Digester } from './digester.js';

const url = process.env['REDIS_URL'];

const gearMonkey = GearMonkeyModule.forRoot(
  url ? { connection: url, enqueueTimeout: '10s' } : { connection: 'memory:' },
);

/** Whether jobs go through Redis to worker processes. */
export const usesRedis = Boolean(url);

/** Enqueues jobs and waits, but runs none. */
@Module({ imports: [gearMonkey] })
export class ClientModule {}

/** Runs jobs: in the demo's process, or in its child processes. */
@Module({ imports: [gearMonkey], providers: [Digester] })
export class WorkerModule {}
