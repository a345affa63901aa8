import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './demo.modules.js';

/** A worker process: runs jobs until SIGTERM, or until the demo ends. */
try {
  const app = await NestFactory.create(WorkerModule, { logger: ['warn'], abortOnError: false });
  // Before the workers start: a signal may come at once.
  app.enableShutdownHooks();
  await app.init();
  process.once('disconnect', () => void app.close());
  if (process.connected) process.send?.('ready');
  else await app.close();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
