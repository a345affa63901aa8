import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './demo.modules.js';

/** A worker process: runs jobs until SIGTERM, or until the demo ends. */
try {
  const app = await NestFactory.createApplicationContext(WorkerModule, {
    logger: ['warn'],
    abortOnError: false,
  });
  app.enableShutdownHooks();
  process.once('disconnect', () => void app.close());
  if (process.connected) process.send?.('ready');
  else await app.close();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
