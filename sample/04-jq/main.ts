import 'reflect-metadata';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { redis } from './addresses.js';
import { MasterModule } from './master.module.js';
import { Pusher, PusherModule } from './pusher.module.js';
import { WorkerModule } from './worker.module.js';

const ALL = ['master', 'worker', 'pusher'];
const roles = process.argv.length > 2 ? process.argv.slice(2) : ALL;
const apps: INestApplicationContext[] = [];

async function start(role: string, module: Type): Promise<void> {
  if (!roles.includes(role)) return;
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  apps.push(app.enableShutdownHooks());
}

async function isUp(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  const answer = await client.connect().then(
    () => client.ping(),
    () => undefined,
  );
  client.disconnect();
  return answer === 'PONG';
}

if (roles.includes('master') && !(await isUp(redis))) {
  console.error('The master keeps its state in Redis, which does not answer: set REDIS_URL.');
  process.exit(2);
}

await start('master', MasterModule);
await start('worker', WorkerModule);
await start('pusher', PusherModule);

if (roles.includes('pusher')) {
  await apps.at(-1)?.get(Pusher).push();
  // Only the pusher uses master and worker in this process; the pusher closes first.
  for (const app of apps.reverse()) await app.close();
}
