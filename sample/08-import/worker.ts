import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './app.module.js';

const app = await NestFactory.create(WorkerModule, { logger: false, abortOnError: false });
// Before the workers start: a signal may come at once.
app.enableShutdownHooks();
await app.init();
