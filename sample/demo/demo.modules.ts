import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { Digester } from './digester.js';

const url = process.env['REDIS_URL'];

const gearMonkey = GearMonkeyModule.forRoot(
  url ? { connection: url, enqueueTimeout: '10s' } : { connection: 'memory:' },
);

/** Whether jobs go through Redis to worker processes. */
export const usesRedis = Boolean(url);

const dashboard = DashboardModule.forRoot({ path: '/jobs', title: 'Demo' });

/** Enqueues jobs and waits, but runs none. */
@Module({ imports: [gearMonkey, dashboard] })
export class ClientModule {}

/** Runs jobs in a child process. */
@Module({ imports: [gearMonkey], providers: [Digester] })
export class WorkerModule {}

/** All of it in one process. */
@Module({ imports: [gearMonkey, dashboard], providers: [Digester] })
export class EmbeddedModule {}
