import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Reports } from './reports.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const reports = app.get(Reports);
console.log(await reports.make('Monday', { north: 3, south: 4, west: 5 }));
console.log(await reports.make('Tuesday', { north: 3, south: -1 }));
console.log(await reports.make('Wednesday', { north: 3, south: -1 }, 'run'));
await app.close();
