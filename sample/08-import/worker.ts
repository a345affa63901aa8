import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { WorkerModule } from './app.module.js';

const app = await NestFactory.createApplicationContext(WorkerModule, { logger: false, abortOnError: false });
app.enableShutdownHooks();
