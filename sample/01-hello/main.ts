import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Host } from './host.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
const host = app.get(Host);
await host.welcome(['Ada', 'Grace', 'Barbara']);
await host.explainFailure();
await app.close();
