import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Desk } from './desk.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
for (const { state, history, failure } of await app.get(Desk).results()) {
  const returned = history.find(({ what }) => what === 'returned');
  console.log(`${state}: ${returned ? String(returned['output']) : failure?.group}`);
}
await app.close();
