import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Reminders } from './reminders.js';
import { Reports } from './reports.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
await app.get(Reminders).schedule('Ada');
await app.get(Reports).ended;
await app.close();
