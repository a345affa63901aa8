import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Desk } from './desk.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
for (const { state, record } of await app.get(Desk).results()) {
  const returned = record.history.find(({ what }) => what === 'returned');
  console.log(`${state}: ${returned ? String(returned['output']) : record.failure?.group}`);
}
await app.close();
